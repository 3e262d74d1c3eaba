// What stands where, what is asked when, and keys. The address says what is shown; whatever a person chooses changes the address first.

import { $, count, bytes, el, fill as refill, notice, plain, table, visible } from "./dom.js";
import { attempt, code, enter, get } from "./api.js";
import * as outputs from "./outputs.js";
import * as detail from "./detail.js";
import * as savings from "./savings.js";
import * as search from "./search.js";
import * as times from "./times.js";
import { follow, now, refused } from "./live.js";
import { address, blank, read, TABS, write } from "./routes.js";
import { explain, explaining } from "./why.js";

const LAYERS = 5000; // milliseconds between two looks at layers that have not come to an end
const PROJECTS = 10000; // between two looks at projects and sessions
const TIMES = 15000; // between two looks at the times of searches
const THEMES = ["system", "light", "dark"];
let state = blank();
let scopes = [];
let from = null; // what the focus returns to
let version = ""; // of the daemon that gave this page

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
  if (state.tab === "savings") savings.charts(true);
  if (state.tab === "search") search.redraw();
  if (state.tab === "time") times.redraw();
}

const turn = () => theme(THEMES[(THEMES.indexOf(localStorage.getItem("theme") || "system") + 1) % THEMES.length]);

// what is chosen

// Other options in a select, where they are others: one that is open stays so. What is chosen and not among them is put there, too.
function fill(select, rows, chosen) {
  const every = rows.some(([value]) => value === chosen) ? rows : [...rows, [chosen, chosen]];
  const now = JSON.stringify(every);
  if (select.dataset.rows !== now) {
    select.replaceChildren(...every.map(([value, name]) => el("option", { value }, plain(name))));
    select.dataset.rows = now;
  }
  select.value = chosen;
}

const folder = (name) => name.replace(/^\d+:/, "");

function choices() {
  const rows = scopes.map((one) => [one.name, folder(one.name)]);
  rows.sort((one, other) => one[1].localeCompare(other[1]));
  fill($("scope"), rows.length || state.project ? rows : [["", "none yet"]], state.project);
  const held = scopes.find((one) => one.name === state.project);
  fill(
    $("session"),
    [["", "all"], ...(held ? held.sessions : []).map((one) => [one.name, one.closed ? `${one.name} (closed)` : one.name])],
    state.session,
  );
  const names = (kind) => [["", "any"], ...savings.names(kind).map((one) => [one, one])]; // of days the newest first
  fill($("tool"), names("tools"), state.tool);
  fill($("shape"), names("shapes"), state.shape);
  fill($("day"), names("days"), state.day);
  $("failed").checked = state.failed === "1";
  $("whose").value = state.of || "all";
  $("days").value = state.days || "0";
  $("clear").hidden = !["session", "tool", "shape", "day", "failed"].some((name) => state[name]);
}

// The projects and sessions there are. Without one in the address, the newest is shown.
async function overview() {
  const found = await get("overview");
  scopes = found.scopes;
  version ||= found.daemon.version;
  search.offer(found);
  const { store } = found;
  $("store").textContent = `${count(store.outputs)} outputs held, ${bytes(store.bytes_held)} of ${bytes(store.max_bytes)}`;
  if (!state.project && scopes[0]) {
    state = { ...state, project: scopes[0].name };
    write(state, true);
    return false;
  }
  choices();
  return true;
}

const home = (session) => scopes.find((one) => one.sessions.some((held) => held.name === session))?.name || state.project;

// what is shown

// Changes what is shown, with an entry in the history.
function go(fields) {
  if (!("ref" in fields) && "tab" in fields && fields.tab !== state.tab) fields = { ref: "", part: "", at: "", ...fields };
  const next = { ...state, ...fields };
  if (address(next) === address(state)) return undefined;
  write(next);
  return apply(next);
}

const differs = (one, other, ...names) => names.some((name) => one[name] !== other[name]);

