// The page's entry point: tabs, what is saved, events from the server, and which tab handles a key.

import { get, listen, saver } from "./api.js";
import { byId, showError, count, isTyping } from "./dom.js";
import { LabelTab } from "./label.js";
import { LiveTab } from "./live.js";
import { ReviewTab } from "./review.js";
import { TrainTab } from "./train.js";

const TABS = ["label", "review", "train", "live"];

function showSaving(kind, values = {}) {
  const place = byId("saved"), n = saver.nWaiting;
  place.classList.toggle("wrong", kind === "waiting" || kind === "lost");
  place.textContent = {
    saved: "All saved",
    saving: "Saving…",
    refused: "Not saved: see above",
    waiting: `${count(n, "change")} kept in the browser: ${values.problem || "the server cannot be reached"}`,
    lost: `The server cannot be reached${n ? `; ${count(n, "change")} kept in the browser` : ""}`,
  }[kind];
}

async function begin() {
  const state = await get("state");
  const label = new LabelTab(state);
  const tabs = { label, review: new ReviewTab(label), train: new TrainTab(label), live: new LiveTab() };
  let current = "";

  saver.onState = (kind, values) => {
    showSaving(kind, values);
    if (kind === "saved") label.showCounts(values);
  };
  showSaving("saved");
  await saver.start(state.folder);
  if (state.notes.length) showError(state.notes.join("; "));

  const show = (name) => {
    if (name === current) return;
    current = name;
    for (const tab of TABS) {
      byId(tab).hidden = tab !== name;
      const button = document.querySelector(`nav [data-tab="${tab}"]`);
      if (tab === name) button.setAttribute("aria-current", "page"); else button.removeAttribute("aria-current");
    }
    if (name !== "live") tabs.live.stop();
    if (location.hash !== `#${name}`) history.replaceState(null, "", `#${name}`);
    if (name === "label" && label.place < 0 && !label.trail.length) label.start().catch((error) => showError(error.message));
    else if (name !== "label") Promise.resolve(tabs[name].start()).catch((error) => showError(error.message));
  };
  for (const tab of TABS) document.querySelector(`nav [data-tab="${tab}"]`).addEventListener("click", () => show(tab));
  addEventListener("hashchange", () => { if (TABS.includes(location.hash.slice(1))) show(location.hash.slice(1)); });

  const help = byId("help");
  byId("help-button").addEventListener("click", () => help.showModal());
  addEventListener("keydown", (event) => {
    if (help.open || isTyping(event)) return;
    if (event.key === "?") help.showModal();
    else tabs[current].key(event);
  });
  addEventListener("keyup", (event) => tabs[current].keyUp?.(event));

  let isLost = false;
  const later = (action) => {  // events come in bursts
    let timer = 0;
    return () => { clearTimeout(timer); timer = setTimeout(() => Promise.resolve(action()).catch(() => {}), 150); };
  };
  const reorder = later(() => label.orderChanged()), review = later(() => tabs.review.load()), train = later(() => tabs.train.load());
  listen({
    hello: () => {
      if (!isLost) return;
      isLost = false;
      showSaving(saver.nWaiting ? "saving" : "saved");
      for (const view of label.views) label.refresh(view.shownName);
    },
    lost: () => { isLost = true; showSaving("lost"); },
    photo: ({ name }) => label.refresh(name),
    proposals: ({ name }) => label.proposalsFor(name),
    order: (counts) => { label.showCounts(counts); reorder(); },
    model: async () => {
      await label.modelChanged();
      if (current === "train") train();
    },
    review: () => { if (current === "review") review(); },
    train: () => { if (current === "train") train(); },
    reload: () => location.reload(),
  });

  show(TABS.includes(location.hash.slice(1)) ? location.hash.slice(1) : state.tab);
  document.documentElement.dataset.ready = "true";
}

begin().catch((error) => showError(`The page could not start: ${error.message}`));
