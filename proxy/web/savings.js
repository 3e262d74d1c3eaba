// What `byref report` says, in totals, charts and tables. No figure is computed here.

import { $, count, el, notice, percent, table } from "./dom.js";
import { get } from "./api.js";

const STACK = [
  ["net", "net saved"],
  ["view", "shown"],
  ["fetched", "fetched"],
  ["repeated", "repeated"],
]; // together: raw
const COLUMNS = ["calls", "raw", "view", "fetched", "repeated", "net", "saved"];
const GROUPS = [
  ["days", "By day", "x"],
  ["tools", "By tool", "y"],
  ["shapes", "By shape", "y"],
  ["sessions", "By session", null],
];
const MOST = 14; // bars of a chart; the table holds all
let drawn = [];
let library = null;

function load() {
  library ??= new Promise((done, failed) => {
    document.head.append(
      el("script", {
        src: "vendor/chart.js-4.6.1.min.js",
        onload: () => done(window.Chart),
        onerror: () => failed(new Error("the charts did not load")),
      }),
    );
  });
  return library;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function options(axis) {
  const ink = colour("soft");
  const scale = (numbers) => ({
    stacked: true,
    grid: { color: colour("line"), display: numbers },
    ticks: { color: ink, ...(numbers ? { callback: count, maxTicksLimit: 6 } : {}) },
  });
  return {
    animation: false,
    responsive: true,
    maintainAspectRatio: false,
    indexAxis: axis,
    scales: { x: scale(axis === "y"), y: scale(axis === "x") },
    plugins: { legend: { labels: { color: ink, boxWidth: 12 } } },
  };
}

const cells = (name, row) => [
  name || "–",
  ...COLUMNS.map((column) => (column === "saved" ? percent(row[column]) : count(row[column]))),
];

function group(report, [name, title, axis], Chart) {
  const every = Object.entries(report[name] || {}).sort(name === "days" ? undefined : (a, b) => b[1].raw - a[1].raw);
  const rows = table(
    [name.slice(0, -1), ...COLUMNS],
    every.map(([label, row]) => cells(label, row)),
  );
  const figure = el("figure", { id: `by-${name}` }, el("h3", {}, title));
  if (axis && Chart && every.length) {
    const some = name === "days" ? every.slice(-MOST * 2) : every.slice(0, MOST);
    const canvas = el("canvas", {
      role: "img",
      "aria-label": `${title}: tokens net saved, shown, fetched, repeated. The table below holds the same figures.`,
    });
    figure.append(el("div", { class: "chart" }, canvas));
    requestAnimationFrame(() =>
      drawn.push(
        new Chart(canvas, {
          type: "bar",
          options: options(axis),
          data: {
            labels: some.map(([label]) => label || "–"),
            datasets: STACK.map(([key, label]) => ({
              label,
              data: some.map(([, row]) => row[key]),
              backgroundColor: colour(key === "view" ? "shown" : key),
              maxBarThickness: 40,
            })),
          },
        }),
      ),
    );
    figure.append(el("details", {}, el("summary", {}, "Figures"), rows));
  } else figure.append(rows);
  return figure;
}

function money(report) {
  const rows = (report.money || []).map((one) => [
    one.prices,
    count(one.saved),
    one.dollars == null ? "–" : `$${one.dollars.toFixed(2)}`,
    one.bill == null ? "no bill seen" : count(one.bill),
    one.tool_results == null ? "–" : percent(one.tool_results),
  ]);
  return rows.length
    ? el(
        "figure",
        {},
        el("h3", {}, "Money"),
        table(["prices", "saved, in input tokens", "saved", "bill, in input tokens", "tool results of it"], rows),
      )
    : null;
}

let held = null;

export async function totals() {
  const answer = await get("savings", { days: $("days").value });
  held = answer;
  const { report } = answer;
  const figures = { raw: report.total.raw, view: report.total.view, fetched: report.total.fetched, net: report.net };
  for (const slot of document.querySelectorAll("[data-figure]")) {
    slot.textContent = count(figures[slot.dataset.figure]);
    slot.title = String(figures[slot.dataset.figure]);
  }
  const parts = [
    `all projects`,
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
  let Chart = null;
  try {
    Chart = await load();
  } catch (fault) {
    notice(fault.message);
  }
  for (const chart of drawn) chart.destroy();
  drawn = [];
  const open = new Set([...$("charts").querySelectorAll("figure:has(details[open])")].map((figure) => figure.id));
  $("charts").replaceChildren(...GROUPS.map((one) => group(held.report, one, Chart)), ...[money(held.report)].filter(Boolean));
  for (const id of open) $(id)?.querySelector("details")?.setAttribute("open", "");
}
