// The Label tab: photos on a sheet and their order, undo, and keys.

import { get, photos, post, saver } from "./api.js";
import { announce, byId, showError, count, el } from "./dom.js";
import { applyTo, inside, inverse, moved, newId, openProposals } from "./boxes.js";
import { PhotoView, pictureAddress, pixelsNeeded, sideFor } from "./photo_view.js";

const KEPT = 200;       // photos whose boxes are cached
const MOST_UNDO = 500;
const EXPECTED = 60;    // photos whose copies the server prepares

const stored = (name, usual) => localStorage.getItem(`vjcascade-${name}`) ?? usual;
const store = (name, value) => localStorage.setItem(`vjcascade-${name}`, value);

export class LabelTab {
  constructor(state) {
    this.state = state;
    this.sure = state.sure;
    this.labels = [...state.labels];
    this.current = this.labels[0];
    this.isLocked = false;
    this.isPanning = false;
    this.photos = new Map();     // by name; the latest last
    this.nChanges = new Map();   // changes that this page knows of, by name
    this.reasons = new Map();
    this.queue = [];
    this.trail = [];             // screens: lists of names
    this.place = -1;             // in the trail; its length once all were shown
    this.views = [];
    this.loading = [];
    this.isAccepting = false;
    this.nStarts = 0;
    this.active = null;
    this.held = null;            // an action that waits for the end of a drag
    this.past = [];
    this.future = [];
    this.ahead = [];             // prefetched pictures
    const usual = innerWidth >= 900 && state.model ? "6" : "1";
    byId("count").value = innerWidth >= 640 ? stored("count", usual) : "1";
    byId("order").value = stored("order", "uncertain");
    this.#connect();
    this.#showLabels();
    this.showCounts(state);
  }

  /** Show the first screen; if this is called again before the order is known, only the last call counts. */
  async start() {
    this.nStarts += 1;
    const number = this.nStarts;
    this.planned = null;
    await this.refreshQueue();
    if (number === this.nStarts) await this.next();
  }

  // Called by views

  aspect() { return this.isLocked ? this.state.aspect ?? 1 : null; }

  hasLabels() { return this.labels.length > 1; }

  labelClass(label) { return `k${Math.max(this.labels.indexOf(label), 0) % 8}`; }

  activate(view) {
    if (this.active === view) return;
    this.active?.element.classList.remove("active");
    this.active = view;
    view?.element.classList.toggle("active", this.views.length > 1);
    this.#showTools();
  }

  choose(view) {
    for (const other of this.views) if (other !== view && other.chosen !== null) { other.chosen = null; other.render(); }
    this.activate(view);
    this.#showTools();
  }

  /** Called when a pointer is released in a view: do what had to wait for the end of a drag. */
  released(view) {
    view.render();
    const go = this.held;
    this.held = null;
    go?.();
  }

  draw(view, box) {
    const id = newId();
    this.change([{ do: "put", photo: view.photo.name, id, box, label: this.current, flag: "", score: null }]);
    view.choose(id);
    announce(`${this.current} drawn`);
  }

  put(view, one) {
    this.change([{ do: "put", photo: view.photo.name, ...one }]);
  }

  accept(view, proposals) {
    const name = view.photo.name;
    const changes = proposals.map((one) => ({ do: "put", photo: name, id: newId(), box: inside(one.box, view.photo),
      label: this.current, flag: "", score: one.score })).filter((change) => change.box);
    // A proposal that was moved away from its old place must not be proposed there again.
    for (const one of proposals) {
      if (one.from) view.photo.proposals = view.photo.proposals.filter((other) => other !== one.from);
    }
    this.change(changes);
    if (changes.length === 1) view.choose(changes[0].id);
    announce(`${count(changes.length, "proposal")} accepted`);
  }

  reject(view, proposals) {
    this.change(proposals.map((one) => ({ do: "reject", photo: view.photo.name, box: one.box, rejected: true })));
    announce(`${count(proposals.length, "proposal")} rejected`);
  }

  markDone(view, done) {
    this.change([{ do: "done", photo: view.photo.name, done }]);
  }

  // Changes

  /** Make changes that are undone together: shown at once, and saved by the server. */
  change(changes) {
    if (!changes.length) return;
    const back = [];
    for (const change of changes) {
      const photo = this.photos.get(change.photo);
      if (photo) {
        const other = inverse(photo, change);
        if (other) back.unshift(other);
        applyTo(photo, change);
      }
      if (change.label && !this.labels.includes(change.label)) this.addLabel(change.label);
    }
    this.past.push({ back, forth: changes });
    this.past.splice(0, this.past.length - MOST_UNDO);
    this.future = [];
    this.#send(changes);
  }

