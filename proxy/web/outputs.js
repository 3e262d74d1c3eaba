// The list of outputs, newest first, a page at a time.

import { $, bytes, el, visible, when } from "./dom.js";
import { attempt, get } from "./api.js";

const shown = new Map(); // captured, by ref, of what stands in the list
let next = null;
let chosen = "";
let round = 0; // answers for what is no longer chosen are dropped

function entry(output, open) {
  const failed = output.is_error || (output.exit_code !== null && output.exit_code !== 0);
  const outcome = output.is_error ? " · error" : failed ? ` · exit ${output.exit_code}` : "";
  const button = el(
    "button",
    { type: "button", "data-ref": output.ref, onclick: () => open(output.ref) },
    el("span", { class: "command" }, visible(output.command || output.tool)),
    el("span", {}, bytes(output.size)),
    el(
      "span",
      { class: "facts" },
      visible(`${output.tool} · ${output.shape}`),
      failed ? el("span", { class: "failed" }, outcome) : null,
      ` · ${output.ref} · `,
      when(output.captured),
    ),
  );
  return el("li", {}, button);
}

const row = (ref) => $("list").querySelector(`[data-ref="${ref}"]`)?.parentNode;
const focused = () => document.activeElement?.closest("#list button")?.dataset.ref;

export function mark(ref) {
  chosen = ref;
  for (const button of $("list").querySelectorAll("button"))
    button.setAttribute("aria-current", String(button.dataset.ref === ref));
}

export async function reload(scope, session, open) {
  const mine = ++round;
  const page = await attempt(() => get("outputs", { scope, session }));
  if (!page || mine !== round) return;
  shown.clear();
  $("list").replaceChildren(...page.outputs.map((output) => (shown.set(output.ref, output.captured), entry(output, open))));
  next = page.next;
  $("older").hidden = !next;
  empty();
  if (!performance.getEntriesByName("listed").length) performance.mark("listed");
}

export function empty() {
  $("empty").hidden = $("list").childElementCount > 0;
}

export async function older(scope, session, open) {
  const mine = round;
  const page = await attempt(() => get("outputs", { scope, session, before: next }));
  if (!page || mine !== round) return;
  const fresh = page.outputs.filter((output) => !shown.has(output.ref));
  const rows = fresh.map((output) => (shown.set(output.ref, output.captured), entry(output, open)));
  $("list").append(...rows);
  next = page.next;
  $("older").hidden = !next;
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
export async function refresh(scope, session, open) {
  const mine = round;
  const page = await get("outputs", { scope, session });
  if (mine !== round) return;
  const fresh = page.outputs.filter((output) => shown.get(output.ref) !== output.captured);
  const held = new Set(page.outputs.map((output) => output.ref));
  const oldest = page.next ? page.outputs.at(-1).captured : -Infinity;
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
