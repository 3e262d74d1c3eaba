"""Pydantic AI: the messages of `all_messages_json`, requests and responses of parts, a list or one a line."""
from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, arguments, count, filled, objects, text_of, word

SOURCE = "Pydantic AI"
_QUIET = ("file", "builtin-tool-call", "builtin-tool-return", "native-tool-call", "native-tool-return", "compaction")


def fits(row: dict[str, Json]) -> bool:
    """Whether it is a message of one."""
    return row.get("kind") in ("request", "response") and any("part_kind" in part for part in objects(row.get("parts")))


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """One a file."""
    transcript = Transcript(rows.path, SOURCE)
    for number, (where, row) in enumerate(rows):
        if row.get("kind") not in ("request", "response") or not isinstance(row.get("parts"), list):
            rows.foreign(where, row)
            continue
        transcript.system = transcript.system or len(word(row, "instructions"))
        for part in objects(row["parts"], partial(rows.odd, where)):
            if not _part(transcript, part):
                rows.odd(where, f"a part of the kind {word(part, 'part_kind') or 'none'!r} is not known here, and not read")
        usage = row.get("usage")
        if row["kind"] == "response":
            transcript.model = transcript.model or word(row, "model_name")
            if isinstance(usage, dict):
                read, written = count(usage, "cache_read_tokens"), count(usage, "cache_write_tokens")
                transcript.billed(str(number), input=max(0, count(usage, "input_tokens") - read - written), read=read, written=written,
                                  output=count(usage, "output_tokens"))
    yield from filled([transcript])


def _part(transcript: Transcript, part: dict[str, Json]) -> bool:
    """Whether the part is known here."""
    kind, key, content = word(part, "part_kind"), word(part, "tool_call_id"), part.get("content")
    if kind == "tool-call":
        transcript.called(key, word(part, "tool_name"), arguments(part.get("args")))
    elif kind == "tool-return" or (kind == "retry-prompt" and word(part, "tool_name")):
        failed = kind == "retry-prompt" or word(part, "outcome") in ("failed", "denied")
        transcript.result(key, _sent(content), failed)
    elif kind in ("user-prompt", "retry-prompt"):
        transcript.told(text_of(content))
    elif kind in ("system-prompt", "instruction"):
        transcript.system += len(text_of(content))
    elif kind == "text":
        transcript.said(text_of(content))
    elif kind == "thinking":
        transcript.thought(text_of(content))
    else:
        return kind in _QUIET
    return True


def _sent(content: Json) -> str:
    """What a tool returned as the model saw it: text as it is, all else as JSON."""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, separators=(",", ":"))
