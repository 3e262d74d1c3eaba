"""A tool's result on its way to the client: stored whole, its long text shown as views, all else as it came.

What may change of a result, and nothing more (a result where nothing is reduced is passed on as the same object):

| of the result     | of a success                                              | with isError                           |
|-------------------|-----------------------------------------------------------|----------------------------------------|
| text blocks       | each that a view reduces: its `text`, in its place        | the same; every distinct error stands  |
| structuredContent | "drop": away; what no text block says joins the last view | stays                                  |
|                   | "keep": reduced as far as its schema allows               |                                        |
| all else          | stays: order, other blocks, annotations, `_meta`          | stays                                  |

Clients show the model structuredContent where there is one and drop the content (Claude Code, Codex, VS Code), so a view
beside it would never be seen. Every block is a part of the stored output: `text`, `text2`, `image`, ..., `structuredContent`.
"""
from __future__ import annotations

import binascii
import json
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from byref.proxy.captured import Captured
from byref.proxy.contracts import Json
from byref.proxy.excerpts import unmarked
from byref.proxy.frontends.wrap import spelling
from byref.proxy.frontends.wrap.messages import dumps
from byref.proxy.frontends.wrap.own import FINAL
from byref.proxy.ledger.events import WHOLE
from byref.proxy.session import Session

STRUCTURED = "structuredContent"
# How clients cut a result by themselves: characters past which they do, and characters that are left (adapters/harnesses/claude_code.py,
# codex.py). The names are those of their handshakes.
CUTS = {"claude-code": (50_000, 2250), "codex-mcp-client": (12_000, 12_000)}
_KINDS = {"text", "image", "audio", "resource", "resource_link"}


