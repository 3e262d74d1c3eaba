// What `byref report` says, in totals, charts and tables. No figure is computed here.

import { $, clock, count, el, fill, link, percent, plain, table } from "./dom.js";
import { get } from "./api.js";
import { colour, options, plot } from "./charts.js";
import { blank } from "./routes.js";
import { why } from "./why.js";

const STACK = [
  ["net", "net saved", "net"],
  ["view", "shown", "shown"],
  ["fetched", "fetched", "fetched"],
  ["repeated", "repeated", "repeated"],
]; // together: raw
const COLUMNS = ["calls", "raw", "view", "fetched", "repeated", "net", "saved"];
const GROUPS = [
  ["days", "By day", "x"],
  ["tools", "By tool", "y"],
  ["shapes", "By shape", "y"],
];
const MOST = 14; // bars of a chart; the table holds all
const SLOW = 600000; // milliseconds that a report over a large ledger may take
const plots = new Map();
const tables = new Map();
let held = null;
let round = 0;
let chosen = "";
let later = 0;
let go = () => {};
let home = () => "";

// go: where a link leads; home: the project of a session.
export function begin(leads, of) {
  go = leads;
  home = of;
}

const cells = (name, where) => ([label, row]) => [
  where && label ? link(label, where(label), go) : label || "–",
  ...COLUMNS.map((column) => (column === "saved" ? percent(row[column]) : count(row[column]))),
];

// Where the outputs are that a row stands for. A session is of a project, of which a report does not speak; the page knows which has it.
const PLACES = {
  days: (day) => ({ day }),
  tools: (tool) => ({ tool }),
  shapes: (shape) => ({ shape }),
  sessions: (session) => ({ session, project: home(session) }),
};
const place = (name) => (label) => ({ ...blank(), project: $("scope").value, ...PLACES[name](label), tab: "outputs" });

const ordered = (report, name) =>
  Object.entries(report[name] || {}).sort(name === "days" ? undefined : (a, b) => b[1].raw - a[1].raw);

function group(report, [name, title, axis]) {
  if (!plots.has(name)) {
    plots.set(name, plot(`by-${name}`, title, [name.slice(0, -1), ...COLUMNS], "groups"));
    $("charts").append(plots.get(name).figure);
  }
  const every = ordered(report, name);
  const some = name === "days" ? every.slice(-MOST * 2) : every.slice(0, MOST);
  const least = Math.min(0, ...some.map(([, row]) => row.net));
  const most = Math.max(...some.map(([, row]) => row.raw));
  const numbers = { stacked: true, min: -least < most / 100 ? 0 : least, title: "tokens", ticks: { callback: count, maxTicksLimit: 6 } };
  const names = { stacked: true, grid: false, ticks: { autoSkip: axis === "x" } };
  return plots.get(name).update(
    every.length && {
      type: "bar",
      options: options(axis === "x" ? names : numbers, axis === "x" ? numbers : names, {
        indexAxis: axis,
        onClick: (event, hit) => hit.length && some[hit[0].index][0] && go(place(name)(some[hit[0].index][0])),
        plugins: { legend: { display: false }, tooltip: { callbacks: { label: (item) => `${item.dataset.label}: ${count(item.raw)} tokens` } } },
      }),
      data: {
        labels: some.map(([label]) => plain(label || "–")),
        datasets: STACK.map(([key, label, ink]) => ({
          label,
          data: some.map(([, row]) => row[key]),
          backgroundColor: colour(ink),
          maxBarThickness: axis === "x" ? 40 : 16,
        })),
      },
    },
    {
      label: "tokens net saved, shown, fetched, repeated.",
      said: every.length ? "" : "Nothing was captured in this time.",
      cells: every.map(cells(name, place(name))),
      height: axis === "x" ? 15 : 5 + 1.5 * some.length,
    },
  );
}

function rows(name, title, names, found, of) {
  if (!tables.has(name)) {
    const made = table(names, [], title);
    tables.set(name, made);
    $("charts").append(el("figure", { id: `by-${name}` }, el("h2", {}, title, " ", ...why(of)), made));
  }
  fill(tables.get(name), found);
}

const money = (one) => [
  one.prices,
  count(one.saved),
  one.dollars == null ? "–" : `${one.dollars < 0 ? "−" : ""}$${Math.abs(one.dollars).toFixed(2)}`,
  one.bill == null ? "no bill seen" : count(one.bill),
  percent(one.tool_results),
];

// What is asked for: of a project or of all, and of how many days.
const asked = () => ({ days: $("days").value, scope: $("whose").value === "here" ? $("scope").value : "" });

// The figures on top. Of what has changed since, a newer report is asked for as soon as the daemon makes one.
export async function totals() {
  const mine = ++round;
  clearTimeout(later);
  const choice = asked();
  if (JSON.stringify(choice) !== chosen) $("unit").textContent = "counting…";
  chosen = JSON.stringify(choice);
  const answer = await get("savings", choice, SLOW);
  if (mine !== round) return; // something else was chosen meanwhile
  held = answer;
  const { report } = answer;
  const { total } = report;
  const figures = { raw: total.raw, view: total.view, fetched: total.fetched, repeated: total.repeated, searched: report.searched, definitions: report.definitions, net: report.net };
  for (const slot of document.querySelectorAll("[data-figure]")) {
    const figure = figures[slot.dataset.figure];
    slot.textContent = count(figure);
    slot.title = `${figure} tokens`;
    slot.classList.toggle("failed", slot.dataset.figure === "net" && figure < 0);
  }
  $("totals").classList.remove("counting");
  $("share").textContent = total.raw ? percent(report.net / total.raw) : "–";
  const at = clock(new Date(Date.now() - 1000 * answer.age));
  const parts = [`${total.calls} calls`, `counted at ${at}${answer.again ? ", newer ones follow" : ""}`, report.unit];
  $("unit").textContent = $("unit").title = parts.join(" · ");
  if (answer.again) later = setTimeout(() => document.hidden || follow(), 1000 * answer.again);
}

// Something changed: a report that will be asked for again by itself is not asked for now.
export const news = () => (held?.again && !document.hidden ? Promise.resolve() : follow());

// The figures again, where something may have changed; a fault is said beside them.
export async function follow() {
  try {
    await totals();
    if (!$("savings").hidden) await charts();
  } catch (fault) {
    $("unit").textContent = fault.gone ? "These figures are older: the daemon does not answer." : fault.message;
  }
}

let last = "";

export async function charts(again = false) {
  if (!held) return;
  const now = JSON.stringify(held.report);
  if (now === last && !again) return;
  last = now;
  const { report } = held;
  await Promise.all(GROUPS.map((one) => group(report, one)));
  rows("sessions", "By session", ["session", ...COLUMNS], ordered(report, "sessions").map(cells("sessions", place("sessions"))), "groups");
  const prices = ["prices", "saved, in input tokens", "saved", "bill, in input tokens", "tool results of it"];
  rows("money", "Money", prices, (report.money || []).map(money), "money");
}

// The tools, shapes or days of the report that is held, the newest day first.
export const names = (kind) => {
  const found = held ? Object.keys(held.report[kind] || {}).filter(Boolean).sort() : [];
  return kind === "days" ? found.reverse() : found;
};
