"""Blob files: zstd's seekable format, with a hash and a count of newlines for each frame.

A file is, in order:

    frames       independent zstd frames of 128 KiB of raw bytes, the last one shorter
    index        a skippable frame: `byref1`, BLAKE2b-256 of the raw bytes, size, newlines and frames as u64, for each frame its
                 newlines (u32) and 16 bytes of BLAKE2b of the frame as it is stored, then 16 bytes of BLAKE2b of the index itself
    seek table   the skippable frame of zstd's seekable format (contrib/seekable_format in its repository), with the index as
                 its last entry, of no raw bytes

All integers are little-endian. `zstd -d` and every reader of the seekable format see plain zstd. A frame's hash is over its stored
bytes: they are checked before anything decompresses them, in a fifth of the time that the raw bytes of a log would take. The index
stands in the file itself, so that a blob becomes durable and visible, and is removed, as one. zstandard is imported where a frame
is made or read: a command with little output never pays for it.
"""
from __future__ import annotations

import os
from _blake2 import blake2b
from _struct import Struct, pack, unpack, unpack_from
from _thread import allocate_lock

from byref.proxy.errors import Corrupt
from byref.proxy.store.source import BLOCK, after_newlines, clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from zstandard import ZstdCompressor, ZstdDecompressor

FRAME = 128 << 10  # raw bytes; smaller frames compress worse, larger ones make a line dearer to fetch
KEPT = 96  # frames that a source holds, 12 MiB: a search reads an output once, and then again what its layers refine and what it shows
LEVEL = 3  # 152 MB/s at ratio 5 over logs, where level 1 is a third faster and level 9 a tenth smaller
_SKIPPABLE, _INDEX, _TABLE, _FOOTER = 0x184D2A5E, 0x184D2A5B, 0x8F92EAB1, Struct("<IBI")
_MAGIC, _HEAD, _SUM = b"byref1\0\0", Struct("<8s32sQQQ"), 16


class FrameWriter:
    """Cuts a stream into frames and gives them to `put`, which must take all of a piece. Not for several threads."""

    def __init__(self, put: Callable[[bytes], None]) -> None:
        from zstandard import ZstdCompressor
        self._compressor: ZstdCompressor = ZstdCompressor(level=LEVEL)
        self._put, self._hash = put, blake2b(digest_size=32)
        self._rest = bytearray()
        self._stored: list[int] = []
        self._newlines: list[int] = []
        self._hashes: list[bytes] = []
        self.size = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        view = memoryview(data).cast("B")
        start = 0
        if self._rest:
            start = min(FRAME - len(self._rest), len(view))
            self._rest += view[:start]
            if len(self._rest) < FRAME:
                return
            self._frame(bytes(self._rest))
            self._rest.clear()
        while len(view) - start >= FRAME:
            self._frame(bytes(view[start:start + FRAME]))
            start += FRAME
        self._rest += view[start:]

    def _frame(self, raw: bytes) -> None:
        self._hash.update(raw)
        self._newlines.append(raw.count(b"\n"))
        stored = self._compressor.compress(raw)
        self._hashes.append(blake2b(stored, digest_size=_SUM).digest())
        self._stored.append(len(stored))
        self.size += len(raw)
        self._put(stored)

    def finish(self) -> tuple[str, int]:
        """Writes what is left, index and seek table. Returns the digest and the number of newlines."""
        if self._rest:
            self._frame(bytes(self._rest))
            self._rest.clear()
        digest, lines, frames = self._hash.digest(), sum(self._newlines), len(self._stored)
        index = _HEAD.pack(_MAGIC, digest, self.size, lines, frames) + pack(f"<{frames}I", *self._newlines) + b"".join(self._hashes)
        index += blake2b(index, digest_size=_SUM).digest()
        raws = [FRAME] * (frames - 1) + [self.size - FRAME * (frames - 1)] if frames else []
        entries = [number for pair in zip(self._stored, raws, strict=True) for number in pair] + [len(index) + 8, 0]
        table = pack(f"<{len(entries)}I", *entries) + _FOOTER.pack(frames + 1, 0, _TABLE)
        self._put(pack("<II", _INDEX, len(index)) + index + pack("<II", _SKIPPABLE, len(table)) + table)
        return "b2:" + digest.hex(), lines


