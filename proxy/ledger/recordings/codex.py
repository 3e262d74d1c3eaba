"""Codex: `sessions/**/rollout-*.jsonl`, an item of the Responses API a line, in older files without its envelope.

A resumed session goes on in its file. A forked one has a file of its own, into which many versions copy what came before: that counts
once, and so does what an older copy of the file holds. A sub-agent has a file of its own, too.
"""
from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, arguments, blocks, count, filled, objects, text_of, word

SOURCE = "Codex"
OFTEN_EMPTY = True  # files without an output are usual
_ENVELOPES = ("session_meta", "response_item", "turn_context", "event_msg", "compacted", "world_state", "token_usage_record")
ITEMS = ("function_call", "function_call_output", "local_shell_call", "custom_tool_call", "custom_tool_call_output", "reasoning")
# Items without an output that a client could show otherwise: the provider runs the tool, or nothing of it is seen.
_QUIET = ("web_search_call", "image_generation_call", "code_interpreter_call", "file_search_call", "mcp_call", "mcp_list_tools",
          "mcp_approval_request", "mcp_approval_response", "tool_search_call", "ghost_snapshot", "compaction", "compaction_summary",
          "compaction_trigger", "context_compaction", "item_reference", "additional_tools", "other")
# Messages of the role `user` that Codex wrote itself.
_OWN = re.compile(r"\s*(?:<(?:environment_context|user_instructions|INSTRUCTIONS|turn_aborted|subagent_notification|user_shell_command)>"
                  r"|# AGENTS\.md instructions)")


def fits(row: dict[str, Json]) -> bool:
    """Whether it is a line of one."""
    enveloped = row.get("type") in _ENVELOPES and isinstance(row.get("payload"), dict)
    return enveloped or row.get("type") in ITEMS or ("instructions" in row and "timestamp" in row and "id" in row)


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """One a file; what follows a compaction is a context of its own."""
    transcript, number, base, fork, begun = Transcript(rows.path, SOURCE), 1, 0, False, False
    billing = _Billing()
    for where, row in rows:
        payload, kind = row.get("payload"), row.get("type")
        if kind in _ENVELOPES and not isinstance(payload, dict):
            rows.tell(f"{where}: `payload` is to be an object")
            continue
        held = payload if isinstance(payload, dict) else row
        if kind == "session_meta" or "instructions" in row:
            if begun:  # of the session that this one was forked from
                fork = True
                continue
            begun, transcript.id = True, word(held, "id") or rows.path
            fork = "forked_from_id" in held or not rows.first(f"rollout {transcript.id}")  # the second: an older copy of this file was read
            base = transcript.system = len(word(held, "instructions") or text_of(held.get("base_instructions")))
        elif kind == "turn_context":
            transcript.model = transcript.model or word(held, "model")
        elif kind == "compacted":
            yield from filled([transcript])
            number += 1
            before, transcript = transcript, Transcript(f"{transcript.id.partition('#')[0]}#{number}", SOURCE)
            transcript.model, transcript.system = before.model, base
            kept = [one for one in objects(held.get("replacement_history")) if one.get("type") == "message"]
            for one in kept or [{"type": "message", "role": "user", "content": word(held, "message")}]:
                item(transcript, one, partial(rows.odd, where))
        elif kind == "event_msg" and held.get("type") == "token_count":
            billing.add(transcript, held.get("info"), rows, fork)
        elif kind in ("event_msg", "world_state", "token_usage_record"):
            continue
        elif kind == "response_item" or fits(row) or "role" in row or word(row, "type").endswith(("_call", "_output")):
            if not (_copied(held, rows) and fork):
                item(transcript, held, partial(rows.odd, where))
        elif row.get("record_type") != "state":  # of files before 0.32
            rows.foreign(where, row)
    yield from filled([transcript])


def _copied(held: dict[str, Json], rows: Rows) -> bool:
    """Whether a file before, or this one, held the same result of a call."""
    kind = word(held, "type")
    return kind.endswith("_output") and not rows.first(f"{word(held, 'call_id', 'id')} {json.dumps(held.get('output'))}")


class _Billing:
    """What was billed, once: the last request's usage is told again while nothing new was billed, and as zeros after a compaction."""

    def __init__(self) -> None:
        self.number, self.total = 0, -1

    def add(self, transcript: Transcript, info: Json, rows: Rows, fork: bool) -> None:
        """One telling. fork: whether the file begins with a copy of another."""
        last = info.get("last_token_usage") if isinstance(info, dict) else None
        if not isinstance(last, dict) or not any(count(last, name) for name in last):
            return
        copied = not rows.first("billed " + json.dumps([info.get("total_token_usage") if isinstance(info, dict) else None, last]))
        total = count(info, "total_token_usage", "total_tokens")
        if (total and total == self.total) or (copied and fork):
            return
        self.number, self.total = self.number + 1, total
        read, written = count(last, "cached_input_tokens"), count(last, "cache_write_input_tokens")
        transcript.billed(str(self.number), input=max(0, count(last, "input_tokens") - read - written), read=read, written=written,
                          output=count(last, "output_tokens"))


def item(transcript: Transcript, held: dict[str, Json], tell: Callable[[str], None]) -> None:
    """One item of the Responses API. tell: takes what is not read of it."""
    kind, key = word(held, "type"), word(held, "call_id", "id")
    if kind == "message" or (not kind and "role" in held):
        _message(transcript, held, tell)
    elif kind == "reasoning":
        transcript.thought(text_of(held.get("summary")) or text_of(held.get("content")))
    elif kind in _QUIET:
        return
    elif kind.endswith("_output"):
        text, failed = _output(held.get("output"))
        transcript.result(key, text, failed)
    elif kind.endswith("_call"):
        name = word(held, "name") or kind.removesuffix("_call")
        space = word(held, "namespace")
        given = next((held[one] for one in ("arguments", "input", "action", "operation") if held.get(one) is not None), None)
        transcript.called(key, f"{space}__{name}" if space else name, arguments(given))
    else:
        tell(f"an item of the type {kind or 'none'!r} is not known here, and not read")


def _message(transcript: Transcript, held: dict[str, Json], tell: Callable[[str], None]) -> None:
    role, text = held.get("role"), text_of([*blocks(held.get("content"), tell)])
    if role == "assistant":
        transcript.said(text)
    elif role == "user" and not _OWN.match(text):
        transcript.told(text)
    elif role in ("user", "system", "developer"):
        transcript.system += 0 if transcript.turns else len(text)
    else:
        tell(f"a message of the role {role!r} is not known here, and not read")


def _output(value: Json) -> tuple[str, bool]:
    """What the model saw, and whether it is said to have failed: text, blocks, a shell's streams, or text with its exit code in JSON in a
    string.
    """
    inner = arguments(value)
    if isinstance(inner, dict):
        for name in ("output", "content"):
            if isinstance(inner.get(name), (str, list)):
                return text_of(inner[name]), inner.get("success") is False or count(inner, "metadata", "exit_code") > 0
    streams = [word(one, name) for one in objects(value) for name in ("stdout", "stderr") if "stdout" in one]
    return "\n".join(filter(None, streams)) or text_of(value), False
