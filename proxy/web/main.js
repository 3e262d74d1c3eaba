// What stands where, what is asked when, and keys.

import { $, count, bytes, el, fill as refill, notice, plain, table, visible } from "./dom.js";
import { attempt, enter, get } from "./api.js";
import * as outputs from "./outputs.js";
import * as detail from "./detail.js";
import * as savings from "./savings.js";
import * as search from "./search.js";
import * as times from "./times.js";

const LIVE = 3000; // milliseconds between two looks at what came
const ROUNDS = 3; // looks at outputs between two at projects and sessions
const TABS = ["outputs", "savings", "search", "layers", "time"];
const THEMES = ["system", "light", "dark"];
let tab = "outputs";
let scopes = [];
let from = null; // what the focus returns to

const scope = () => $("scope").value;
const session = () => $("session").value;

// theme

function theme(name) {
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  localStorage.setItem("theme", name);
  $("theme").textContent = `Theme: ${name}`;
  redraw();
}

// Charts have the colours of the theme in which they were drawn.
function redraw() {
  if (tab === "savings") savings.charts(true);
  if (tab === "search") search.redraw();
  if (tab === "time") times.redraw();
}

const turn = () => theme(THEMES[(THEMES.indexOf(localStorage.getItem("theme") || "system") + 1) % THEMES.length]);

// what is chosen

// Other options in a select, where they are others: one that is open stays so. Whether what was chosen is still there.
function fill(select, rows) {
  const chosen = select.value;
  const now = JSON.stringify(rows);
  if (select.dataset.rows !== now) {
    select.replaceChildren(...rows.map(([value, name]) => el("option", { value }, plain(name))));
    select.dataset.rows = now;
    if (rows.some(([value]) => value === chosen)) select.value = chosen;
  }
  return select.value === chosen;
}

const folder = (name) => name.replace(/^\d+:/, "");

// Whether what is chosen is as it was.
async function overview() {
  const found = await get("overview");
  scopes = found.scopes;
  const rows = scopes.map((one) => [one.name, folder(one.name)]);
  rows.sort((one, other) => one[1].localeCompare(other[1]));
  const first = !scope() && scopes[0]?.name; // the newest
  let same = fill($("scope"), rows.length ? rows : [["", "none yet"]]);
  if (first) $("scope").value = first;
  same = sessions() && same && !first;
  search.offer(found);
  const { store } = found;
  $("scope").title = `${count(store.outputs)} outputs, ${bytes(store.bytes_held)} of ${bytes(store.max_bytes)} in the store`;
  return same;
}

function sessions() {
  const held = scopes.find((one) => one.name === scope());
  return fill($("session"), [
    ["", "all"],
    ...(held ? held.sessions : []).map((one) => [one.name, one.closed ? `${one.name} (closed)` : one.name]),
  ]);
}

// panels

function choose(name) {
  tab = name;
  for (const one of TABS) {
    $(one).hidden = one !== name;
    $(`tab-${one}`).setAttribute("aria-selected", String(one === name));
    $(`tab-${one}`).tabIndex = one === name ? 0 : -1;
  }
  leave(false);
  if (name === "savings") figures();
  if (name === "layers") layers();
  if (name === "time") times.look(scope());
  if (name === "search") {
    redraw();
    $("query").focus();
  }
}

const figures = () => attempt(() => savings.totals().then(() => savings.charts()));

let rows = null; // of the layers, in a table that stays

async function layers() {
  const of = scope();
  if (!of) return;
  const found = await attempt(() => get("layers", { scope: of }, 120000));
  if (!found || of !== scope()) return;
  const cell = (one) =>
    el(
      "td",
      {},
      el("meter", { min: "0", max: "10000", value: String(one.coverage), "aria-label": `coverage of ${one.name}` }),
      ` ${Math.floor(one.coverage / 100)} %`,
    );
  if (!rows) {
    rows = table(["layer", "coverage", "ms", "role", "origin", "granularity", "query"], [], "Layers");
    $("layer-rows").replaceChildren(rows, el("div", { id: "lacking" }));
  }
  refill(
    rows,
    found.layers.map((one) => [
      `${one.name} ${one.version}`,
      cell(one),
      String(one.latency_ms),
      one.role,
      one.origin,
      one.granularity,
      one.accepts,
    ]),
  );
  const lacking = found.layers.filter((one) => one.missing);
  $("lacking").replaceChildren(
    ...lacking.map((one) => el("p", { class: "note" }, visible(`without ${one.name}: ${one.missing}`))),
  );
}

