// What the daemon is asked. The key comes for the code behind the `#` of the URL, which is taken out of the history at once.

import { notice } from "./dom.js";

const AGAIN = "Run `byref dashboard` again.";
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
  try {
    answer = await fetch(`api/${route}`, {
      ...options,
      cache: "no-store",
      headers: key ? { Authorization: `Bearer ${key}` } : {},
    });
  } catch {
    throw new Error(`The daemon does not answer any more. ${AGAIN}`);
  }
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.error ? said.error.message : `the daemon answered ${answer.status}`);
  return said;
}

const given = (fields) => Object.entries(fields).filter(([, value]) => value !== null && value !== undefined && value !== "");

export const get = (route, fields = {}) => ask(`${route}?${new URLSearchParams(given(fields))}`, {});
export const post = (route, fields) => ask(route, { method: "POST", body: JSON.stringify(Object.fromEntries(given(fields))) });

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
