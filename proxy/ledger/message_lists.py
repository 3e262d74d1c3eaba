"""Message lists of a file: one a row, messages that stand a line, and requests of one conversation, each of which holds all before it."""
from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator

from byref.proxy.contracts import Json
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, filled

OPEN = 64  # conversations that may still grow; the one that did not for longest is closed first
WRAPS = ("body", "request", "inputs", "input", "kwargs")  # where programs that log a request with more put it
Messages = list[dict[str, Json]]


class Lists:
    """Puts the lists of a file together. make: the transcript of one, by where it stands and the row that holds it."""

    def __init__(self, make: Callable[[str, dict[str, Json], Messages], Transcript]) -> None:
        self._make = make
        self._open: dict[bytes, tuple[str, dict[str, Json], Messages]] = {}

    def add(self, where: str, row: dict[str, Json], messages: Messages) -> Iterator[Trajectory]:
        """One list. A list that begins with all of another goes on with it, as the next request of a conversation does."""
        chain, before = b"", b""
        for message in messages:
            chain = hashlib.blake2b(chain + _plain(message), digest_size=16).digest()
            before = chain if chain in self._open else before
        self._open.pop(before, None)
        self._open[chain] = where, row, messages
        if len(self._open) > OPEN:
            yield from filled([self._make(*self._open.pop(next(iter(self._open))))])

    def rest(self) -> Iterator[Trajectory]:
        """Those that are still open."""
        yield from filled(self._make(*one) for one in self._open.values())
        self._open.clear()


def _plain(message: dict[str, Json]) -> bytes:
    """A message in bytes that stay when the mark of a prompt cache wanders, which makes a text an array of one block."""
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    named = {name: value for name, value in message.items() if name not in ("content", "cache_control")}
    found = [{k: v for k, v in one.items() if k != "cache_control"} if isinstance(one, dict) else one for one in content] \
        if isinstance(content, list) else content
    return json.dumps([named, found], sort_keys=True).encode("ascii")


class Loose:
    """Messages that stand a line, one session of a file."""

    def __init__(self) -> None:
        self.messages: Messages = []
        self.places: list[str] = []

    def add(self, where: str, message: dict[str, Json]) -> None:
        """One more."""
        self.places.append(where)
        self.messages.append(message)


def unwrapped(row: dict[str, Json]) -> dict[str, Json]:
    """A request of what logs it with more (a batch of OpenAI's, Langfuse, LangSmith); all else as it is."""
    for name in WRAPS:
        inner = row.get(name)
        held = inner.get("messages", inner.get("input")) if isinstance(inner, dict) else None
        if isinstance(inner, dict) and isinstance(held, list) and "messages" not in row:
            alone = held[0] if len(held) == 1 and isinstance(held[0], list) else held  # LangSmith's are lists of a batch
            return {**inner, "messages": alone} if "messages" in inner else inner
    return row