// an output

async function open(ref, at = null) {
  from = document.activeElement;
  if (await detail.show(scope(), ref, leave, outputs.drop, at)) outputs.mark(ref);
}

function leave(back = true) {
  if ($("detail").hidden) return;
  detail.close();
  outputs.mark("");
  if (back !== false) (from && from.isConnected ? from : $("main")).focus();
}

const reload = () => {
  leave(false);
  return scope() ? outputs.reload(scope(), session(), open) : outputs.empty();
};

// keys

function steps() {
  if ($("detail").contains(document.activeElement)) return [...$("detail").querySelectorAll(".gap")];
  if (tab === "search") return [...document.querySelectorAll("#hits button")];
  return tab === "outputs" ? [...$("list").querySelectorAll("button")] : [];
}

function step(by) {
  const every = steps();
  if (!every.length) return false;
  const at = every.indexOf(document.activeElement);
  const beside = at >= 0 ? at + by : by > 0 ? 0 : every.length - 1;
  every[Math.max(0, Math.min(every.length - 1, beside))].focus();
  return true;
}

function escape() {
  const box =
    document.activeElement.closest(".raw") ||
    (document.activeElement.matches(".gap[aria-expanded='true']") ? document.activeElement.nextElementSibling : null);
  if (box) box.querySelector(".close").click();
  else leave();
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { key, target } = event;
  if (key === "Escape") return escape();
  if (target.matches("select, input")) return;
  const at = TABS.indexOf(tab);
  const beside = { ArrowRight: TABS[at + 1] || TABS[0], ArrowLeft: TABS.at(at - 1), Home: TABS[0], End: TABS.at(-1) }[key];
  if (target.getAttribute("role") === "tab" && beside) {
    choose(beside);
    $(`tab-${beside}`).focus();
    return event.preventDefault();
  }
  const inside = target.closest(".bytes, .excerpt, .scroll"); // there arrows scroll
  const by = key === "j" || (key === "ArrowDown" && !inside) ? 1 : key === "k" || (key === "ArrowUp" && !inside) ? -1 : 0;
  if (by && step(by)) return event.preventDefault();
  if (key === "/") choose("search");
  else if (key === "t") turn();
  else if (TABS[Number(key) - 1]) {
    choose(TABS[Number(key) - 1]);
    if (tab !== "search") $(`tab-${tab}`).focus();
  } else return;
  event.preventDefault();
}

// what goes on

let rounds = 0;

async function look() {
  if ((!scope() || rounds++ % ROUNDS === 0) && !(await overview())) await reload();
  if (tab === "outputs" && scope()) await outputs.refresh(scope(), session(), open);
  if (tab === "layers" && rounds % ROUNDS === 0) await layers();
}

async function live() {
  if (!document.hidden) {
    try {
      await look();
      notice("", "daemon");
    } catch (fault) {
      notice(fault.message, "daemon");
    }
  }
  setTimeout(live, LIVE);
}

async function counting() {
  if (!document.hidden) {
    try {
      await savings.totals();
      if (tab === "savings") await savings.charts();
    } catch (fault) {
      $("unit").textContent = fault.gone ? "These figures are older: the daemon does not answer." : fault.message;
    }
  }
  setTimeout(counting, 2 * LIVE);
}

$("theme").onclick = turn;
$("scope").onchange = () => {
  sessions();
  reload();
  times.forget();
  if (tab === "layers") layers();
  if (tab === "time") times.look(scope());
  if ($("whose").value === "here") figures();
};
$("session").onchange = reload;
$("older").onclick = () => outputs.older(scope(), session(), open);
$("days").onchange = $("whose").onchange = figures;
$("query").oninput = search.weigh;
$("ask").onsubmit = (event) => {
  event.preventDefault();
  search.ask(scope(), session(), open);
};
for (const name of TABS) $(`tab-${name}`).onclick = () => choose(name);
document.addEventListener("keydown", keys);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
theme(localStorage.getItem("theme") || "system");

const begin = () =>
  attempt(async () => {
    await enter();
    notice("", "daemon");
    await overview();
    await reload();
  });

addEventListener("hashchange", () => location.hash.length > 30 && begin()); // a new entry in the tab of a former one
begin().finally(() => {
  setTimeout(live, LIVE);
  counting();
});
