// Elements and texts. What comes from a store only ever becomes a text node.

import { address } from "./routes.js";

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

// A link to a place of this page. It is one, so that it can be opened in another tab, too.
export const link = (text, state, go, more = {}) =>
  el(
    "a",
    {
      href: address(state),
      onclick: (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
        event.preventDefault();
        go(state);
      },
      ...more,
    },
    typeof text === "string" ? visible(text) : text,
  );

// Puts a text on the clipboard; the button says for a moment that it did.
export function copier(label, text) {
  const button = el("button", { type: "button", class: "quiet" }, label);
  button.onclick = async () => {
    let word = "Copied";
    try {
      await navigator.clipboard.writeText(text());
    } catch {
      word = "The browser forbids it";
    }
    button.textContent = word;
    setTimeout(() => (button.textContent = label), 1500);
  };
  return button;
}

// Control characters, those that turn the direction of text or take no room, and lone surrogates, which stand for bytes that are no UTF-8.
const ODD =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Cs}/gu;

function label(character) {
  const code = character.codePointAt(0);
  if (code >= 0xdc80 && code <= 0xdcff) return "\\x" + (code - 0xdc00).toString(16);
  if (code === 13) return "\\r";
  if (code > 0xffff) return `\\u{${code.toString(16)}}`;
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

// The same where only plain text can stand.
export const plain = (text) => visible(text).textContent;

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
export const percent = (share) => (share === null || share === undefined ? "–" : `${(100 * share).toFixed(1)} %`);

const two = (number) => String(number).padStart(2, "0");

// Hours, minutes and seconds of a Date, as this machine has them.
export const clock = (date) => `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;

// A time: of today without the day; whole, with the zone, where one points at it.
export function when(seconds) {
  const date = new Date(seconds * 1000);
  const day = date.toDateString() === new Date().toDateString() ? "" : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} `;
  return el("time", { datetime: date.toISOString(), title: String(date) }, day + clock(date));
}

const row = (cells) =>
  el(
    "tr",
    {},
    ...cells.map((cell, place) =>
      cell instanceof Node && cell.nodeName === "TD"
        ? cell
        : place
          ? el("td", {}, cell)
          : el("th", { scope: "row" }, typeof cell === "string" ? visible(cell) : cell),
    ),
  );

// A table that scrolls by itself, by the keyboard too. name: what a screen reader calls it.
export function table(names, rows, name) {
  const made = el(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": `Table: ${name}` },
    el(
      "table",
      {},
      el("caption", { class: "unseen" }, name),
      el("thead", {}, el("tr", {}, ...names.map((one) => el("th", { scope: "col" }, one)))),
      el("tbody"),
    ),
  );
  fill(made, rows);
  return made;
}

// Other rows in a table of ours; the table itself stays, with its focus and its place.
export const fill = (made, rows) => made.querySelector("tbody").replaceChildren(...rows.map(row));

// What is wrong, until it is not. kind: of what is said; another kind's word stays.
const said = new Map();
export function notice(text, kind = "asked") {
  if (text) said.set(kind, text);
  else if (!said.delete(kind)) return;
  const all = [...said.values()].join(" · ");
  if ($("notice").textContent !== all) $("notice").textContent = all;
  $("notice").hidden = !all;
}
