"""Messages as lines over pipes: one JSON object a line, in UTF-8. See "stdio" in MCP's specification of transports."""
from __future__ import annotations

import asyncio
import os
import stat
from collections import deque
from typing import IO

from byref.proxy.frontends.wrap.messages import Message

LONGEST = 256 << 20  # bytes of a line: who sends more without an end is not sending messages
HELD_BYTES = 8 << 20  # bytes of lines that wait to be read; beyond them the writer waits
HELD_LINES = 1000


class Gone(Exception):
    """The other side is gone; the text says why."""


class Unsent(Gone):
    """The other side was gone before it got anything of what was sent."""


class Reader(asyncio.Protocol):
    """Lines from a pipe, in order. What is not read yet is bounded: a writer that floods has to wait."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.ReadTransport | None = None
        self._parts: list[bytes] = []
        self._size = 0
        self._lines: deque[bytes] = deque()
        self._held = 0
        self._paused = False
        self._waiter: asyncio.Future[None] | None = None
        self.ended = ""  # why nothing more comes; empty while it may

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.ReadTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        first, *more = data.split(b"\n")
        self._parts.append(first)
        self._size += len(first)
        for part in more:
            self._put(b"".join(self._parts))
            self._parts, self._size = [part], len(part)
        if self._size > LONGEST:
            self.end(f"sent a line of more than {LONGEST >> 20} MiB")
        elif not self._paused and (self._held > HELD_BYTES or len(self._lines) > HELD_LINES) and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        self.end("closed its output")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.end("closed its output")

    def end(self, why: str) -> None:
        """Nothing more is to come; what came is still read."""
        if not self.ended:
            self.ended = why
            if last := b"".join(self._parts):
                self._put(last)
            self._parts = []
        self.close()
        self._wake()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    async def line(self) -> bytes | None:
        """The next line without its end, None after the last."""
        while not self._lines:
            if self.ended:
                return None
            self._waiter = self._loop.create_future()
            await self._waiter
        line = self._lines.popleft()
        self._held -= len(line)
        if self._paused and self._held <= HELD_BYTES // 2 and len(self._lines) <= HELD_LINES // 2 and self._transport is not None:
            self._paused = False
            if not self._transport.is_closing():
                self._transport.resume_reading()
        return line

    def _put(self, line: bytes) -> None:
        if line.strip():
            self._lines.append(line)
            self._held += len(line)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Writer(asyncio.BaseProtocol):
    """Messages into a pipe, each whole."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.WriteTransport | None = None
        self._room: asyncio.Future[None] | None = None  # set while the pipe is full
        self._lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def pause_writing(self) -> None:
        if self._room is None:
            self._room = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
        self._room = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self.resume_writing()

    async def send(self, message: Message) -> None:
        """Writes a message; returns once there is room for another. Raises `Gone`."""
        if self._lost or self._transport is None or self._transport.is_closing():
            raise Unsent("closed its input")
        pieces = list(message.pieces())
        if sum(map(len, pieces)) < 1 << 16:
            self._transport.write(b"".join(pieces))
        else:
            for piece in pieces:
                self._transport.write(piece)
        if self._room is not None:
            await asyncio.shield(self._room)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    async def flushed(self) -> None:
        """Returns once all that was written has left us, or the other side has gone."""
        while not self._lost and self._transport is not None and self._transport.get_write_buffer_size():
            await asyncio.sleep(0.005)


async def reading(file: IO[bytes]) -> Reader:
    """The lines of an open file, which is closed with them. Regular files and /dev/null, for which no loop waits, are read at once."""
    reader = Reader()
    mode = os.fstat(file.fileno()).st_mode
    if stat.S_ISREG(mode) or (stat.S_ISCHR(mode) and not os.isatty(file.fileno())):
        with file:
            reader.data_received(file.read())
        reader.end("closed its output")
    else:
        await asyncio.get_running_loop().connect_read_pipe(lambda: reader, file)
    return reader


async def writing(file: IO[bytes]) -> Writer:
    """A writer into an open pipe, socket or terminal, which is closed with it. Raises ValueError for a regular file."""
    writer = Writer()
    await asyncio.get_running_loop().connect_write_pipe(lambda: writer, file)
    return writer
