"""What the dashboard shows, as plain values: outputs page by page, views in pieces, layers. It counts nothing against the agent.

A person's look is no second call: nothing here is logged, so that the ledger stays the agent's. Savings come from `byref report`.
"""
from __future__ import annotations

import calendar
import json
import math
import mimetypes
import re
import time
from collections.abc import Callable
from typing import NamedTuple

from byref.filters.render import MARKER
from byref.filters.shapes.binary import is_binary
from byref.layers.orchestrator import known
from byref.proxy.contracts import Capture, Gap, Json, Output, Part, Store
from byref.proxy.errors import Invalid, Miss
from byref.proxy.frontends.search import as_json as as_found
from byref.proxy.frontends.status import as_rows
from byref.proxy.indexing import Indexes
from byref.proxy.intake import to_bytes
from byref.proxy.reader import Page, fetch
from byref.proxy.searching import EMPHASES, PROFILES, Found
from byref.proxy.signature import command_line

PAGE = 50  # outputs of one page
STEP, LOOKED = 500, 5000  # outputs that are looked at at a time, and for one page of those that are wanted
COMMAND = 160  # characters of a command in a list
SUBJECTS = ("file_path", "path", "notebook_path", "url", "query", "pattern")  # arguments that say what a call is about
CALLS = 20  # calls of one output whose views are shown, the newest
TOKENS = 8000  # of a fetched page
BYTES = "application/octet-stream"
SAMPLE = 4096  # bytes that tell text from none
ANSWER = 3000  # tokens of an answer of a search


def overview(store: Store) -> dict[str, Json]:
    """The scopes that hold something, the newest first, each with its sessions; and how full the store is."""
    sessions: dict[str, list[Json]] = {}
    for scope, name, closed in store.sessions():
        sessions.setdefault(scope, []).append({"name": name, "closed": closed})
    found: list[tuple[float, str]] = []
    for scope in sessions:
        newest = store.recent(scope, limit=1)
        found += [(-output.captured, scope) for output in newest]
    usage = store.usage()
    return {
        "layers": known(), "profiles": list(PROFILES), "emphases": list(EMPHASES),
        "scopes": [{"name": scope, "newest": -age, "sessions": sessions[scope]} for age, scope in sorted(found)],
        "store": {"outputs": usage.outputs, "blobs": usage.blobs, "bytes_held": usage.bytes_held, "bytes_raw": usage.bytes_raw,
                  "max_bytes": usage.max_bytes, "max_age": usage.max_age}}


class Wanted(NamedTuple):
    """Which outputs a list shows: of a tool, of a shape, of a day (YYYY-MM-DD in UTC, as in `byref report`), that failed. Empty: all."""

    tool: str = ""
    shape: str = ""
    day: str = ""
    failed: bool = False

    def takes(self, output: Output) -> bool:
        """Whether an output is of that tool and shape, and failed where that is asked for."""
        manifest = output.manifest
        return (self.tool in ("", manifest.tool) and self.shape in ("", output.shape)
                and not (self.failed and not manifest.is_error and not manifest.exit_code))

    def span(self) -> tuple[float, float]:
        """When the day begins and ends. Raises `Invalid` for what is no day."""
        if not self.day:
            return 0.0, math.inf
        try:
            start = calendar.timegm(time.strptime(self.day, "%Y-%m-%d"))
        except ValueError:
            raise Invalid("a day is written YYYY-MM-DD") from None
        return float(start), float(start + 86400)


def outputs(store: Store, scope: str, session: str | None, before: str | None, wanted: Wanted = Wanted(),  # noqa: B008
            limit: int = PAGE) -> dict[str, Json]:
    """A page of outputs, newest first. before: the `next` of the page before. Raises `Invalid` for another one.

    It ends sooner than at its limit once `LOOKED` outputs were looked at: `back` then says when the oldest of them was captured.
    """
    start, end = wanted.span()
    place = None if before is None else _place(before)
    if place is None and end < math.inf:
        place = end, 0
    found: list[Output] = []
    looked, last, step = 0, None, limit if wanted == Wanted() else STEP
    while len(found) < limit and looked < LOOKED:
        page = store.recent(scope, session=session or None, limit=step, before=place)
        for one in page:
            last = one
            if one.captured < start:
                break
            if wanted.takes(one):
                found.append(one)
                if len(found) == limit:
                    break
        looked += len(page)
        if len(page) < step or (last is not None and last.captured < start):
            last = None if len(found) < limit else last
            break
        place = (page[-1].captured, page[-1].seq)
    return {"outputs": [row(one) for one in found], "next": None if last is None else f"{last.captured!r}:{last.seq}",
            "back": last.captured if last is not None and len(found) < limit else None}


def _place(text: str) -> tuple[float, int]:
    captured, sign, seq = text.partition(":")
    try:
        if sign:
            return float(captured), int(seq)
    except ValueError:
        pass
    raise Invalid("this is no page that a list of outputs named")


def row(output: Output) -> dict[str, Json]:
    """An output in a list. Sizes in bytes."""
    manifest = output.manifest
    return {
        "ref": output.ref, "tool": manifest.tool, "command": _command(output)[:COMMAND], "shape": output.shape,
        "exit_code": manifest.exit_code, "is_error": manifest.is_error, "captured": output.captured,
        "size": sum(part.blob.size for part in manifest.parts if not part.derived)}


def _command(output: Output) -> str:
    try:
        arguments: Json = json.loads(output.manifest.arguments)
    except ValueError:
        arguments = output.manifest.arguments
    return command_line(arguments) or _spoken(arguments) or ("" if arguments in (None, {}) else output.manifest.arguments)


