// What a figure is and how it was counted, behind a button with a question mark. It opens by mouse and keyboard, and Esc closes it.

import { el } from "./dom.js";

const WHY = {
  raw: [
    "Raw",
    "Tokens of the outputs as the agent would have got them without byref: at most as much as its harness would have shown. Where the harness is not known, what exceeds 30,000 bytes does not count.",
  ],
  view: ["Shown", "Tokens of what the agent got instead: views with their head and gaps, and outputs that passed whole."],
  fetched: ["Fetched", "Tokens of what the agent asked for afterwards with fetch, in full."],
  repeated: [
    "Repeated",
    "Raw tokens of calls that were made again, with fewer than ten calls between and no fetch, to see lines that the view had hidden. Nothing of these was saved.",
  ],
  searched: ["Searches", "Tokens of the answers of searches, and of second calls that found nothing."],
  definitions: [
    "Definitions",
    "Tokens that the definitions of byref's own tools take in each session's requests.",
  ],
  net: [
    "Net saved",
    "Raw, less all that stands between it and the equals sign. Each token counts once, as it first enters a context; that it is read again on each following turn is in the money. The share is of raw. Tokens are estimated here, not a provider's count.",
  ],
  store: ["Store", "Outputs of all projects that are held, and the bytes that they take on disk, of the quota. Older than the age, or over the quota, they go; a miss then says so."],
  groups: [
    "Columns",
    "calls: outputs captured. raw, view, fetched, repeated, net: tokens, as in the line on top; here searches and definitions are not taken off, since they belong to no tool. saved: net as a share of raw. A name opens the outputs it stands for.",
  ],
  money: [
    "Money",
    "What net saved is worth at list prices: each token once as a cache write, and as a cache read on each following turn. Saved and bill are in input tokens of the model; dollars are at the list price of its day. The bill is what the provider said, where it was seen.",
  ],
  layers: [
    "Layers",
    "What a search asks, each by itself. coverage: share of the bytes held in this project that the layer has looked at or indexed. time: what a search in it usually takes, in milliseconds, as the layer states it. A layer without its model or library contributes nothing, and nothing wrong.",
  ],
  hits: [
    "Hits",
    "Best first. Below each: the tool that was called, and why it was found: exact (the text as it was typed), words, or the layers that named it: names and trigram by pieces of words, fuzzy by misspelt ones, static, dense and late by meaning. The score orders the hits of this one answer and means nothing beside it.",
  ],
  view_size: [
    "View",
    "Bytes of the text that the agent was shown for this call, of the bytes of the whole output. Each gap is a button that opens the exact bytes behind it.",
  ],
  through: ["When each layer was through", "From the start of this search until the layer had said all it had to say, on this machine, in milliseconds."],
  anytime: [
    "How the answer came to be",
    "How much of the final answer was there by when. Standing: of the best ten places, those that the layers through by then put among ten. Named: those that some layer had found. Looked at: share of what is held that some layer had read whole.",
  ],
  many: [
    "Many searches",
    "The same over the newest 500 searches of agents in the ledger: half of them lie below the line, a half of them in the shaded band. What a person searches here is not among them.",
  ],
};
let number = 0;

// The button and its text, to stand behind what they explain.
export function why(name) {
  const [title, text] = WHY[name];
  const id = `why-${name}-${++number}`;
  const note = el("div", { id, class: "explains", popover: "auto" }, el("strong", {}, title), el("p", {}, text), el("p", { class: "note" }, "More: docs/measuring.md and docs/dashboard.md"));
  const button = el("button", { type: "button", class: "why", popovertarget: id, "aria-label": `What is ${title}?` }, "?");
  note.addEventListener("beforetoggle", (event) => {
    if (event.newState !== "open") return;
    const at = button.getBoundingClientRect();
    note.style.left = `${Math.max(8, Math.min(at.left, document.body.getBoundingClientRect().right - 336))}px`;
    if (at.bottom > innerHeight - 180) note.style.bottom = `${innerHeight - at.top + 6}px`;
    else note.style.top = `${at.bottom + 6}px`;
  });
  note.addEventListener("toggle", (event) => {
    if (event.newState === "open") return;
    note.style.top = note.style.bottom = "";
  });
  return [button, note];
}

// Explains all that asks for it.
export function explain(root = document) {
  for (const place of root.querySelectorAll("[data-why]")) place.append(...why(place.dataset.why));
}

export const explaining = () => Boolean(document.querySelector(".explains:popover-open"));