// Shows what a state says. Only what differs from what stands there is asked for.
async function apply(next, all = false) {
  const before = state;
  state = next;
  choices();
  const tab = all || next.tab !== before.tab;
  const place = all || differs(next, before, "project", "session");
  if (tab) panel(next.tab);
  if (!next.ref) leave();
  if (place || differs(next, before, "tool", "shape", "day", "failed")) list();
  if (differs(next, before, "project")) times.forget();
  if (next.tab === "savings" && tab) figures();
  else if (all || differs(next, before, "days", "of") || (next.of === "here" && differs(next, before, "project"))) figures();
  if (next.tab === "layers" && (tab || place)) layers();
  if (next.tab === "time" && (tab || place)) times.look(next.project);
  if (next.tab === "search") {
    search.put(next);
    if (next.q && !search.fresh(next.project, next.session)) search.ask(next.project, next.session, open);
    else if (tab) redraw();
  }
  if (!next.ref) return;
  if (next.ref !== before.ref || next.project !== before.project || !detail.shows(next.ref)) {
    if (!(await detail.show(next, go, () => go({ ref: "", part: "", at: "" }), outputs.drop))) return;
    outputs.mark(next.ref);
    await detail.follow(next, null);
  } else await detail.follow(next, before);
}

function panel(name) {
  for (const one of TABS) {
    $(one).hidden = one !== name;
    $(`tab-${one}`).setAttribute("aria-selected", String(one === name));
    $(`tab-${one}`).tabIndex = one === name ? 0 : -1;
  }
}

function choose(name) {
  go({ tab: name });
  if (name === "search") $("query").focus();
}

const list = () => (state.project ? outputs.reload(outputs.filters(state), open) : outputs.empty());
const figures = () => attempt(() => savings.totals().then(() => (choices(), state.tab === "savings" ? savings.charts() : undefined)));

let rows = null; // of the layers, in a table that stays
let layering = 0;

async function layers() {
  clearTimeout(layering);
  const of = state.project;
  if (!of) return;
  const found = await attempt(() => get("layers", { scope: of }, 120000));
  if (!found || of !== state.project) return;
  const cell = (one) =>
    el(
      "td",
      {},
      el("meter", { min: "0", max: "10000", value: String(one.coverage), "aria-label": `coverage of ${one.name}` }),
      ` ${Math.floor(one.coverage / 100)} %`,
    );
  if (!rows) {
    rows = table(["layer", "coverage of bytes", "usual time, ms", "role", "computes with", "finds", "takes"], [], "Layers");
    $("layer-rows").replaceChildren(rows, el("div", { id: "lacking" }));
  }
  refill(
    rows,
    found.layers.map((one) => [`${one.name} ${one.version}`, cell(one), String(one.latency_ms), one.role, one.origin, one.granularity, one.accepts]),
  );
  const lacking = found.layers.filter((one) => one.missing);
  $("lacking").replaceChildren(
    ...lacking.map((one) => el("p", { class: "note" }, visible(`without ${one.name}: ${one.missing}`))),
  );
  const growing = found.layers.some((one) => !one.missing && one.coverage < 10000);
  if (growing) layering = setTimeout(() => state.tab === "layers" && !document.hidden && layers(), LAYERS);
}

// an output

function open(ref, at = "") {
  from = document.activeElement;
  return go({ ref, part: "", at });
}

function leave() {
  if ($("detail").hidden) return;
  const ref = $("list").querySelector("[aria-current=true]")?.dataset.ref;
  const inside = $("detail").contains(document.activeElement) || document.activeElement === document.body;
  detail.close();
  outputs.mark("");
  if (inside) (from?.isConnected && from.offsetParent ? from : outputs.button(ref)?.offsetParent ? outputs.button(ref) : $("main")).focus();
}

// keys

function steps() {
  if ($("detail").contains(document.activeElement)) return [...$("detail").querySelectorAll(".gap")];
  if (state.tab === "search") return [...document.querySelectorAll("#hits button")];
  return state.tab === "outputs" ? [...$("list").querySelectorAll("button")] : [];
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
  else if (state.ref) go({ ref: "", part: "", at: "" });
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { key, target } = event;
  if (key === "Escape") return explaining() ? undefined : escape();
  if (target.matches("select, input")) return;
  const at = TABS.indexOf(state.tab);
  const beside = { ArrowRight: TABS[at + 1] || TABS[0], ArrowLeft: TABS.at(at - 1), Home: TABS[0], End: TABS.at(-1) }[key];
  if (target.getAttribute("role") === "tab" && beside) {
    go({ tab: beside });
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
    if (state.tab !== "search") $(`tab-${state.tab}`).focus();
  } else return;
  event.preventDefault();
}

// what goes on

let told = null; // the state of the store that was heard last
let timed = 0;
let busy = Promise.resolve();

let looked = 0;
let looking = 0;

