"""Blobs in stretches of whole lines, each cut into chunks: what a layer that keeps a vector a chunk takes in at once."""
from __future__ import annotations

from byref.layers.chunking import chunks
from byref.layers.vectors import Stretch
from byref.proxy.text import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from byref.proxy.contracts import Source

BINARY = 50  # of stretches of which one byte in so many is NUL, or more, nothing is taken in


def stretches(blob: str, source: Source, shape: str, start: int, length: int) -> Iterator[tuple[Stretch, list[tuple[int, int]], list[str]]]:
    """What is left of a blob from this byte on, in stretches of so many bytes at most that end with a line where one ends in reach:
    spans and texts of chunks."""
    size = source.size
    while start < size:
        data = source.read(start, min(size, start + length))
        if start + len(data) < size:
            cut = data.rfind(b"\n") + 1
            data = data[:cut] if cut else _whole(data)
        spans: list[tuple[int, int]] = []
        if data.count(b"\0") * BINARY <= len(data):
            spans = list(chunks(data, shape))
        texts = [project(data[a:b].decode("utf-8", "replace")) for a, b in spans]
        yield Stretch(blob, start, start + len(data), size, 0, len(spans)), [(start + a, start + b) for a, b in spans], texts
        start += len(data)


def _whole(data: bytes) -> bytes:
    """Without the character that is cut in two at the end, if that leaves anything."""
    at = len(data) - 1
    while at > 0 and len(data) - at < 4 and data[at] & 0xC0 == 0x80:
        at -= 1
    needed = (data[at] >= 0xC0) + (data[at] >= 0xE0) + (data[at] >= 0xF0) + 1
    return data[:at] if at and len(data) - at < needed else data
