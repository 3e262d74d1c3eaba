// One output: what it is, the views that were given of it, and the exact bytes behind each gap, in place.

import { $, bytes, copier, el, link, percent, plain, visible, when } from "./dom.js";
import { attempt, get, post } from "./api.js";
import { why } from "./why.js";

const GONE = ["unknown", "expired", "evicted"];
const encoder = new TextEncoder();
let number = 0;
let asked = 0;
let open = null; // { scope, ref, boxes, raw }: what stands there

// A box with exact bytes that goes on page by page. close: what it is closed with.
function box(scope, ref, at, part, close) {
  const text = el("pre", { class: "bytes", tabindex: "0", role: "region", "aria-label": `Bytes of ${at || part || "all"}` });
  const said = el("span", { role: "status" }, "fetching…");
  const more = el("button", { type: "button", hidden: true }, "More");
  const coded = el("button", { type: "button", hidden: true }, "As base64");
  const node = el(
    "section",
    { class: "raw", id: `raw-${++number}`, "aria-label": `Exact bytes of ${at || part || "all"}` },
    el("div", { class: "bar" }, said, coded, more, el("button", { type: "button", class: "close", onclick: close }, "Close")),
    text,
  );
  let cursor = null;
  let held = 0;
  async function load(encoding) {
    let page;
    try {
      page = await post("fetch", { scope, ref, at, part, cursor, encoding });
    } catch (fault) {
      said.textContent = fault.message;
      more.textContent = "Try again";
      more.hidden = Boolean(fault.reason); // what the store refuses is refused again
      more.onclick = () => load(encoding);
      if (GONE.includes(fault.reason)) gone(ref, fault);
      return;
    }
    more.textContent = "More";
    held += page.size;
    cursor = page.cursor;
    if (encoding && held === page.size) text.replaceChildren();
    text.append(visible(page.text));
    const size = page.total ? `${held} of ${page.total} bytes` : `${held} bytes`;
    said.textContent = [at, size, page.note].filter(Boolean).join(" · ");
    more.hidden = !cursor;
    coded.hidden = !page.binary || Boolean(encoding);
    more.onclick = () => load(encoding);
  }
  coded.onclick = () => {
    cursor = null;
    held = 0;
    load("base64");
  };
  return { node, load: () => load(null) };
}

const name = (part, at) => `${part || ""} ${at || ""}`;

function gap(piece) {
  const button = el(
    "button",
    { type: "button", class: "gap", "aria-expanded": "false", title: `${piece.count} ${piece.unit} left out` },
    visible(piece.text),
  );
  button.onclick = () => (button.getAttribute("aria-expanded") === "true" ? open.close(piece.part, piece.at) : open.go({ part: piece.part, at: piece.at }));
  open.gaps.set(name(piece.part, piece.at), button);
  return button;
}

// Opens the bytes at an address, of a part or of all: behind their gap, where the view has one, else on top.
function reveal(part, at) {
  const key = name(part, at);
  if (open.boxes.has(key)) return undefined;
  const button = open.gaps.get(key);
  const made = box(open.scope, open.ref, at, part, () => open.close(part, at));
  open.boxes.set(key, made.node);
  if (button) {
    button.setAttribute("aria-expanded", "true");
    button.setAttribute("aria-controls", made.node.id);
    button.after(made.node);
  } else open.extra.prepend(made.node);
  return made.load();
}

function shut(part, at) {
  const key = name(part, at);
  const node = open.boxes.get(key);
  if (!node) return;
  const inside = node.contains(document.activeElement);
  node.remove();
  open.boxes.delete(key);
  const button = open.gaps.get(key);
  button?.setAttribute("aria-expanded", "false");
  if (inside || document.activeElement === document.body) (button?.isConnected ? button : $("detail")).focus();
}

// Follows the address: what it names stands open, what it named before does not.
export async function follow(state, before) {
  if (!open || open.ref !== state.ref) return;
  open.at = state;
  if (before && before.ref === state.ref && (before.at || before.part) && name(before.part, before.at) !== name(state.part, state.at))
    shut(before.part, before.at);
  if (state.at || state.part) await reveal(state.part, state.at);
}

function view(call, parts, total) {
  open.gaps.clear();
  if (!call.passed) {
    const size = call.pieces.reduce((sum, piece) => sum + encoder.encode(piece.text).length, 0);
    const gaps = call.pieces.filter((piece) => piece.at).length;
    const pieces = call.pieces.map((piece) =>
      piece.at ? gap(piece) : piece.mark ? el("span", { class: "mark" }, visible(piece.text)) : visible(piece.text),
    );
    return el(
      "div",
      {},
      el("p", { class: "note" }, `Shown: ${bytes(size)} of ${bytes(total)} (${percent(total ? size / total : 1)}), ${gaps} ${gaps === 1 ? "gap" : "gaps"} `, ...why("view_size")),
      el("div", { class: "view" }, ...pieces),
    );
  }
  const boxes = parts
    .filter((part) => part.size && !part.derived)
    .map((part) => {
      const made = box(open.scope, open.ref, null, part.name, () => made.node.remove());
      made.load();
      return made.node;
    });
  return el("div", {}, el("p", { class: "note" }, boxes.length ? "It was shown whole." : "It holds no bytes."), ...boxes);
}