def _spoken(arguments: Json) -> str:
    """Arguments in a line: what they are about first, as it is, then the others by name."""
    if not isinstance(arguments, dict):
        return ""
    plain = {name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for name, value in arguments.items()}
    first = [plain.pop(name) for name in SUBJECTS if name in plain]
    return " ".join([*first, *(f"{name}={value}" for name, value in plain.items())])


def output(store: Store, scope: str, ref: str) -> dict[str, Json]:
    """An output with its parts and the views that were given of it, the newest first. Raises what `fetch` raises."""
    held = store.resolve(scope, ref)
    views = [one for one in store.views(held.ref) if one.scope == scope]
    return row(held) | {
        "arguments": held.manifest.arguments, "signature": held.signature, "calls": len(views),
        "parts": [{"name": part.name, "media": part.media, "size": part.blob.size, "lines": part.blob.lines, "derived": part.derived}
                  for part in held.manifest.parts],
        "views": [_view(one) for one in views[:-CALLS - 1:-1]]}


def _view(call: Capture) -> dict[str, Json]:
    view = call.view
    pieces: list[Json] = []
    if not view.passed:
        pieces += _marks(view.head)
        for part, text in zip(call.manifest.parts, view.texts, strict=False):
            pieces += pieces_of(text, [gap for gap in view.gaps if gap.part == part.name], part)
    return {"session": call.session, "context": call.context, "elapsed": call.elapsed, "passed": view.passed, "shape": view.shape,
            "pieces": pieces}


def pieces_of(text: str, gaps: list[Gap], part: Part) -> list[Json]:
    """The text of a part in a reduced view, cut at what is byref's own: gaps with their address, other marks, and the text between.

    Gaps stand in their order, and raw text that looks like a marker was changed when the view was made; so whatever matches is ours, and
    is a gap only where the next one's address follows.
    """
    found: list[Json] = []
    at, rest = 0, list(gaps)
    for match in MARKER.finditer(text):
        if match.start() > at:
            found.append({"text": text[at:match.start()]})
        at = match.end()
        body = match[0][1:].removeprefix(part.name + ":")
        if rest and body.startswith(rest[0].address) and body[len(rest[0].address):][:1] in (" ", "»", ""):
            gap = rest.pop(0)
            found.append({"text": match[0], "part": gap.part, "at": gap.address, "count": gap.count, "unit": gap.unit})
        else:
            found.append({"text": match[0], "mark": True})
    if at < len(text):
        found.append({"text": text[at:]})
    return found


def part_of(store: Store, scope: str, ref: str, name: str) -> Part:
    """A part of an output that is held. Raises what `fetch` raises."""
    for part in store.resolve(scope, ref).manifest.parts:
        if part.name == name:
            return part
    raise Invalid(f"{ref} has no part of this name")


def as_file(ref: str, part: Part, sample: bytes) -> tuple[str, str]:
    """Media type and name of a part as a file: the type that it was captured as, unless it says text and the first bytes are none.

    The name: the ref, the part's own name where that is plain, and what files of the type are usually called.
    """
    media = part.media.lower()
    none = media.startswith("text/") and is_binary(sample[:SAMPLE].decode("utf-8", "surrogateescape"))
    if none or not re.fullmatch(r"[a-z0-9.+-]+/[a-z0-9.+-]+", media):
        media = BYTES
    name = re.sub(r"[^0-9A-Za-z._-]+", "-", part.name).strip("-.")[:60]
    ending = {"text/plain": ".txt", BYTES: ".bin"}.get(media) or mimetypes.guess_extension(media) or ".bin"
    named = f"{ref}-{name}" if name else ref
    return f"{media}; charset=utf-8" if media.startswith("text/") else media, named if named.endswith(ending) else named + ending


def _marks(head: str) -> list[Json]:
    return [{"text": head, "mark": True}] if head else []


def page(store: Store, scope: str, ref: str, at: str | None, part: str | None, cursor: str | None, encoding: str | None) -> dict[str, Json]:
    """A page of the exact bytes, as `fetch` gives it. `exact`: the text is these bytes in UTF-8, a lone surrogate for each other byte."""
    found: Page = fetch(store, scope, ref, at, part=part, max_tokens=TOKENS, cursor=cursor, encoding=encoding)
    return {"ref": found.ref, "address": found.address, "text": found.text, "cursor": found.cursor, "note": found.note,
            "total": found.total, "binary": found.binary, "exact": to_bytes(found.text) == found.data, "size": len(found.data)}


def found(ask: Callable[..., Found], timebox_ms: int, store: Store, scope: str) -> dict[str, Json]:
    """The answer of a search: hits, what became of each layer, and when. ask: the search, given timebox_ms, max_tokens and explain."""
    answer = ask(timebox_ms=timebox_ms, max_tokens=ANSWER, explain=True)
    told = dict(as_found(answer))
    told.pop("explanation", None)
    told["commands"] = {ref: _of(store, scope, ref) for ref in {hit.ref for hit in answer.hits}}
    return told | {"time": (answer.explanation or {}).get("time"), "route": (answer.explanation or {}).get("route")}


def _of(store: Store, scope: str, ref: str) -> str:
    try:
        return _command(store.resolve(scope, ref))[:COMMAND]
    except Miss:
        return ""  # it went since it was found


def layers(indexes: Indexes, scope: str) -> list[Json]:
    """What a search asks: each layer, what it computes with, and how far it came. Coverage in basis points of the scope's bytes."""
    view = indexes.everything(scope)
    return as_rows([layer.status(view) for layer in indexes.orchestrator(scope).layers])
