"""Sources over bytes that are at hand, and the search for a line's place that all sources share."""
from __future__ import annotations

from _blake2 import blake2b

from byref.proxy.errors import Corrupt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 1 << 20  # bytes that `Source.blocks` gives at once, as the contract has it


class BytesSource:
    """A `Source` over bytes in memory. With a digest, they are checked against it at once: `Corrupt` if they differ."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes, digest: str = "") -> None:
        if digest and "b2:" + blake2b(data, digest_size=32).hexdigest() != digest:
            raise Corrupt(digest, "its bytes do not match its hash")
        self._data = data

    @property
    def size(self) -> int:
        return len(self._data)

    def read(self, start: int = 0, end: int | None = None) -> bytes:
        start, end = clip(start, end, len(self._data))
        return self._data[start:end]

    def blocks(self) -> Iterator[bytes]:
        for start in range(0, len(self._data), BLOCK):
            yield self._data[start:start + BLOCK]

    def lines(self, first: int, last: int) -> tuple[int, int]:
        data, total = self._data, self._data.count(b"\n")
        first = max(first, 1)
        start = len(data) if first > total + 1 else after_newlines(data, first - 1)
        end = len(data) if last > total else after_newlines(data, last)
        return start, max(start, end)


def clip(start: int, end: int | None, size: int) -> tuple[int, int]:
    """A half-open range, cut to what lies inside 0 to size."""
    start = min(max(start, 0), size)
    return start, size if end is None else min(max(end, start), size)


def after_newlines(data: bytes, count: int) -> int:
    """The offset just behind the count-th newline, which must exist; 0 for none.

    Halves the range by counting, which runs at memory speed; a loop of `find` takes 100 times as long in short lines.
    """
    low, high = 0, len(data)
    while count > 0 and high - low > 64:
        middle = (low + high) // 2
        before = data.count(b"\n", low, middle)
        if before >= count:
            high = middle
        else:
            low, count = middle, count - before
    while count > 0:
        low, count = data.index(b"\n", low) + 1, count - 1
    return low
