// The list of outputs, newest first, a page at a time, of those that are wanted.

import { $, bytes, el, visible, when } from "./dom.js";
import { attempt, get } from "./api.js";

const shown = new Map(); // captured, by ref, of what stands in the list
let next = null;
let chosen = "";
let round = 0; // answers for what is no longer chosen are dropped
let wanted = {};

// What the daemon is asked for, of what the address says.
export const filters = (state) => ({
  scope: state.project,
  session: state.session,
  tool: state.tool,
  shape: state.shape,
  day: state.day,
  failed: state.failed,
});

function entry(output, open) {
  const failed = output.is_error || (output.exit_code !== null && output.exit_code !== 0);
  const outcome = output.is_error ? "error" : failed ? `exit ${output.exit_code}` : "";
  const button = el(
    "button",
    { type: "button", "data-ref": output.ref, onclick: () => open(output.ref) },
    el("span", { class: "at" }, when(output.captured)),
    el("span", { class: "command" }, visible(output.command || output.tool)),
    el("span", { class: "failed" }, outcome),
    el("span", { class: "kind" }, visible(`${output.tool} · ${output.shape}`)),
    el("span", { class: "size" }, bytes(output.size)),
    el("span", { class: "ref" }, output.ref),
  );
  return el("li", {}, button);
}

const row = (ref) => $("list").querySelector(`[data-ref="${ref}"]`)?.parentNode;
const focused = () => document.activeElement?.closest("#list button")?.dataset.ref;

export const button = (ref) => row(ref)?.firstChild;

export function mark(ref) {
  chosen = ref;
  for (const one of $("list").querySelectorAll("button")) one.setAttribute("aria-current", String(one.dataset.ref === ref));
}

function told(page) {
  next = page.next;
  $("older").hidden = !next;
  $("back").replaceChildren();
  if (page.back !== null) $("back").append("Looked back to ", when(page.back), "; there may be older ones.");
  empty();
}

export async function reload(given, open) {
  const mine = ++round;
  wanted = given;
  const page = await attempt(() => get("outputs", given));
  if (!page || mine !== round) return;
  shown.clear();
  $("list").replaceChildren(...page.outputs.map((output) => (shown.set(output.ref, output.captured), entry(output, open))));
  mark(chosen);
  told(page);
  if (!performance.getEntriesByName("listed").length) performance.mark("listed");
}

export function empty() {
  const none = !$("list").childElementCount;
  $("empty").hidden = !none;
  const narrowed = ["session", "tool", "shape", "day", "failed"].some((name) => wanted[name]);
  $("empty").textContent = narrowed ? "No output is of this kind." : "Nothing is stored here yet. What an agent's tools return through byref comes here by itself.";
}

export async function older(open) {
  const mine = round;
  const page = await attempt(() => get("outputs", { ...wanted, before: next }));
  if (!page || mine !== round) return;
  const fresh = page.outputs.filter((output) => !shown.has(output.ref));
  const rows = fresh.map((output) => (shown.set(output.ref, output.captured), entry(output, open)));
  $("list").append(...rows);
  told(page);
  rows[0]?.firstChild.focus();
}

// An output that is there no more. The focus goes to the one beside it.
export function drop(ref) {
  const gone = row(ref);
  if (!gone) return;
  const beside = focused() === ref ? gone.nextElementSibling || gone.previousElementSibling : null;
  gone.remove();
  shown.delete(ref);
  beside?.firstChild.focus({ preventScroll: true });
  empty();
}

// What came since goes above what stands there already, what is gone goes; where one reads and what has the focus stay.
export async function refresh(open) {
  const mine = round;
  const page = await get("outputs", wanted);
  if (mine !== round) return;
  const fresh = page.outputs.filter((output) => shown.get(output.ref) !== output.captured);
  const held = new Set(page.outputs.map((output) => output.ref));
  const oldest = page.next ? (page.back ?? page.outputs.at(-1).captured) : -Infinity;
  const gone = [...shown].filter(([ref, captured]) => captured > oldest && !held.has(ref)).map(([ref]) => ref);
  if (!fresh.length && !gone.length) return;
  const at = focused();
  const moved = new Set([...fresh.map((output) => output.ref), ...gone]);
  const stays = [...$("list").children].filter((one) => !moved.has(one.firstChild.dataset.ref));
  const anchor = stays.find((one) => one === row(at)) || stays.find((one) => one.getBoundingClientRect().bottom > 0);
  const ref = anchor?.firstChild.dataset.ref;
  const before = anchor?.getBoundingClientRect().top;
  const reading = scrollY > $("list").offsetTop || at;
  gone.forEach(drop);
  for (const output of fresh) {
    row(output.ref)?.remove();
    shown.set(output.ref, output.captured);
  }
  $("list").prepend(...fresh.map((output) => entry(output, open)));
  empty();
  mark(chosen);
  if (at) row(at)?.firstChild.focus({ preventScroll: true });
  const now = reading && ref && row(ref)?.getBoundingClientRect().top;
  if (now) scrollBy(0, now - before);
}