export function close() {
  asked += 1;
  open = null;
  $("detail").hidden = true;
  document.body.classList.remove("opened");
}

export const shows = (ref) => open?.ref === ref && !$("detail").hidden;

// Says that what is open is stored no more. What was read stays to be read.
function gone(ref, fault) {
  if (!shows(ref)) return;
  const text = `This output is not stored any more: ${fault.message}. What stands here was read before.`;
  if ($("gone").textContent !== text) $("gone").textContent = text;
  $("gone").hidden = false;
  for (const one of $("detail").querySelectorAll(".gap:not([aria-expanded='true']), .part")) one.disabled = true;
  open.lost(ref);
}

// Looks whether what is open is still stored.
export async function check() {
  if (!open) return;
  const { scope, ref } = open;
  try {
    await get("held", { scope, ref });
  } catch (fault) {
    if (GONE.includes(fault.reason)) gone(ref, fault);
    else throw fault;
  }
}

async function download(part) {
  const { scope, ref } = open;
  try {
    const { url } = await post("ticket", { scope, ref, part });
    el("a", { href: url, download: "" }).click();
  } catch (fault) {
    if (GONE.includes(fault.reason)) gone(ref, fault);
    throw fault;
  }
}

// Shows the output that the address names. go: changes the address; leave: closes the output; lost: what is done where it is there no more.
export async function show(state, go, leave, lost) {
  const mine = ++asked;
  const { project: scope, ref } = state;
  const found = await attempt(async () => {
    try {
      return await get("output", { scope, ref });
    } catch (fault) {
      if (GONE.includes(fault.reason)) lost(ref);
      throw fault;
    }
  });
  if (!found || mine !== asked) return false;
  open = { scope, ref, go, lost, boxes: new Map(), gaps: new Map(), extra: el("div", {}) };
  open.close = (part, at) => (name(part, at) === name(open.at.part, open.at.at) ? go({ part: "", at: "" }) : shut(part, at));
  const below = el("div", {});
  const draw = (call) => {
    open.boxes.clear();
    open.extra.replaceChildren();
    below.replaceChildren(view(call, found.parts, found.size));
  };
  const label = (call, place) =>
    `${found.calls - place} of ${found.calls}: ${plain(call.session)}${call.passed ? ", whole" : ""}`;
  const calls = el(
    "select",
    { "aria-label": "Which call", onchange: () => draw(found.views[calls.selectedIndex]) },
    ...found.views.map((call, place) => el("option", {}, label(call, place))),
  );
  const failed = found.is_error || Boolean(found.exit_code);
  const outcome = found.is_error ? "error" : found.exit_code === null ? "" : `exit ${found.exit_code}`;
  const others = (fields) => ({ ...state, tab: "outputs", session: "", tool: "", shape: "", day: "", failed: "", ref: "", part: "", at: "", ...fields });
  $("detail").replaceChildren(
    el(
      "div",
      { class: "bar" },
      el("h2", {}, visible(found.command || found.tool)),
      el("button", { type: "button", class: "close", onclick: leave }, "Close (Esc)"),
    ),
    el("p", { id: "gone", role: "alert", hidden: true }),
    el(
      "p",
      { class: "facts" },
      el("code", {}, ref),
      " ",
      copier("Copy ref", () => ref),
      " ",
      copier("Copy link", () => location.href),
      el("br", {}),
      link(found.tool, others({ tool: found.tool }), go),
      " · ",
      link(found.shape, others({ shape: found.shape }), go),
      outcome ? " · " : "",
      el("span", { class: failed ? "failed" : "" }, outcome),
      ` · ${bytes(found.size)} · `,
      when(found.captured),
    ),
    el(
      "details",
      {},
      el("summary", {}, "Call"),
      el("pre", { class: "excerpt", tabindex: "0", role: "region", "aria-label": "Arguments" }, visible(found.arguments)),
      el("p", { class: "note" }, visible(found.signature)),
    ),
    el(
      "div",
      { class: "bar" },
      found.views.length ? el("label", {}, "View ", calls) : el("span", { class: "note" }, "No view of it is held any more."),
      ...found.parts
        .filter((part) => part.size)
        .map((part) =>
          el(
            "span",
            { class: "pair" },
            el("button", { type: "button", class: "part", onclick: () => go({ part: part.name, at: "" }) }, visible(`${part.name}: all ${bytes(part.size)}${part.derived ? " (derived)" : ""}`)),
            el("button", { type: "button", class: "part", "aria-label": plain(`Download ${part.name}`), onclick: () => attempt(() => download(part.name)) }, "Download"),
          ),
        ),
    ),
    open.extra,
    below,
  );
  open.at = state;
  if (found.views.length) draw(found.views[0]);
  $("detail").hidden = false;
  document.body.classList.add("opened");
  $("detail").scrollTop = 0;
  $("detail").focus({ preventScroll: true });
  if (matchMedia("(max-width: 59.99rem)").matches) $("detail").scrollIntoView();
  return true;
}