  undo() { this.#turn(this.past, this.future, "back", "undone"); }

  redo() { this.#turn(this.future, this.past, "forth", "redone"); }

  #turn(from, to, side, words) {
    const step = from.pop();
    if (!step) return;
    to.push(step);
    for (const change of step[side]) {
      const photo = this.photos.get(change.photo);
      if (photo) applyTo(photo, change);
      if (photo && change.do === "done" && !change.done) this.refresh(change.photo);
    }
    this.#send(step[side]);
    const name = step[side][0]?.photo;
    const place = this.trail.findLastIndex((names) => names.includes(name));
    if (place >= 0 && place !== this.place) this.#go(place);
    announce(words);
  }

  #send(changes) {
    saver.save(changes);
    const names = new Set(changes.map((change) => change.photo));
    for (const name of names) this.#noteChange(name);
    for (const view of this.views) if (names.has(view.shownName)) view.render();
    this.#showTools();
  }

  // Moving through the photos

  async refreshQueue() {
    const order = byId("order").value, rows = await get("queue", { order });
    if (byId("order").value !== order) return;  // changed meanwhile, and requested again
    this.queue = rows;
    for (const [name, , , why] of rows) this.reasons.set(name, why);
  }

  #isDone(row) { return this.photos.get(row[0])?.done ?? row[1]; }

