// The Review tab: the model's errors as a grid of crops, the worst first; a key decides and moves to the next one. Crops are
// fetched when they scroll into view, all of them in one request: single requests would queue.

import { get, photos, post, saver } from "./api.js";
import { announce, byId, showError, count, el, svg } from "./dom.js";
import { newId, iou } from "./boxes.js";

const CHOICES = {
  "false alarm": { l: "Use as negative", o: "It is an object", s: "Skip" },
  "near miss": { l: "Use as negative", o: "Use this box", s: "Skip" },
  miss: { l: "Delete the box", o: "Train on it", s: "Skip" },
};
const DECIDED = {
  "false alarm": { l: "used as a negative", o: "box added", s: "skipped" },
  "near miss": { l: "used as a negative", o: "box replaced", s: "skipped" },
  miss: { l: "box deleted", o: "used for training", s: "skipped" },
};
const AHEAD = 400;  // pixels above and below the visible part whose pictures are loaded, too
const MOST_PICTURES = 100;  // per request

const HEADS = { "false alarm": "False alarms", miss: "Misses", "near miss": "Near misses" };

export class ReviewTab {
  constructor(label) {
    this.label = label;        // the tab whose labels and undo this one shares
    this.mistakes = [];
    this.decisions = new Map();
    this.pictures = new Map();  // data URLs by the numbers of mistakes
    this.kind = "false alarm";
    this.section = byId("review");
    this.sight = new IntersectionObserver((seen) => this.#picture(seen.filter((one) => one.isIntersecting).map((one) => one.target)),
      { root: this.section, rootMargin: `${AHEAD}px 0px` });
  }

  async start() { await this.load(); }

  async load() {
    const state = await get("review");
    this.state = state;
    if (state.ready && !state.busy) {
      if (JSON.stringify(state.mistakes.map((one) => [one.photo, one.found, one.truth])) !== this.signature) {
        this.signature = JSON.stringify(state.mistakes.map((one) => [one.photo, one.found, one.truth]));
        this.mistakes = state.mistakes;
        this.decisions.clear();
        this.pictures = new Map();
        this.kind = Object.keys(HEADS).find((kind) => this.mistakes.some((one) => one.kind === kind)) ?? this.kind;
      }
    }
    this.#show();
  }

