// Requests to the server; changes are kept in the browser until the server has written them to disk.

import { showError } from "./dom.js";

const RETRY = 700;  // milliseconds
const MOST_PHOTOS = 20;  // per request
const PREFIX = "vjcascade-pending-";

export const address = (path, parameters = {}) => {
  const query = new URLSearchParams(parameters).toString();
  return query ? `${path}?${query}` : path;
};

async function answered(response) {
  if (response.ok) return response.json();
  let problem = `${response.status} ${response.statusText}`;
  try { problem = (await response.json()).problem ?? problem; } catch { /* not JSON: show the status code */ }
  const error = new Error(problem);
  error.status = response.status;
  throw error;
}

export const get = async (path, parameters) => answered(await fetch(address(path, parameters)));

export const post = async (path, body, parameters) => answered(await fetch(address(path, parameters), {
  method: "POST", body: body instanceof Blob || body instanceof Uint8Array ? body : JSON.stringify(body ?? {}),
}));

/** Fetches photos, one request at a time: those that are wanted meanwhile go into the next request. */
class Photos {
  #wanted = new Map();  // promises with their resolve and reject, by name
  #isAsking = false;

  get(name) {
    if (!this.#wanted.has(name)) {
      const one = {};
      one.promise = new Promise((resolve, reject) => Object.assign(one, { resolve, reject }));
      this.#wanted.set(name, one);
      queueMicrotask(() => this.#ask());
    }
    return this.#wanted.get(name).promise;
  }

  async #ask() {
    if (this.#isAsking || !this.#wanted.size) return;
    this.#isAsking = true;
    const asked = [...this.#wanted].slice(0, MOST_PHOTOS);
    for (const [name] of asked) this.#wanted.delete(name);
    try {
      const photos = await get("photos", asked.map(([name]) => ["name", name]));
      asked.forEach(([, { resolve, reject }], i) => photos[i].problem ? reject(new Error(photos[i].problem)) : resolve(photos[i]));
    } catch (error) {
      for (const [, { reject }] of asked) reject(error);
    }
    this.#isAsking = false;
    this.#ask();
  }
}

export const photos = new Photos();

/** Sends changes at once and in order; those that the server has not written yet survive a reload and a crash. */
class Saver {
  #waiting = [];
  #isSending = false;
  #key = PREFIX + crypto.randomUUID();
  #folder = "";
  onState = () => {};

  /** Start; take over unsent changes of pages that were closed. */
  async start(folder) {
    this.#folder = folder;
    // A page holds a lock as long as it lives: changes whose lock is free belong to no open page.
    navigator.locks?.request(this.#key, () => new Promise(() => {}));
    const held = new Set(((await navigator.locks?.query())?.held ?? []).map((lock) => lock.name));
    for (const key of Object.keys(localStorage).filter((name) => name.startsWith(PREFIX) && !held.has(name))) {
      const kept = JSON.parse(localStorage.getItem(key) ?? "{}");
      if (kept.folder !== folder) continue;
      this.#waiting.push(...kept.changes);
      this.#remember();
      localStorage.removeItem(key);
    }
    addEventListener("pagehide", () => {
      if (this.#waiting.length) fetch("changes", { method: "POST", keepalive: true, body: JSON.stringify(this.#waiting) });
    });
    this.#send();
  }

  get nWaiting() { return this.#waiting.length; }

  isWaitingFor(name) { return this.#waiting.some((change) => change.photo === name); }

  save(changes) {
    this.#waiting.push(...changes);
    this.#remember();
    this.#send();
  }

  #remember() {
    if (this.#waiting.length) localStorage.setItem(this.#key, JSON.stringify({ folder: this.#folder, changes: this.#waiting }));
    else localStorage.removeItem(this.#key);
  }

  async #send() {
    if (this.#isSending) return;
    this.#isSending = true;
    while (this.#waiting.length) {
      const changes = this.#waiting.slice(0, 1000);
      this.onState("saving");
      try {
        const counts = await post("changes", changes);
        this.#waiting.splice(0, changes.length);
        this.#remember();
        this.onState(this.#waiting.length ? "saving" : "saved", counts);
      } catch (error) {
        if (error.status === 400) {  // a retry would fail in the same way
          this.#waiting.splice(0, changes.length);
          this.#remember();
          showError(`Not saved: ${error.message}`);
          this.onState("refused");
        } else {
          this.onState("waiting", { problem: error.status ? error.message : "" });
          await new Promise((resolve) => setTimeout(resolve, RETRY));
        }
      }
    }
    this.#isSending = false;
  }
}

export const saver = new Saver();

/** Listen to events: changes of other pages, and progress of the server. */
export function listen(handlers) {
  const source = new EventSource("events");
  for (const [kind, handler] of Object.entries(handlers)) {
    source.addEventListener(kind, (event) => handler(JSON.parse(event.data)));
  }
  source.onerror = () => {
    handlers.lost?.();
    if (source.readyState === EventSource.CLOSED) setTimeout(() => listen(handlers), RETRY);
  };
}
