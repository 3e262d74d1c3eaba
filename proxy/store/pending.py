"""Blobs that are written and whose outputs are not committed yet."""
from __future__ import annotations

from _thread import allocate_lock

from byref.proxy.store.blobs import BlobFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byref.proxy.contracts import Blob, Manifest

# A caller that never commits must fill neither the memory nor the table of open files. A file let go here stays in place
# under its hash, and is lost to its output only if retention removes it before the commit.
SMALL, FILES = 2048, 128


class Pending:
    """Keeps each blob until as many parts as were written of it are committed. Safe for many threads."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._uses: dict[str, int] = {}
        self._small: dict[str, bytes] = {}
        self._files: dict[str, BlobFile] = {}

    def add(self, blob: Blob, content: bytes | BlobFile) -> None:
        surplus: bytes | BlobFile = b""
        with self._lock:
            digest = blob.digest
            self._uses[digest] = self._uses.get(digest, 0) + 1
            if isinstance(content, bytes):
                self._small[digest] = content
                if len(self._small) > SMALL:
                    del self._uses[oldest := next(iter(self._small))], self._small[oldest]
            elif digest in self._files:
                surplus = content
            else:
                self._files[digest] = content
                if len(self._files) > FILES:
                    surplus = self._files.pop(oldest := next(iter(self._files)))
                    del self._uses[oldest]
        if isinstance(surplus, BlobFile):
            surplus.release()

    def get(self, digest: str) -> bytes | BlobFile | None:
        with self._lock:
            return self._small.get(digest, self._files.get(digest))

    def settle(self, manifest: Manifest) -> None:
        """These parts are held by the store now, or never will be."""
        for part in manifest.parts:
            with self._lock:
                digest = part.blob.digest
                left = self._uses.get(digest, 0) - 1
                if left > 0:
                    self._uses[digest] = left
                    continue
                self._uses.pop(digest, None)
                self._small.pop(digest, None)
                file = self._files.pop(digest, None)
            if file is not None:
                file.release()

    def clear(self) -> None:
        with self._lock:
            files = list(self._files.values())
            self._uses, self._small, self._files = {}, {}, {}
        for file in files:
            file.release()
