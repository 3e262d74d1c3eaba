"""The way to an API: one event loop in a thread of its own for all callers, a connection pool an upstream, its gate before each request.

Redirects are not followed, so that a key goes to nobody else; an address that is not public is refused unless it was named. Needs aiohttp.
"""
from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from byref.proxy.errors import ByrefError, ConfigError
from byref.proxy.gates import Gate, Limits

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession
    from yarl import URL

LARGEST = 256 << 20  # bytes of an answer that is held
AGENT = "byref"


class Failed(ByrefError):
    """An API that could not be asked, or whose answer did not come whole."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request. url: whole, with its query, escaped. safe: it may be made again."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None
    safe: bool


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer, decoded from what it was compressed with. media: its content type, without blanks around it."""

    status: int
    media: str
    body: bytes


class Client:
    """Asks upstreams by name. Safe for many threads; closed with its last user.

    Each name has one gate, made with the limits that its first call brings.
    """

    def __init__(self, largest: int = LARGEST) -> None:
        self._largest = largest
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._sessions: dict[tuple[str, bool], ClientSession] = {}
        self._gates: dict[str, Gate] = {}

    def ask(self, name: str, asked: Asked, limits: Limits, private: bool) -> Answered:
        """Blocks for the answer, whatever its status. private: the address may be any.

        Raises `Unavailable` where the gate refuses, `Failed` where no whole answer came, `ConfigError` without aiohttp.
        """
        with self._lock:
            loop = self._started()
            gate = self._gates.setdefault(name, Gate(name, limits))
        return asyncio.run_coroutine_threadsafe(self._ask(name, asked, gate, private), loop).result()

    def _started(self) -> asyncio.AbstractEventLoop:
        try:
            import aiohttp  # noqa: F401
        except ImportError:
            raise ConfigError("to ask APIs aiohttp is needed: pip install 'byref[serve]'") from None
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="byref-client", daemon=True)
            self._thread.start()
        return self._loop

    async def _ask(self, name: str, asked: Asked, gate: Gate, private: bool) -> Answered:
        import aiohttp
        session = self._session(name, private, gate.limits.timeout)
        async with gate.call(asked.safe) as call:
            while True:
                try:
                    async with session.request(asked.method, _exact(asked.url), headers=asked.headers, data=asked.body,
                                               allow_redirects=False) as answer:
                        body = await self._read(name, answer)
                        found = Answered(answer.status, answer.headers.get("Content-Type", "").strip(), body)
                        again = await call.answered(answer.status, answer.headers.get("Retry-After"))
                except (aiohttp.ClientError, TimeoutError, OSError) as fault:
                    refused = _refused(fault)
                    if not await call.failed(again=refused is None):
                        raise Failed(f"{name} did not answer: {_said(refused or fault)}") from None
                    continue
                if not again:
                    return found

    async def _read(self, name: str, answer: ClientResponse) -> bytes:
        pieces: list[bytes] = []
        size = 0
        async for piece in answer.content.iter_chunked(1 << 16):
            pieces.append(piece)
            size += len(piece)
            if size > self._largest:
                raise Failed(f"{name} answered with more than {self._largest >> 20} MiB; narrow the request")
        return b"".join(pieces)

    def _session(self, name: str, private: bool, timeout: float) -> ClientSession:
        import aiohttp

        from byref.proxy.frontends.reverse.addresses import Guarded
        if (name, private) not in self._sessions:
            connector = aiohttp.TCPConnector(resolver=Guarded(name, private))
            self._sessions[name, private] = aiohttp.ClientSession(
                connector=connector, timeout=aiohttp.ClientTimeout(total=None, connect=timeout, sock_read=timeout), trust_env=True,
                headers={"User-Agent": AGENT}, cookie_jar=aiohttp.DummyCookieJar())
        return self._sessions[name, private]

    def close(self) -> None:
        """Closes all connections. Harmless when done twice."""
        with self._lock:
            loop, self._loop, thread = self._loop, None, self._thread
        if loop is None or thread is None:
            return

        async def end() -> None:
            for session in self._sessions.values():
                await session.close()
            self._sessions.clear()
        asyncio.run_coroutine_threadsafe(end(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _exact(url: str) -> URL:
    """The URL in these very bytes: yarl would write some escapes otherwise."""
    from yarl import URL
    return URL(url, encoded=True)


def _refused(fault: BaseException) -> BaseException | None:
    """The fault of an address that was not allowed: to ask again would change nothing."""
    from byref.proxy.frontends.reverse.addresses import PrivateAddress
    behind = (fault, fault.__cause__, getattr(fault, "os_error", None))
    return next((one for one in behind if isinstance(one, PrivateAddress)), None)


def _said(fault: BaseException) -> str:
    """What a fault says, and never the URL: its query may hold a key."""
    from aiohttp import ClientResponseError, InvalidURL, NonHttpUrlClientError
    if isinstance(fault, (ClientResponseError, InvalidURL, NonHttpUrlClientError)):
        from byref.proxy.frontends.wrap.hops import words
        return words(fault)
    return str(fault) or ("it took too long" if isinstance(fault, TimeoutError) else type(fault).__name__)
