"""The bytes of one body as they came, kept until they can be stored: little in memory, much in a file without a name beside the store."""
from __future__ import annotations

import asyncio
import itertools
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import IO, TYPE_CHECKING

from byref.proxy.frontends.bodies import HELD, LARGEST
from byref.proxy.frontends.wrap import codings

if TYPE_CHECKING:
    from byref.proxy.intake import Content

MEMORY = 1 << 20  # bytes that stay in memory
BATCH = 1 << 18  # bytes written at a time
_SLICE = 1 << 12  # bytes that are decoded at a time: what they stand for may be a thousand times as much

Run = Callable[[Callable[[], None]], Awaitable[None]]


class Spool:
    """Takes a body in. folder: for the file, None for the system's own. run: runs what blocks, in a thread.

    keep: the bytes are wanted here, and stay whatever happens; else what cannot be stored is let go.
    """

    def __init__(self, folder: str | None, run: Run, keep: bool = False) -> None:
        self._folder, self._run, self._keep = folder, run, keep
        self._held = bytearray()
        self._file: IO[bytes] | None = None
        self._filed = 0
        self._writing: asyncio.Future[None] | None = None
        self.size = 0
        self.lost = ""  # why what came cannot be stored

    async def add(self, data: bytes) -> None:
        """Some more bytes. Never fails: what cannot be kept is lost to the store, not to the caller."""
        self.size += len(data)
        if self.size > LARGEST:
            self._lose(f"it is more than {LARGEST >> 20} MiB")
        if self.lost and not self._keep:
            return
        self._held += data
        if len(self._held) >= BATCH and (self._file is not None or len(self._held) > MEMORY):
            await self._written()
            if self._file is not None or not self.lost:
                self._flush()

    async def done(self) -> None:
        """All has come."""
        await self._written()
        if self._file is not None and self._held:
            self._flush()
            await self._written()

    def _flush(self) -> None:
        batch, self._held = self._held, bytearray()
        self._batch = batch
        self._writing = asyncio.ensure_future(self._run(partial(self._write, batch)))

    async def _written(self) -> None:
        writing, self._writing = self._writing, None
        if writing is not None:
            try:
                await writing
            except OSError as fault:
                self._held = self._batch + self._held
                self._lose(f"it could not be kept: {fault.strerror}")

    def _write(self, batch: bytearray) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115  closed by close()
        while batch:
            done = self._file.write(batch)
            self._filed += done
            del batch[:done]

    def _lose(self, why: str) -> None:
        self.lost = self.lost or why
        if not self._keep:
            self._held = bytearray()

    @property
    def whole(self) -> bytes | None:
        """All bytes, where they are in memory."""
        return bytes(self._held) if self._file is None else None

    def blocks(self) -> Iterator[bytes]:
        """The bytes as they came. Blocks."""
        if self._file is not None:
            for at in range(0, self._filed, MEMORY):
                yield os.pread(self._file.fileno(), min(MEMORY, self._filed - at), at)
        yield bytes(self._held)

    def content(self, encodings: str) -> Content:
        """The body without its encodings, for `Session.capture`; of one whose encoding is not known here, as it came. Blocks.

        Raises ValueError where the encoding says that something is missing or wrong; a large body says so when it is read.
        """
        undo = codings.decoder(encodings)
        if undo is None or not encodings:
            if self._file is not None:
                self._file.seek(0)
                return self._file
            return bytes(self._held)
        pieces, begun = _undone(undo, self.blocks()), bytearray()
        for piece in pieces:
            begun += piece
            if len(begun) > HELD:
                return itertools.chain((bytes(begun),), pieces)
        return bytes(begun)

    def close(self) -> None:
        """Lets go of the file, once nothing is written to it any more."""
        writing, self._writing = self._writing, None
        if writing is not None and not writing.done():
            writing.add_done_callback(self._shut)
        else:
            self._shut(writing)

    def _shut(self, writing: asyncio.Future[None] | None) -> None:
        if writing is not None and not writing.cancelled():
            writing.exception()
        if self._file is not None:
            self._file.close()


def _undone(undo: codings.Decoder, blocks: Iterator[bytes]) -> Iterator[bytes]:
    size = came = 0
    for block in blocks:
        came += len(block)
        for at in range(0, len(block), _SLICE):
            piece = undo.decode(block[at:at + _SLICE])
            size += len(piece)
            if size > LARGEST:
                raise ValueError(f"decoded it is more than {LARGEST >> 20} MiB")
            yield piece
    if came and not undo.whole:
        raise ValueError("its encoding breaks off in the middle")
