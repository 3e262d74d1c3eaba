// The search box: hits under the address that fetch takes, what became of each layer, and when.

import { $, el, fill, notice, plain, table, visible } from "./dom.js";
import { attempt, post } from "./api.js";
import { anytime, layers as timeline } from "./anytime.js";

const WORD = /[\p{L}\p{N}_./-]+/gu; // as the daemon reads words, roughly
let round = 0;
let last = null; // what the figures show
let answered = ""; // what the hits are of

// What the address says of a search, put into the form.
export function put(state) {
  if ($("query").value.trim() !== state.q) $("query").value = state.q;
  $("ask").elements.outcome.value = state.outcome;
  weigh();
}

const key = (scope, session) => JSON.stringify([scope, session, $("query").value.trim(), $("ask").elements.outcome.value]);

// Whether what the form asks for is answered below it.
export const fresh = (scope, session) => answered === key(scope, session);

// what can be chosen

const choices = (select, names) => select.replaceChildren(...names.map((name) => el("option", {}, name)));

export function offer({ layers, profiles, emphases }) {
  if ($("which").querySelector("input")) return;
  choices($("profile"), profiles);
  choices($("emphasis"), emphases);
  $("which").append(
    ...layers.map((name) =>
      el("label", {}, el("input", { type: "checkbox", name: "layers", value: name, checked: true }), ` ${name}`),
    ),
  );
}

function words(text) {
  if (/^\/.+\/i?$/.test(text.trim())) return []; // a pattern has no words
  const found = (text.match(WORD) || []).map((word) => word.replace(/^[._/-]+|[._/-]+$/g, ""));
  return [...new Set(found.filter(Boolean))];
}

// One number for each word of the query; those that stay keep theirs.
export function weigh() {
  const held = new Map([...$("weights").querySelectorAll("input")].map((input) => [input.dataset.word, input.value]));
  const wanted = words($("query").value);
  if (wanted.join(" ") === [...held.keys()].join(" ")) return;
  $("weights").replaceChildren(
    el("legend", {}, "Weight of each word (1 as it is, 0 as if not asked)"),
    ...wanted.map((word) =>
      el(
        "label",
        {},
        visible(word),
        " ",
        el("input", { type: "number", min: "0", max: "100", step: "any", value: held.get(word) || "1", "data-word": word }),
      ),
    ),
  );
  $("weights").hidden = !wanted.length;
}

function asked(scope, session) {
  const form = new FormData($("ask"));
  const boxes = [...$("which").querySelectorAll("input")];
  const chosen = form.getAll("layers");
  const weights = [...$("weights").querySelectorAll("input")].filter((input) => Number(input.value) !== 1);
  return {
    scope,
    session,
    query: form.get("query").trim(),
    outcome: form.get("outcome"),
    profile: form.get("profile"),
    emphasis: form.get("emphasis"),
    timebox_ms: Number(form.get("timebox_ms")) || 1000,
    layers: chosen.length < boxes.length ? chosen : null,
    weights: weights.length ? Object.fromEntries(weights.map((input) => [input.dataset.word, Number(input.value)])) : null,
  };
}

// what was found

const hit = (one, command, open) =>
  el(
    "li",
    { class: "hit" },
    el(
      "button",
      { type: "button", class: "command", "data-ref": one.ref, onclick: () => open(one.ref, one.address) },
      visible(command || one.tool),
    ),
    el(
      "span",
      { class: "facts", title: `score ${one.score}` },
      el("code", {}, visible(`${one.ref} ${one.address}`)),
      visible(` · ${one.tool} · found by ${one.signals.join(", ")}`),
    ),
    el("pre", { class: "excerpt", "data-of": plain(`${one.ref} ${one.address}`) }, visible(one.excerpt)),
  );

const COLUMNS = ["layer", "status", "hits", "looked at", "note"];
let shown = null;

// The parts below the hits, once; later searches fill them.
function parts() {
  if (shown) return shown;
  const when = timeline();
  const how = anytime();
  const which = table(COLUMNS, [], "Layers of this search");
  const measure = el("button", { type: "button", id: "measure" }, "Measure it in growing timeboxes");
  const state = el("span", { class: "note", role: "status" });
  measure.onclick = () => remeasure(how, state);
  $("story").append(
    when.figure,
    how.figure,
    el("p", { class: "bar" }, measure, state),
    el("h2", {}, "Layers of this search"),
    which,
  );
  shown = { when, how, which, state };
  return shown;
}

async function remeasure(how, state) {
  const mine = last;
  state.textContent = "Measuring…";
  const found = await attempt(() => post("measure", mine.fields));
  if (mine !== last) return;
  state.textContent = found ? `${found.points.length} timeboxes` : "";
  if (!found) return;
  last.measured = found;
  await how.update(mine.time, found);
}

export async function redraw() {
  if (!last) return;
  const { when, how } = parts();
  await Promise.all([when.update(last.time), how.update(last.time, last.measured)]);
}

export async function ask(scope, session, open) {
  const mine = ++round;
  if (!scope) return notice("Nothing is stored yet, so there is nothing to search.");
  const fields = asked(scope, session);
  if (!fields.query) return notice("Say what to look for: words, an exact text, or /regex/.");
  if (fields.layers && !fields.layers.length) return notice("Choose at least one layer.");
  $("told").textContent = "Searching…";
  const began = performance.now();
  const found = await attempt(() => post("search", fields));
  if (mine !== round) return undefined;
  if (!found) return ($("told").textContent = "");
  answered = key(scope, session);
  const took = Math.round(performance.now() - began);
  const covered = found.uncovered.length ? ` · nowhere: ${plain(found.uncovered.join(" "))}` : "";
  $("told").textContent =
    `${found.hits.length} hits · ${found.searched} of ${found.outputs} outputs searched${session ? ` in session ${plain(session)}` : ""} · ${took} ms with the way here${covered}`;
  $("what-hits").hidden = false;
  $("hits").replaceChildren(...found.hits.map((one) => hit(one, found.commands[one.ref], open)));
  for (const excerpt of $("hits").querySelectorAll(".excerpt"))
    // what scrolls can have the focus, and nothing else
    if (excerpt.scrollHeight > excerpt.clientHeight)
      for (const [name, value] of [
        ["tabindex", "0"],
        ["role", "region"],
        ["aria-label", `Excerpt of ${excerpt.dataset.of}`],
      ])
        excerpt.setAttribute(name, value);
  last = { fields, time: found.time, measured: null };
  const { which, state } = parts();
  state.textContent = "";
  fill(
    which,
    found.layers.map((one) => [one.name, one.status, String(one.hits), `${Math.floor(one.coverage / 100)} %`, one.note]),
  );
  $("story").hidden = false;
  $("search").classList.add("found");
  return redraw();
}
