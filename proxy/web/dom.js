// Elements and texts. What comes from a store only ever becomes a text node.

export const $ = (id) => document.getElementById(id);

export function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made && typeof value !== "string") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// Control characters, those that turn the direction of text, and lone surrogates, which stand for bytes that are no UTF-8.
const ODD = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]|\p{Cs}/gu;

function label(character) {
  const code = character.codePointAt(0);
  if (code >= 0xdc80 && code <= 0xdcff) return "\\x" + (code - 0xdc00).toString(16);
  if (code === 13) return "\\r";
  return code < 256 ? "\\x" + code.toString(16).padStart(2, "0") : "\\u" + code.toString(16).padStart(4, "0");
}

// A text as it is, with what cannot be seen made visible.
export function visible(text) {
  const parts = document.createDocumentFragment();
  let at = 0;
  for (const match of text.matchAll(ODD)) {
    if (match[0] === "\r" && text[match.index + 1] === "\n") continue;
    parts.append(
      text.slice(at, match.index),
      el("span", { class: "odd", title: "a character that cannot be shown" }, label(match[0])),
    );
    at = match.index + match[0].length;
  }
  parts.append(text.slice(at));
  return parts;
}

const STEPS = [
  [1e9, " G"],
  [1e6, " M"],
  [1e3, " k"],
];

export function count(number) {
  for (const [size, name] of STEPS)
    if (Math.abs(number) >= size) return (number / size).toFixed(Math.abs(number) < 10 * size ? 2 : 1) + name;
  return String(Math.round(number));
}

export const bytes = (number) => (number < 1000 ? `${number} B` : `${count(number)}B`);
export const percent = (share) => `${(100 * share).toFixed(1)} %`;
export const when = (seconds) =>
  el("time", { datetime: new Date(seconds * 1000).toISOString() }, new Date(seconds * 1000).toLocaleString());

export function table(names, rows) {
  return el(
    "div",
    { class: "scroll", tabindex: "0" },
    el(
      "table",
      {},
      el("thead", {}, el("tr", {}, ...names.map((name) => el("th", { scope: "col" }, name)))),
      el(
        "tbody",
        {},
        ...rows.map((row) =>
          el("tr", {}, ...row.map((cell) => (cell instanceof Node && cell.nodeName === "TD" ? cell : el("td", {}, cell)))),
        ),
      ),
    ),
  );
}

export function notice(text) {
  $("notice").textContent = text;
  $("notice").hidden = !text;
}
