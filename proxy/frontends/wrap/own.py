"""Our tools on MCP: fetch, search and status, and each output as a resource. What they answer is final: flagged, never rewritten."""
from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from urllib.parse import unquote

from byref.proxy.contracts import Json
from byref.proxy.errors import ByrefError, Invalid
from byref.proxy.frontends.status import table
from byref.proxy.reader import Page
from byref.proxy.session import Session

FINAL = "byref/final"  # in `_meta`: no proxy of ours may touch this result
MAX_TOKENS = 8000  # of a page by default: below what Claude Code (50,000 characters) and Codex (12k) show of one result
LIMIT = 100_000  # characters of a page that a caller asks for
READ_ONLY: Mapping[str, Json] = {"readOnlyHint": True, "openWorldHint": False}  # the other hints are for tools that change something
# Always in view, since a marker is of no use without them; and long pages are not to be spilled into a file.
META: Mapping[str, Json] = {"anthropic/alwaysLoad": True, "anthropic/maxResultSizeChars": LIMIT}


def _text(description: str = "") -> Json:
    return {"type": "string", "description": description} if description else {"type": "string"}


def _number(description: str = "") -> Json:
    return {"type": "integer", "description": description} if description else {"type": "integer"}


_FETCH: Mapping[str, Json] = {
    "ref": _text("from a view's first line, as rk7f3qmab2x"),
    "at": _text("a marker's address (L120-180, b0-4096, results[3].title), or /regex/±2; nothing for all"),
    "part": _text("stdout, stderr, text2, ..."), "max_tokens": _number(f"of a page ({MAX_TOKENS})"),
    "cursor": _text("the next page, as the last one named it"),
    "encoding": {"type": "string", "enum": ["base64"], "description": "for bytes that are no text"}}
_SEARCH: Mapping[str, Json] = {
    "query": _text("words, an exact text, or /regex/ (RE2)"), "like": _text("instead: what is like \"REF L10-20\""),
    "refs": {"type": "array", "items": {"type": "string"}, "description": "only in these; else in all"},
    "tool": _text("only of this tool"), "outcome": {"type": "string", "enum": ["success", "failure"]},
    "k": _number("hits at most"), "max_tokens": _number(), "timebox_ms": _number(),
    "layers": {"type": "array", "items": {"type": "string"}}, "emphasis": {"type": "string", "enum": ["balanced", "precision", "recall"]},
    "profile": {"type": "string", "enum": ["cascade", "rrf", "weighted"]}, "explain": {"type": "boolean"},
    "weights": {"type": "object", "description": "of query words, as {\"timeout\": 2, \"error\": 0}"}}
_ARGUMENTS: Mapping[str, Mapping[str, Json]] = {"fetch": _FETCH, "search": _SEARCH, "status": {}}
_KINDS: Mapping[str, type] = {"string": str, "integer": int, "array": list, "object": dict, "boolean": bool}


def _tool(name: str, description: str, required: list[Json]) -> Mapping[str, Json]:
    schema: dict[str, Json] = {"type": "object", "properties": _ARGUMENTS[name]}
    if required:
        schema["required"] = required
    return {"name": name, "description": description, "inputSchema": schema, "annotations": READ_ONLY, "_meta": META}


TOOLS: tuple[Mapping[str, Json], ...] = (
    _tool("fetch", "The exact text behind a marker «...» in a view of a tool output.", ["ref"]),
    _tool("search", "Where something stands in the tool outputs held here; each hit with an address that fetch takes.", []),
    _tool("status", "What outputs are held here, the newest first, with their refs.", []))
TEMPLATE: Mapping[str, Json] = {
    "name": "output", "uriTemplate": "byref://{ref}",
    "description": "A stored tool output, whole and exact, by the ref in its view's first line"}
SCHEME = "byref://"


