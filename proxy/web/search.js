// The search box: hits under the address that fetch takes, and what became of each layer.

import { $, el, table, visible } from "./dom.js";
import { attempt, post } from "./api.js";

let round = 0;

const hit = (one, open) =>
  el(
    "li",
    { class: "hit" },
    el("button", { type: "button", class: "command", onclick: () => open(one.ref, one.address) }, `${one.ref} ${one.address}`),
    el("span", { class: "facts" }, `${one.tool} · ${one.signals.join(" ")} · score ${one.score}`),
    el("pre", { class: "excerpt" }, visible(one.excerpt)),
  );

export async function ask(scope, session, open) {
  const mine = ++round;
  const fields = Object.fromEntries(new FormData($("ask")));
  const began = performance.now();
  $("found").replaceChildren("Searching…");
  const found = await attempt(() => post("search", { ...fields, scope, session, timebox_ms: Number(fields.timebox_ms) || 1000 }));
  if (mine !== round) return;
  if (!found) return $("found").replaceChildren();
  const took = Math.round(performance.now() - began);
  const covered = found.uncovered.length ? ` · nowhere: ${found.uncovered.join(" ")}` : "";
  $("found").replaceChildren(
    el(
      "p",
      { class: "note" },
      `${found.hits.length} hits · ${found.searched} of ${found.outputs} outputs searched · ${took} ms with the way here${covered}`,
    ),
    el("ol", { class: "hits", id: "hits" }, ...found.hits.map((one) => hit(one, open))),
    el("h3", {}, "Layers of this search"),
    table(
      ["layer", "status", "hits", "looked at", "note"],
      found.layers.map((one) => [one.name, one.status, String(one.hits), `${Math.floor(one.coverage / 100)} %`, one.note]),
    ),
  );
}