class SeekableSource:
    """A `Source` over a blob file. Reads and verifies the frames it touches; `blocks` and a full `read` verify the whole.

    Owns the descriptor, so the bytes stay readable when the file is removed meanwhile.
    """

    def __init__(self, descriptor: int, digest: str) -> None:
        self._descriptor, self._digest, self._lock = descriptor, digest, allocate_lock()
        self._decompressor: ZstdDecompressor | None = None
        self._frames: dict[int, bytes] = {}
        try:
            self._load(os.fstat(descriptor).st_size)
        except BaseException:
            self.close()
            raise

    def _load(self, stored: int) -> None:
        tail = os.pread(self._descriptor, 1 << 16, max(0, stored - (1 << 16)))
        if len(tail) < _FOOTER.size:
            raise self._corrupt("it is cut short")
        entries, flags, magic = _FOOTER.unpack_from(tail, len(tail) - _FOOTER.size)
        table = 8 * entries + _FOOTER.size
        index = 20 * (entries - 1) + _HEAD.size + _SUM
        if magic != _TABLE or flags or entries < 1 or 16 + table + index > stored:
            raise self._corrupt("its seek table is damaged")
        if len(tail) < 16 + table + index:
            tail = os.pread(self._descriptor, 16 + table + index, stored - 16 - table - index)
        tail = tail[len(tail) - 16 - table - index:]
        self._parse_index(tail[:8 + index], entries - 1)
        self._parse_table(tail[8 + index:], entries - 1, stored - len(tail))

    def _parse_index(self, frame: bytes, frames: int) -> None:
        body = frame[8:-_SUM]
        if unpack("<II", frame[:8]) != (_INDEX, len(frame) - 8) or blake2b(body, digest_size=_SUM).digest() != frame[-_SUM:]:
            raise self._corrupt("its index is damaged")
        magic, digest, size, newlines, count = _HEAD.unpack_from(body)
        self._size, self.newlines = int(size), int(newlines)
        if magic != _MAGIC or count != frames or "b2:" + digest.hex() != self._digest or -(-self._size // FRAME) != frames:
            raise self._corrupt("its index belongs to other bytes")
        self._hashes = body[_HEAD.size + 4 * frames:]
        self._before = [0]  # newlines before each frame, and all of them at the end
        for newlines in unpack_from(f"<{frames}I", body, _HEAD.size):
            self._before.append(self._before[-1] + newlines)

    def _parse_table(self, frame: bytes, frames: int, end: int) -> None:
        if unpack("<II", frame[:8]) != (_SKIPPABLE, len(frame) - 8):
            raise self._corrupt("its seek table is damaged")
        self._offsets = [0]
        for stored in unpack_from(f"<{2 * frames}I", frame, 8)[::2]:
            self._offsets.append(self._offsets[-1] + stored)
        if self._offsets[-1] != end:
            raise self._corrupt("its seek table is damaged")

    def _corrupt(self, problem: str) -> Corrupt:
        return Corrupt(self._digest, problem)

    @property
    def size(self) -> int:
        return self._size

    def frame(self, number: int) -> bytes:
        """The raw bytes of a frame, verified."""
        with self._lock:
            raw = self._frames.get(number)
            if raw is None:
                raw = self._decompress(number)
                if len(self._frames) == KEPT:
                    del self._frames[next(iter(self._frames))]
                self._frames[number] = raw
            return raw

    def _decompress(self, number: int) -> bytes:
        from zstandard import ZstdDecompressor, ZstdError
        if self._decompressor is None:
            self._decompressor = ZstdDecompressor()
        start, end = self._offsets[number], self._offsets[number + 1]
        expected = min(FRAME, self._size - number * FRAME)
        stored = os.pread(self._descriptor, end - start, start)
        if blake2b(stored, digest_size=_SUM).digest() != self._hashes[number * _SUM:(number + 1) * _SUM]:
            raise self._corrupt(f"bytes {number * FRAME} to {number * FRAME + expected} do not match their hash")
        try:
            raw: bytes = self._decompressor.decompress(stored)
        except ZstdError as error:
            raise self._corrupt(f"bytes {number * FRAME} to {number * FRAME + expected}: {error}") from error
        if len(raw) != expected:
            raise self._corrupt(f"bytes {number * FRAME} to {number * FRAME + expected} are {len(raw)}")
        return raw

    def read(self, start: int = 0, end: int | None = None) -> bytes:
        start, end = clip(start, end, self._size)
        if start == 0 and end == self._size:
            return b"".join(self.blocks())
        if start == end:
            return b""
        first, last = start // FRAME, (end - 1) // FRAME
        pieces = [self.frame(number) for number in range(first, last + 1)]
        if first == last:
            return pieces[0][start - first * FRAME:end - first * FRAME]
        pieces[0], pieces[-1] = pieces[0][start - first * FRAME:], pieces[-1][:end - last * FRAME]
        return b"".join(pieces)

    def blocks(self) -> Iterator[bytes]:
        whole, each = blake2b(digest_size=32), BLOCK // FRAME
        for first in range(0, len(self._offsets) - 1, each):
            block = b"".join([self.frame(number) for number in range(first, min(first + each, len(self._offsets) - 1))])
            whole.update(block)
            yield block
        if "b2:" + whole.hexdigest() != self._digest:
            raise self._corrupt("its bytes do not match its hash")

    def lines(self, first: int, last: int) -> tuple[int, int]:
        first = max(first, 1)
        start = self._size if first > self.newlines + 1 else self._after(first - 1)
        end = self._size if last > self.newlines else self._after(last)
        return start, max(start, end)

    def _after(self, newlines: int) -> int:
        if newlines <= 0:
            return 0
        low, high = 0, len(self._before) - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._before[middle] < newlines else (low, middle)
        return low * FRAME + after_newlines(self.frame(low), newlines - self._before[low])

    def check_newlines(self) -> None:
        """Counts every frame's newlines again. Raises `Corrupt` where the index is wrong about them."""
        for number in range(len(self._offsets) - 1):
            if self.frame(number).count(b"\n") != self._before[number + 1] - self._before[number]:
                raise self._corrupt("its count of lines is wrong")

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        self.close()
