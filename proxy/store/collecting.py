"""Collects the bytes of one part in memory."""
from __future__ import annotations

from byref.proxy.errors import StoreFull

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from byref.proxy.contracts import Blob, Buffer


class Collector:
    """A `BlobWriter` over bytes in memory. put: takes them in, whole, under their hash. Raises `StoreFull` over max_bytes."""

    def __init__(self, put: Callable[[bytes], Blob], max_bytes: int) -> None:
        self._put, self._max_bytes, self._size = put, max_bytes, 0
        self._blocks: list[bytes] = []
        self._blob: Blob | None = None

    def write(self, data: Buffer) -> None:
        if self._size + len(data) > self._max_bytes:
            self.abort()
            raise StoreFull(f"the output is more than the whole store may hold ({self._max_bytes} bytes)")
        self._blocks.append(bytes(data))
        self._size += len(data)

    def finish(self) -> Blob:
        if self._blob is None:
            self._blob = self._put(b"".join(self._blocks))  # the bytes themselves where they came as one
            self._blocks = []
        return self._blob

    def abort(self) -> None:
        self._blocks, self._size = [], 0
