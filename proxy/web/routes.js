// What the page shows, as its address says it behind the `#`: it can be kept, given to somebody and loaded again, and `back` goes back.

export const TABS = ["outputs", "savings", "search", "layers", "time"];
// In the order in which they stand in an address.
const FIELDS = ["project", "session", "tool", "shape", "day", "failed", "q", "outcome", "of", "days", "ref", "part", "at"];

export const blank = () => ({ tab: "outputs", ...Object.fromEntries(FIELDS.map((name) => [name, ""])) });

export function read(hash = location.hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/, 2);
  const given = new URLSearchParams(query);
  const found = blank();
  if (TABS.includes(path)) found.tab = path;
  for (const name of FIELDS) found[name] = given.get(name) || "";
  return found;
}

export function address(state) {
  const given = new URLSearchParams(FIELDS.filter((name) => state[name]).map((name) => [name, state[name]]));
  const query = given.toString().replace(/%2F/g, "/").replace(/%3A/g, ":");
  return `#/${state.tab}${query ? `?${query}` : ""}`;
}

// Puts a state into the address; replace: without an entry in the history.
export function write(state, replace = false) {
  const hash = address(state);
  if (hash === location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", hash);
}
