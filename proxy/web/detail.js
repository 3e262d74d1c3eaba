// One output: what it is, the views that were given of it, and the exact bytes behind each gap, in place.

import { $, bytes, el, plain, visible, when } from "./dom.js";
import { attempt, get, post } from "./api.js";

let number = 0;
let asked = 0;

// A box with exact bytes that goes on page by page. close: what brings the focus back.
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

function gap(scope, ref, piece) {
  const button = el(
    "button",
    { type: "button", class: "gap", "aria-expanded": "false", title: `${piece.count} ${piece.unit} left out` },
    visible(piece.text),
  );
  let open = null;
  const close = () => {
    open.remove();
    open = null;
    button.setAttribute("aria-expanded", "false");
    button.focus();
  };
  button.addEventListener("click", () => {
    if (open) return close();
    const made = box(scope, ref, piece.at, piece.part, close);
    open = made.node;
    button.setAttribute("aria-expanded", "true");
    button.setAttribute("aria-controls", open.id);
    button.after(open);
    return made.load();
  });
  return button;
}

function view(scope, ref, call, parts) {
  if (!call.passed) {
    const pieces = call.pieces.map((piece) =>
      piece.at ? gap(scope, ref, piece) : piece.mark ? el("span", { class: "mark" }, visible(piece.text)) : visible(piece.text),
    );
    return el("div", { class: "view" }, ...pieces);
  }
  const boxes = parts
    .filter((part) => part.size && !part.derived)
    .map((part) => {
      const made = box(scope, ref, null, part.name, () => made.node.remove());
      made.load();
      return made.node;
    });
  return el("div", {}, el("p", { class: "note" }, boxes.length ? "It was shown whole." : "It holds no bytes."), ...boxes);
}

export function close() {
  asked += 1;
  $("detail").hidden = true;
  document.body.classList.remove("opened");
}

// Shows an output; at: an address to open at once. leave: what closes it. lost: what is done where it is there no more.
export async function show(scope, ref, leave, lost, at = null) {
  const mine = ++asked;
  const found = await attempt(async () => {
    try {
      return await get("output", { scope, ref });
    } catch (fault) {
      if (["unknown", "expired", "evicted"].includes(fault.reason)) lost(ref);
      throw fault;
    }
  });
  if (!found || mine !== asked) return false;
  const below = el("div", {});
  const draw = (call) => below.replaceChildren(view(scope, ref, call, found.parts));
  const label = (call, place) =>
    `${found.calls - place} of ${found.calls}: ${plain(call.session)}${call.passed ? ", whole" : ""}`;
  const calls = el(
    "select",
    { "aria-label": "Which call", onchange: () => draw(found.views[calls.selectedIndex]) },
    ...found.views.map((call, place) => el("option", {}, label(call, place))),
  );
  const extra = el("div", {});
  const raw = (address, part) => {
    const made = box(scope, ref, address, part, () => {
      made.node.remove();
      $("detail").focus();
    });
    extra.prepend(made.node);
    return made.load();
  };
  const outcome = found.is_error ? "error" : found.exit_code === null ? "" : `exit ${found.exit_code}`;
  $("detail").replaceChildren(
    el(
      "div",
      { class: "bar" },
      el("h2", {}, visible(found.command || found.tool)),
      el("button", { type: "button", class: "close", onclick: leave }, "Close (Esc)"),
    ),
    el(
      "p",
      { class: "facts" },
      visible([ref, found.tool, found.shape, outcome, bytes(found.size)].filter(Boolean).join(" · ")),
      " · ",
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
            "button",
            { type: "button", onclick: () => raw(null, part.name) },
            visible(`${part.name}: all ${bytes(part.size)}${part.derived ? " (derived)" : ""}`),
          ),
        ),
    ),
    extra,
    below,
  );
  if (found.views.length) draw(found.views[0]);
  $("detail").hidden = false;
  document.body.classList.add("opened");
  $("detail").scrollTop = 0;
  $("detail").focus({ preventScroll: true });
  if (matchMedia("(max-width: 59.99rem)").matches) $("detail").scrollIntoView();
  if (at) raw(at, null);
  return true;
}
