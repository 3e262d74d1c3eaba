"""Sources that stay open for a search: its layers and its excerpts read the same outputs, a few lines at a time, and a source that was
read keeps the frames that it took apart.
"""
from __future__ import annotations

from threading import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from byref.proxy.contracts import Source

BYTES = 24 << 20  # that are held, at most
MOST = 64  # sources: each of a blob file is a descriptor
OF_ONE = 12 << 20  # bytes that a source of any size holds, as in `store.seekable`


class Opened:
    """`open` of a store for one search. Safe for many threads; what was used last is held. Raises what `open` raises, each time."""

    def __init__(self, open: Callable[[str], Source]) -> None:
        self._open, self._lock = open, Lock()
        self._held: dict[str, Source] = {}
        self._bytes = 0

    def __call__(self, digest: str) -> Source:
        with self._lock:
            source = self._held.pop(digest, None)
            if source is not None:
                self._held[digest] = source
                return source
        source = self._open(digest)
        with self._lock:
            if digest not in self._held:
                self._held[digest] = source
                self._bytes += min(source.size, OF_ONE)
            while len(self._held) > MOST or (self._bytes > BYTES and len(self._held) > 1):
                self._bytes -= min(self._held.pop(next(iter(self._held))).size, OF_ONE)
            return source
