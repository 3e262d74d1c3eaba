"""Cline and Roo Code where a model calls tools in its text: `api_conversation_history.json`, a list of the Messages API.

What a tool returned stands in the next message of the user, as texts that begin with `[read_file for 'a.py'] Result:`. With tools of the
API the same file has blocks, which `anthropic` reads.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, blocks, filled, objects, text_of, word

SOURCE = "Cline"
_RESULT = re.compile(r"\[(\w+)(?: for '(.*?)')?[^\]]*\] Result:\s*", re.S)
_GIVEN = {"execute_command": "command", "search_files": "regex", "browser_action": "url", "use_mcp_tool": "server_name"}  # others: a path
_OWN = "<environment_details>"  # what the program says of itself with each message


def fits(row: dict[str, Json]) -> bool:
    """Whether it is a list with such a result."""
    return any(one.get("role") == "user" and _RESULT.match(text) for one in objects(row.get("messages")) for text in _texts(one))


def _texts(message: dict[str, Json]) -> list[str]:
    return [word(block, "text") for block in blocks(message.get("content"), lambda fault: None)]


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """One a list."""
    for where, row in rows:
        if isinstance(row.get("messages"), list):
            yield from filled([_one(where, objects(row["messages"], partial(rows.odd, where)))])
        else:
            rows.foreign(where, row)


def _one(where: str, messages: list[dict[str, Json]]) -> Transcript:
    transcript = Transcript(where, SOURCE)
    for number, message in enumerate(messages):
        role = message.get("role")
        if role == "assistant":
            transcript.said(text_of(message.get("content")))
        elif role == "system":
            transcript.system += len(text_of(message.get("content")))
        else:
            _user(transcript, _texts(message), str(number))
    return transcript


def _user(transcript: Transcript, texts: list[str], message: str) -> None:
    """A message of the user: results, each with the texts up to the next one, else what a person wrote."""
    seen: dict[str, list[str]] = {}
    call = ""
    for number, text in enumerate(texts):
        if found := _RESULT.match(text):
            call = f"{message} {number}"
            given: Json = {_GIVEN.get(found[1], "path"): found[2]} if found[2] else {}
            transcript.called(call, found[1], given, written=True)
            seen[call] = [text[found.end():]]
        elif text.startswith(_OWN):
            call = ""
        elif call:
            seen[call].append(text)
        else:
            transcript.told(text)
    for call, held in seen.items():
        transcript.result(call, "\n".join(filter(None, held)))
