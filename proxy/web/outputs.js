// The list of outputs, newest first, a page at a time.

import { $, bytes, el, when } from "./dom.js";
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
    el("span", { class: "command" }, output.command || output.tool),
    el("span", {}, bytes(output.size)),
    el(
      "span",
      { class: "facts" },
      `${output.tool} · ${output.shape}`,
      failed ? el("span", { class: "failed" }, outcome) : null,
      ` · ${output.ref} · `,
      when(output.captured),
    ),
  );
  return el("li", {}, button);
}

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
  $("empty").hidden = page.outputs.length > 0;
  if (!performance.getEntriesByName("listed").length) performance.mark("listed");
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

// What came since, above what stands there already.
export async function refresh(scope, session, open) {
  const mine = round;
  const page = await get("outputs", { scope, session });
  if (mine !== round) return;
  const fresh = page.outputs.filter((output) => shown.get(output.ref) !== output.captured);
  if (!fresh.length) return;
  for (const output of fresh)
    if (shown.has(output.ref)) $("list").querySelector(`[data-ref="${output.ref}"]`)?.parentNode.remove();
  for (const output of fresh) shown.set(output.ref, output.captured);
  $("list").prepend(...fresh.map((output) => entry(output, open)));
  $("empty").hidden = true;
  mark(chosen);
}
