// Boxes as [x, y, width, height] in pixels of the photo. Pure functions.

export const HANDLES = ["nw", "n", "ne", "e", "se", "s", "sw", "w"];

const TAKEN = 0.3;  // as in proposals.py: IoU with a box or a rejected place from which nothing is proposed

/** Return a random id for a new box: unique among all pages without asking the server. */
export const newId = () => {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (high % 2 ** 20) * 2 ** 32 + low + 1;
};

const tenth = (number) => Math.round(number * 10) / 10;

/** Return the part of a box inside the photo, rounded as it is saved; null if it is smaller than a pixel. */
export function inside([x, y, w, h], photo) {
  const left = Math.max(x, 0), top = Math.max(y, 0);
  const right = Math.min(x + w, photo.width), bottom = Math.min(y + h, photo.height);
  const box = [tenth(left), tenth(top), tenth(right - left), tenth(bottom - top)];
  return box[2] < 1 || box[3] < 1 ? null : box;
}

/** Return a moved box, kept inside the photo. */
export function moved([x, y, w, h], dx, dy, photo) {
  return [
    Math.min(Math.max(x + dx, 0), Math.max(photo.width - w, 0)),
    Math.min(Math.max(y + dy, 0), Math.max(photo.height - h, 0)), w, h,
  ];
}

/** Return the box between two corners; with an aspect ratio, large enough for the drag but inside the photo. */
export function spanned(from, to, aspect, photo) {
  let dx = to[0] - from[0], dy = to[1] - from[1];
  if (aspect) {
    const roomX = dx < 0 ? from[0] : photo.width - from[0], roomY = dy < 0 ? from[1] : photo.height - from[1];
    const width = Math.min(Math.max(Math.abs(dx), Math.abs(dy) * aspect), roomX, roomY * aspect);
    dx = Math.sign(dx || 1) * width;
    dy = Math.sign(dy || 1) * width / aspect;
  }
  return [Math.min(from[0], from[0] + dx), Math.min(from[1], from[1] + dy), Math.abs(dx), Math.abs(dy)];
}

/** Return a box resized by one of its handles. */
export function resized([x, y, w, h], handle, dx, dy, aspect, photo) {
  const left = handle.includes("w") ? x + dx : x, right = handle.includes("e") ? x + w + dx : x + w;
  const top = handle.includes("n") ? y + dy : y, bottom = handle.includes("s") ? y + h + dy : y + h;
  if (!aspect) return [Math.min(left, right), Math.min(top, bottom), Math.abs(right - left), Math.abs(bottom - top)];
  if (handle.length === 2) {
    const anchor = [handle.includes("w") ? x + w : x, handle.includes("n") ? y + h : y];
    return spanned(anchor, [handle.includes("w") ? left : right, handle.includes("n") ? top : bottom], aspect, photo);
  }
  const width = Math.max(handle === "n" || handle === "s" ? Math.abs(bottom - top) * aspect : Math.abs(right - left), 1);
  return [handle === "w" ? x + w - width : handle === "e" ? x : x + (w - width) / 2,
    handle === "n" ? y + h - width / aspect : handle === "s" ? y : y + (h - width / aspect) / 2, width, width / aspect];
}

export function iou(a, b) {
  const width = Math.min(a[0] + a[2], b[0] + b[2]) - Math.max(a[0], b[0]);
  const height = Math.min(a[1] + a[3], b[1] + b[3]) - Math.max(a[1], b[1]);
  if (width <= 0 || height <= 0) return 0;
  return width * height / (a[2] * a[3] + b[2] * b[3] - width * height);
}

/** Return the proposals of a photo that are still undecided. */
export function openProposals(photo) {
  if (photo.done || !photo.proposals) return [];
  const taken = [...photo.boxes.map((one) => one.box), ...photo.false_alarms];
  return photo.proposals.filter((one) => taken.every((box) => iou(one.box, box) < TAKEN));
}

const same = (a, b) => a.every((number, i) => Math.abs(number - b[i]) < 0.05);

/** Apply a change to this page's copy of a photo; the server applies the same one. */
export function applyTo(photo, change) {
  if (change.do === "put") {
    const { id, box, label, flag = "", score = null } = change;
    const put = { id, box, label, flag, score };
    const place = photo.boxes.findIndex((one) => one.id === id);
    if (place < 0) photo.boxes.push(put); else photo.boxes[place] = put;
  } else if (change.do === "delete") photo.boxes = photo.boxes.filter((one) => one.id !== change.id);
  else if (change.do === "reject") {
    photo.false_alarms = photo.false_alarms.filter((box) => !same(box, change.box));
    if (change.rejected) photo.false_alarms.push(change.box);
  }
  else if (change.do === "done") photo.done = change.done;
  else if (change.do === "use") photo.use = change.use;
}

/** Return the change that undoes another one; call it before that one is applied. */
export function inverse(photo, change) {
  const before = photo.boxes.find((one) => one.id === change.id);
  const name = { photo: photo.name };
  switch (change.do) {
    case "put": return before ? { do: "put", ...name, ...before } : { do: "delete", ...name, id: change.id };
    case "delete": return before ? { do: "put", ...name, ...before } : null;
    case "reject": return { ...change, rejected: !change.rejected };
    case "done": return { do: "done", ...name, done: photo.done };
    case "use": return { do: "use", ...name, use: photo.use };
    default: return null;
  }
}
