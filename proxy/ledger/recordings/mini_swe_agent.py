"""mini-swe-agent: `.traj.json`, `messages` and `info`; in its first versions the list of messages alone.

A call is one of `tool_calls`, or a command in a fenced block of the text, which the next message of the role `user` answers.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.recordings import openai
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, filled, objects, text_of, word

SOURCE = "mini-swe-agent"
_FENCED = re.compile(r"```(?:bash|sh|mswea_bash_command)\s*\n(.*?)\n```", re.S)
_OBSERVED = "<returncode>"
_ENDED = "exit"  # the role of the last message, which no model sees


def fits(row: dict[str, Json]) -> bool:
    """Whether it is one."""
    info, messages = row.get("info"), objects(row.get("messages"))
    if word(row, "trajectory_format").startswith("mini-swe-agent") or (isinstance(info, dict) and "mini_version" in info):
        return bool(messages)
    return any(message.get("role") == "user" and text_of(message.get("content")).startswith(_OBSERVED) for message in messages)


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """One a document."""
    for where, row in rows:
        if fits(row):
            yield from filled([_one(where, row, rows)])
        else:
            rows.foreign(where, row)


def _one(where: str, row: dict[str, Json], rows: Rows) -> Transcript:
    messages, info = objects(row.get("messages"), partial(rows.odd, where)), row.get("info")
    transcript = Transcript(word(row, "instance_id") or where, SOURCE)
    transcript.model = _model(info)
    last = messages[-1].get("role") if messages else ""
    if last == _ENDED or (last == "user" and isinstance(info, dict) and word(info, "exit_status")):
        messages.pop()  # what was submitted: nobody was sent it
    waiting: list[str] = []
    for number, message in enumerate(messages):
        content, commands = text_of(message.get("content")), _commands(message)
        if message.get("role") == "assistant" and commands:
            transcript.said(content)
            waiting = [f"{number} {i}" for i in range(len(commands))]
            for key, command in zip(waiting, commands, strict=True):
                transcript.called(key, "bash", {"command": command}, written=command.strip() in content)
        elif message.get("role") == "user" and waiting:
            transcript.result(waiting.pop(0), content)
        else:
            openai.message(transcript, message, partial(rows.odd, f"{where} message {number + 1}"))
        openai.billed(transcript, _answered(message), str(number))
    return transcript


def _model(info: Json) -> str:
    """The name in the configuration."""
    for name in ("config", "model"):
        info = info.get(name) if isinstance(info, dict) else None
    return word(info, "model_name") if isinstance(info, dict) else ""


def _commands(message: dict[str, Json]) -> list[str]:
    """The commands in a message's text; none where they are calls of a tool."""
    if message.get("tool_calls") or message.get("role") != "assistant":
        return []
    extra = message.get("extra")
    actions = [word(one, "command") for one in objects(extra.get("actions"))] if isinstance(extra, dict) else []
    return actions or _FENCED.findall(text_of(message.get("content")))


def _answered(message: dict[str, Json]) -> dict[str, Json]:
    """The provider's whole answer, which holds the usage."""
    extra = message.get("extra")
    response = extra.get("response") if isinstance(extra, dict) else None
    return response if isinstance(response, dict) and "usage" not in message else {}
