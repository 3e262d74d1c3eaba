"""A server as a child process that speaks over its stdin and stdout. It ends with us, and so does all that it started.

It leads a session of its own, so that one signal reaches its whole group. A guard, a shell of a few lines, waits at a
pipe that only we hold open: when we are gone, killed or not, it ends the group. What goes to stderr goes to ours.
"""
from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence

from byref.proxy.frontends.wrap.lines import Reader, Unsent, Writer, reading, writing
from byref.proxy.frontends.wrap.messages import Message

GRACE = 1.0  # seconds for a server to end once its stdin is closed, and again once it got TERM
LINGER = 0.1  # seconds in which the last output of an ended process is read, where something else holds its pipe open
GUARD = 'while read -r line; do :; done; kill -s TERM -- "-$1"; sleep 1; kill -s KILL -- "-$1"'


class Process:
    """A running server. Made by `start`; a wire for an `Endpoint`."""

    def __init__(self, running: subprocess.Popen[bytes], guard: subprocess.Popen[bytes] | None, reader: Reader, writer: Writer) -> None:
        self.pid = running.pid
        self._running, self._guard, self._reader, self._writer = running, guard, reader, writer
        self._ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        # Not by a child watcher of the loop: of those only some work in every version, and only on the main thread.
        threading.Thread(target=self._wait, args=(loop,), name=f"byref wrap {self.pid}", daemon=True).start()

    def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        self._running.wait()
        try:
            loop.call_soon_threadsafe(self._over, loop)
        except RuntimeError:  # the loop is closed: nobody waits any more
            pass

    def _over(self, loop: asyncio.AbstractEventLoop) -> None:
        self._ended.set()
        loop.call_later(LINGER, self._reader.end, self._exit())

    def _exit(self) -> str:
        code = self._running.returncode
        if code is None:
            return ""
        return f"ended by signal {-code}" if code < 0 else f"ended with exit code {code}"

    async def receive(self) -> bytes | None:
        """The next line; None when no more can come."""
        return await self._reader.line()

    async def why(self) -> str:
        """Why no more can come, once `receive` has said so."""
        await self._end(LINGER)
        return self._exit() or self._reader.ended

    async def send(self, message: Message) -> None:
        """Sends a message. Raises `Gone`."""
        if self._ended.is_set():
            raise Unsent(self._exit())
        await self._writer.send(message)

    async def close(self) -> None:
        """Ends the server as the protocol asks: its stdin closes, then TERM, then KILL, to its whole group."""
        try:
            self._writer.close()
            for number in (signal.SIGTERM, signal.SIGKILL):
                if await self._end(GRACE):
                    break
                self._signal(number)
            else:
                await self._end(GRACE)
        finally:
            self.kill()

    async def _end(self, limit: float) -> bool:
        """Whether it has ended, waited for so many seconds."""
        try:
            async with asyncio.timeout(limit):
                await self._ended.wait()
        except TimeoutError:
            return False
        return True

    def kill(self) -> None:
        """Ends the whole group at once, and its guard."""
        self._signal(signal.SIGKILL)
        self._reader.close()
        self._writer.close()
        if self._guard is not None:
            self._guard.kill()
            self._guard.wait()
            if self._guard.stdin is not None:
                self._guard.stdin.close()
            self._guard = None

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            pass


def spawn(command: str, args: Sequence[str], environ: Mapping[str, str], folder: str | None) -> subprocess.Popen[bytes]:
    """Starts the process of a server. Raises OSError or ValueError where it cannot be started."""
    return subprocess.Popen([command, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(environ), cwd=folder,
                            start_new_session=True, bufsize=0)


async def connect(running: subprocess.Popen[bytes]) -> Process:
    """A wire to a process that was spawned."""
    assert running.stdin is not None and running.stdout is not None
    return Process(running, _guard(running.pid), await reading(running.stdout), await writing(running.stdin))


def _guard(group: int) -> subprocess.Popen[bytes] | None:
    try:
        return subprocess.Popen(["/bin/sh", "-c", GUARD, "sh", str(group)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, env={"PATH": os.defpath}, start_new_session=True, bufsize=0)
    except OSError:  # a server without a guard still ends with its stdin
        return None
