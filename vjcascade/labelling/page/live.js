// The Live tab: the model on a webcam or a video file.

import { post } from "./api.js";
import { announce, byId, showError, el } from "./dom.js";

const SIDE = 480;        // pixels of the longer side of frames that are searched
const SMOOTH = 0.9;

export class LiveTab {
  constructor() {
    this.section = byId("live");
    this.isOn = false;
    this.rate = 0;
    this.boxes = [];
    this.small = document.createElement("canvas");
  }

  start() {
    if (this.video) return;
    this.video = el("video", { muted: true, playsInline: true, loop: true, ariaLabel: "camera or video" });
    this.canvas = el("canvas");
    this.screen = el("div", { className: "screen" }, this.video, this.canvas);
    this.words = el("p", { role: "status" }, "Choose the webcam or a video file. Nothing leaves this machine.");
    this.sliders = {
      min_neighbors: this.#slider("min neighbours: lower finds more", 0, 20, 1, 3),
      min_score: this.#slider("minimum score", 0, 200, 1, 0),
      min_size: this.#slider("minimum object size, % of the frame's height", 0, 90, 1, 0),
      side: this.#slider("longer side of the searched frame in pixels: more finds smaller objects", 160, 1280, 80, SIDE),
    };
    const file = el("input", { type: "file", accept: "video/*", hidden: true, onchange: () => this.#play(file.files[0]) });
    this.keepers = ["false-alarm", "miss"].map((kind) => el("button", { type: "button", disabled: true, onclick: () => this.keep(kind) },
      kind === "miss" ? "Missed an object (M)" : "False alarm (F)"));
    this.section.replaceChildren(el("div", { className: "page" },
      el("div", { className: "buttons" },
        el("button", { type: "button", className: "main", onclick: () => this.#camera() }, "Webcam"),
        el("button", { type: "button", onclick: () => file.click() }, "Video file…"), file,
        el("button", { type: "button", onclick: () => this.stop() }, "Stop"), ...this.keepers),
      this.words, this.screen, el("div", { className: "sliders" }, ...Object.values(this.sliders).map((one) => one.element))));
  }

  #slider(words, min, max, step, value) {
    const shown = el("output", {}, String(value));
    const input = el("input", { type: "range", min, max, step, value, ariaLabel: words, oninput: () => { shown.textContent = input.value; } });
    return { input, element: el("label", {}, words, shown, input) };
  }

  #value(name) { return Number(this.sliders[name].input.value); }

  async #camera() {
    try {
      this.stop();
      this.video.srcObject = await navigator.mediaDevices.getUserMedia({ video: { width: { ideal: 1280 }, height: { ideal: 720 } } });
      await this.#begin();
    } catch (error) {
      showError(`The webcam cannot be used (${error.message}): allow it for this page, or choose a video file.`);
    }
  }

  async #play(file) {
    if (!file) return;
    try {
      this.stop();
      this.video.srcObject = null;
      this.video.src = URL.createObjectURL(file);
      await this.#begin();
    } catch (error) {
      showError(`${file.name} cannot be played (${error.message}): save it as MP4 or WebM.`);
    }
  }

  async #begin() {
    showError("");
    await this.video.play();
    this.isOn = true;
    this.rate = 0;
    for (const button of this.keepers) button.disabled = false;
    this.screen.style.aspectRatio = `${this.video.videoWidth} / ${this.video.videoHeight}`;
    this.turn = (this.turn ?? 0) + 1;
    this.#loop(this.turn);
  }

  stop() {
    this.isOn = false;
    for (const track of this.video?.srcObject?.getTracks() ?? []) track.stop();
    this.video?.pause();
    for (const button of this.keepers ?? []) button.disabled = true;
  }

  /** Send one frame at a time: the next one once the boxes of the last have arrived. */
  async #loop(turn) {
    while (this.isOn && this.turn === turn) {
      const began = performance.now();
      if (document.hidden || this.section.hidden || this.video.paused) {
        await new Promise((resolve) => setTimeout(resolve, 200));
        continue;
      }
      try {
        await this.#frame();
      } catch (error) {
        showError(error.message);
        this.stop();
        return;
      }
      await new Promise((resolve) => requestAnimationFrame(resolve));
      const rate = 1000 / (performance.now() - began);
      this.rate = this.rate ? SMOOTH * this.rate + (1 - SMOOTH) * rate : rate;
    }
  }

  async #frame() {
    const { videoWidth: wide, videoHeight: high } = this.video;
    if (!wide) { await new Promise((resolve) => setTimeout(resolve, 50)); return; }
    const scale = Math.min(this.#value("side") / Math.max(wide, high), 1);
    const width = Math.round(wide * scale), height = Math.round(high * scale);
    Object.assign(this.small, { width, height });
    const drawing = this.small.getContext("2d", { willReadFrequently: true });
    drawing.drawImage(this.video, 0, 0, width, height);
    const { data } = drawing.getImageData(0, 0, width, height), gray = new Uint8Array(width * height);
    // OpenCV's grey, as everywhere in vjcascade.
    for (let i = 0, j = 0; i < gray.length; i += 1, j += 4) gray[i] = (9798 * data[j] + 19235 * data[j + 1] + 3735 * data[j + 2] + 16384) >> 15;
    const found = await post("live/detect", gray, { width, height, min_neighbors: this.#value("min_neighbors"),
      min_score: this.#value("min_score"), min_size: Math.round(this.#value("min_size") / 100 * height) });
    this.boxes = found.boxes.map((box) => box.map((side) => side / scale));
    this.#draw(wide, high, found);
  }

  #draw(width, height, { scores, milliseconds }) {
    Object.assign(this.canvas, { width, height });
    const drawing = this.canvas.getContext("2d"), line = Math.max(width / 240, 2);
    drawing.font = `600 ${Math.max(width / 45, 12)}px system-ui`;
    this.boxes.forEach(([x, y, w, h], i) => {
      for (const [colour, size] of [["#000b", 2.2 * line], ["#7dffa0", line]]) {
        Object.assign(drawing, { strokeStyle: colour, lineWidth: size });
        drawing.strokeRect(x, y, w, h);
      }
      Object.assign(drawing, { strokeStyle: "#000", fillStyle: "#fff", lineWidth: line });
      drawing.strokeText(scores[i].toFixed(1), x + line, y - line);
      drawing.fillText(scores[i].toFixed(1), x + line, y - line);
    });
    this.words.textContent = `${this.boxes.length} found; ${this.rate.toFixed(1)} frames per second, ${milliseconds.toFixed(0)} ms per detection`;
  }

  async keep(kind) {
    if (!this.isOn || !this.video.videoWidth) return;
    const frame = document.createElement("canvas"), boxes = this.boxes;
    Object.assign(frame, { width: this.video.videoWidth, height: this.video.videoHeight });
    frame.getContext("2d").drawImage(this.video, 0, 0);
    const file = await new Promise((resolve) => frame.toBlob(resolve, "image/png"));
    try {
      const { name } = await post("live/keep", file, { kind, boxes: JSON.stringify(kind === "miss" ? [] : boxes) });
      announce(`saved: ${name}`);
      this.words.textContent = `saved as ${name}; label it in the Label tab`;
    } catch (error) { showError(error.message); }
  }

  key(event) {
    const kind = { f: "false-alarm", m: "miss" }[event.key.toLowerCase()];
    if (kind && !event.ctrlKey && !event.metaKey) { this.keep(kind); event.preventDefault(); }
  }
}