  /** Return the next names that were on no screen yet. */
  #upcoming(n = Number(byId("count").value)) {
    const seen = new Set(this.trail.flat()), filter = byId("filter").value;
    return this.queue.filter((row) => !seen.has(row[0]) && (filter === "all" || this.#isDone(row) === (filter === "done")))
      .slice(0, n).map((row) => row[0]);
  }

  async next() {
    if (this.place + 1 < this.trail.length) { this.#go(this.place + 1); return; }
    let names = this.planned?.length ? this.planned : this.#upcoming();
    this.planned = null;
    if (!names.length) {
      await this.refreshQueue();
      names = this.#upcoming();
    }
    if (names.length) this.trail.push(names);
    this.#go(names.length ? this.trail.length - 1 : this.trail.length);
  }

  previous() {
    if (this.place > 0) this.#go(this.place - 1);
  }

  /** Accept the confident proposals of this screen, mark its photos as done, show the next: one step for undo. */
  async acceptScreen() {
    if (this.isAccepting) return;
    this.isAccepting = true;
    await Promise.all(this.loading);  // the key may come before the photos have loaded
    this.isAccepting = false;
    const photos = this.views.map((view) => view.photo).filter(Boolean);
    if (photos.some((photo) => photo.proposals === null)) {
      announce("still searching for proposals");
      showError("The model is still searching these photos; wait a moment, or skip them.");
      return;
    }
    const changes = [];
    for (const photo of photos) {
      for (const one of openProposals(photo).filter((proposal) => proposal.probability >= this.sure)) {
        const box = inside(one.box, photo);
        if (box) changes.push({ do: "put", photo: photo.name, id: newId(), box, label: this.current, flag: "", score: one.score });
      }
      if (!photo.done) changes.push({ do: "done", photo: photo.name, done: true });
    }
    this.change(changes);
    this.next();
  }

  /** Show a screen, or the end of all; wait if something is being drawn. */
  #go(place) {
    if (this.views.some((view) => view.isBusy)) {
      this.held = () => this.#go(place);
      return;
    }
    if (place >= this.trail.length) {
      this.#showEnd();
      return;
    }
    showError("");
    this.#setSure(this.state.sure);
    this.place = place;
    const names = this.trail[place];
    this.#layout(names.length);
    this.loading = this.views.map((view, i) => this.#load(view, names[i]));
    this.activate(this.views[0]);
    byId("previous").disabled = place <= 0;
    Promise.all(this.loading).then(() => this.#prefetch(place));
    announce(names.length === 1 ? names[0] : count(names.length, "photo"));
  }

  async #load(view, name) {
    const known = this.photos.get(name);
    view.show(name, known ?? null, this.reasons.get(name));
    if (known && known.proposals !== null) return;
    try {
      const photo = await this.#fetch(name);
      if (view.shownName === name && !view.isBusy) view.show(name, photo, this.reasons.get(name));
    } catch (error) {
      if (view.shownName === name) view.fail(name, error.message);
    }
    this.#showTools();
  }

  /** Count a change of a photo: an answer to a request from before it is out of date, and fetched again. */
  #noteChange(name) { this.nChanges.set(name, (this.nChanges.get(name) ?? 0) + 1); }

  async #fetch(name) {
    let photo, known, nChanges;
    do {
      nChanges = this.nChanges.get(name);
      photo = await photos.get(name);
      known = this.photos.get(name);
      if (known && (saver.isWaitingFor(name) || this.views.some((view) => view.shownName === name && view.isBusy))) {
        if (known.proposals === null) known.proposals = photo.proposals;
        return known;
      }
    } while (nChanges !== this.nChanges.get(name));
    // Proposals on the screen keep their probabilities, though decisions on other photos may have changed the calibration;
    // and the server has no proposals for a photo that is done, but the page needs them when that is undone.
    if (known?.proposals?.length) photo.proposals = known.proposals;
    this.photos.delete(name);
    this.photos.set(name, photo);
    if (this.photos.size > KEPT) {
      const shown = new Set(this.trail[this.place]);
      for (const old of this.photos.keys()) {
        if (this.photos.size <= KEPT) break;
        if (!shown.has(old) && !saver.isWaitingFor(old)) this.photos.delete(old);
      }
    }
    for (const one of photo.boxes) if (!this.labels.includes(one.label)) this.addLabel(one.label);
    return photo;
  }

  /** Fetch a photo again that another page, or the model, has changed. */
  async refresh(name) {
    this.#noteChange(name);
    if (!this.photos.has(name)) return;
    const views = this.views.filter((view) => view.shownName === name);
    if (saver.isWaitingFor(name) || views.some((view) => view.isBusy)) {
      setTimeout(() => this.refresh(name), 400);
      return;
    }
    try {
      const photo = await this.#fetch(name);
      for (const view of this.views) if (view.shownName === name && !view.isBusy) view.show(name, photo, this.reasons.get(name));
    } catch { /* it is fetched again when it is shown */ }
  }

  /** Prefetch the next screen, one photo at a time, so that requests made meanwhile do not wait for all of them. */
  async #prefetch(place) {
    if (this.place !== place || place < this.trail.length - 1) return;
    const planned = this.#upcoming(), width = this.views[0]?.frame.clientWidth || 800, height = this.views[0]?.frame.clientHeight || 600;
    const [roomWidth, roomHeight] = [width, height].map((side) => Math.ceil(pixelsNeeded(side)));
    this.planned = planned;
    post("ahead", { names: this.#upcoming(EXPECTED), width: roomWidth, height: roomHeight }).catch(() => {});
    this.ahead = [];
    for (const name of planned) {
      if (this.planned !== planned) return;
      try {
        const photo = await this.#fetch(name), scale = Math.min(width / photo.width, height / photo.height);
        const image = new Image();
        image.src = pictureAddress(name, sideFor(Math.max(photo.width, photo.height) * scale));
        this.ahead.push(image);
        await image.decode();
      } catch { /* reported when the photo is shown */ }
    }
  }

  #showEnd() {
    this.#layout(0);
    this.place = this.trail.length;
    byId("previous").disabled = !this.trail.length;
    const words = this.queue.length ? "No more photos. Choose which photos to show above, review the model's errors, or train a model."
      : "There are no photos in this folder yet.";
    byId("sheet").replaceChildren(el("p", { className: "empty" }, words));
  }

  #layout(n) {
    const sheet = byId("sheet");
    while (this.views.length < n) this.views.push(new PhotoView(this));
    this.views.length = n;
    const { clientWidth: width, clientHeight: height } = sheet;
    let best = { size: -1, columns: 1 };
    for (let columns = 1; columns <= n; columns += 1) {
      const rows = Math.ceil(n / columns);
      const size = Math.min(width / columns, (height / rows - 30) * 4 / 3);
      if (size > best.size) best = { size, columns };
    }
    if (width < 640) best.columns = n > 1 ? 2 : 1;
    sheet.style.gridTemplateColumns = `repeat(${best.columns}, minmax(0, 1fr))`;
    sheet.style.gridAutoRows = width < 640 && n > 4 ? "minmax(10rem, 1fr)" : "minmax(0, 1fr)";
    const elements = this.views.map((view) => view.element);
    // Inserting an element again, even in the same place, would release the pointer that it has captured.
    if (elements.some((one, i) => one !== sheet.children[i]) || sheet.children.length > n) sheet.replaceChildren(...elements);
  }

  // Events from the server

  proposalsFor(name) {
    this.#noteChange(name);
    if (this.photos.get(name)?.proposals === null) this.refresh(name);
  }

