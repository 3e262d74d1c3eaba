// What stands where, what is asked when, and keys.

import { $, count, bytes, el, notice, table } from "./dom.js";
import { attempt, enter, get } from "./api.js";
import * as outputs from "./outputs.js";
import * as detail from "./detail.js";
import * as savings from "./savings.js";
import { ask } from "./search.js";

const LIVE = 3000; // milliseconds between two looks at what came
const TABS = ["outputs", "savings", "search", "layers"];
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
  if (tab === "savings") savings.charts(true);
}

const turn = () => theme(THEMES[(THEMES.indexOf(localStorage.getItem("theme") || "system") + 1) % THEMES.length]);

// what is chosen

function fill(select, rows, chosen) {
  select.replaceChildren(...rows.map(([value, name]) => el("option", { value }, name)));
  if (rows.some(([value]) => value === chosen)) select.value = chosen;
}

const folder = (name) => name.replace(/^\d+:/, "");

async function overview() {
  const found = await get("overview");
  scopes = found.scopes;
  fill(
    $("scope"),
    scopes.map((one) => [one.name, folder(one.name)]),
    scope(),
  );
  sessions();
  const { store } = found;
  $("scope").title = `${count(store.outputs)} outputs, ${bytes(store.bytes_held)} of ${bytes(store.max_bytes)} in the store`;
}

function sessions() {
  const held = scopes.find((one) => one.name === scope());
  fill(
    $("session"),
    [["", "all"], ...(held ? held.sessions : []).map((one) => [one.name, one.closed ? `${one.name} (closed)` : one.name])],
    session(),
  );
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
  if (name === "savings") attempt(() => savings.totals().then(() => savings.charts()));
  if (name === "layers") layers();
  if (name === "search") $("query").focus();
}

async function layers() {
  if (!scope()) return;
  $("layer-rows").replaceChildren("Looking…");
  const found = await attempt(() => get("layers", { scope: scope() }));
  if (!found) return;
  const cell = (one) =>
    el(
      "td",
      {},
      el("meter", { min: "0", max: "10000", value: String(one.coverage), "aria-label": `coverage of ${one.name}` }),
      ` ${Math.floor(one.coverage / 100)} %`,
    );
  $("layer-rows").replaceChildren(
    table(
      ["layer", "coverage", "ms", "role", "origin", "granularity", "query"],
      found.layers.map((one) => [
        `${one.name} ${one.version}`,
        cell(one),
        String(one.latency_ms),
        one.role,
        one.origin,
        one.granularity,
        one.accepts,
      ]),
    ),
    ...found.layers.filter((one) => one.missing).map((one) => el("p", { class: "note" }, `without ${one.name}: ${one.missing}`)),
  );
}

// an output

async function open(ref, at = null) {
  from = document.activeElement;
  if (await detail.show(scope(), ref, leave, at)) outputs.mark(ref);
}

function leave(back = true) {
  if ($("detail").hidden) return;
  detail.close();
  outputs.mark("");
  if (back !== false) (from && from.isConnected ? from : $("main")).focus();
}

const reload = () => {
  leave(false);
  return scope() ? outputs.reload(scope(), session(), open) : undefined;
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
  if (target.getAttribute("role") === "tab" && (key === "ArrowRight" || key === "ArrowLeft")) {
    const beside = TABS[(TABS.indexOf(tab) + (key === "ArrowRight" ? 1 : TABS.length - 1)) % TABS.length];
    choose(beside);
    $(`tab-${beside}`).focus();
    return event.preventDefault();
  }
  const inside = target.closest(".bytes"); // there arrows scroll
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

async function live() {
  if (!document.hidden) {
    try {
      if (tab === "outputs" && scope()) await outputs.refresh(scope(), session(), open);
      else if (!scope()) await overview().then(reload);
      notice("");
    } catch (fault) {
      notice(fault.message);
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
      $("unit").textContent = fault.message;
    }
  }
  setTimeout(counting, 2 * LIVE);
}

$("theme").onclick = turn;
$("scope").onchange = () => (sessions(), reload(), tab === "layers" && layers());
$("session").onchange = reload;
$("older").onclick = () => outputs.older(scope(), session(), open);
$("days").onchange = () => attempt(() => savings.totals().then(() => savings.charts()));
$("ask").onsubmit = (event) => {
  event.preventDefault();
  ask(scope(), session(), open);
};
for (const name of TABS) $(`tab-${name}`).onclick = () => choose(name);
document.addEventListener("keydown", keys);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => tab === "savings" && savings.charts(true));
theme(localStorage.getItem("theme") || "system");
attempt(async () => {
  await enter();
  await overview();
  await reload();
  setTimeout(live, LIVE);
  counting();
});
