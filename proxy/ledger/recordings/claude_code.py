"""Claude Code: `projects/FOLDER/SESSION.jsonl`, a message or a block of one a line.

Sub-agents (`isSidechain`) have contexts of their own, and so has what follows a compaction. What a resumed session copied from
another file is read once. Usage is the answer's, said again with each of its blocks.
"""
from __future__ import annotations

import itertools
from collections.abc import Iterator

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, count, filled, objects, text_of, word

SOURCE = "Claude Code"


def fits(row: dict[str, Json]) -> bool:
    """Whether it is a message of one."""
    return row.get("type") in ("user", "assistant") and "sessionId" in row and isinstance(row.get("message"), dict)


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """Those of a file: usually one, with its sub-agents."""
    open_: dict[str, Transcript] = {}
    numbers = itertools.count(2)
    for _, row in rows:
        message = row.get("message")
        if row.get("type") not in ("user", "assistant") or not isinstance(message, dict) or not rows.first(word(row, "uuid")):
            continue
        agent = word(row, "agentId") or ("sub-agent" if row.get("isSidechain") is True else "")
        key = "/".join(filter(None, (word(row, "sessionId"), agent)))
        if row.get("isCompactSummary") is True and key in open_:
            yield from filled([open_.pop(key)])
            open_[key] = Transcript(f"{key}#{next(numbers)}", SOURCE)
        transcript = open_.setdefault(key, Transcript(key, SOURCE))
        if row["type"] == "user":
            _user(transcript, message.get("content"), row.get("isMeta") is True)
        else:
            _answer(transcript, message)
    yield from filled(open_.values())


def _user(transcript: Transcript, content: Json, meta: bool) -> None:
    if isinstance(content, str):
        transcript.told("" if meta else content)
    for block in objects(content):
        if block.get("type") == "tool_result":
            transcript.result(word(block, "tool_use_id"), text_of(block.get("content")), block.get("is_error") is True)
        elif not meta:
            transcript.told(text_of(block))


def _answer(transcript: Transcript, message: dict[str, Json]) -> None:
    key, model = word(message, "id"), word(message, "model")
    if model == "<synthetic>":  # made by the harness, such as after an interruption: nobody billed it
        return
    transcript.model = transcript.model or model
    for block in objects(message.get("content")):
        kind = block.get("type")
        if kind == "tool_use":
            transcript.called(word(block, "id"), word(block, "name"), block.get("input"), message=key)
        elif kind == "thinking":
            transcript.thought(word(block, "thinking"), message=key)
        elif kind == "text":
            transcript.said(word(block, "text"), message=key)
    usage = message.get("usage")
    if isinstance(usage, dict):
        transcript.billed(key, input=count(usage, "input_tokens"), read=count(usage, "cache_read_input_tokens"),
                          written=count(usage, "cache_creation_input_tokens"), output=count(usage, "output_tokens"))
