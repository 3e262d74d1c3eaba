"""Our own stdin and stdout as a wire to the client."""
from __future__ import annotations

import asyncio
import os

from byref.proxy.frontends.wrap.lines import Gone, Reader, Writer, reading, writing
from byref.proxy.frontends.wrap.messages import Message

FLUSH = 1.0  # seconds for the last answers to leave


class Stdio:
    """The client at our stdin and stdout. Made by `open`; a wire for an `Endpoint`."""

    def __init__(self, reader: Reader, writer: Writer | None, fd: int) -> None:
        self._reader, self._writer, self._fd = reader, writer, fd

    @classmethod
    async def open(cls) -> Stdio:
        """Takes stdin and stdout for messages alone: what else is printed goes to stderr, and children read nothing of them."""
        given, taken = os.dup(0), os.dup(1)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(2, 1)
        os.close(null)
        reader = await reading(os.fdopen(given, "rb", 0))
        try:
            return cls(reader, await writing(os.fdopen(os.dup(taken), "wb", 0)), taken)
        except ValueError:  # a regular file, for which no event loop waits
            return cls(reader, None, taken)

    async def receive(self) -> bytes | None:
        """The next line; None once the client has closed."""
        return await self._reader.line()

    async def why(self) -> str:
        """Why no more can come."""
        return self._reader.ended

    async def send(self, message: Message) -> None:
        """Sends a message. Raises `Gone`."""
        if self._writer is not None:
            await self._writer.send(message)
            return
        try:
            for piece in message.pieces():
                view = memoryview(piece)
                while view:
                    view = view[os.write(self._fd, view):]
        except OSError as fault:
            raise Gone(fault.strerror or "closed its input") from None

    async def close(self) -> None:
        """Waits for the last answers to leave, and closes."""
        if self._writer is not None:
            try:
                async with asyncio.timeout(FLUSH):
                    await self._writer.flushed()
            except TimeoutError:
                pass
            self._writer.close()
        self._reader.close()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