// Looks at projects and sessions, at most so often; what comes in between is seen at the next time. Whether what is shown stays.
async function projects() {
  clearTimeout(looking);
  const left = looked + PROJECTS - Date.now();
  if (state.project && left > 0) {
    looking = setTimeout(() => document.hidden || overview().catch(() => {}), left);
    return true;
  }
  looked = Date.now();
  return overview();
}

// Asks again for what may have changed. found: what the daemon says of its store; null: it is not known.
async function changed(found) {
  const before = told;
  told = found;
  const differ = (name) => !found || !before || found[name] !== before[name];
  if (found && version && found.version !== version) notice(`The daemon is byref ${found.version} now, this page is of ${version}: load it again.`, "version");
  if (differ("calls") || differ("outputs")) {
    if (!(await projects())) await apply(state, true);
    else if (state.project && state.tab === "outputs") await outputs.refresh(open);
    if (differ("outputs")) await detail.check();
    if (state.tab === "layers") await layers();
  }
  if (!before || differ("events")) savings.news().then(choices);
  if (state.tab === "time" && differ("events") && Date.now() - timed > TIMES) {
    timed = Date.now();
    await times.look(state.project);
  }
}

const heard = (found) => {
  busy = busy.then(() => changed(found)).then(
    () => notice("", "daemon"),
    (fault) => fault.gone || notice(fault.message, "daemon"), // a daemon that is gone is said elsewhere
  );
};

// Lets the page in: with the code behind the `#`, or with what a person pastes. Ends once it is in.
async function begin(found = code(location.hash)) {
  const place = found?.place ? `#${found.place}` : code(location.hash) ? address(state) : location.hash;
  if (found) history.replaceState(null, "", location.pathname + place);
  await enter(found);
  $("locked").hidden = true;
  document.body.classList.remove("blank");
  state = read();
  await overview();
  await apply(state, true);
}

function locked(message) {
  refused();
  $("locked-why").textContent = message;
  $("locked").hidden = false;
  return new Promise((done) => {
    const try_ = async (found) => {
      if (!found) return ($("locked-why").textContent = "This is not what `byref dashboard` prints: http://127.0.0.1:…/web/#…");
      try {
        await begin(found);
        removeEventListener("hashchange", changed_);
        done();
      } catch (fault) {
        $("locked-why").textContent = fault.message;
      }
    };
    const changed_ = () => code(location.hash) && try_(code(location.hash)); // a new entry in the tab of a former one
    addEventListener("hashchange", changed_);
    $("let-in").onsubmit = (event) => {
      event.preventDefault();
      const given = $("code").value.trim();
      $("code").value = "";
      try_(code(given.includes("#") ? given : `#${given}`));
    };
  });
}

$("theme").onclick = turn;
$("try").onclick = now;
$("scope").onchange = () => go({ project: $("scope").value, session: "", ref: "", part: "", at: "" });
$("session").onchange = () => go({ session: $("session").value });
for (const name of ["tool", "shape", "day"]) $(name).onchange = () => go({ [name]: $(name).value });
$("failed").onchange = () => go({ failed: $("failed").checked ? "1" : "" });
$("clear").onclick = () => {
  go({ session: "", tool: "", shape: "", day: "", failed: "" });
  $("tool").focus();
};
$("older").onclick = () => outputs.older(open);
$("days").onchange = () => go({ days: $("days").value === "0" ? "" : $("days").value });
$("whose").onchange = () => go({ of: $("whose").value === "all" ? "" : $("whose").value });
$("query").oninput = search.weigh;
$("ask").onsubmit = (event) => {
  event.preventDefault();
  const before = address(state);
  const next = { ...state, q: $("query").value.trim(), outcome: $("ask").elements.outcome.value, ref: "", part: "", at: "" };
  write(next);
  state = next;
  if (before !== address(next)) leave();
  search.ask(state.project, state.session, open);
};
for (const name of TABS) $(`tab-${name}`).onclick = () => choose(name);
document.addEventListener("keydown", keys);
addEventListener("popstate", () => !code(location.hash) && apply({ ...read(), project: read().project || state.project }));
addEventListener("hashchange", () => $("locked").hidden && code(location.hash) && attempt(() => begin()).then(now));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
savings.begin(go, home);
explain();
theme(localStorage.getItem("theme") || "system");

async function start() {
  try {
    await begin();
  } catch (fault) {
    if (fault.status === 401) await locked(fault.message);
    else if (!fault.gone) notice(fault.message);
  }
  follow(heard, locked);
}
start();