  async orderChanged() {
    await this.refreshQueue();
    for (const view of this.views) view.why.textContent = this.reasons.get(view.shownName) ?? "";
    if (this.place === this.trail.length) this.next();  // there may be more now
  }

  async modelChanged() {
    for (const photo of this.photos.values()) photo.proposals = null;
    this.state = await get("state");
    byId("confidence").hidden = false;
    await this.refreshQueue();
    this.planned = null;
    if (this.trail[this.place] && !this.held) this.#go(this.place);
  }

  showCounts(counts) {
    if (counts?.n_photos === undefined) return;
    const bar = byId("progress");
    bar.max = Math.max(counts.n_photos, 1);
    bar.value = counts.n_done;
    const searched = counts.n_searched < counts.n_photos ? `; ${counts.n_searched} searched` : "";
    byId("counts").textContent = `${counts.n_done} of ${count(counts.n_photos, "photo")} done, ${count(counts.n_boxes, "box", "boxes")}${searched}`;
  }

  // Tools and keys

  addLabel(label) {
    if (!this.labels.includes(label)) this.labels.push(label);
    this.#showLabels();
  }

  setLabel(label) {
    this.current = label;
    this.#showLabels();
    const view = this.active, box = view?.chosenBox();
    if (box && box.label !== label) this.put(view, { ...box, label });
    announce(label);
  }

