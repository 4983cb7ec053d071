// Small helpers that make elements and show messages.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && !(element instanceof SVGElement)) element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

export const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

let quiet = 0;

/** Announce a text to screen readers. */
export function announce(text) {
  clearTimeout(quiet);
  quiet = setTimeout(() => { byId("news").textContent = text; }, 60);
}

/** Show an error until the next one; an empty text removes it. */
export function showError(text) {
  const place = byId("alert");
  place.textContent = text;
  place.hidden = !text;
}

/** Whether a key goes to a control that is being typed in or changed. */
export function isTyping(event) {
  const target = event.target;
  if (target instanceof HTMLInputElement && target.type === "range" && event.key.startsWith("Arrow")) return true;
  return target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement ||
    (target instanceof HTMLInputElement && !["checkbox", "radio", "range", "button"].includes(target.type));
}

export const count = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
