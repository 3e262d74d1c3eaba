// How the page learns what changed: one stream of events, slow looks where it is cut, and longer and longer waits where nothing answers.
// A page that is hidden asks nothing.

import { $, clock } from "./dom.js";
import { answered, get } from "./api.js";

const SILENT = 40000; // milliseconds without a sign of life, after which a stream is over; the daemon gives one every 15 s
const SLOW = 15000; // between two looks where the stream is cut
const SHORT = 5000; // a stream that ends sooner was cut
const WAITS = [500, 1000, 2000, 4000, 8000, 15000, 30000]; // between two tries where nothing answers
let wake = () => {};
let since = null; // when the daemon was first missed
let counting = 0;

// Says that the page has no key that the daemon takes.
export const refused = () => say("locked");

// Tries at once.
export const now = () => wake();

function wait(milliseconds) {
  return new Promise((done) => {
    const timer = setTimeout(done, milliseconds);
    wake = () => {
      clearTimeout(timer);
      done();
    };
  });
}

const visible = () =>
  new Promise((done) => {
    if (!document.hidden) return done();
    const seen = () => {
      if (document.hidden) return;
      document.removeEventListener("visibilitychange", seen);
      done();
    };
    document.addEventListener("visibilitychange", seen);
  });

const WORDS = {
  live: ["Live", "Changes come by themselves, as they are made."],
  slow: [`Every ${SLOW / 1000} s`, "The stream of changes is cut on its way here, so that this page looks for them from time to time."],
  away: ["Not connected", "The daemon does not answer."],
  locked: ["No entry", "This page has no key that the daemon takes."],
  first: ["Connecting", "The daemon was not heard yet."],
};

function say(kind, next = 0) {
  const [word, title] = WORDS[kind];
  $("connection").dataset.kind = kind;
  if ($("connection-word").textContent !== word) $("connection-word").textContent = word;
  $("connection").title = title;
  clearInterval(counting);
  $("away").hidden = kind !== "away";
  document.body.classList.toggle("stale", kind === "away" || kind === "locked");
  if (kind !== "away") {
    since = null;
    return;
  }
  since ??= new Date();
  const text = `Not connected since ${clock(since)}: the daemon does not answer. What stands here is as it was then.`;
  if ($("away-word").textContent !== text) $("away-word").textContent = text;
  const until = Date.now() + next;
  const count = () => ($("away-next").textContent = `Next try in ${Math.max(0, Math.ceil((until - Date.now()) / 1000))} s.`);
  count();
  counting = setInterval(count, 1000);
}

function parsed(block) {
  const fields = Object.fromEntries(block.split("\n").filter((line) => line.includes(": ")).map((line) => line.split(/: (.*)/, 2)));
  return fields.event && { name: fields.event, data: JSON.parse(fields.data) };
}

// Reads the stream until it ends. heard: is given each state.
async function stream(heard) {
  const over = new AbortController();
  const hide = () => document.hidden && over.abort();
  let timer = 0;
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => over.abort(), SILENT);
  };
  document.addEventListener("visibilitychange", hide);
  try {
    alive();
    const answer = await answered("live", { signal: over.signal });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let held = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      alive();
      const blocks = (held + value).split("\n\n");
      held = blocks.pop();
      for (const event of blocks.map(parsed).filter(Boolean)) if (event.name === "state") heard(event.data);
    }
  } finally {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", hide);
  }
}

// Goes on for as long as the page lives. changed: is given each state of the store, or null where something may have changed.
// locked: waits until the page has been let in again.
export async function follow(changed, locked) {
  let failures = 0;
  let cuts = 0;
  say("first");
  for (;;) {
    await visible();
    const began = Date.now();
    let told = false;
    let fault = null;
    try {
      await stream((state) => {
        told = true;
        failures = 0;
        say("live");
        changed(state);
      });
    } catch (found) {
      fault = found;
    }
    if (document.hidden) continue;
    if (fault?.status === 401) {
      say("locked");
      await locked(fault.message);
      continue;
    }
    cuts = told && Date.now() - began > SHORT ? 0 : cuts + 1;
    if (told && cuts < 3) {
      await wait(WAITS[cuts]);
      continue;
    }
    try {
      await get("overview", {}, 10000);
      failures = 0;
      say("slow");
      changed(null);
      await wait(SLOW);
    } catch (found) {
      if (found.status === 401) continue;
      const next = WAITS[Math.min(failures++, WAITS.length - 1)];
      say("away", next);
      await wait(next);
    }
  }
}

addEventListener("online", now);