  /** Return the changes that a decision makes to the current boxes. */
  async #changes(mistake, key) {
    const photo = mistake.photo;
    const train = mistake.use === "train" ? [] : [{ do: "use", photo, use: "train" }];
    if (key === "s") return [];
    if (mistake.kind !== "miss" && key === "l") return [{ do: "reject", photo, box: mistake.found, rejected: true }, ...train];
    if (mistake.kind === "false alarm") {
      const box = { id: newId(), box: mistake.found, label: this.label.current, flag: "", score: null };
      return [{ do: "put", photo, ...box }, ...train];
    }
    const known = await photos.get(photo);
    const old = known.boxes.reduce((best, one) => iou(one.box, mistake.truth) > iou(best?.box ?? [0, 0, 1, 1], mistake.truth) ? one : best, null);
    if (!old) return train;
    if (mistake.kind === "near miss") return [{ do: "put", photo, ...old, box: mistake.found }, ...train];
    return key === "l" ? [{ do: "delete", photo, id: old.id }] : train;
  }

  async decide(number, key) {
    const mistake = this.mistakes[number];
    if (!mistake || !CHOICES[mistake.kind][key]) return;
    if (this.decisions.has(number)) await this.#takeBack(number);
    const changes = await this.#changes(mistake, key);
    // Undo needs the state before the change: fetch the photo if it is not loaded.
    if (changes.length && !this.label.photos.has(mistake.photo)) this.label.photos.set(mistake.photo, await photos.get(mistake.photo));
    this.label.change(changes);
    this.decisions.set(number, { key, step: changes.length ? this.label.past.at(-1) : null });
    announce(DECIDED[mistake.kind][key]);
    const all = this.#shown(), next = all[all.indexOf(number) + 1];
    this.#showAnew(number);
    this.#card(next ?? number)?.focus();
  }

  async #takeBack(number) {
    const { step } = this.decisions.get(number);
    this.decisions.delete(number);
    if (step) {
      this.label.past = this.label.past.filter((other) => other !== step);
      for (const change of step.back) saver.save([change]);
      this.label.photos.delete(this.mistakes[number].photo);
    }
  }

  key(event) {
    const card = event.target.closest?.(".mistake"), all = this.#shown();
    const at = card ? all.indexOf(Number(card.dataset.number)) : -1, key = event.key.toLowerCase();
    if (event.ctrlKey || event.metaKey) return;
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.#columns(), ArrowUp: -this.#columns() }[event.key];
    if (step) {
      this.#card(all[Math.min(Math.max(at + step, 0), all.length - 1)])?.focus();
      event.preventDefault();
    } else if ("los".includes(key) && key.length === 1 && at >= 0) {
      this.decide(all[at], key);
      event.preventDefault();
    } else if (key === "u") {
      const last = [...this.decisions.keys()].at(-1);
      if (last !== undefined) this.#takeBack(last).then(() => { this.#showAnew(last); this.#card(last)?.focus(); announce("undone"); });
    }
  }

  #columns() {
    const wall = this.section.querySelector(".wall");
    return wall ? getComputedStyle(wall).gridTemplateColumns.split(" ").length : 1;
  }

  #shown() { return this.mistakes.map((_, i) => i).filter((i) => this.mistakes[i].kind === this.kind); }

  #card(number) { return this.section.querySelector(`[data-number="${number}"]`); }

  #showAnew(number) {
    this.#card(number)?.replaceWith(this.#cut(number));
  }

  /** Fetch the pictures of cards that have scrolled into view. */
  async #picture(cards) {
    for (const card of cards) this.sight.unobserve(card);
    const { pictures } = this, numbers = cards.map((card) => card.dataset.number).filter((number) => !pictures.has(number));
    for (let first = 0; first < numbers.length; first += MOST_PICTURES) {
      const some = numbers.slice(first, first + MOST_PICTURES);
      try {
        const made = await get("review/pictures", { numbers: some.join() });
        if (pictures !== this.pictures) return;  // another review has finished meanwhile
        some.forEach((number, i) => {
          pictures.set(number, made[i] && `data:image/jpeg;base64,${made[i]}`);
          this.#card(number)?.querySelector("img").replaceWith(this.#image(number));
        });
      } catch (error) {
        showError(error.message);
        return;
      }
    }
  }

  #image(number) {
    const one = this.mistakes[number], source = this.pictures.get(String(number));
    const words = `${one.kind} in ${one.photo}`;
    return el("img", { src: source || null, alt: source === "" ? `${words}: the photo cannot be read` : words });
  }

  #show() {
    this.sight.disconnect();
    const { busy, ready, done, total, problem } = this.state;
    const start = el("button", { type: "button", className: "main", disabled: busy, onclick: async () => {
      try { showError(""); await post("review/start"); } catch (error) { showError(error.message); }
    } }, ready ? "Search again" : "Search for errors");
    const kinds = Object.entries(HEADS).map(([kind, head]) => el("button", { type: "button", ariaPressed: String(kind === this.kind),
      onclick: () => { this.kind = kind; this.#show(); } }, `${head} (${this.mistakes.filter((one) => one.kind === kind).length})`));
    const bar = el("div", { className: "buttons" }, start, ...(ready ? kinds : []));
    const words = busy ? `Searching ${done} of ${total} photos that are done…` : problem ||
      (ready ? `${count(this.mistakes.length, "place")} where the model and the boxes disagree, the worst first. ` +
        "L, O and S decide about the selected one. Photos whose errors are trained on are no longer used for validation."
        : "The model searches the photos that are done; places where it disagrees with the boxes are shown here.");
    const wall = el("div", { className: "wall", role: "list" }, ...this.#shown().map((number) => this.#cut(number)));
    this.section.replaceChildren(bar, el("p", {}, words), ...(busy ? [el("progress", { max: Math.max(total, 1), value: done, ariaLabel: "photos searched" })] : []), wall);
  }

  #cut(number) {
    const one = this.mistakes[number], [x, y, width, height] = one.cut, decision = this.decisions.get(number);
    const frame = (box, kind) => box && svg("rect", { class: kind, x: box[0] - x, y: box[1] - y, width: box[2], height: box[3] });
    const picture = el("div", { className: "cut" },
      this.#image(number),
      svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" }, frame(one.truth, "truth"), frame(one.found, "found")));
    const choices = Object.entries(CHOICES[one.kind]).map(([key, words]) => el("button", { type: "button",
      ariaPressed: String(decision?.key === key), title: `Key ${key.toUpperCase()}`, onclick: () => this.decide(number, key) }, words));
    const card = el("article", { className: "mistake", "data-number": number, tabindex: 0, role: "listitem", ariaLabel: `${one.kind}, ${one.caption}, ${one.photo}` },
      picture, el("p", { title: one.photo }, `${one.caption} · ${one.photo}`),
      el("p", { className: "decided" }, decision ? DECIDED[one.kind][decision.key] : ""), el("div", { className: "choices" }, ...choices));
    if (!this.pictures.has(String(number))) this.sight.observe(card);
    return card;
  }
}
