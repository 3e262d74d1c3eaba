"""Who may look at the dashboard: codes, keys, and how a page that is open comes in again when its daemon is another one.

A code comes over the Unix socket and lets one page in, once. It gets a key, which stands in `Authorization` and ends with the daemon,
and a secret, which it never sends and keeps in no storage. When the daemon was started again, page and daemon prove to each other that
they know that secret, which the daemon derives from `daemon.token`, and the page gets a new key. What is proved holds for this port and
this daemon alone: a program of somebody else that listens where the daemon did learns nothing that it could use there or elsewhere.
"""
from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable

from byref.proxy.contracts import Json
from byref.proxy.frontends.http import Refused

CODE = 600.0  # seconds in which a code can be used
KEYS = 64  # pages at once; the oldest key goes
TICKET = 60.0  # seconds in which a download can begin
AGAIN = "run `byref dashboard` again"


class Door:
    """Codes, keys and tickets of one daemon. token: that of `daemon.token`; port: of its HTTP, 0 for none yet; clock: seconds."""

    def __init__(self, token: str, port: Callable[[], int], clock: Callable[[], float] = time.monotonic) -> None:
        self._token, self._port, self._clock = token.encode(), port, clock
        self._codes: dict[str, float] = {}
        self._keys: dict[str, None] = {}  # hashes of keys, so that comparing them tells nothing
        self._tickets: dict[str, tuple[float, tuple[str, ...]]] = {}
        self._challenge = secrets.token_urlsafe(32)

    def code(self) -> str:
        """A code for one page, within `CODE` seconds."""
        now = self._clock()
        self._codes = {code: until for code, until in self._codes.items() if until > now}
        code = secrets.token_urlsafe(32)
        self._codes[code] = now + CODE
        return code

    def enter(self, code: str) -> dict[str, Json]:
        """A key for a code, and what the page can come in again with. Raises `Refused`."""
        if self._codes.pop(code, 0.0) <= self._clock():
            raise Refused(401, f"this code was used, or is too old: {AGAIN}")
        return {"key": self._new(), **self.passport()}

    def passport(self) -> dict[str, Json]:
        """What a page that was let in can come in again with: a name, and the secret that belongs to it."""
        name = secrets.token_urlsafe(16)
        return {"name": name, "secret": self._secret(name)}

    def check(self, given: str) -> None:
        """Raises `Refused` where a header `Authorization` holds neither a key nor the daemon's token."""
        kind, _, key = given.partition(" ")
        own = hmac.compare_digest(given.encode("utf-8", "replace"), b"Bearer " + self._token)
        if not own and (kind != "Bearer" or _hash(key) not in self._keys):
            raise Refused(401, f"no key, or one of a daemon that has ended: {AGAIN}")

    def greet(self, name: str, nonce: str) -> dict[str, Json]:
        """What this daemon asks of a page that comes in again, and the proof that it is one of the same `daemon.token`."""
        return {"challenge": self._challenge, "proof": self._proof("daemon", name, nonce)}

    def again(self, name: str, nonce: str, proof: str) -> dict[str, Json]:
        """A key for a page's proof. Raises `Refused`."""
        if not hmac.compare_digest(self._proof("page", name, nonce).encode(), proof.encode("utf-8", "replace")):
            raise Refused(401, f"this page was let in under another `daemon.token`: {AGAIN}")
        return {"key": self._new()}

    def ticket(self, *what: str) -> str:
        """What a download is asked for with, once: a link of a browser has no header."""
        now = self._clock()
        self._tickets = {name: held for name, held in self._tickets.items() if held[0] > now}
        name = secrets.token_urlsafe(32)
        self._tickets[name] = now + TICKET, what
        return name

    def redeem(self, ticket: str) -> tuple[str, ...]:
        """What a ticket was for. Raises `Refused`."""
        until, what = self._tickets.pop(ticket, (0.0, ()))
        if until <= self._clock():
            raise Refused(401, "this download was begun before, or asked for too long ago: ask for it on the page again")
        return what

    def _new(self) -> str:
        key = secrets.token_urlsafe(32)
        while len(self._keys) >= KEYS:
            del self._keys[next(iter(self._keys))]
        self._keys[_hash(key)] = None
        return key

    def _secret(self, name: str) -> str:
        return _hmac(self._token, f"dashboard {name}")

    def _proof(self, who: str, name: str, nonce: str) -> str:
        return _hmac(self._secret(name).encode(), f"{who} {self._port()} {nonce} {self._challenge}")


def _hmac(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def _hash(key: str) -> str:
    return hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=32).hexdigest()
