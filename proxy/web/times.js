// Time over many searches: as the ledger holds them, and measured again, one query after another.

import { $, el, fill, plain, table } from "./dom.js";
import { attempt, get, post } from "./api.js";
import { many, told } from "./anytime.js";

const TIMEBOX = 1000; // milliseconds, the longest of a query that is measured again
let found = null;
let again = [];
let stop = null; // ends what is measured
let shown = null;

function parts() {
  if (shown) return shown;
  const chart = many();
  const said = el("p", { class: "note", id: "former" });
  const go = el("button", { type: "button", id: "again" }, "Measure the newest queries again");
  const state = el("span", { class: "note", role: "status" });
  const rows = table(
    ["layer", "searches", "half through by, ms", "nine of ten by, ms"],
    [],
    "When layers were through, recorded",
  );
  go.onclick = () => (stop ? stop.abort() : measure(go, state));
  $("many-searches").replaceChildren(
    said,
    el("p", { class: "bar" }, go, state),
    chart.figure,
    el("h2", {}, "When layers were through, recorded"),
    rows,
  );
  shown = { chart, said, go, state, rows };
  return shown;
}

const curves = () => again.map((one) => one.points.map((point) => [1000 * point.timebox_ms, point.share]));

export const redraw = () => (found ? parts().chart.update(found.curves, curves()) : undefined);

export function forget() {
  stop?.abort();
  found = null;
  again = [];
}

export async function look(scope) {
  if (!scope) return;
  const now = await attempt(() => get("times", { scope }));
  if (!now || scope !== $("scope").value) return;
  found = now;
  const { said, rows, go } = parts();
  const drawn = `${found.curves.length} of ${found.searches} searches by agents are drawn`;
  const left = [
    found.empty ? `${found.empty} found nothing` : "",
    found.untimed ? `${found.untimed} were made before times were kept` : "",
  ].filter(Boolean);
  said.textContent = found.searches
    ? [drawn, ...left].join(" · ")
    : "No search by an agent is in the ledger of this project. What is searched here is not put there.";
  go.hidden = !found.queries.length;
  fill(
    rows,
    found.layers.map((one) => [one.name, String(one.searches), String(told(one.median)), String(told(one.most))]),
  );
  await redraw();
}

async function measure(go, state) {
  const scope = $("scope").value;
  const mine = (stop = new AbortController());
  go.textContent = "Stop";
  again = [];
  let none = 0;
  try {
    for (const query of found.queries) {
      state.textContent = `${again.length + none + 1} of ${found.queries.length}: ${plain(query).slice(0, 60)}`;
      const one = await post("measure", { scope, query, timebox_ms: TIMEBOX }, mine.signal);
      if (one.best) again.push(one);
      else none += 1;
      if (!mine.signal.aborted) await redraw();
    }
    state.textContent = `${again.length} queries measured${none ? `, ${none} find nothing now` : ""}`;
  } catch (fault) {
    state.textContent = mine.signal.aborted ? `Stopped after ${again.length}` : fault.message;
  } finally {
    stop = null;
    go.textContent = "Measure the newest queries again";
  }
}