@dataclass(frozen=True, slots=True)
class Asked:
    """The call that a result answers.

    tool: the upstream's name of it, with the upstream's own name before it where there are several. arguments: as the
    upstream got them. call_id: unique in the session's context, or None. intent: what the caller looks for; raw: it wants
    the result as it is. schema: what the tool declares of its structuredContent, None for nothing. client: its name, as it says it.
    """

    tool: str
    arguments: Mapping[str, Json]
    call_id: str | None = None
    intent: str = ""
    raw: bool = False
    schema: Mapping[str, Json] | None = None
    client: str = ""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What goes to the client. ref: of the stored result; empty where it could not be stored, or is ours already.

    data: it as JSON, in which all that was not changed is spelt as the upstream spelt it; None where that is not known.
    """

    result: Mapping[str, Json]
    ref: str
    data: bytes | None = None


@dataclass(slots=True)
class _Parts:
    """The parts of a result. texts: index of a block to the name of its text; aside: parts that no view shows."""

    content: dict[str, str | bytes] = field(default_factory=dict)
    media: dict[str, str] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    aside: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, content: str | bytes, media: str = "") -> str:
        self.counts[kind] = number = self.counts.get(kind, 0) + 1
        name = kind if number == 1 else f"{kind}{number}"
        self.content[name] = content
        if media:
            self.media[name] = media
        return name


def rewrite(session: Session, asked: Asked, result: Mapping[str, Json], *, structured: str = "drop",
            data: bytes | memoryview | None = None) -> Rewritten:
    """Stores a tool's result and puts views in the place of its long texts. Blocks: run it in a thread.

    data: the JSON that the result was parsed of; what is stored as JSON is then stored as it was spelt.
    structured: what becomes of the structuredContent of a success that is reduced, "drop" or "keep". The result is never
    changed in place. A result of another kind (a task, a request for input), one of our own tools, and any after a fault
    of ours come back as they are.
    """
    content, meta = result.get("content"), result.get("_meta")
    final = isinstance(meta, Mapping) and meta.get(FINAL)
    if not isinstance(content, list) or final or result.get("resultType", "complete") != "complete":
        return Rewritten(result, "")
    try:
        return _rewrite(session, asked, result, content, structured == "keep", data)
    except Exception as fault:  # whatever it is: the tool's result goes through
        session.gateway.faults.add("mcp result", fault)
        return Rewritten(result, "")


def _rewrite(session: Session, asked: Asked, result: Mapping[str, Json], content: Sequence[Json], keep: bool,
             data: bytes | memoryview | None) -> Rewritten:
    failed = result.get("isError") is True
    said = result.get(STRUCTURED)
    parts = _parts(content, data)
    stays = failed or keep
    if said is not None:
        _structured(parts, said, stays, _spelt(said, data))
    if not parts.content:
        return Rewritten(result, "")
    shown = session.capture(
        tool=asked.tool, args=dict(asked.arguments), output=parts.content, is_error=failed, call_id=asked.call_id, intent=asked.intent,
        raw=asked.raw, media=parts.media, aside=parts.aside, native=_native(asked.client, parts))
    reduced = {} if shown.passed else _views(parts, shown)
    given: dict[str, Json] = dict(result)
    change: dict[str | int, spelling.Change] = {}
    if reduced:
        given["content"] = _content(content, reduced)
        change["content"] = {index: {"text": dumps(text)} if index < len(content) else dumps(_block(text))
                             for index, text in reduced.items()}
        if STRUCTURED in result and not stays:
            del given[STRUCTURED]
            change[STRUCTURED] = None
    if keep and not failed and isinstance(said, Mapping) and shown.ref and not asked.raw:
        from byref.proxy.frontends.wrap.structured import reduce
        less = reduce(said, asked.schema, shown.ref)
        if less is not said:
            given[STRUCTURED], reduced = less, {-1: ""}
            change[STRUCTURED] = dumps(dict(less))
    if not reduced:
        return Rewritten(result, shown.ref)
    try:
        return Rewritten(given, shown.ref, None if data is None else spelling.changed(data, change))
    except ValueError:  # too large, or a member that stands twice
        return Rewritten(given, shown.ref)


def _native(client: str, parts: _Parts) -> int | None:
    """Characters that a client shows of a result as it came; None where it is not known how it cuts."""
    if client not in CUTS:
        return None
    limit, left = CUTS[client]
    size = sum(len(part) for name, part in parts.content.items() if name not in parts.aside)
    return left if size > limit else WHOLE


def _spelt(said: Json, data: bytes | memoryview | None) -> str:
    """structuredContent as the upstream spelt it, where that is known."""
    try:
        return _json(said) if data is None else spelling.member(data, STRUCTURED)
    except ValueError:
        return _json(said)


def _parts(content: Sequence[Json], source: bytes | memoryview | None) -> _Parts:
    """A part for each block, in their order. Of a block that holds more than its text or bytes, the block itself is the part."""
    parts = _Parts()
    spelt: list[str] = []

    def whole(index: int) -> str:
        nonlocal spelt
        try:
            spelt = spelt or ([] if source is None else spelling.items(source, "content"))
            return spelt[index] if len(spelt) == len(content) else _json(content[index])
        except ValueError:
            return _json(content[index])

    for index, block in enumerate(content):
        kind = block.get("type") if isinstance(block, Mapping) else None
        if not isinstance(block, Mapping) or kind not in _KINDS:
            parts.aside.add(parts.add("block", whole(index), "application/json"))
            continue
        text, data, media = block.get("text"), block.get("data"), _media(block)
        inner = block.get("resource")
        if kind == "text" and isinstance(text, str):
            parts.texts[index] = parts.add("text", text)
        elif kind in ("image", "audio") and isinstance(data, str):
            parts.aside.add(parts.add(str(kind), _bytes(data), media or "application/octet-stream"))
        elif kind == "resource" and isinstance(inner, Mapping):
            held, packed = inner.get("text"), inner.get("blob")
            body = held if isinstance(held, str) else _bytes(packed) if isinstance(packed, str) else whole(index)
            default = "text/plain" if isinstance(held, str) else "application/octet-stream"
            parts.aside.add(parts.add("resource", body, _media(inner) or default))
        else:
            parts.aside.add(parts.add(str(kind), whole(index), "application/json"))
    return parts


def _structured(parts: _Parts, said: Json, stays: bool, spelt: str) -> None:
    """Adds structuredContent, as it was spelt: beside the views where it stays or the text blocks say the same, else as a text
    like others."""
    alone = not parts.texts
    if alone and not stays:  # addresses without a part's name mean the first part
        others, parts.content = parts.content, {}
        parts.content = {parts.add(STRUCTURED, spelt): spelt, **others}
    else:
        parts.add(STRUCTURED, spelt)
    if stays or _doubled(said, [str(parts.content[name]) for name in parts.texts.values()]):
        parts.aside.add(STRUCTURED)


def _doubled(said: Json, texts: Sequence[str]) -> bool:
    """Whether the text blocks say all that structuredContent says.

    They do where one is its JSON, as the protocol recommends, and where a server has wrapped what is no object as
    `{"result": ...}`: a text, a value, or a list of which each item is a block (so do the SDK's own servers).
    """
    if any(_same(text, said) for text in texts):
        return True
    if not isinstance(said, Mapping) or list(said) != ["result"]:
        return False
    inner = said["result"]
    if any(text == inner or _same(text, inner) for text in texts):
        return True
    return isinstance(inner, list) and len(inner) == len(texts) and all(
        text == item or _same(text, item) for text, item in zip(texts, inner, strict=True))


def _same(text: str, value: Json) -> bool:
    start = text.lstrip()[:1]
    if not start or (start not in "{[" and isinstance(value, (Mapping, list))):
        return False
    try:
        return json.dumps(json.loads(text), sort_keys=True) == json.dumps(value, sort_keys=True)
    except (ValueError, RecursionError):
        return False


def _views(parts: _Parts, shown: Captured) -> dict[int, str]:
    """The blocks that get another text: index to text; an index past the last block is a block of its own.

    The head stands in the first of them. A block that the view leaves whole is no other.
    """
    texts = shown.texts
    views: dict[int, str] = {}
    for index, name in parts.texts.items():
        raw, text = parts.content[name], texts[name]
        if text.removeprefix(f"«{name}»\n") != raw:
            views[index] = text
    if STRUCTURED in parts.content and STRUCTURED not in parts.aside:
        last = max(parts.texts, default=len(parts.texts) + len(parts.aside))
        before = views.get(last, str(parts.content[parts.texts[last]]) if last in parts.texts else "")
        whole = not any(gap.part == STRUCTURED for gap in shown.gaps)
        text = f"«{STRUCTURED}»\n{unmarked(str(parts.content[STRUCTURED]))}" if whole else texts[STRUCTURED]
        views[last] = f"{before}{'' if not before or before.endswith(chr(10)) else chr(10)}{text}"
    if views:
        first = min(views)
        views[first] = shown.head + views[first]
    return views


def _content(content: Sequence[Json], views: Mapping[int, str]) -> list[Json]:
    given: list[Json] = []
    for index, block in enumerate(content):
        given.append({**block, "text": views[index]} if index in views and isinstance(block, Mapping) else block)
    given += [_block(text) for index, text in sorted(views.items()) if index >= len(content)]
    return given


def _block(text: str) -> dict[str, Json]:
    return {"type": "text", "text": text}


def _media(block: Mapping[str, Json]) -> str:
    media = block.get("mimeType")
    return media if isinstance(media, str) and len(media) <= 255 else ""


def _bytes(data: str) -> bytes:
    """The bytes of base64; of what is none, its own."""
    try:
        return b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return data.encode("utf-8", "surrogatepass")


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
