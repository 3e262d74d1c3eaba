// What `byref report` says, in totals, charts and tables. No figure is computed here.

import { $, count, el, fill, percent, table } from "./dom.js";
import { get } from "./api.js";
import { colour, options, plot } from "./charts.js";

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

const cells = ([name, row]) => [
  name || "–",
  ...COLUMNS.map((column) => (column === "saved" ? percent(row[column]) : count(row[column]))),
];

const ordered = (report, name) =>
  Object.entries(report[name] || {}).sort(name === "days" ? undefined : (a, b) => b[1].raw - a[1].raw);

function group(report, [name, title, axis]) {
  if (!plots.has(name)) {
    plots.set(name, plot(`by-${name}`, title, [name.slice(0, -1), ...COLUMNS]));
    $("charts").append(plots.get(name).figure);
  }
  const every = ordered(report, name);
  const some = name === "days" ? every.slice(-MOST * 2) : every.slice(0, MOST);
  const numbers = { stacked: true, ticks: { callback: count, maxTicksLimit: 6 } };
  const names = { stacked: true, grid: false };
  return plots.get(name).update(
    every.length && {
      type: "bar",
      options: options(axis === "x" ? names : numbers, axis === "x" ? numbers : names, { indexAxis: axis }),
      data: {
        labels: some.map(([label]) => label || "–"),
        datasets: STACK.map(([key, label, ink]) => ({
          label,
          data: some.map(([, row]) => row[key]),
          backgroundColor: colour(ink),
          maxBarThickness: 40,
        })),
      },
    },
    {
      label: "tokens net saved, shown, fetched, repeated.",
      said: every.length ? "" : "Nothing was captured in this time.",
      cells: every.map(cells),
    },
  );
}

function rows(name, title, names, found) {
  if (!tables.has(name)) {
    const made = table(names, [], title);
    tables.set(name, made);
    $("charts").append(el("figure", { id: `by-${name}` }, el("h2", {}, title), made));
  }
  fill(tables.get(name), found);
}

const money = (one) => [
  one.prices,
  count(one.saved),
  one.dollars == null ? "–" : `$${one.dollars.toFixed(2)}`,
  one.bill == null ? "no bill seen" : count(one.bill),
  percent(one.tool_results),
];

export async function totals() {
  const mine = ++round;
  const here = $("whose").value === "here";
  const scope = here ? $("scope").value : "";
  const choice = `${scope} ${$("days").value}`;
  if (choice !== chosen) $("unit").textContent = "counting…";
  chosen = choice;
  const answer = await get("savings", { days: $("days").value, scope }, SLOW);
  if (mine !== round) return; // something else was chosen meanwhile
  held = answer;
  const { report } = answer;
  const figures = { raw: report.total.raw, view: report.total.view, fetched: report.total.fetched, net: report.net };
  for (const slot of document.querySelectorAll("[data-figure]")) {
    slot.textContent = count(figures[slot.dataset.figure]);
    slot.title = String(figures[slot.dataset.figure]);
    slot.classList.toggle("failed", figures[slot.dataset.figure] < 0);
  }
  const parts = [
    here ? "this project" : "all projects",
    `${report.total.calls} calls`,
    report.unit,
    `searches ${count(report.searched)} and definitions ${count(report.definitions)} are taken off net`,
    `${Math.round(answer.age)} s old`,
  ];
  $("unit").textContent = parts.join(" · ");
}

let last = "";

export async function charts(again = false) {
  if (!held) return;
  const now = JSON.stringify(held.report);
  if (now === last && !again) return;
  last = now;
  const { report } = held;
  await Promise.all(GROUPS.map((one) => group(report, one)));
  rows("sessions", "By session", ["session", ...COLUMNS], ordered(report, "sessions").map(cells));
  const prices = ["prices", "saved, in input tokens", "saved", "bill, in input tokens", "tool results of it"];
  rows("money", "Money", prices, (report.money || []).map(money));
}
