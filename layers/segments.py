"""Postings that grow without a rebuild: immutable segments of numpy arrays, a file each, merged as they become many.

A segment holds chunks of blobs and, for 64-bit keys in order, the chunks in which each stands and how often. It is written to a
new file that is renamed into place and that names those it replaces; a file that is damaged is removed, and what it held is
indexed again. Many processes use a folder at once: writers lock it, readers look at its time of change.
"""
from __future__ import annotations

import fcntl
import json
import os
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple

from byref.proxy.contracts import dataclass

if TYPE_CHECKING:
    from types import TracebackType
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    U8: TypeAlias = NDArray[np.uint8]
    U32: TypeAlias = NDArray[np.uint32]
    U64: TypeAlias = NDArray[np.uint64]

MAGIC = b"byrefSG1"
MANY = 8  # segments; one more, and as many of the smallest become one
_FIELDS = (("blob", "<u4"), ("start", "<u8"), ("end", "<u8"), ("line", "<u4"), ("length", "<u4"),
           ("keys", "<u8"), ("offsets", "<u8"), ("posts", "<u4"), ("counts", "|u1"))


@dataclass(frozen=True, slots=True)
class Segment:
    """blobs: digests. Of each chunk: blob (index into blobs), start, end, line (first, 0: none), length in tokens.

    keys, in order; key number i stands in the chunks posts[offsets[i]:offsets[i+1]], in order, so often as counts says (255: or more).
    """

    blobs: tuple[str, ...]
    blob: U32
    start: U64
    end: U64
    line: U32
    length: U32
    keys: U64
    offsets: U64
    posts: U32
    counts: U8


class Chunk(NamedTuple):
    """A chunk to be indexed. counts: how often each key stands in it."""

    blob: str
    start: int
    end: int
    line: int
    length: int
    counts: dict[int, int]


def build(blobs: Sequence[str], chunks: Iterable[Chunk]) -> Segment:
    """A segment of these blobs, also of those without chunks."""
    import numpy as np
    number = {blob: index for index, blob in enumerate(blobs)}
    rows: list[tuple[int, int, int, int, int]] = []
    keys: list[int] = []
    posts: list[int] = []
    counts: list[int] = []
    for at, chunk in enumerate(chunks):
        rows.append((number[chunk.blob], chunk.start, chunk.end, chunk.line, chunk.length))
        keys += chunk.counts.keys()
        counts += (min(count, 255) for count in chunk.counts.values())
        posts += [at] * len(chunk.counts)
    table = np.array(rows, np.uint64).reshape(len(rows), 5)
    return _sorted(tuple(blobs), table, np.array(keys, np.uint64), np.array(posts, np.uint32), np.array(counts, np.uint8))


def _sorted(blobs: tuple[str, ...], table: U64, keys: U64, posts: U32, counts: U8) -> Segment:
    import numpy as np
    order = np.lexsort((posts, keys))
    keys = keys[order]
    first = np.flatnonzero(np.concatenate((np.ones(min(1, len(keys)), bool), keys[1:] != keys[:-1])))
    offsets = np.concatenate((first, [len(keys)])).astype(np.uint64)
    return Segment(blobs, table[:, 0].astype(np.uint32), table[:, 1], table[:, 2], table[:, 3].astype(np.uint32),
                   table[:, 4].astype(np.uint32), keys[first], offsets, posts[order], counts[order])


