"""Token vectors of blobs in memory-mapped files: one a blob and layer version, or, of a blob longer than a stretch, one a stretch.

A file is written whole under a temporary name, synced and renamed. Its head names the version it belongs to and carries a hash of
itself and a CRC of all else; a damaged or foreign file is deleted, and what it held is taken in again. Its name says what it holds, so
that a listing of the folder says what there is, and a blob is removed with no library at hand.
"""
from __future__ import annotations

import os
import struct
import time
from hashlib import blake2b
from math import prod
from mmap import ACCESS_READ, mmap
from threading import Lock
from typing import NamedTuple
from zlib import crc32

from byref.layers.files import EDGE, padded, private, unlink
from byref.layers.maxsim import BF16, INT8, Tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    Int64: TypeAlias = NDArray[np.int64]

MAGIC = b"byref tokens 1\n\0"
SUFFIX = ".tokens"
SMALL = 64 << 10  # bytes of a file up to which it is read, not mapped: a mapping costs a file descriptor
OPEN, READ = 256, 48 << 20  # mappings, and bytes of small files, that are kept
_HEAD = struct.Struct("<16s16s16sIIIIQQQI4x")  # magic, hash of the rest, version, kind, width, tokens, chunks, start, end, size, crc
_KINDS = (INT8, BF16)
_TICK = 50_000_000  # nanoseconds


class Sidecar(NamedTuple):
    """Bytes start to end of a blob of this size. chunks: (n, 2) spans in the blob; places: (tokens, 2) spans from start on."""

    blob: str
    start: int
    end: int
    size: int
    tokens: Tokens
    chunks: Int64
    places: NDArray[np.uint32]


class Place(NamedTuple):
    """What a file's name says."""

    blob: str
    start: int
    end: int
    size: int


