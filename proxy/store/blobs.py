"""The folder of blob files: written beside, synced, and only then put in place under their hash.

    blobs/ab/<hex>.zst   a blob (see seekable.py)
    tmp/<pid>-<hex>.zst  a blob being written, or one whose output is not committed yet

A writer keeps a lock on its file in tmp/ until the output is committed. The file is a second link to the blob, so when retention
removes the blob in between, `commit` puts it back; and a file in tmp/ that nobody locks was left by a process that died.
"""
from __future__ import annotations

import errno
import fcntl
import os

from byref.proxy.contracts import Blob
from byref.proxy.errors import StoreError, StoreFull
from byref.proxy.store.catalog import fault, make_folder, sync_folder
from byref.proxy.text import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from byref.proxy.contracts import Buffer
    from byref.proxy.store.seekable import FrameWriter, SeekableSource

_BLOCK = 4096  # files take up whole blocks of a disk


def on_disk(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


class BlobFolder:
    """Blob files of one store. Raises OSError; the store says what that means."""

    def __init__(self, root: str, max_bytes: int) -> None:
        self.root, self.max_bytes = root, max_bytes
        self._blobs, self._tmp = os.path.join(root, "blobs"), os.path.join(root, "tmp")
        self._swept = False

    def path(self, digest: str) -> str:
        name = digest[3:]
        return os.path.join(self._blobs, name[:2], name + ".zst")

    def create(self) -> BlobFile:
        make_folder(self._tmp)
        if not self._swept:
            self._swept = True
            self.sweep()
        while True:
            path = os.path.join(self._tmp, f"{os.getpid():x}-{os.urandom(8).hex()}.zst")
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
            os.fchmod(descriptor, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink:  # a sweep may have come between open and lock
                return BlobFile(self, path, descriptor)
            os.close(descriptor)

    def open(self, digest: str) -> SeekableSource:
        from byref.proxy.store.seekable import SeekableSource
        return SeekableSource(os.open(self.path(digest), os.O_RDONLY), digest)

    def holds(self, digest: str) -> bool:
        return os.path.exists(self.path(digest))

    def stored(self, digest: str) -> int:
        return on_disk(os.stat(self.path(digest)).st_size)

    def place(self, temporary: str, digest: str) -> bool:
        """Puts a synced file in place under its hash, over one that may be damaged. False if only by moving it."""
        path = self.path(digest)
        make_folder(self._blobs)
        make_folder(os.path.dirname(path))
        try:
            os.link(temporary, temporary + ".new")
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK):
                raise
            os.replace(temporary, path)
            linked = False
        else:
            os.replace(temporary + ".new", path)
            # Renaming onto another link of the same file does nothing, and leaves both.
            if os.path.exists(temporary + ".new"):
                os.unlink(temporary + ".new")
            linked = True
        sync_folder(os.path.dirname(path))
        return linked

    def remove(self, digest: str) -> None:
        try:
            os.unlink(self.path(digest))
        except FileNotFoundError:
            pass

    def sweep(self) -> None:
        """Removes what processes that died left in tmp/."""
        for name in _names(self._tmp):
            path = os.path.join(self._tmp, name)
            try:
                descriptor = os.open(path, os.O_RDONLY)
            except FileNotFoundError:
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(path)
            except (BlockingIOError, FileNotFoundError):
                pass
            finally:
                os.close(descriptor)

    def digests(self) -> Iterator[str]:
        """Every blob file that no writer still holds in tmp/."""
        for folder in _names(self._blobs):
            for name in _names(os.path.join(self._blobs, folder)):
                try:
                    found = os.stat(os.path.join(self._blobs, folder, name))
                except FileNotFoundError:
                    continue
                if found.st_nlink == 1 and name.endswith(".zst"):
                    yield "b2:" + name[:-4]


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


class BlobFile:
    """A blob file on its way: locked for as long as this object holds it, removed from tmp/ by `release`."""

    def __init__(self, folder: BlobFolder, path: str, descriptor: int) -> None:
        self._folder, self.path, self._descriptor, self._pid = folder, path, descriptor, os.getpid()
        self.stored = 0

    def put(self, data: bytes) -> None:
        self.stored += len(data)
        if self.stored > self._folder.max_bytes:
            raise StoreFull(f"the output is more than the whole store may hold ({self._folder.max_bytes} bytes)")
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view):]

    def place(self, digest: str) -> None:
        os.fsync(self._descriptor)
        if not self._folder.place(self.path, digest):
            self.path = ""

    def place_again(self, digest: str) -> None:
        """After retention removed the blob before its output was committed."""
        if self.path:
            self._folder.place(self.path, digest)

    def open(self, digest: str) -> SeekableSource:
        from byref.proxy.store.seekable import SeekableSource
        return SeekableSource(os.dup(self._descriptor), digest)

    def release(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0:
            return
        if self._pid == os.getpid() and self.path:  # after a fork the file is the parent's
            for path in (self.path, self.path + ".new"):
                try:
                    os.unlink(path)
                except FileNotFoundError:
                    pass
        os.close(descriptor)

    def __del__(self) -> None:
        self.release()


class FileWriter:
    """A `BlobWriter`: up to `small` bytes stay in memory, more go to a blob file as they come."""

    def __init__(self, folder: BlobFolder, small: int, keep: Callable[[Blob, bytes | BlobFile], None]) -> None:
        self._folder, self._small, self._keep = folder, small, keep
        self._data = bytearray()
        self._file: BlobFile | None = None
        self._frames: FrameWriter | None = None
        self._blob: Blob | None = None

    def write(self, data: Buffer) -> None:
        if self._blob is not None:
            raise StoreError("this blob is finished")
        try:
            if self._frames is None:
                if len(self._data) + len(data) <= self._small:
                    self._data += data
                    return
                from byref.proxy.store.seekable import FrameWriter
                self._file = self._folder.create()
                self._frames = FrameWriter(self._file.put)
                self._frames.write(self._data)
                self._data = bytearray()
            self._frames.write(data)
        except BaseException as error:
            self.abort()
            if isinstance(error, OSError):
                raise fault(error, self._folder.root) from error
            raise

    def finish(self) -> Blob:
        if self._blob is not None:
            return self._blob
        try:
            if self._file is None or self._frames is None:
                data = bytes(self._data)
                blob = Blob(digest(data), len(data), data.count(b"\n"))
                self._keep(blob, data)
            else:
                name, lines = self._frames.finish()
                blob = Blob(name, self._frames.size, lines)
                self._file.place(name)
                self._keep(blob, self._file)
        except BaseException as error:
            self.abort()
            if isinstance(error, OSError):
                raise fault(error, self._folder.root) from error
            raise
        self._blob, self._file, self._frames, self._data = blob, None, None, bytearray()
        return blob

    def abort(self) -> None:
        file, self._file, self._frames, self._data = self._file, None, None, bytearray()
        if file is not None:
            file.release()
