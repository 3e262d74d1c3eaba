"""What a caller wants of us with its request, and what of the request is kept beside its answer."""
from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from urllib.parse import parse_qsl

from aiohttp import web

from byref.proxy import config
from byref.proxy.contracts import Json
from byref.proxy.frontends.reverse.headers import VIEW, secret
from byref.proxy.frontends.reverse.paths import Outside
from byref.proxy.gates import SAFE
from byref.proxy.operations import Request

RAW = "raw"
KEPT = 1 << 16  # bytes of a request's body that are kept, where it is JSON
_PART = "profile="


@dataclass(frozen=True, slots=True)
class Wanted:
    """view: a profile, `raw` for the answer as it is but with its ref, empty where nothing was said. budget in tokens."""

    view: str = ""
    intent: str = ""
    budget: int | None = None
    session: str = "http"


def wanted(headers: Mapping[str, str]) -> Wanted:
    """What the headers Byref-View, -Intent, -Budget and -Session say, and `text/vnd.byref` in Accept. Raises `Outside`."""
    view = headers.get("Byref-View", "").strip().lower()
    if not view:
        for one in headers.get("Accept", "").split(","):
            kind, *parameters = [piece.strip().lower() for piece in one.split(";")]
            if kind == VIEW:
                view = next((piece.removeprefix(_PART).strip('"') for piece in parameters if piece.startswith(_PART)), "auto")
    if view and view not in (*config.PROFILES, RAW):
        raise Outside(400, f"no view {view[:20]!r}; take one of {', '.join(config.PROFILES)}, {RAW}")
    budget = headers.get("Byref-Budget", "").strip()
    if budget and not (budget.isascii() and budget.isdigit() and int(budget[:9]) > 0):
        raise Outside(400, "Byref-Budget is a number of tokens")
    return Wanted(view, headers.get("Byref-Intent", ""), int(budget[:9]) if budget else None, headers.get("Byref-Session", "") or "http")


class Upload:
    """The body of a request on its way to the upstream: small ones whole, others as they come."""

    def __init__(self, request: web.Request) -> None:
        self._request = request
        self.there = request.body_exists
        self._length = request.content_length
        self._hash, self._size, self._begun, self._ended = blake2b(digest_size=32), 0, bytearray(), not self.there

    async def data(self) -> bytes | AsyncIterator[bytes] | None:
        """What to send: None for no body."""
        if not self.there:
            return None
        if self._length is None or self._length > KEPT:
            return self._pieces()
        async for _ in self._pieces():
            pass
        return bytes(self._begun)

    async def _pieces(self) -> AsyncIterator[bytes]:
        async for piece in self._request.content.iter_any():
            self._hash.update(piece)
            self._size += len(piece)
            if len(self._begun) <= KEPT:
                self._begun += piece[:KEPT + 1 - len(self._begun)]
            yield piece
        self._ended = True

    def kept(self) -> Json:
        """What is kept of it: JSON of up to 64 KiB as it is, of all else its hash and size, since it may hold what nobody should."""
        if self._ended and self._size <= KEPT and self._request.content_type.endswith("json"):
            try:
                found: Json = json.loads(self._begun)
                return found
            except (ValueError, RecursionError):
                pass
        return {"digest": f"b2:{self._hash.hexdigest()}" if self._ended else None, "size": self._size}


def described(method: str, rest: str, upload: Upload, hidden: Collection[str] = ()) -> Request:
    """A request as it is kept: in the form of those that a tool's adapter makes, so that both have the same ref.

    rest: path below the upstream's own, and query. hidden: names in the query that sign it; what is named as a secret is masked.
    """
    path, _, query = rest.partition("?")
    pairs = tuple((name, "*" if secret(name) else value) for name, value in parse_qsl(query, keep_blank_values=True) if name not in hidden)
    return Request(path or "/", pairs, method, upload.kept() if upload.there else None, method in SAFE)