class Sidecars:
    """Of one layer and scope. Safe for many threads and processes. folder: None keeps all in memory. version: of model and cut."""

    def __init__(self, folder: str | None, version: str) -> None:
        self._folder = folder
        self._version = blake2b(version.encode(), digest_size=16).digest()
        self._lock = Lock()
        self._there: dict[str, dict[int, Place]] = {}  # by blob and start
        self._held: dict[Place, Sidecar] = {}  # in memory: all there are; else those mapped
        self._small: dict[Place, Sidecar] = {}  # and those read
        self._read = 0
        self._checked: set[Place] = set()
        self._looked = -1

    def all_reached(self) -> Mapping[str, tuple[int, int]]:
        """Of each blob how many bytes from its start on are taken in without a hole, and its size."""
        with self._lock:
            self._look()
            return {blob: _end(stretches) for blob, stretches in self._there.items()}

    def reached(self, blob: str) -> int:
        """Bytes of a blob that are taken in, from its start on without a hole."""
        with self._lock:
            self._look()
            return _end(self._there.get(blob, {}))[0]

    def complete(self) -> frozenset[str]:
        """Blobs that are taken in whole."""
        return frozenset(blob for blob, (end, size) in self.all_reached().items() if end >= size)

    def places(self, blob: str) -> list[Place]:
        """What there is of a blob, in order."""
        with self._lock:
            self._look()
            stretches = self._there.get(blob, {})
            return [stretches[start] for start in sorted(stretches)]

    def open(self, place: Place) -> Sidecar | None:
        """None for one that is gone, damaged or foreign; that is deleted."""
        with self._lock:
            known = self._known(place)
            if known is not None or self._folder is None:
                return known
            found = _read(self._path(place), place, self._version, place not in self._checked)
            if found is None:
                self._drop(place)
                return None
            self._checked.add(place)
            self._keep(place, found)
            return found

    def add(self, sidecar: Sidecar) -> None:
        """Afterwards it is there whole, or not at all."""
        place = Place(*sidecar[:4])
        if self._folder is None:
            with self._lock:
                self._there.setdefault(place.blob, {})[place.start] = place
                self._held[place] = sidecar
            return
        os.makedirs(self._folder, 0o700, exist_ok=True)
        path = self._path(place)
        temporary = f"{path}.{os.getpid()}"
        try:
            with open(temporary, "wb", opener=private) as file:
                file.writelines(_written(sidecar, self._version))
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            unlink(temporary)
            raise
        with self._lock:
            self._looked = -1
            self._checked.add(place)
            self._release(place.__eq__)

    def remove(self, blobs: Iterable[str]) -> None:
        """Leaves nothing of these blobs."""
        with self._lock:
            gone = set(blobs)
            self._release(lambda place: place.blob in gone)
            self._checked = {place for place in self._checked if place.blob not in gone}
            for blob in gone:
                self._there.pop(blob, None)
            if self._folder is not None:
                forget(self._folder, gone)
                self._looked = -1

    def sweep(self) -> None:
        """Deletes what a writer left that died, and what another version of the layer wrote."""
        if self._folder is None:
            return
        with self._lock:
            for name in _listed(self._folder):
                path = os.path.join(self._folder, name)
                place, own = _named(name)
                if _stale(path) if place is None else own != self._version.hex():
                    unlink(path)
            self._looked = -1

    def close(self) -> None:
        with self._lock:
            if self._folder is not None:
                self._release(lambda place: True)

    def _keep(self, place: Place, found: Sidecar) -> None:
        """As long as there is room: a scan of more than that would push out each just before it is needed again."""
        size = found.tokens.vectors.nbytes
        if size > SMALL:
            if len(self._held) < OPEN:
                self._held[place] = found
        elif self._read + size <= READ:
            self._small[place] = found
            self._read += size

    def _known(self, place: Place) -> Sidecar | None:
        return self._small.get(place) or self._held.get(place)

    def _release(self, gone: Callable[[Place], bool]) -> None:
        for place in [place for place in self._held if gone(place)]:
            del self._held[place]
        for place in [place for place in self._small if gone(place)]:
            self._read -= self._small.pop(place).tokens.vectors.nbytes

    def _path(self, place: Place) -> str:
        assert self._folder is not None
        name = f"{place.blob.replace(':', '_')}-{place.start}-{place.end}-{place.size}-{self._version.hex()}{SUFFIX}"
        return os.path.join(self._folder, name)

    def _drop(self, place: Place) -> None:
        stretches = self._there.get(place.blob, {})
        if stretches.get(place.start) == place:
            del stretches[place.start]
        self._checked.discard(place)
        unlink(self._path(place))

    def _look(self) -> None:
        """Lists the folder again, where it has changed."""
        if self._folder is None:
            return
        try:
            changed = os.stat(self._folder).st_mtime_ns
        except FileNotFoundError:
            self._there, self._looked = {}, -1
            self._release(lambda place: True)
            return
        if changed == self._looked:
            return
        there = self._there = _there(self._folder, self._version.hex())
        self._release(lambda place: there.get(place.blob, {}).get(place.start) != place)
        # A clock of file times ticks every few milliseconds: a change right after this look may bear the same one.
        self._looked = changed if time.time_ns() - changed > _TICK else -1


def forget(folder: str, blobs: Iterable[str]) -> None:
    """Deletes every file of these blobs, of any version, written or half-written. Needs no library, and no such folder."""
    marks = {blob.replace(":", "_") for blob in blobs}
    for name in _listed(folder):
        if name.partition("-")[0] in marks:
            unlink(os.path.join(folder, name))


def reached(folder: str) -> Mapping[str, tuple[int, int]]:
    """As `Sidecars.all_reached`, of any version, by the names of files alone."""
    return {blob: _end(stretches) for blob, stretches in _there(folder, "").items()}


def _there(folder: str, version: str) -> dict[str, dict[int, Place]]:
    """What files there are, by blob and start; of any version, if none is named."""
    there: dict[str, dict[int, Place]] = {}
    for name in _listed(folder):
        place, own = _named(name)
        if place is not None and version in ("", own):
            known = there.setdefault(place.blob, {})
            if place.start not in known or known[place.start].end < place.end:
                known[place.start] = place
    return there


