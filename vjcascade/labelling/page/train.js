// The Train tab: a model is trained on the photos that are done, and compared with the current one.

import { get, post } from "./api.js";
import { announce, byId, showError, count, el } from "./dom.js";

const PHASES = {
  idle: "", preparing: "Preparing…", training: "Training…", measuring: "Evaluating on the validation photos…",
  done: "", stopped: "Stopped before the first stage was finished; the current model is unchanged.", failed: "",
};
const percent = (share) => share === null || share === undefined ? "" : `${(100 * share).toFixed(share < 0.01 ? 3 : 1)} %`;

export class TrainTab {
  constructor(label) {
    this.label = label;
    this.section = byId("train");
    this.form = el("div");
    this.rest = el("div");
    this.section.append(el("div", { className: "page" }, el("h2", {}, "Train a model on the photos that are done"), this.form, this.rest));
    this.start_ = "fresh";
  }

  async start() { await this.load(); }

  async load() {
    const before = this.state?.phase;
    this.state = await get("train");
    if (before && before !== this.state.phase) announce(PHASES[this.state.phase] || this.state.verdict?.[0] || this.state.problem || "");
    this.#show();
  }

  key() {}

  #show() {
    const { phase, notes = [], stages = [], progress, problem, command } = this.state;
    const isBusy = ["preparing", "training", "measuring"].includes(phase);
    this.#showForm(isBusy);
    const parts = [];
    if (PHASES[phase]) parts.push(el("p", { className: "verdict" }, PHASES[phase]));
    if (progress && isBusy) {
      parts.push(el("p", {}, `${progress.part}${progress.detail ? `: ${progress.detail}` : ""}`),
        el("progress", { max: Math.max(progress.total, 1), value: progress.done, ariaLabel: progress.part }));
    }
    if (phase === "failed") parts.push(el("p", { className: "verdict" }, problem));
    if (phase === "done") parts.push(...this.#result());
    if (stages.length) parts.push(this.#stages(stages));
    if (notes.length) parts.push(el("h2", {}, "Messages of the run"), el("ul", {}, ...notes.map((note) => el("li", {}, note))));
    if (command) parts.push(el("h2", {}, "The same training on the command line"), el("pre", {}, command));
    this.rest.replaceChildren(...parts);
  }

  /** Rebuilt only when it changes: events come several times a second, and a button that is replaced misses its click. */
  #showForm(isBusy) {
    const shown = JSON.stringify([this.state.phase, isBusy, this.label.state.model, this.label.labels, this.label.current]);
    if (shown === this.shownForm) return;
    this.shownForm = shown;
    const focused = document.activeElement?.dataset?.keep;
    this.form.replaceChildren(this.#form(isBusy));
    if (focused) this.form.querySelector(`[data-keep="${focused}"]`)?.focus();
  }

  #form(isBusy) {
    const model = this.label.state.model;
    if (!model) this.start_ = "fresh";
    const choice = (value, words, disabled) => el("label", {}, el("input", { type: "radio", name: "start", value, "data-keep": value,
      checked: this.start_ === value, disabled: disabled || isBusy, onchange: () => { this.start_ = value; } }), ` ${words}`);
    const label = el("select", { disabled: isBusy, "data-keep": "label" }, ...this.label.labels.map((name) => el("option", { selected: name === this.label.current }, name)));
    const start = el("button", { type: "button", className: "main", disabled: isBusy, "data-keep": "start", onclick: async () => {
      try { showError(""); await post("train/start", { start: this.start_, label: label.value }); } catch (error) { showError(error.message); }
    } }, "Train");
    const stop = el("button", { type: "button", disabled: !["preparing", "training"].includes(this.state.phase), "data-keep": "stop",
      onclick: () => post("train/stop").catch((error) => showError(error.message)) }, "Stop");
    return el("fieldset", {}, el("legend", {}, model ? `Current model: ${model}` : "There is no model yet"),
      choice("fresh", "train from scratch, with the quick preset"), choice("continue", "add stages to the current model", !model),
      el("div", { className: "buttons" }, el("label", {}, "Kind of object ", label), start, stop));
  }

  #result() {
    const { is_better, model, verdict, chart, names, new_model } = this.state;
    const words = is_better ? `The new model is ${names.length > 1 ? "better and is " : ""}used from now on: ${model}` :
      `The new model is not better, so the current one stays in use; the new one is in ${new_model}`;
    const drawing = new DOMParser().parseFromString(chart, "text/html").body.firstElementChild;
    const isPair = names.length > 1;
    return [el("p", { className: "verdict" }, words), ...verdict.map((sentence) => el("p", {}, sentence)),
      el("p", { className: "key" }, ...(isPair ? [el("i", { className: "old" }), "current model"] : []), el("i"), "new model; recall against false alarms per photo, on the validation photos"),
      el("div", { className: `chart${isPair ? "" : " alone"}` }, drawing)];
  }

  #stages(stages) {
    const rows = stages.map((one) => el("tr", {}, el("td", {}, String(one.stage)), el("td", {}, String(one.n_weak)),
      el("td", {}, percent(one.hit_rate)), el("td", {}, percent(one.false_alarm_rate)), el("td", {}, Number(one.overall_false_alarm_rate).toExponential(1))));
    const head = ["stage", "weak classifiers", "hit rate", "false-alarm rate", "false-alarm rate of all stages so far"].map((name) => el("th", { scope: "col" }, name));
    return el("div", {}, el("h2", {}, count(stages.length, "stage")), el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows)));
  }
}
