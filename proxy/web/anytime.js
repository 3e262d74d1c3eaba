// How answers come to be over time: one search as bars and as a curve, and many as a median with its quartiles.

import { colour, options, plot } from "./charts.js";

const LEAST = 0.1; // milliseconds at which a logarithmic axis begins
const ms = (micros) => Math.max(micros / 1000, LEAST);
export const told = (micros) => (micros < 10000 ? (micros / 1000).toFixed(2) : Math.round(micros / 1000));
const share = (bps) => `${Math.floor(bps / 100)} %`;
const name = (step) => (step.asked === "original" ? step.layer : `${step.layer} (${step.asked})`);

// Ticks of 1, 2 and 5, times a power of ten.
const plainly = (value) =>
  [1, 2, 5].includes(Number((value / 10 ** Math.floor(Math.log10(value) + 1e-9)).toPrecision(3))) ? String(value) : null;
const time = {
  type: "logarithmic",
  title: "milliseconds",
  min: LEAST,
  ticks: { maxRotation: 0, autoSkipPadding: 16, callback: plainly },
};
// A legend of lines as they are drawn, of the sets that have a name.
const generateLabels = (chart) =>
  chart.data.datasets
    .map((set, datasetIndex) => ({
      text: set.label,
      datasetIndex,
      fontColor: colour("soft"),
      strokeStyle: set.borderColor,
      lineWidth: 2,
      lineDash: set.borderDash || [],
      pointStyle: "line",
      hidden: !chart.isDatasetVisible(datasetIndex),
    }))
    .filter((item) => item.text);
const legend = { plugins: { legend: { labels: { usePointStyle: true, pointStyleWidth: 34, generateLabels } } } };
const percents = { min: 0, max: 100, ticks: { callback: (value) => `${value} %` } };

const curve = (label, points, ink, more = {}) => ({
  type: "line",
  label,
  data: points,
  borderColor: colour(ink),
  backgroundColor: colour(ink),
  borderWidth: 2,
  pointRadius: 3,
  stepped: "before",
  clip: 8, // points at 100 % stand whole
  ...more,
});

// When each layer began and was through.
export function layers() {
  const one = plot("by-layer", "When each layer was through", [
    "layer",
    "status",
    "began, ms",
    "through, ms",
    "hits",
    "looked at by then",
  ], "through");
  return {
    figure: one.figure,
    update: (found) =>
      one.update(
        found.steps.length && {
          type: "bar",
          options: options(
            { title: "milliseconds", min: 0, suggestedMax: found.micros / 1000 },
            { grid: false },
            {
              indexAxis: "y",
              plugins: { legend: { display: false } },
            },
          ),
          data: {
            labels: found.steps.map((step) => `${name(step)} · ${share(step.covered)}`),
            datasets: [
              {
                label: "began, through",
                data: found.steps.map((step) => [step.began / 1000, Math.max(step.ended, step.began + 20) / 1000]),
                backgroundColor: found.steps.map((step) => colour(step.status === "ran" ? "net" : "fetched")),
                minBarLength: 3,
                maxBarThickness: 18,
              },
            ],
          },
        },
        {
          label: `${found.steps.length} layers in ${told(found.micros)} ms.`,
          said: `The answer was there after ${told(found.micros)} of ${found.timebox_ms} ms. Beside each layer: how much had been looked at
 whole by then. Amber: cut. What is remembered of an equal search takes no time.`,
          height: 4 + 1.7 * found.steps.length,
          cells: found.steps.map((step) => [
            name(step),
            step.status,
            told(step.began),
            told(step.ended),
            String(step.hits),
            share(step.covered),
          ]),
        },
      ),
  };
}

const WHAT = ["by", "milliseconds", "of the best places", "outputs looked at"];