def _end(stretches: Mapping[int, Place]) -> tuple[int, int]:
    end, size = 0, 1
    for start in sorted(stretches):
        if start <= end:
            end, size = max(end, stretches[start].end), stretches[start].size
    return end, size


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _named(name: str) -> tuple[Place | None, str]:
    """What the name of a file says, and the version; None for the name of another file."""
    parts = name.removesuffix(SUFFIX).split("-")
    if not name.endswith(SUFFIX) or len(parts) != 5 or not all(part.isdecimal() for part in parts[1:4]):
        return None, ""
    return Place(parts[0].replace("_", ":", 1), int(parts[1]), int(parts[2]), int(parts[3])), parts[4]


def _stale(path: str) -> bool:
    """Whether nobody writes it any more: the process in its name is not there."""
    try:
        os.kill(int(path.rpartition(".")[2]), 0)
    except (ProcessLookupError, ValueError):
        return True
    except OSError:
        return False
    return False


def _written(sidecar: Sidecar, version: bytes) -> list[bytes]:
    import numpy as np
    tokens, chunks, places = sidecar.tokens, sidecar.chunks, sidecar.places
    body = [padded(np.ascontiguousarray(array).tobytes()) for array in (
        tokens.vectors, tokens.bounds.astype("<i8"), chunks.astype("<i8"), places.astype("<u4"))]
    if tokens.scales is not None:
        body.append(padded(tokens.scales.astype("<f4").tobytes()))
    check = 0
    for piece in body:
        check = crc32(piece, check)
    kind = _KINDS.index(BF16 if tokens.scales is None else INT8)
    fields = (version, kind, tokens.vectors.shape[1], len(tokens.vectors), len(chunks), sidecar.start, sidecar.end, sidecar.size, check)
    head = _HEAD.pack(MAGIC, b"", *fields)
    proof = blake2b(head + sidecar.blob.encode(), digest_size=16).digest()
    return [padded(_HEAD.pack(MAGIC, proof, *fields)), *body]


def _read(path: str, place: Place, version: bytes, check: bool) -> Sidecar | None:
    """None for what is damaged, of another version, or gone. check: its CRC, too."""
    import numpy as np
    try:
        with open(path, "rb") as file:
            data: bytes | mmap = file.read() if os.fstat(file.fileno()).st_size <= SMALL else mmap(file.fileno(), 0, access=ACCESS_READ)
        magic, proof, *fields = _HEAD.unpack_from(data)
        head = _HEAD.pack(magic, b"", *fields)
        if magic != MAGIC or fields[0] != version or proof != blake2b(head + place.blob.encode(), digest_size=16).digest():
            return None
    except (OSError, ValueError, struct.error):
        return None
    _, kind, width, count, chunks, start, end, size, crc = fields
    at = -(-_HEAD.size // EDGE) * EDGE
    if (start, end, size) != place[1:]:
        return None
    found = []
    shapes = [("<i1" if _KINDS[kind] == INT8 else "<u2", (count, width)), ("<i8", (chunks + 1,)), ("<i8", (chunks, 2)), ("<u4", (count, 2))]
    if _KINDS[kind] == INT8:
        shapes.append(("<f4", (count,)))
    first = at
    for kept, shape in shapes:
        many = prod(shape)
        long = many * int(kept[2])
        if at + long > len(data):
            return None
        found.append(np.frombuffer(data, kept, many, at).reshape(shape))
        at += -(-long // EDGE) * EDGE
    if at != len(data) or (check and crc32(memoryview(data)[first:]) != crc):
        return None
    tokens = Tokens(found[0], found[4] if len(found) > 4 else None, found[1])
    return Sidecar(place.blob, start, end, size, tokens, found[2], found[3])
