// What the daemon is asked. The key comes for the code behind the `#` of the URL, which is taken out of the history at once.

import { notice } from "./dom.js";

const AGAIN = "Run `byref dashboard` again.";
const PATIENCE = 30000; // milliseconds for an answer that takes no search
let key = sessionStorage.getItem("key") || "";

export async function enter() {
  const code = location.hash.slice(1);
  if (code.length > 30) {
    history.replaceState(null, "", location.pathname);
    key = "";
    sessionStorage.removeItem("key");
    key = (await post("enter", { code })).key;
    sessionStorage.setItem("key", key);
  }
  if (!key) throw new Error(`This page has no key. ${AGAIN}`);
}

async function ask(route, options) {
  let answer;
  let said;
  try {
    answer = await fetch(`api/${route}`, {
      ...options,
      cache: "no-store",
      headers: key ? { Authorization: `Bearer ${key}` } : {},
    });
    said = await answer.json();
  } catch (fault) {
    if (options.signal?.reason?.name === "AbortError") throw fault;
    throw Object.assign(new Error(`The daemon does not answer. This page goes on when it does; if it has ended: ${AGAIN}`), {
      gone: true,
    });
  }
  if (answer.ok) return said;
  const { reason = "", message = `the daemon answered ${answer.status}` } = said.error || {};
  throw Object.assign(new Error(message), { reason, status: answer.status });
}

const given = (fields) => Object.entries(fields).filter(([, value]) => value !== null && value !== undefined && value !== "");

export const get = (route, fields = {}, patience = PATIENCE) =>
  ask(`${route}?${new URLSearchParams(given(fields))}`, { signal: AbortSignal.timeout(patience) });
export const post = (route, fields, signal) =>
  ask(route, { method: "POST", body: JSON.stringify(Object.fromEntries(given(fields))), signal });

// Runs what a person asked for; a fault is said on the page.
export async function attempt(work) {
  try {
    const found = await work();
    notice("");
    return found;
  } catch (fault) {
    notice(fault.message);
    return undefined;
  }
}
