"""Codex: what `codex exec --json` prints, an event a line.

It says less than the rollout that the same run left in `sessions/`: neither the task, the model nor what a request cost (its usage is the
thread's so far), and of a command all that it wrote, however the model saw it. So the rollout is the better recording of the two.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.recordings.codex import SOURCE
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, filled, text_of, word

_ITEMS = ("item.started", "item.updated", "item.completed")
_EVENTS = ("thread.started", "turn.started", "turn.completed", "turn.failed", *_ITEMS)
# Bytes of an output that the model sees, one half from each end: Codex 0.171.0 takes four for a token, and by default shows 10,000 tokens.
SHOWN = 40_000
_FAILED = ("failed", "declined")
# Items of which neither what was asked nor what the model saw is told, or whose tool the provider runs.
_QUIET = ("file_change", "todo_list", "web_search", "error", "collab_tool_call")


def fits(row: dict[str, Json]) -> bool:
    """Whether it is an event of one."""
    kind = row.get("type")
    return (kind == "thread.started" and "thread_id" in row) or (kind in _ITEMS and isinstance(row.get("item"), dict)) \
        or kind in ("turn.started", "turn.completed") or _oldest(row)


def _oldest(row: dict[str, Json]) -> bool:
    """Whether it is an event as first versions printed them, without items."""
    held = row.get("msg")
    return isinstance(held, dict) and "id" in row and isinstance(held.get("type"), str)


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """One a thread: a resumed one goes on."""
    threads: dict[str, Transcript] = {}
    transcript, begun = Transcript(rows.path, SOURCE), set[str]()
    for where, row in rows:
        item, kind = row.get("item"), row.get("type")
        if kind == "thread.started":
            name = word(row, "thread_id")
            transcript, begun = threads.setdefault(name, Transcript(name, SOURCE)), set()
            if not rows.first(f"rollout {name}") and not transcript.turns:
                rows.odd(where, "a thread whose rollout was read as well, and that counts twice: leave one of the two out")
        elif kind in _ITEMS and not isinstance(item, dict):
            rows.tell(f"{where}: `item` is to be an object")
        elif isinstance(item, dict) and kind in _ITEMS:
            threads.setdefault(transcript.id, transcript)
            _item(transcript, item, str(kind), begun, partial(rows.odd, where))
        elif _oldest(row):
            rows.odd(where, "what first versions printed is not read: give the rollout that the run left in ~/.codex/sessions")
        elif kind not in _EVENTS and kind != "error":
            rows.foreign(where, row, known=isinstance(kind, str) and "." in kind)
    yield from filled(threads.values())


def _item(transcript: Transcript, item: dict[str, Json], event: str, begun: set[str], tell: Callable[[str], None]) -> None:
    """One item. begun: keys of the calls that go on."""
    kind, key = word(item, "type", "item_type"), word(item, "id")
    ended = event == "item.completed"
    if kind in ("command_execution", "mcp_tool_call"):
        if key not in begun:
            begun.add(key)
            transcript.called(key, *_call(item))
        if ended:
            begun.remove(key)
            failed = item.get("status") in _FAILED or item.get("exit_code") not in (0, None)
            transcript.result(key, _output(item), failed)
    elif kind in ("agent_message", "assistant_message", "plan"):
        transcript.said(word(item, "text") if ended else "")
    elif kind == "reasoning":
        transcript.thought(word(item, "text") if ended else "")
    elif kind not in _QUIET:
        tell(f"an item of the type {kind or 'none'!r} is not known here, and not read")


def _call(item: dict[str, Json]) -> tuple[str, Json]:
    if word(item, "type", "item_type") == "command_execution":
        return "shell", {"command": word(item, "command")}
    return f"mcp__{word(item, 'server')}__{word(item, 'tool')}", item.get("arguments")


def _output(item: dict[str, Json]) -> str:
    result, error = item.get("result"), item.get("error")
    if isinstance(error, dict):
        return word(error, "message")
    text = text_of(result.get("content")) if isinstance(result, dict) else word(item, "aggregated_output")
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= SHOWN:
        return text
    return "\n…\n".join(part.decode("utf-8", "ignore") for part in (data[:SHOWN // 2], data[-SHOWN // 2:]))