// How much of the answer was there when: as the layers came, and, where that was asked for, as growing timeboxes give it.
export function anytime() {
  const one = plot("anytime", "How the answer came to be", WHAT, "anytime");
  return {
    figure: one.figure,
    update(found, measured) {
      const of = (key, whole) => [
        { x: LEAST, y: 0 },
        ...found.steps.map((step) => ({ x: ms(step.ended), y: (100 * step[key]) / whole })),
        { x: ms(found.micros), y: found.steps.length ? (100 * found.steps.at(-1)[key]) / whole : 0 },
      ];
      let sum = 0;
      const named = [
        { x: LEAST, y: 0 },
        ...found.steps.map((step) => ({ x: ms(step.ended), y: (100 * (sum += step.named)) / Math.max(1, found.best) })),
      ];
      const sets = [
        curve("standing by what was through", of("standing", Math.max(1, found.best)), "net"),
        curve("named by then", named, "shown", { borderDash: [6, 4] }),
        curve("looked at", of("covered", 10000), "fetched", { borderDash: [2, 3], pointRadius: 0 }),
      ];
      const points = measured ? measured.points : [];
      if (measured)
        sets.push(
          curve(
            "measured",
            points.map((point) => ({ x: point.timebox_ms, y: point.share / 100 })),
            "repeated",
            { stepped: false, pointStyle: "rectRot", pointRadius: 6 },
          ),
        );
      return one.update(
        found.best ? { type: "line", options: options(time, percents, legend), data: { datasets: sets } } : null,
        {
          label: `share of the best ${found.best} places that was there, by milliseconds.`,
          said: found.best ? account(found, measured) : "Nothing was found, so that there is no share of it.",
          height: 20,
          cells: [
            ...found.steps.map((step) => [
              name(step),
              told(step.ended),
              `${step.standing} of ${found.best}`,
              share(step.covered),
            ]),
            ...points.map((point) => [
              `a timebox of ${point.timebox_ms} ms${point.cut.length ? `, which cut ${point.cut.join(" ")}` : ""}`,
              told(point.micros),
              share(point.share),
              share(point.searched),
            ]),
          ],
        },
      );
    },
  };
}

function account(found, measured) {
  const first = `Of the best ${found.best} places, standing: by the ranking of what the layers that were through had found; named: by any layer
 so far. A layer counts when it is through.`;
  if (!measured) return first;
  const cut = measured.cut.length ? ` Even the longest cut ${measured.cut.join(", ")}.` : "";
  const starting = measured.starting.length ? ` Still starting: ${measured.starting.join(", ")}.` : "";
  return `${first} Measured: the same search in each timebox, nothing remembered, against the best places of the longest (up to 100 ms the
 middle one of three).${cut}${starting}`;
}

// The value below which a share of the numbers lies, between the two nearest.
export function quantile(numbers, at) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const place = (sorted.length - 1) * at;
  const low = Math.floor(place);
  return sorted[low] + (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]) * (place - low);
}

// What a step curve of [micros, bps] has reached by a time, in the order of its steps; nothing before its first.
export const reached = (steps, micros) => steps.reduce((held, [at, bps]) => (at <= micros ? bps : held), 0);

// Median and quartiles of step curves at times: [micros, lower, median, upper].
export const band = (curves, times) =>
  times.map((at) => {
    const held = curves.map((steps) => reached(steps, at));
    return [at, quantile(held, 0.25), quantile(held, 0.5), quantile(held, 0.75)];
  });

const POINTS = 120;

export function grid(curves) {
  const ends = curves.flatMap((steps) => steps.map(([at]) => at));
  const [from, to] = [Math.max(100, Math.min(...ends) / 2), Math.max(...ends) * 1.2];
  return Array.from({ length: POINTS + 1 }, (_, place) => from * (to / from) ** (place / POINTS));
}

function banded(label, rows, ink, dash) {
  const line = (at) => rows.map((row) => ({ x: ms(row[0]), y: row[at] / 100 }));
  const edge = { borderWidth: 0, pointRadius: 0 };
  return [
    curve("", line(1), ink, { ...edge, fill: false, backgroundColor: "transparent" }),
    curve("", line(3), ink, { ...edge, fill: "-1", backgroundColor: `${colour(ink)}40` }),
    curve(`${label}: median`, line(2), ink, { pointRadius: 0, borderDash: dash }),
  ];
}

// Many searches: as the ledger holds them, and measured again.
export function many() {
  const one = plot("many", "Many searches", [
    "of",
    "searches",
    "milliseconds",
    "a quarter below",
    "half below",
    "three quarters below",
  ], "many");
  return {
    figure: one.figure,
    update(recorded, again) {
      const sets = [];
      const cells = [];
      for (const [label, curves, ink, dash] of [
        ["recorded", recorded, "shown", [6, 4]],
        ["measured again", again, "net", []],
      ]) {
        if (!curves.length) continue;
        const rows = band(curves, grid(curves));
        sets.push(...banded(label, rows, ink, dash));
        const few = rows.filter((_, place) => place % 10 === 0);
        cells.push(...few.map((row) => [label, String(curves.length), told(row[0]), ...row.slice(1).map(share)]));
      }
      return one.update(
        sets.length
          ? {
              type: "line",
              options: options(time, percents, legend),
              data: { datasets: sets },
            }
          : null,
        {
          label: `median and quartiles of the share of the best places, of ${recorded.length} recorded searches and ${again.length} measured again.`,
          said: `Median and, shaded, the quartiles. Recorded: the share of an answer's best places that some layer had named by then, in the
 searches that agents made, what was remembered included. Measured again: the share of the best places of the longest timebox that a search in
 a shorter one gives, nothing remembered, over what is held now.`,
          height: 20,
          cells,
        },
      );
    },
  };
}