  /** Set the probability from which proposals of this screen are accepted. */
  #setSure(probability) {
    this.sure = probability;
    byId("sure").value = Math.round(100 * probability);
    byId("sure-value").textContent = `${Math.round(100 * probability)} %`;
    for (const view of this.views) view.render();
  }

  /** Set the threshold to the probability of the proposal under the pointer, or of the selected one. */
  #sureFromHere() {
    const one = this.views.map((view) => view.pointedProposal()).find(Boolean) ?? this.active?.chosenProposal();
    if (!one) return;
    this.#setSure(one.probability);
    announce(`accept from score ${one.score}`);
  }

  toggleIgnore() {
    const box = this.active?.chosenBox();
    if (box) this.put(this.active, { ...box, flag: box.flag ? "" : "ignore" });
  }

  toggleLock() {
    this.isLocked = !this.isLocked;
    this.#showTools();
    announce(this.isLocked ? "aspect ratio locked" : "aspect ratio free");
  }

  deleteChosen() {
    const view = this.active, box = view?.chosenBox(), proposal = view?.chosenProposal();
    if (box) {
      this.change([{ do: "delete", photo: view.photo.name, id: box.id }]);
      view.choose(null);
      announce(`${box.label} deleted`);
    } else if (proposal) this.reject(view, [proposal]);
  }

  /** Add a box in the middle of the photo, for drawing with keys. */
  drawByKey() {
    const view = this.active;
    if (!view?.photo) return;
    const { width, height } = view.photo, side = Math.min(width, height) / 4, aspect = this.aspect() ?? 1;
    const box = inside([(width - side * aspect) / 2, (height - side) / 2, side * aspect, side], view.photo);
    if (box) this.draw(view, box);
  }

  #nudge(event) {
    const view = this.active, box = view?.chosenBox(), proposal = view?.chosenProposal();
    if (!box && !proposal) return false;
    const step = event.shiftKey ? 10 : 1;
    const by = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] }[event.key];
    const [x, y, w, h] = (box ?? proposal).box, aspect = this.aspect();
    let changed = moved([x, y, w, h], ...by, view.photo);
    if (event.altKey) {
      const width = Math.max(w + by[0], 1), height = Math.max(h + by[1], 1);
      changed = aspect ? (by[0] ? [x, y, width, width / aspect] : [x, y, height * aspect, height]) : [x, y, width, height];
    }
    const placed = inside(changed, view.photo);
    if (!placed) return true;
    if (box) this.put(view, { ...box, box: placed });
    else this.accept(view, [{ ...proposal, box: placed, from: proposal }]);
    return true;
  }

  key(event) {
    if (event.key === " ") { this.#pan(true); if (event.target === document.body) event.preventDefault(); return; }
    const view = this.active, onControl = event.target.closest?.("button, summary, a[href]");
    const isCommand = event.ctrlKey || event.metaKey;
    if (isCommand) {
      const key = event.key.toLowerCase();
      if (key === "z") event.shiftKey ? this.redo() : this.undo();
      else if (key === "y") this.redo();
      else return;
      event.preventDefault();
      return;
    }
    const proposal = view?.chosenProposal(), open = view?.photo ? openProposals(view.photo) : [];
    const actions = {
      Enter: () => this.acceptScreen(),
      PageDown: () => this.next(), PageUp: () => this.previous(), n: () => this.next(), p: () => this.previous(),
      a: () => { if (open.length) this.accept(view, proposal ? [proposal] : open.filter((one) => one.probability >= this.sure)); },
      r: () => { if (open.length) this.reject(view, proposal ? [proposal] : open); },
      s: () => this.#sureFromHere(),
      b: () => this.drawByKey(),
      d: () => { if (view?.photo) this.markDone(view, !view.photo.done); },
      i: () => this.toggleIgnore(), l: () => this.toggleLock(),
      u: () => this.undo(), U: () => this.redo(),
      Delete: () => this.deleteChosen(), Backspace: () => this.deleteChosen(),
      Escape: () => view?.choose(null),
      "+": () => view?.zoomBy(1.4), "=": () => view?.zoomBy(1.4), "-": () => view?.zoomBy(1 / 1.4), 0: () => view?.zoomFit(),
    };
    if (event.key === "Enter" && onControl) return;
    if (event.key.startsWith("Arrow")) {
      if (this.#nudge(event)) event.preventDefault();
      else if (event.key === "ArrowRight") this.next();
      else if (event.key === "ArrowLeft") this.previous();
      return;
    }
    if (/^[1-9]$/.test(event.key) && this.labels[Number(event.key) - 1]) this.setLabel(this.labels[Number(event.key) - 1]);
    else if (actions[event.key]) {
      actions[event.key]();
      event.preventDefault();
    }
  }

  keyUp(event) { if (event.key === " ") this.#pan(false); }

  #pan(isPanning) {
    this.isPanning = isPanning;
    for (const view of this.views) view.frame.classList.toggle("panning", isPanning);
  }

  #connect() {
    const on = (id, action) => byId(id).addEventListener("click", action);
    on("undo", () => this.undo());
    on("redo", () => this.redo());
    on("delete", () => this.deleteChosen());
    on("ignore", () => this.toggleIgnore());
    on("lock", () => this.toggleLock());
    on("zoom-in", () => this.active?.zoomBy(1.4));
    on("zoom-out", () => this.active?.zoomBy(1 / 1.4));
    on("zoom-fit", () => this.active?.zoomFit());
    on("next", () => this.next());
    on("previous", () => this.previous());
    on("accept", () => this.acceptScreen());
    byId("confidence").hidden = !this.state.model;
    byId("sure").addEventListener("input", () => this.#setSure(byId("sure").value / 100));
    const restart = (id) => {
      store(id, byId(id).value);
      this.trail = this.trail[this.place] && id === "count" ? this.trail.slice(0, this.place) : [];
      this.place = this.trail.length - 1;
      this.start().catch((error) => showError(error.message));
    };
    for (const id of ["count", "order", "filter"]) byId(id).addEventListener("change", () => restart(id));
    const kinds = byId("export");
    kinds.append(...this.state.formats.map((kind) => el("option", { value: kind }, kind)));
    kinds.addEventListener("change", async () => {
      const kind = kinds.value;
      kinds.value = "";
      try {
        const { path, n_photos } = await post("export", { kind });
        byId("saved").textContent = `${count(n_photos, "photo")} written to ${path}`;
        announce(`written to ${path}`);
      } catch (error) { showError(error.message); }
    });
    new ResizeObserver(() => { if (this.views.length) this.#layout(this.views.length); }).observe(byId("sheet"));
  }

  #showLabels() {
    const buttons = this.labels.map((label, i) => el("button", { type: "button", className: `k${i % 8}`, role: "radio",
      ariaChecked: String(label === this.current), title: i < 9 ? `Key ${i + 1}` : "", onclick: () => this.setLabel(label) }, label));
    const more = el("input", { type: "text", maxLength: 100, placeholder: "new kind", ariaLabel: "New kind of object",
      onkeydown: (event) => {
        const label = more.value.trim();
        if (event.key === "Enter" && label) { this.addLabel(label); this.setLabel(label); byId("labels").querySelector("[aria-checked=true]")?.focus(); }
      } });
    byId("labels").replaceChildren(...buttons, more);
    for (const view of this.views) view.render();
  }

  #showTools() {
    const box = this.active?.chosenBox() ?? null;
    byId("undo").disabled = !this.past.length;
    byId("redo").disabled = !this.future.length;
    byId("delete").disabled = !box && !this.active?.chosenProposal();
    byId("ignore").disabled = !box;
    byId("ignore").ariaPressed = String(Boolean(box?.flag));
    byId("lock").ariaPressed = String(this.isLocked);
  }
}