def joined(segments: Sequence[Segment], without: Collection[str] = ()) -> Segment:
    """One segment of several, a blob once, without these blobs."""
    import numpy as np
    seen: dict[str, int] = {}
    tables, keys, posts, counts, base = [], [], [], [], 0
    for one in segments:
        fate = np.full(len(one.blobs) + 1, -1, np.int64)
        for index, blob in enumerate(one.blobs):
            if blob not in seen and blob not in without:
                fate[index] = seen[blob] = len(seen)
        owner = fate[one.blob]
        kept = owner >= 0
        place = np.cumsum(kept) - 1 + base
        tables.append(np.stack((owner[kept].astype(np.uint64), one.start[kept], one.end[kept], one.line[kept].astype(np.uint64),
                                one.length[kept].astype(np.uint64)), axis=1))
        stays = kept[one.posts]
        keys.append(np.repeat(one.keys, one.offsets[1:].astype(np.int64) - one.offsets[:-1].astype(np.int64))[stays])
        posts.append(place[one.posts[stays]].astype(np.uint32))
        counts.append(one.counts[stays])
        base += int(kept.sum())
    return _sorted(tuple(seen), np.concatenate(tables), np.concatenate(keys), np.concatenate(posts), np.concatenate(counts))


class Segments:
    """The segments of one index. Safe for many threads and processes. folder: made when first written to; None: in memory."""

    def __init__(self, folder: str | None, version: str) -> None:
        self._folder, self._version = folder, version
        self._lock = RLock()
        self._held: dict[str, Segment] = {}
        self._changed = -1
        self._number = 0
        self._indexed: frozenset[str] | None = None

    def all(self) -> list[Segment]:
        """What there is now, in a stable order."""
        with self._lock:
            self._look()
            return [self._held[name] for name in sorted(self._held)]

    def indexed(self) -> frozenset[str]:
        with self._lock:
            self._look()
            if self._indexed is None:
                self._indexed = frozenset(blob for segment in self._held.values() for blob in segment.blobs)
            return self._indexed

    def add(self, segment: Segment) -> None:
        """Takes a segment in, less what another process indexed meanwhile."""
        with self._lock, self._writing():
            self._changed = -1
            self._look()
            known = {blob for held in self._held.values() for blob in held.blobs} & set(segment.blobs)
            if known:
                segment = joined([segment], known)
            if not segment.blobs:
                return
            self._put(segment, ())
            if len(self._held) > MANY:
                small = sorted(self._held, key=lambda name: (len(self._held[name].posts), name))[:MANY]
                self._put(joined([self._held[name] for name in sorted(small)]), small)

    def remove(self, blobs: Collection[str]) -> None:
        """Writes anew, without these blobs, each segment that holds one."""
        gone = set(blobs)
        if self._folder is not None and not os.path.isdir(self._folder):
            return
        with self._lock, self._writing():
            self._changed = -1
            self._look()
            for name in [name for name, held in self._held.items() if gone.intersection(held.blobs)]:
                left = joined([self._held[name]], gone)
                if left.blobs:
                    self._put(left, [name])
                else:
                    self._drop(name)

    def delete(self, blobs: Collection[str]) -> None:
        """Deletes each file that holds one of these blobs, or that cannot be read, by a look at its head: needs no numpy."""
        if self._folder is None or not os.path.isdir(self._folder):
            return
        with self._lock, self._writing():
            for name in os.listdir(self._folder):
                path = os.path.join(self._folder, name)
                held = blobs_of(path) if name.endswith(".seg") else frozenset()
                if held is None or not held.isdisjoint(blobs) or name.endswith(".tmp"):
                    os.unlink(path)

    def close(self) -> None:
        with self._lock:
            self._held, self._changed, self._indexed = {}, -1, None

    # files

    def _writing(self) -> _Lock:
        if self._folder is not None:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
        return _Lock(self._folder)

    def _put(self, segment: Segment, instead: Collection[str]) -> None:
        self._number += 1
        name = f"{self._number:08}"
        if self._folder is not None:
            name = f"{os.urandom(8).hex()}.seg"
            path = os.path.join(self._folder, name)
            with open(os.open(path + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                for piece in written(segment, self._version, sorted(instead)):
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            os.rename(path + ".tmp", path)
        self._held[name] = segment
        self._indexed = None
        for old in instead:
            self._drop(old)

    def _drop(self, name: str) -> None:
        self._held.pop(name, None)
        self._indexed = None
        if self._folder is not None:
            try:
                os.unlink(os.path.join(self._folder, name))
            except FileNotFoundError:
                pass

    def _look(self) -> None:
        """Reads what others wrote since, and forgets what they removed."""
        if self._folder is None:
            return
        try:
            changed = os.stat(self._folder).st_mtime_ns
            if changed == self._changed:
                return
            names = {name for name in os.listdir(self._folder) if name.endswith(".seg")}
        except FileNotFoundError:
            self._held, self._changed, self._indexed = {}, -1, None
            return
        held = {name: segment for name, segment in self._held.items() if name in names}
        replaced: set[str] = set()
        for name in sorted(names - held.keys()):
            try:
                found = read(os.path.join(self._folder, name), self._version)
            except FileNotFoundError:
                continue
            if found is None:  # damaged, or of another version: what it held is indexed again
                self._drop(name)
                continue
            held[name] = found[0]
            replaced |= set(found[1])
        for name in replaced & names:
            held.pop(name, None)
            self._drop(name)
        self._held, self._changed, self._indexed = held, changed, None


class _Lock:
    """The exclusive lock of a folder, between processes."""

    def __init__(self, folder: str | None) -> None:
        self._path = None if folder is None else os.path.join(folder, "lock")
        self._file = -1

    def __enter__(self) -> None:
        if self._path is not None:
            self._file = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def written(segment: Segment, version: str, replaces: Sequence[str]) -> Iterator[bytes]:
    """The bytes of a segment's file: magic, length of the head, head as JSON, arrays; each array starts at a multiple of 8."""
    arrays = [getattr(segment, name).astype(kind).tobytes() for name, kind in _FIELDS]
    crc = 0
    for array in arrays:
        crc = zlib.crc32(array, crc)
    sizes = [len(array) for array in arrays]
    head = json.dumps({"version": version, "replaces": list(replaces), "blobs": list(segment.blobs), "sizes": sizes, "crc": crc}).encode()
    head += b" " * (-(len(head) + 16) % 8)
    yield MAGIC
    yield len(head).to_bytes(4, "little") + zlib.crc32(head).to_bytes(4, "little")
    yield head
    for array in arrays:
        yield array + b"\0" * (-len(array) % 8)


def blobs_of(path: str) -> frozenset[str] | None:
    """The blobs that a file holds, by its head alone; None where that is damaged."""
    with open(path, "rb") as file:
        start = file.read(16)
        head = file.read(int.from_bytes(start[8:12], "little"))
    try:
        if start[:8] == MAGIC and zlib.crc32(head) == int.from_bytes(start[12:], "little"):
            return frozenset(json.loads(head)["blobs"])
    except (ValueError, KeyError, TypeError):
        pass
    return None


def read(path: str, version: str) -> tuple[Segment, list[str]] | None:
    """A segment, mapped into memory, and the names that it replaces; None where the file is damaged or of another version."""
    import mmap

    import numpy as np
    with open(path, "rb") as file:
        start = file.read(16)
        if len(start) < 16 or start[:8] != MAGIC:
            return None
        size = int.from_bytes(start[8:12], "little")
        head = file.read(size)
        if zlib.crc32(head) != int.from_bytes(start[12:], "little"):
            return None
        try:
            told = json.loads(head)
            sizes = [int(one) for one in told["sizes"]]
            if told["version"] != version or os.fstat(file.fileno()).st_size != 16 + size + sum(one + -one % 8 for one in sizes):
                return None
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            arrays, at, crc = {}, 16 + size, 0
            for (name, kind), length in zip(_FIELDS, sizes, strict=True):
                arrays[name] = np.frombuffer(data, kind, length // np.dtype(kind).itemsize, at)
                crc = zlib.crc32(memoryview(data)[at:at + length], crc)
                at += length + -length % 8
            if crc != told["crc"]:
                return None
            return Segment(tuple(told["blobs"]), **arrays), list(told["replaces"])
        except (ValueError, KeyError, TypeError):
            return None
