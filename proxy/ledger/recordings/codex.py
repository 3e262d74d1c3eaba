"""Codex: `sessions/**/rollout-*.jsonl`, an item of the Responses API a line, in older files without its envelope."""
from __future__ import annotations

from collections.abc import Iterator

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, arguments, count, filled, text_of, word

SOURCE = "Codex"
_ENVELOPES = ("session_meta", "response_item", "turn_context", "event_msg", "compacted")
_ITEMS = ("function_call", "function_call_output", "local_shell_call", "custom_tool_call", "custom_tool_call_output", "reasoning")


def fits(row: dict[str, Json]) -> bool:
    """Whether it is a line of one."""
    enveloped = row.get("type") in _ENVELOPES and isinstance(row.get("payload"), dict)
    return enveloped or row.get("type") in _ITEMS or ("instructions" in row and "timestamp" in row and "id" in row)


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """One a file; what follows a compaction is a context of its own."""
    transcript, number, billed = Transcript(rows.path, SOURCE), 1, 0
    for _, row in rows:
        payload = row.get("payload")
        held = payload if isinstance(payload, dict) else row
        kind = row.get("type")
        if kind == "session_meta" or "instructions" in row:
            transcript.id = word(held, "id") or rows.path
            transcript.system = transcript.system or len(word(held, "instructions", "base_instructions"))
        elif kind == "turn_context":
            transcript.model = transcript.model or word(held, "model")
        elif kind == "compacted":
            yield from filled([transcript])
            number += 1
            before, transcript = transcript, Transcript(f"{transcript.id.partition('#')[0]}#{number}", SOURCE)
            transcript.model = before.model
            transcript.told(word(held, "message"))
        elif kind == "event_msg" and held.get("type") == "token_count":
            billed += _billed(transcript, held.get("info"), billed)
        else:
            item(transcript, held)
    yield from filled([transcript])


def _billed(transcript: Transcript, info: Json, number: int) -> bool:
    """The last request's usage; it is told again while nothing new was billed."""
    last = info.get("last_token_usage") if isinstance(info, dict) else None
    if not isinstance(last, dict):
        return False
    total = count(info, "total_token_usage", "total_tokens")
    cached = count(last, "cached_input_tokens")
    transcript.billed(str(total or number), input=max(0, count(last, "input_tokens") - cached), read=cached, written=0,
                      output=count(last, "output_tokens"))
    return True


def item(transcript: Transcript, held: dict[str, Json]) -> None:
    """One item of the Responses API; others say nothing here."""
    kind, key = held.get("type"), word(held, "call_id", "id")
    if kind == "message" or (kind is None and "role" in held):
        if held.get("role") == "assistant":
            transcript.said(text_of(held.get("content")))
        elif held.get("role") == "user":
            transcript.told(text_of(held.get("content")))
        else:
            transcript.system += len(text_of(held.get("content")))
    elif kind == "function_call":
        transcript.called(key, word(held, "name"), arguments(held.get("arguments")))
    elif kind == "custom_tool_call":
        transcript.called(key, word(held, "name"), arguments(held.get("input")))
    elif kind == "local_shell_call":
        transcript.called(key, "local_shell", held.get("action"))
    elif kind in ("function_call_output", "custom_tool_call_output"):
        text, failed = _output(held.get("output"))
        transcript.result(key, text, failed)
    elif kind == "reasoning":
        transcript.thought(text_of(held.get("summary")))


def _output(value: Json) -> tuple[str, bool]:
    """What the model saw, and whether it is said to have failed: text, blocks, or text with its exit code in JSON in a string."""
    inner = arguments(value)
    if isinstance(inner, dict):
        for name in ("output", "content"):
            if isinstance(inner.get(name), (str, list)):
                return text_of(inner[name]), inner.get("success") is False or count(inner, "metadata", "exit_code") > 0
    return text_of(value), False
