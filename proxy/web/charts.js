// The chart library, which loads with the first chart, and figures that are drawn again in place.

import { el, fill, notice, table } from "./dom.js";
import { why } from "./why.js";

let library = null;

function load() {
  library ??= new Promise((done, failed) => {
    document.head.append(
      el("script", {
        src: "vendor/chart.js-4.6.1.min.js",
        onload: () => done(window.Chart),
        onerror: () => {
          library = null; // the next chart tries again
          failed(new Error("the charts did not load; the tables hold the same figures"));
        },
      }),
    );
  });
  return library;
}

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// What all charts have in common. x, y: options of the scales.
export function options(x, y, more = {}) {
  const ink = colour("soft");
  const scale = ({ title, grid = true, ticks = {}, ...rest }) => ({
    grid: { color: colour("line"), display: grid },
    ticks: { color: ink, ...ticks },
    ...(title ? { title: { display: true, text: title, color: ink } } : {}),
    ...rest,
  });
  return {
    animation: false,
    responsive: true,
    maintainAspectRatio: false,
    scales: { x: scale(x), y: scale(y) },
    ...more,
    plugins: { legend: { labels: { color: ink, boxWidth: 24 } }, ...more.plugins },
  };
}

// A figure: a chart, what is to be known of it, and the same figures as a table. Drawing it again leaves its elements, so that what
// has the focus keeps it and what is scrolled stays.
export function plot(id, title, names, of) {
  const canvas = el("canvas", { role: "img" });
  const frame = el("div", { class: "chart" }, canvas);
  const note = el("p", { class: "note" });
  const rows = table(names, [], title);
  const figure = el("figure", { id }, el("h2", {}, title, " ", ...why(of)), note, frame, el("details", {}, el("summary", {}, "Figures"), rows));
  let chart = null;
  return {
    figure,
    async update(config, { label, said = "", cells, height = 16 }) {
      note.textContent = said;
      note.hidden = !said;
      fill(rows, cells);
      canvas.setAttribute("aria-label", `${title}: ${label} The table below holds the same figures.`);
      frame.style.height = `${height}rem`;
      frame.hidden = !config;
      if (!config) return undefined;
      let Chart;
      try {
        Chart = await load();
      } catch (fault) {
        frame.hidden = true;
        return notice(fault.message);
      }
      if (!chart) chart = new Chart(canvas, config);
      else {
        chart.options = config.options;
        chart.data = config.data;
        chart.update("none");
      }
      return chart;
    },
    remove() {
      chart?.destroy();
      figure.remove();
    },
  };
}
