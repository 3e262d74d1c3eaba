"""The gates before an upstream: how fast, how many at once, when to ask again, and when to leave it alone.

One `Gate` an upstream, the same for the reverse proxy and for whoever else calls an API. It opens no connection: the caller says
what came of each attempt, and is told whether to make another.

    async with gate.call(safe=True) as call:  # waits for its turn; raises `Unavailable`
        while True:
            try:
                answer = await send()
            except OSError:
                if not await call.failed():
                    raise
                continue
            if not await call.answered(answer.status, answer.headers.get("Retry-After")):
                break

`gate.blocking` is the same for threads, without `await`. Both may be used of one gate at a time.
"""
from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from threading import Event, Lock
from types import TracebackType

from byref.proxy.contracts import Clock
from byref.proxy.errors import Unavailable

SAFE = frozenset(("GET", "HEAD", "OPTIONS"))  # methods that change nothing (RFC 9110 9.2.1) and can be asked again
AGAIN = frozenset((429, 502, 503, 504))  # what passes by itself
_BASE, _CAP = 0.5, 8.0  # seconds before the second attempt at most, and before any


@dataclass(frozen=True, slots=True)
class Limits:
    """What one upstream may be asked for.

    rate: requests a second, in bursts of a tenth of it. concurrency: requests under way. timeout: seconds for a connection,
    and without a byte. patience: seconds that a call waits for its turn, and for a Retry-After. attempts: of one safe call.
    failures: attempts in a row that failed, after which the circuit opens for cooldown seconds.
    """

    rate: float = 100.0
    concurrency: int = 64
    timeout: float = 30.0
    patience: float = 30.0
    attempts: int = 3
    failures: int = 5
    cooldown: float = 30.0


class Gate:
    """The limits of one upstream, kept by all calls of this process together. Safe for many threads.

    clock: seconds that only grow. wall: seconds since the epoch, for a Retry-After that is a date. jitter: from 0 to 1.
    """

    def __init__(self, name: str, limits: Limits | None = None, *, clock: Clock = time.monotonic, wall: Clock = time.time,
                 jitter: Callable[[], float] = random.random, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
                 block: Callable[[float], None] = time.sleep) -> None:
        self.name, self.limits = name, limits or Limits()
        self.clock, self.wall, self.jitter, self.sleep, self.block = clock, wall, jitter, sleep, block
        self._lock = Lock()
        self._active = 0
        self._queue: deque[Callable[[], None]] = deque()
        self._arrival = 0.0  # the theoretical arrival time of the generic cell rate algorithm (ITU-T I.371): a token bucket in one number
        self._quiet = 0.0  # until when the upstream asked to be left alone
        self._failed = 0
        self._opened: float | None = None
        self._probing = False

    def call(self, safe: bool = False) -> Call:
        """One call, for `async with`. safe: it may be made again."""
        return Call(self, safe)

    def blocking(self, safe: bool = False) -> BlockingCall:
        """One call of a thread, for `with`."""
        return BlockingCall(self, safe)

    # the circuit

    def enter(self) -> bool:
        """Whether this call is the one that tries an upstream out. Raises `Unavailable` while the circuit is open."""
        with self._lock:
            if self._opened is None:
                return False
            left = self._opened + self.limits.cooldown - self.clock()
            if left > 0 or self._probing:
                raise Unavailable(self.name, "circuit", f"its last {self.limits.failures} requests failed", max(left, 1.0))
            self._probing = True
            return True

    def note(self, failed: bool, probe: bool) -> bool:
        """What came of an attempt. Whether another one makes sense."""
        with self._lock:
            if self._opened is not None and not probe:
                return False  # of a call that began before
            self._probing = False
            if not failed:
                self._failed, self._opened = 0, None
                return True
            self._failed += 1
            if self._failed >= self.limits.failures or probe:
                self._opened = self.clock()
            return self._opened is None

    def forgo(self) -> None:
        """The call that was to try the upstream out ended without having done so."""
        with self._lock:
            self._probing = False

    # the rate

    def reserve(self) -> float:
        """Seconds to wait before the next request. Raises `Unavailable` where that is more than patience."""
        with self._lock:
            now, every = self.clock(), 1 / self.limits.rate
            arrival = max(self._arrival, now)
            quiet = self._quiet - now
            wait = max(arrival - max(self.limits.rate / 10 - 1, 0) * every - now, quiet, 0.0)
            if wait > self.limits.patience:
                why = "it asked to be left alone" if quiet >= wait else f"{self.limits.rate:g} requests a second are its limit"
                raise Unavailable(self.name, "rate", why, wait)
            self._arrival = arrival + every
            return wait

    def hush(self, seconds: float) -> None:
        """The upstream asked to be left alone for so long."""
        with self._lock:
            self._quiet = max(self._quiet, self.clock() + seconds)

    # the places

    def take(self, wake: Callable[[], None]) -> bool:
        """Takes a place; where none is free, False, and wake is called once one is there and taken."""
        with self._lock:
            if self._active < self.limits.concurrency:
                self._active += 1
                return True
            self._queue.append(wake)
            return False

    def quit(self, wake: Callable[[], None]) -> bool:
        """Leaves the queue. False where the place was given already."""
        with self._lock:
            try:
                self._queue.remove(wake)
            except ValueError:
                return False
            return True

    def leave(self) -> None:
        """Gives a place back."""
        with self._lock:
            wake = self._queue.popleft() if self._queue else None
            if wake is None:
                self._active -= 1
        if wake is not None:
            wake()

    def busy(self) -> Unavailable:
        """Why nobody got a place."""
        return Unavailable(self.name, "busy", f"{self.limits.concurrency} requests are under way, which is its limit", 1.0)


