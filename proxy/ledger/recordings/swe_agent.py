"""SWE-agent: `.traj`, one document: `history`, the messages as the model saw them, and `trajectory`, the steps that were run.

The history is read, for it has the tools' names and all that the model saw; the steps where they are more, or alone. Demonstrations have
only a history. A run of several attempts holds each, and the one that was chosen a second time.
"""
from __future__ import annotations

from collections.abc import Iterator

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, arguments, filled, objects, text_of, word

SOURCE = "SWE-agent"
_MAIN = ("", "main", "primary", "default")  # names of the one agent; others have contexts of their own


def fits(row: dict[str, Json]) -> bool:
    """Whether it is one."""
    if any("observation" in step and "action" in step for step in objects(row.get("trajectory"))):
        return True
    return any("role" in one and ("action" in one or "message_type" in one or "agent" in one) for one in objects(row.get("history")))


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """One a document, an attempt and an agent of it."""
    for where, row in rows:
        if not fits(row):
            rows.foreign(where, row)
            continue
        attempts = [one for one in objects(row.get("attempts")) if fits(one)]
        for number, one in enumerate(attempts or [row], 1):
            name = word(row, "instance_id") or where
            yield from filled(_read(f"{name}#{number}" if attempts else name, one, rows, where))


def _read(name: str, row: dict[str, Json], rows: Rows, where: str) -> list[Transcript]:
    steps, history = objects(row.get("trajectory")), objects(row.get("history"))
    for field in ("trajectory", "history"):
        held = row.get(field)
        if isinstance(held, list) and len(objects(held)) < len(held):
            rows.odd(where, f"what stands in `{field}` and is no object is not read")
    told: dict[str, list[dict[str, Json]]] = {}
    for message in history:
        agent = word(message, "agent")
        told.setdefault(name if agent in _MAIN else f"{name}/{agent}", []).append(message)
    if sum(map(_acts, history)) >= sum(bool(word(step, "action").strip()) for step in steps):
        return [_history(Transcript(key, SOURCE), messages) for key, messages in told.items()]
    start = next((i for i, message in enumerate(history) if _acts(message)), len(history))
    return [_steps(_history(Transcript(name, SOURCE), history[:start]), steps)]


def _steps(transcript: Transcript, steps: list[dict[str, Json]]) -> Transcript:
    """What was run. A tool is named by the first word of its action."""
    for number, step in enumerate(steps):
        action = word(step, "action").strip()
        if action:
            text, thought = word(step, "response"), word(step, "thought").strip()
            transcript.thought("" if thought in text else thought)
            transcript.said(text)
            transcript.called(str(number), action.split(maxsplit=1)[0], {"command": action}, written=action in text)
            transcript.result(str(number), word(step, "observation"))
    return transcript


def _acts(message: dict[str, Json]) -> bool:
    if message.get("role") != "assistant" or message.get("is_demo") is True:
        return False
    return bool(objects(message.get("tool_calls")) or word(message, "action").strip())


def _history(transcript: Transcript, messages: list[dict[str, Json]]) -> Transcript:
    """Messages in order. Without ids the first call that waits is meant by what follows."""
    waiting: list[str] = []
    for number, message in enumerate(messages):
        role, text = message.get("role"), text_of(message.get("content"))
        if role == "system" or message.get("is_demo") is True:  # a demonstration stands in the context, and nobody did it
            transcript.system += len(text)
        elif role == "assistant":
            thought, action = word(message, "thought").strip(), word(message, "action").strip()
            transcript.thought("\n".join([*(word(one, "thinking") for one in objects(message.get("thinking_blocks"))),
                                          "" if thought in text else thought]))
            transcript.said(text)
            calls = objects(message.get("tool_calls"))
            waiting = [word(call, "id") for call in calls] or [str(number)] * bool(action)
            for call in calls:
                function = call.get("function")
                function = function if isinstance(function, dict) else {}
                transcript.called(word(call, "id"), word(function, "name"), arguments(function.get("arguments")))
            if action and not calls:
                transcript.called(str(number), action.split(maxsplit=1)[0], {"command": action}, written=action in text)
        elif role in ("user", "tool") and waiting:
            transcript.result(waiting.pop(0), text)
        else:
            transcript.told(text)
    return transcript
