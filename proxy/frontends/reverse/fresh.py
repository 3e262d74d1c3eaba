"""Answers that are young enough to be given again instead of asking: who may have which, and for how long.

An answer is for the same request alone: method, URL and every header that could change it. What that comes to is a keyed hash in
memory, so that no credential is kept, and none but its own opens an answer.
"""
from __future__ import annotations

import asyncio
import hashlib
import os
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from multidict import MultiMapping

from byref.proxy import config
from byref.proxy.contracts import Clock
from byref.proxy.errors import ConfigError
from byref.proxy.frontends.wrap.hops import Headers

MOST = 4096  # answers that are known; their bytes lie in the store
# Headers that tell of a request, and not what is asked for.
_ASIDE = frozenset((
    "user-agent", "accept-encoding", "cache-control", "pragma", "referer", "date", "traceparent", "tracestate", "baggage", "x-request-id",
    "x-correlation-id", "priority", "dnt"))


@dataclass(frozen=True, slots=True)
class Answer:
    """A stored answer. headers: those of its body as it is stored, decoded. media: of the part. at: when it came, by the clock."""

    ref: str
    reason: str | None
    headers: Headers
    at: float
    age: int


class Fresh:
    """The answers of this process. clock: seconds since the epoch."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._secret = clock, os.urandom(32)
        self._answers: OrderedDict[bytes, Answer] = OrderedDict()
        self._flying: dict[bytes, asyncio.Event] = {}

    def key(self, url: str, headers: Mapping[str, str]) -> bytes:
        """What identifies a GET. headers: as they go to the upstream."""
        found = hashlib.blake2b(url.encode(), key=self._secret, digest_size=32)
        for name, value in sorted((name.lower(), value) for name, value in headers.items() if name.lower() not in _ASIDE):
            found.update(f"\0{name}\0{len(value)}:{value}".encode("utf-8", "replace"))
        return found.digest()

    def find(self, key: bytes, limit: float) -> tuple[Answer, int] | None:
        """An answer no older than limit seconds, and its age."""
        found = self._answers.get(key)
        if found is None:
            return None
        age = found.age + max(0, int(self._clock() - found.at))
        return (found, age) if age <= limit else None

    async def awaited(self, key: bytes, limit: float) -> tuple[Answer, int] | None:
        """As `find`, after a request of the same kind that is on its way, if one is. Whoever gets nothing asks, and waits no more."""
        flight = self._flying.get(key)
        if flight is None:
            return None
        await flight.wait()
        return self.find(key, limit)

    def ask(self, key: bytes) -> None:
        """A request goes out whose answer others may want."""
        self._flying.setdefault(key, asyncio.Event())

    def asked(self, key: bytes) -> None:
        """It is answered, or its answer is for nobody else: who waited looks again. May be said more than once."""
        flight = self._flying.pop(key, None)
        if flight is not None:
            flight.set()

    def keep(self, key: bytes, ref: str, reason: str | None, headers: Headers) -> None:
        """Knows of an answer of status 200 from now on, unless it says that it is for nobody else."""
        control = ", ".join(headers.getall("Cache-Control", [])).lower()
        varies = {name.strip().lower() for name in ", ".join(headers.getall("Vary", [])).split(",")}
        self._answers.pop(key, None)
        if "no-store" in control or "*" in varies or varies & (_ASIDE - {"accept-encoding"}):
            return
        age = headers.get("Age", "")
        kept = headers.copy()
        kept.popall("Age", None)
        kept.popall("Set-Cookie", None)
        self._answers[key] = Answer(ref, reason, kept, self._clock(), int(age) if age.isascii() and age.isdigit() else 0)
        if len(self._answers) > MOST:
            self._answers.popitem(last=False)

    def drop(self, key: bytes) -> None:
        """Forgets an answer whose bytes are no longer held."""
        self._answers.pop(key, None)


def limit(headers: MultiMapping[str], default: float) -> float:
    """How old an answer may be, in seconds; 0 for one from the upstream itself.

    Byref-Max-Age goes before Cache-Control (max-age, no-cache, no-store), and that before the default. Raises `ConfigError`.
    """
    asked = headers.get("Byref-Max-Age")
    if asked is not None:
        return 0.0 if asked.strip() == "0" else config.age(asked, "Byref-Max-Age")
    found = default
    for directive in ",".join(headers.getall("Cache-Control", [])).lower().split(","):
        name, _, value = directive.strip().partition("=")
        if name in ("no-cache", "no-store"):
            return 0.0
        if name == "max-age":
            if not value.isascii() or not value.strip(' "').isdigit():
                raise ConfigError("Cache-Control: max-age is a number of seconds")
            found = float(value.strip(' "'))
    return found