class _Attempts:
    """What is decided about one call, without waiting."""

    def __init__(self, gate: Gate, safe: bool) -> None:
        self.gate, self.safe = gate, safe
        self._made, self._probe, self._told = 1, False, True

    def admitted(self) -> float:
        """Seconds to wait before the first attempt. Raises `Unavailable`."""
        self._probe = self.gate.enter()
        self._told = not self._probe
        return self.gate.reserve()

    def judged(self, failed: bool, again: bool, pause: float | None) -> float | None:
        """Seconds until the next attempt; None where this one stands."""
        self._told = True
        sensible = self.gate.note(failed, self._probe)
        if pause is not None:
            self.gate.hush(pause)
        if not (again and self.safe and sensible) or self._made >= self.gate.limits.attempts:
            return None
        wait = self.gate.jitter() * (min(_CAP, _BASE * 2 ** (self._made - 1)) if pause is None else _BASE) + (pause or 0.0)
        try:
            wait = max(wait, self.gate.reserve())
        except Unavailable:  # the answer that is there says so, too
            return None
        self._made, self._probe = self._made + 1, False
        return wait

    def over(self) -> None:
        if not self._told:
            self.gate.forgo()
        self.gate.leave()

    def broken(self) -> None:
        """The body of an answer that stood broke off."""
        self.gate.note(True, False)

    def _status(self, status: int, retry_after: str | None) -> float | None:
        pause = seconds(retry_after, self.gate.wall()) if status in AGAIN else None
        return self.judged(status >= 500, status in AGAIN, pause)


class Call(_Attempts):
    """One call of a coroutine, with its place among those under way until the block ends."""

    async def __aenter__(self) -> Call:
        await self._place()
        try:
            await self._wait(self.admitted())
        except BaseException:
            self.over()
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        self.over()

    async def answered(self, status: int, retry_after: str | None = None) -> bool:
        """An answer came. True, after a pause, where the request is to be made again."""
        return await self._again(self._status(status, retry_after))

    async def failed(self, again: bool = True) -> bool:
        """No answer came. again: whether another attempt could help. True, after a pause, where the request is to be made again."""
        return await self._again(self.judged(True, again, None))

    async def _again(self, pause: float | None) -> bool:
        if pause is None:
            return False
        await self._wait(pause)
        return True

    async def _wait(self, pause: float) -> None:
        if pause > 0:
            await self.gate.sleep(pause)

    async def _place(self) -> None:
        loop = asyncio.get_running_loop()
        given: asyncio.Future[None] = loop.create_future()

        def give() -> None:
            if not given.done():
                given.set_result(None)

        def wake() -> None:
            loop.call_soon_threadsafe(give)
        if self.gate.take(wake):
            return
        try:
            async with asyncio.timeout(self.gate.limits.patience):
                await given
        except BaseException as fault:
            if not self.gate.quit(wake):
                self.gate.leave()
            if isinstance(fault, TimeoutError):
                raise self.gate.busy() from None
            raise


class BlockingCall(_Attempts):
    """One call of a thread."""

    def __enter__(self) -> BlockingCall:
        given = Event()
        if not self.gate.take(given.set) and not given.wait(self.gate.limits.patience):
            if not self.gate.quit(given.set):
                self.gate.leave()
            raise self.gate.busy()
        try:
            self._wait(self.admitted())
        except BaseException:
            self.over()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        self.over()

    def answered(self, status: int, retry_after: str | None = None) -> bool:
        """An answer came. True, after a pause, where the request is to be made again."""
        return self._again(self._status(status, retry_after))

    def failed(self, again: bool = True) -> bool:
        """No answer came. again: whether another attempt could help. True, after a pause, where the request is to be made again."""
        return self._again(self.judged(True, again, None))

    def _again(self, pause: float | None) -> bool:
        if pause is None:
            return False
        self._wait(pause)
        return True

    def _wait(self, pause: float) -> None:
        if pause > 0:
            self.gate.block(pause)


def seconds(retry_after: str | None, wall: float) -> float | None:
    """What a header Retry-After comes to: seconds or a date (RFC 9110 10.2.3). None for one that says nothing."""
    if not retry_after:
        return None
    text = retry_after.strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() - wall)
