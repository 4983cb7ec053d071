// One photo on the screen: shows boxes and proposals, and turns pointer events into changes.

import { address } from "./api.js";
import { el, svg } from "./dom.js";
import { HANDLES, inside, moved, openProposals, resized, spanned } from "./boxes.js";

const LEAST_DRAG = 4;      // screen pixels; less is a click
const HANDLE = 9, GRIP = 24, BADGE = 12;  // screen pixels
const MOST_ZOOM = 40;
const SIDES = [320, 640, 1024, 1600, 2560, 4096];  // as in pictures.py

/** Return how many pixels of a photo are enough for a number of CSS pixels. */
export const pixelsNeeded = (pixels) => pixels * Math.min(devicePixelRatio, 2) * 0.8;

/** Return the side of the copy to request. */
export const sideFor = (pixels) => SIDES.find((side) => side >= pixelsNeeded(pixels)) ?? SIDES.at(-1);

export const pictureAddress = (name, side) => address("picture", { name, side });

/** A proposal's identifier: the same in every answer of the server. */
const proposalId = (one) => `p${one.box.join("_")}`;

const center = ([a, b]) => [(a.x + b.x) / 2, (a.y + b.y) / 2];
const distance = ([a, b]) => Math.hypot(a.x - b.x, a.y - b.y);

