// What the daemon is asked. The key comes for the code behind the `#` of the URL, which is taken out of the history at once.
// When the daemon was started again, page and daemon prove to each other that they know the secret that came with the key.

import { notice } from "./dom.js";

const PATIENCE = 30000; // milliseconds for an answer that takes no search
const AGAIN = "Run `byref dashboard` again.";
const bytes = new TextEncoder();
let key = sessionStorage.getItem("key") || "";
let pass = null; // name and secret: in memory alone, so that no other page of this address ever reads it
let coming = null;

function keep(found) {
  key = found.key;
  sessionStorage.setItem("key", key);
  if (found.secret) pass = { name: found.name, secret: found.secret };
}

const refused = (message) => Object.assign(new Error(message), { status: 401 });

// The code of a URL that `byref dashboard` printed, and the place that may stand behind it.
export function code(hash) {
  const [, found, place] = hash.match(/#([\w-]{30,})(\/.*)?$/) || [];
  return found ? { code: found, place: place || "" } : null;
}

// Lets the page in, for a code or with the key that it has.
export async function enter(found) {
  if (found) {
    key = "";
    pass = null;
    sessionStorage.removeItem("key");
    keep(await post("enter", { code: found.code }));
  } else if (!key) throw refused("This page has no key.");
  else if (!pass) pass = await post("passport", {});
}

async function prove(who, nonce, challenge) {
  const made = await crypto.subtle.importKey("raw", bytes.encode(pass.secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const text = bytes.encode(`${who} ${location.port} ${nonce} ${challenge}`);
  return [...new Uint8Array(await crypto.subtle.sign("HMAC", made, text))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function again() {
  const { name } = pass;
  const nonce = crypto.randomUUID();
  const { challenge, proof } = await post("greet", { name, nonce }, AbortSignal.timeout(PATIENCE));
  if (proof !== (await prove("daemon", nonce, challenge))) throw refused(`What answers here has another token than the daemon that let this page in. ${AGAIN}`);
  keep(await post("again", { name, nonce, proof: await prove("page", nonce, challenge) }, AbortSignal.timeout(PATIENCE)));
}

async function send(route, options) {
  try {
    return await fetch(`api/${route}`, { ...options, cache: "no-store", headers: key ? { Authorization: `Bearer ${key}` } : {} });
  } catch (fault) {
    if (options.signal?.reason?.name === "AbortError") throw fault;
    throw Object.assign(new Error("The daemon does not answer."), { gone: true });
  }
}

// An answer that is well. A key of a daemon that has ended is changed for one of this daemon, where that can be.
export async function answered(route, options, once = false) {
  const held = key;
  const answer = await send(route, options);
  if (answer.ok) return answer;
  if (answer.status === 401 && pass && !once && !["greet", "again", "enter"].includes(route)) {
    if (key === held) {
      coming ??= again().finally(() => (coming = null));
      await coming;
    }
    return answered(route, options, true);
  }
  const said = await answer.json().catch(() => ({}));
  const { reason = "", message = `the daemon answered ${answer.status}` } = said.error || {};
  throw Object.assign(new Error(message), { reason, status: answer.status });
}

async function ask(route, options) {
  const answer = await answered(route, options);
  try {
    return await answer.json();
  } catch (fault) {
    if (options.signal?.reason?.name === "AbortError") throw fault;
    throw Object.assign(new Error("The daemon went while it answered."), { gone: true });
  }
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