def answer(session: Session, name: str, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """The result of a call of one of our tools. Blocks. A fault is a result with isError that says what to do."""
    try:
        texts = call(session, name, arguments)
        failed = False
    except (ByrefError, OSError) as fault:
        texts, failed = [str(fault)], True
    except Exception as fault:  # a call always gets its answer
        texts, failed = [session.gateway.faults.add(f"tool {name[:20]}", fault)], True
    content: list[Json] = [{"type": "text", "text": text} for text in texts]
    return {"content": content, "isError": failed, "_meta": {FINAL: True}}


def call(session: Session, name: str, arguments: Mapping[str, Json]) -> list[str]:
    """One call: the text of its answer, and, where there is something to say beside a page, a second text.

    Raises `Invalid` for another tool or arguments of another kind, and what the session's method raises.
    """
    works: Mapping[str, Callable[[Session, Mapping[str, Json]], list[str]]] = {"fetch": _fetch, "search": _search, "status": _status}
    if name not in works:
        raise Invalid(f"there is no tool {name[:40]!r} here; there are {', '.join(works)}")
    known = {key: value for key, value in arguments.items() if value is not None}
    for key, value in known.items():
        declared = _ARGUMENTS[name].get(key)
        kind = _KINDS[str(declared["type"])] if isinstance(declared, Mapping) else None
        if kind is None or not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
            takes = ", ".join(_ARGUMENTS[name]) or "nothing"
            raise Invalid(f"{name} takes {takes}, not {key[:40]}={str(value)[:40]!r}")
    return works[name](session, known)


def _word(arguments: Mapping[str, Json], name: str) -> str | None:
    value = arguments.get(name)
    return value if isinstance(value, str) else None


def _size(arguments: Mapping[str, Json], name: str, default: int) -> int:
    value = arguments.get(name)
    return value if isinstance(value, int) else default


def _status(session: Session, arguments: Mapping[str, Json]) -> list[str]:
    found = session.status()
    return [found.text, table(found)]


def _search(session: Session, arguments: Mapping[str, Json]) -> list[str]:
    chosen = _words(arguments, "refs", "refs, such as [\"rk7f3qmab2x\"]")
    k = arguments.get("k")
    found = session.search(
        _word(arguments, "query") or "", chosen or None, tool=_word(arguments, "tool"), outcome=_word(arguments, "outcome"),
        k=k if isinstance(k, int) else None, max_tokens=_size(arguments, "max_tokens", 1500),
        timebox_ms=_size(arguments, "timebox_ms", 1000), layers=_words(arguments, "layers", "names, as status gives them") or None,
        emphasis=_word(arguments, "emphasis") or "balanced", weights=_weights(arguments), like=_word(arguments, "like"),
        profile=_word(arguments, "profile") or "cascade", explain=arguments.get("explain") is True)
    return [found.text] if found.explanation is None else [found.text, json.dumps(found.explanation, ensure_ascii=False)]


def _weights(arguments: Mapping[str, Json]) -> dict[str, float] | None:
    value = arguments.get("weights")
    if not isinstance(value, dict):
        return None
    return {word: weight if isinstance(weight, (int, float)) else _no_number(word, weight) for word, weight in value.items()}


def _no_number(word: str, weight: Json) -> float:
    raise Invalid(f"the weight of {word[:40]!r} is a number, not {str(weight)[:20]!r}")


def _words(arguments: Mapping[str, Json], name: str, what: str) -> list[str]:
    value = arguments.get(name)
    chosen = [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
    if isinstance(value, list) and len(chosen) < len(value):
        raise Invalid(f"{name} is a list of {what}")
    return chosen


def _fetch(session: Session, arguments: Mapping[str, Json]) -> list[str]:
    page = session.fetch(
        _word(arguments, "ref") or "", _word(arguments, "at"), part=_word(arguments, "part"), cursor=_word(arguments, "cursor"),
        encoding=_word(arguments, "encoding"), max_tokens=_size(arguments, "max_tokens", MAX_TOKENS))
    text, notes = _shown(page, _word(arguments, "encoding"))
    return [text, f"[{'; '.join(notes)}]"] if notes else [text]


def _shown(page: Page, encoding: str | None) -> tuple[str, list[str]]:
    """The text of a page, and what is to be said beside it."""
    notes = [page.note] if page.note else []
    text = page.text
    if not page.binary and encoding is None:
        text = page.data.decode("utf-8", "replace")
        if text.encode() != page.data:
            notes.append("bytes that are not UTF-8 stand as \ufffd; encoding base64 gives them exactly")
    if page.cursor:
        notes.append(f"more follows: cursor {page.cursor}")
    return text, notes


def read(session: Session, uri: str) -> dict[str, Json]:
    """The result of resources/read for `byref://REF`: a content for each part, text or base64. Blocks.

    An output larger than a page comes as its first page, and a second content says how fetch gives the rest. Raises a
    `Miss` for a ref that cannot be read, and `Invalid` for a URI that is not ours.
    """
    ref = unquote(uri.removeprefix(SCHEME)).strip("/") if uri.startswith(SCHEME) else ""
    if not ref:
        raise Invalid(f"a resource of byref is {SCHEME}REF")
    output = session.gateway.store.resolve(session.scope, ref)
    contents: list[Json] = []
    room = LIMIT
    for part in output.manifest.parts:
        place = f"{SCHEME}{ref}" if len(output.manifest.parts) == 1 else f"{SCHEME}{ref}/{part.name}"
        page = session.fetch(ref, part=part.name, max_tokens=max(2, room * 3 // 10))
        about: dict[str, Json] = {"uri": place, "mimeType": part.media}
        if page.binary:
            contents.append(about | {"blob": b64encode(page.data).decode()})
        else:
            text, _ = _shown(page, None)
            contents.append(about | {"text": text})
        room -= len(page.data)
        if page.cursor or room <= 0:
            more = f"[more follows: fetch {ref} part {part.name}{f', cursor {page.cursor}' if page.cursor else ''}, and the parts after it]"
            contents.append({"uri": f"{place}#more", "mimeType": "text/plain", "text": more})
            break
    return {"contents": contents, "_meta": {FINAL: True}}