export class PhotoView {
  /**
   * owner: the tab that holds this view: it has `sure`, `isPanning` and the methods called below.
   */
  constructor(owner) {
    this.owner = owner;
    this.photo = null;
    this.chosen = null;       // the id of a box or proposal
    this.pointed = null;      // the id of the proposal under the pointer
    this.zoom = 1;
    this.corner = [0, 0];     // of the stage, in screen pixels
    this.pointers = new Map();
    this.drag = null;
    this.side = 0;
    this.name = el("b");
    this.why = el("span", { className: "why" });
    this.done = el("input", { type: "checkbox", onchange: () => owner.markDone(this, this.done.checked) });
    this.image = el("img", { alt: "", draggable: false, onerror: () => this.#say("The photo cannot be shown.") });
    this.layer = svg("svg", { role: "group", preserveAspectRatio: "none" });
    this.stage = el("div", { className: "stage" }, this.image, this.layer);
    this.message = el("p", { className: "message", hidden: true });
    this.frame = el("div", { className: "frame" }, this.stage, this.message);
    this.element = el("article", { className: "tile" },
      el("header", {}, this.name, this.why, el("label", {}, this.done, "done")), this.frame);
    this.frame.addEventListener("pointerdown", (event) => this.#down(event));
    this.frame.addEventListener("pointermove", (event) => this.#move(event));
    for (const kind of ["pointerup", "pointercancel"]) this.frame.addEventListener(kind, (event) => this.#up(event));
    this.frame.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.frame.addEventListener("dragstart", (event) => event.preventDefault());
    this.frame.addEventListener("pointerover", ({ target }) => {
      this.pointed = target.closest?.("[data-id]")?.dataset.id ?? target.closest?.("[data-of]")?.dataset.of ?? null;
    });
    this.frame.addEventListener("pointerleave", () => { this.pointed = null; });
    this.layer.addEventListener("focusin", (event) => {
      const id = event.target.closest?.("[data-id]")?.dataset.id;
      if (id !== undefined && id !== this.chosen && !this.drag) this.choose(id);
    });
    new ResizeObserver(() => this.#fit()).observe(this.frame);
  }

  get isBusy() { return this.drag !== null; }

  /** Show a photo; null while it is being fetched. */
  show(name, photo, why) {
    const isNew = this.shownName !== name;
    this.shownName = name;
    this.name.textContent = name;
    this.name.title = name;
    this.why.textContent = why ?? "";
    this.why.title = why ?? "";
    if (isNew) {
      this.zoom = 1;
      this.corner = [0, 0];
      this.chosen = null;
      this.side = 0;
      this.drag = null;
      this.layer.replaceChildren();
      this.image.removeAttribute("src");
      this.#say("");
    }
    this.photo = photo;
    this.done.disabled = !photo;
    if (photo) {
      this.layer.setAttribute("viewBox", `0 0 ${photo.width} ${photo.height}`);
      this.layer.setAttribute("aria-label", `boxes in ${name}`);
      this.#fit();
    }
  }

  /** Show an error instead of the photo. */
  fail(name, problem) {
    this.show(name, null, "");
    this.#say(problem);
  }

  /** Draw everything again. */
  render() {
    const photo = this.photo;
    if (!photo) return;
    const focused = this.layer.contains(document.activeElement) ? document.activeElement.dataset.id : undefined;
    this.done.checked = photo.done;
    this.#say(photo.proposals === null ? "Searching for proposals…" : "");
    const open = openProposals(photo);
    if (this.chosen?.startsWith("p") && !this.chosenProposal()) this.chosen = null;
    const parts = open.map((one) => this.#proposal(one, proposalId(one))).reverse();
    const bySize = [...photo.boxes].sort((a, b) => b.box[2] * b.box[3] - a.box[2] * a.box[3]);
    parts.push(...bySize.map((one) => this.#box(one)));
    // The touch areas around badges lie below all badges: where boxes are dense, each badge can still be clicked.
    const both = open.map((one) => this.#badge(one, proposalId(one)));
    const badges = [...both.map(([around]) => around), ...both.map(([, badge]) => badge)];
    const chosen = this.chosenBox();
    this.layer.replaceChildren(...parts, ...badges, ...(chosen ? this.#handles(chosen) : []));
    if (focused !== undefined) this.#element(focused)?.focus();
  }

  choose(id) {
    this.chosen = id === null ? null : String(id);
    this.owner.choose(this);
    this.render();
    if (id !== null) this.#element(this.chosen)?.focus({ preventScroll: true });
  }

  chosenBox() {
    return this.photo?.boxes.find((one) => String(one.id) === this.chosen) ?? null;
  }

  chosenProposal() { return this.#proposalNamed(this.chosen); }

  pointedProposal() { return this.#proposalNamed(this.pointed); }

  #proposalNamed(id) {
    if (!id?.startsWith("p") || !this.photo) return null;
    return openProposals(this.photo).find((one) => proposalId(one) === id) ?? null;
  }

  /** Zoom around a point of the frame, or around its middle. */
  zoomBy(factor, at) {
    const { width, height } = this.frame.getBoundingClientRect();
    const [x, y] = at ?? [width / 2, height / 2];
    const zoom = Math.min(Math.max(this.zoom * factor, 1), MOST_ZOOM);
    this.corner = [x - (x - this.corner[0]) * zoom / this.zoom, y - (y - this.corner[1]) * zoom / this.zoom];
    this.zoom = zoom;
    this.#fit();
  }

  zoomFit() {
    this.zoom = 1;
    this.#fit();
  }

  /** Photo pixels per screen pixel. */
  get unit() { return this.photo.width / (this.base[0] * this.zoom); }

  #say(text) {
    this.message.textContent = text;
    this.message.hidden = !text;
  }

  #element(id) { return this.layer.querySelector(`[data-id="${id}"]`); }

  #fit() {
    const { clientWidth: width, clientHeight: height } = this.frame;
    if (!this.photo || !width || !height) return;
    const scale = Math.min(width / this.photo.width, height / this.photo.height);
    this.base = [this.photo.width * scale, this.photo.height * scale];
    const shown = this.base.map((side) => side * this.zoom);
    // The photo stays in the middle where it is smaller than the frame, and covers it where it is larger.
    this.corner = [width, height].map((room, i) => shown[i] <= room ? (room - shown[i]) / 2
      : Math.min(Math.max(this.corner[i], room - shown[i]), 0));
    this.stage.style.width = `${shown[0]}px`;
    this.stage.style.height = `${shown[1]}px`;
    this.stage.style.transform = `translate(${this.corner[0]}px, ${this.corner[1]}px)`;
    const side = sideFor(Math.max(...shown));
    if (side > this.side) {
      this.side = side;
      const address_ = pictureAddress(this.photo.name, side);
      if (!this.image.getAttribute("src")) this.image.src = address_;
      else {  // the coarse copy stays until the fine one is there
        const finer = new Image();
        finer.src = address_;
        const { name } = this.photo;
        finer.decode().then(() => { if (this.shownName === name && this.side === side) this.image.src = address_; }, () => {});
      }
    }
    this.render();
  }

  #rects([x, y, width, height]) {
    const place = { x, y, width, height };
    return [svg("rect", { class: "halo", ...place }), svg("rect", { class: "line", ...place })];
  }

  #tag([x, y], text) {
    const size = 12 * this.unit;
    return svg("text", { class: "tag", x: x + 3 * this.unit, y: Math.max(y - 4 * this.unit, size), "font-size": size,
      "stroke-width": 3 * this.unit }, text);
  }

  #box(one) {
    const chosen = String(one.id) === this.chosen, [x, y, w, h] = one.box.map(Math.round);
    const words = `${one.label}${one.flag ? `, ${one.flag}` : ""}, ${w} by ${h} pixels at ${x}, ${y}`;
    const group = svg("g", { class: `box ${this.owner.labelClass(one.label)}${one.flag ? " ignored" : ""}${chosen ? " chosen" : ""}`,
      "data-id": one.id, tabindex: 0, role: "button", "aria-label": words, "aria-pressed": String(chosen) }, ...this.#rects(one.box));
    if (chosen || this.owner.hasLabels()) group.append(this.#tag(one.box, `${one.label}${one.flag ? ` (${one.flag})` : ""}`));
    return group;
  }

  #proposal(one, id) {
    const sure = one.probability >= this.owner.sure, chosen = id === this.chosen;
    const words = `proposal, ${sure ? "confident" : "uncertain"}, score ${one.score}; A accepts, R rejects`;
    return svg("g", { class: `proposal ${sure ? "sure" : "unsure"}${chosen ? " chosen" : ""}`, "data-id": id, tabindex: 0,
      role: "button", "aria-label": words, "aria-pressed": String(chosen) }, ...this.#rects(one.box), this.#tag(one.box, one.score.toFixed(1)));
  }

  #badge(one, id) {
    const sure = one.probability >= this.owner.sure, [x, y, w, h] = one.box;
    const touch = BADGE * this.unit, r = Math.min(Math.max(Math.min(w, h) / 4, touch * 0.6), touch);
    // Confident proposals are accepted with the screen, so their badge rejects; uncertain ones are dropped, so theirs accepts.
    const kind = sure ? "no" : "yes";
    const cx = Math.min(x + w + r / 2, this.photo.width - r), cy = Math.max(y - r / 2, r);
    const mark = sure ? `M${cx - r / 2.6} ${cy - r / 2.6}l${r / 1.3} ${r / 1.3}m0 ${-r / 1.3}l${-r / 1.3} ${r / 1.3}`
      : `M${cx - r / 2} ${cy}l${r / 2.8} ${r / 2.6}l${r / 1.7} ${-r / 1.3}`;
    const act = (event) => {
      event.stopPropagation();
      if (event.button > 0) return;
      this.owner.activate(this);
      if (sure) this.owner.reject(this, [one]); else this.owner.accept(this, [one]);
    };
    return [svg("circle", { class: "touch", cx, cy, r: touch, onpointerdown: act }),
      svg("g", { class: `badge ${kind}`, "data-of": id, role: "img", "aria-label": sure ? "reject" : "accept", onpointerdown: act },
        svg("circle", { cx, cy, r }), svg("path", { d: mark }))];
  }

  #handles({ box: [x, y, w, h] }) {
    const size = HANDLE * this.unit;
    const grip = Math.max(Math.min(GRIP * this.unit, Math.min(w, h) / 2), size);
    return HANDLES.map((name) => {
      const cx = x + (name.includes("w") ? 0 : name.includes("e") ? w : w / 2);
      const cy = y + (name.includes("n") ? 0 : name.includes("s") ? h : h / 2);
      const at = (side) => ({ x: cx - side / 2, y: cy - side / 2, width: side, height: side });
      return svg("g", { class: name, "data-handle": name }, svg("rect", { class: "grip", ...at(grip) }),
        svg("rect", { class: "handle", ...at(size) }));
    });
  }

  /** Return the position of a pointer in photo pixels. */
  #at(event) {
    const { left, top } = this.frame.getBoundingClientRect();
    return [(event.clientX - left - this.corner[0]) * this.unit, (event.clientY - top - this.corner[1]) * this.unit];
  }

  #down(event) {
    this.owner.activate(this);
    if (!this.photo || event.button > 1) return;
    if (event.isPrimary) this.pointers.clear();  // the primary pointer is the first one: any other is left over from a missed pointerup
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    this.frame.setPointerCapture(event.pointerId);
    if (this.pointers.size === 2) {  // two fingers pinch: what the first began was not a drawing
      this.#forget();
      const both = [...this.pointers.values()];
      this.drag = { kind: "pinch", distance: distance(both), center: center(both) };
      return;
    }
    if (this.pointers.size > 2) return;
    const at = this.#at(event), target = event.target;
    if (event.button === 1 || this.owner.isPanning) {
      event.preventDefault();
      this.drag = { kind: "pan", x: event.clientX, y: event.clientY };
      return;
    }
    const handle = target.closest?.("[data-handle]")?.dataset.handle;
    const id = event.altKey ? undefined : target.closest?.("[data-id]")?.dataset.id;
    const start = { at, x: event.clientX, y: event.clientY, hasMoved: false };
    if (handle && this.chosenBox()) this.drag = { kind: "resize", handle, one: this.chosenBox(), ...start };
    else if (id !== undefined) {
      this.choose(id);
      const proposal = this.chosenProposal(), one = this.chosenBox() ?? proposal;
      if (one) this.drag = { kind: "move", one, proposal, ...start };
    } else this.drag = { kind: "draw", ...start };
    event.preventDefault();
  }

  #move(event) {
    if (!this.pointers.has(event.pointerId)) return;
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    const drag = this.drag;
    if (!drag) return;
    if (drag.kind === "pinch") {
      const both = [...this.pointers.values()], middle = center(both), { left, top } = this.frame.getBoundingClientRect();
      this.corner = this.corner.map((place, i) => place + middle[i] - drag.center[i]);
      this.zoomBy(distance(both) / drag.distance, [middle[0] - left, middle[1] - top]);
      Object.assign(drag, { distance: distance(both), center: middle });
      return;
    }
    if (drag.kind === "pan") {
      this.corner = [this.corner[0] + event.clientX - drag.x, this.corner[1] + event.clientY - drag.y];
      Object.assign(drag, { x: event.clientX, y: event.clientY });
      this.#fit();
      return;
    }
    if (!drag.hasMoved && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < LEAST_DRAG) return;
    drag.hasMoved = true;
    const at = this.#at(event), aspect = this.owner.aspect();
    const by = [at[0] - drag.at[0], at[1] - drag.at[1]];
    if (drag.kind === "draw") drag.box = spanned(drag.at, at, aspect, this.photo);
    else if (drag.kind === "move") drag.box = moved(drag.one.box, ...by, this.photo);
    else drag.box = resized(drag.one.box, drag.handle, ...by, aspect, this.photo);
    this.#sketch(drag.box);
  }

  #up(event) {
    if (!this.pointers.delete(event.pointerId)) return;
    this.#finish(event);
    this.owner.released(this);
  }

  #finish(event) {
    const drag = this.drag;
    this.#forget();
    if (!drag || event.type === "pointercancel" || ["pinch", "pan"].includes(drag.kind)) return;
    if (!drag.hasMoved) {
      if (drag.kind === "draw" && this.chosen !== null) this.choose(null);
      return;
    }
    const box = inside(drag.box, this.photo);
    if (!box) this.render();
    else if (drag.kind === "draw") this.owner.draw(this, box);
    else if (drag.proposal) this.owner.accept(this, [{ ...drag.proposal, box, from: drag.proposal }]);
    else this.owner.put(this, { ...drag.one, box });
  }

  #forget() {
    this.drag = null;
    this.layer.querySelector(".draft")?.remove();
  }

  #sketch([x, y, width, height]) {
    let draft = this.layer.querySelector(".draft");
    if (!draft) this.layer.append(draft = svg("rect", { class: "draft" }));
    for (const [name, value] of Object.entries({ x, y, width, height })) draft.setAttribute(name, value);
  }

  #wheel(event) {
    if (!this.photo) return;
    event.preventDefault();
    const { left, top } = this.frame.getBoundingClientRect();
    if (event.shiftKey) {
      this.corner = [this.corner[0] - event.deltaX - event.deltaY, this.corner[1]];
      this.#fit();
    } else this.zoomBy(Math.exp(-event.deltaY / 400), [event.clientX - left, event.clientY - top]);
  }
}
