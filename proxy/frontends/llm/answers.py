"""Our tools offered to a model by the proxy itself, and its calls of them answered there: what every API has in common.

A call of ours and its result are no part of what the client sees, so its next request lacks them. They are put back where they stood:
then the model still has what it fetched, and the provider still has the beginning of the request in its cache.
"""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

from byref.proxy.contracts import Json
from byref.proxy.errors import ByrefError
from byref.proxy.frontends.llm.ours import which
from byref.proxy.frontends.llm.reading import Edit, Node
from byref.proxy.frontends.wrap import own
from byref.proxy.frontends.wrap.events import Event
from byref.proxy.session import Session

ROUNDS = 25  # times that one answer may call our tools
OFFERED = tuple((f"byref_{tool['name']}", str(tool["description"]), tool["inputSchema"]) for tool in own.TOOLS if tool["name"] != "status")


@dataclass(frozen=True, slots=True)
class Asked:
    """A call of ours that a model made."""

    call_id: str
    name: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class Answered:
    """What such a call is given."""

    asked: Asked
    text: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Hidden:
    """Calls of ours that stood in an answer after so many of its visible pieces (blocks; of Chat: characters).

    calls, results: as they stand in a request, without brackets around. together: with calls of the client's own, in one message.
    """

    after: int
    calls: str
    results: str
    together: bool


class Talk(Protocol):
    """The answer that a client gets to one request, over the rounds that it takes."""

    hidden: list[Hidden]

    def event(self, event: Event) -> bytes:
        """What the client gets of an event of a stream."""

    def whole(self, message: Mapping[str, Json]) -> None:
        """Takes in an answer that is no stream."""

    def ended(self) -> list[Asked]:
        """The calls of ours in the round that has ended."""

    def goes_on(self) -> bool:
        """Whether the round that has ended is to be followed by another one."""

    def follow(self, answers: Sequence[Answered]) -> str:
        """What comes after the messages of the last request, with a comma before it; begins the next round."""

    def message(self) -> Json:
        """The answer as one message, for a client that asked for no stream."""

    def anchor(self) -> str:
        """What tells this answer when it comes back in a later request."""


class Answerer(Protocol):
    """An API whose models' calls can be answered here."""

    def offer(self) -> str:
        """Our tools, as they stand in a request."""

    def talk(self) -> Talk:
        """For the answer to one request."""

    def restored(self, text: str, request: Node, hidden: Mapping[str, Sequence[Hidden]]) -> list[Edit]:
        """The edits that put back what was hidden of earlier answers."""


def ours(name: str) -> str:
    """Which of our tools a name that we offered stands for; empty for others."""
    return which(name) if any(name == one for one, _, _ in OFFERED) else ""


def answer(session: Session, asked: Asked) -> Answered:
    """What a call of ours is given. Blocks, and never fails: a fault is told to the model."""
    try:
        if not isinstance(asked.arguments, dict):
            return Answered(asked, "the arguments are to be a JSON object", True)
        return Answered(asked, "\n".join(own.call(session, ours(asked.name), asked.arguments)), False)
    except (ByrefError, OSError) as fault:
        return Answered(asked, str(fault), True)
    except Exception as fault:  # a call always gets its answer
        return Answered(asked, session.gateway.faults.add(f"tool {asked.name[:20]}", fault), True)


def written(value: Json) -> str:
    """JSON as we write it."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def anchor(pieces: Sequence[tuple[str, str]]) -> str:
    """A name for an answer: the kinds of its pieces with their texts or ids."""
    return blake2b(json.dumps(pieces).encode(), digest_size=16).hexdigest()
