"""int8 vectors of the chunks of a scope in memory-mapped files, and the chunks nearest to a query, in whole numbers.

A segment is one file, written whole under a temporary name and renamed: a head with the stretches of blobs in it and a hash of all but
the vectors, whose own CRC stands there too. A damaged or foreign one is deleted, and its blobs are taken in again. Segments are merged
as they grow in number, so that one stretch is rewritten about as often as the logarithm of their size. Processes may share a folder:
files that others wrote or removed are seen at the next look.
"""
from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from hashlib import blake2b
from itertools import compress
from threading import Lock
from typing import NamedTuple
from zlib import crc32

from byref.layers.files import EDGE, padded, private, unlink
from byref.proxy.contracts import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    Int8: TypeAlias = NDArray[np.int8]
    Int64: TypeAlias = NDArray[np.int64]
    Floats: TypeAlias = NDArray[np.float64]

MAGIC = b"byref vectors 1\n"
SUFFIX = ".vectors"
SCALE = 10_000  # a cosine of 1
SEGMENTS = 8  # more are merged
BLOCK = 1 << 14  # rows between two looks at the clock: a millisecond
_TICK = 50_000_000  # nanoseconds
_ROOM = 1 - 1e-9  # of rounding


class Stretch(NamedTuple):
    """Bytes start to end of a blob of this size, cut into rows chunks, which stand in a segment from row first on."""

    blob: str
    start: int
    end: int
    size: int
    first: int
    rows: int


class Near(NamedTuple):
    """A chunk and its cosine with the query in 1/10,000."""

    blob: str
    start: int
    end: int
    score: int


@dataclass(frozen=True, slots=True)
class Segment:
    """spans: (rows, 2) bytes of the chunks in their blobs. lengths: of the vectors, in 1/256."""

    stretches: tuple[Stretch, ...]
    spans: Int64
    lengths: Int64
    vectors: Int8


@dataclass(frozen=True, slots=True)
class Part:
    """A segment as far as it counts: counts says which of its stretches no segment before it holds. blobs: of these.

    firsts, rows: of all its stretches, one after another.
    """

    segment: Segment
    counts: tuple[bool, ...]
    blobs: frozenset[str]
    firsts: Int64
    rows: Int64


@dataclass(frozen=True, slots=True)
class Parts:
    """All of an index at one moment. reached: of each blob how many bytes from its start on are taken in without a hole, and its size;
    complete: the blobs that are taken in whole.
    """

    parts: tuple[Part, ...]
    reached: Mapping[str, tuple[int, int]]
    complete: frozenset[str]


def parts_of(segments: Iterable[Segment]) -> Parts:
    """What segments hold together, each stretch once."""
    import numpy as np
    known: dict[tuple[str, int], Stretch] = {}
    parts = []
    for segment in segments:
        counts = tuple((one.blob, one.start) not in known for one in segment.stretches)
        fresh = list(compress(segment.stretches, counts))
        known |= {(one.blob, one.start): one for one in fresh}
        if fresh:
            firsts, rows = np.array([(one.first, one.rows) for one in segment.stretches], np.int64).T
            parts.append(Part(segment, counts, frozenset(one.blob for one in fresh), firsts, rows))
    reached: dict[str, tuple[int, int]] = {}
    for blob, start in sorted(known):
        one, end = known[blob, start], reached.get(blob, (0, 0))[0]
        reached[blob] = max(end, one.end) if start <= end else end, one.size
    return Parts(tuple(parts), reached, frozenset(blob for blob, (end, size) in reached.items() if end >= size))


def joined(segments: Sequence[Segment], without: AbstractSet[str] = frozenset()) -> Segment | None:
    """One segment of several, without some blobs and each stretch once; None if nothing is left."""
    import numpy as np
    stretches: dict[tuple[str, int], Stretch] = {}
    spans, lengths, vectors = [], [], []
    count = 0
    for segment in segments:
        for one in segment.stretches:
            if one.blob in without or (one.blob, one.start) in stretches:
                continue
            rows = slice(one.first, one.first + one.rows)
            stretches[one.blob, one.start] = one._replace(first=count)
            spans.append(segment.spans[rows])
            lengths.append(segment.lengths[rows])
            vectors.append(segment.vectors[rows])
            count += one.rows
    if not stretches:
        return None
    return Segment(tuple(stretches.values()), np.concatenate(spans), np.concatenate(lengths), np.concatenate(vectors))


class Vectors:
    """The segments of one scope. folder None keeps them in memory. mark: of the model and the chunking; files of others are deleted."""

    def __init__(self, folder: str | None, mark: str, width: int) -> None:
        self._folder, self._mark, self._width = folder, mark, width
        self._lock = Lock()
        self._held: dict[str, Segment] = {}
        self._parts: tuple[tuple[str, ...], Parts] | None = None
        self._looked = -1
        self._named = 0

    def parts(self) -> Parts:
        """What there is now."""
        with self._lock:
            self._look()
            names = tuple(sorted(self._held))
            if self._parts is None or self._parts[0] != names:
                self._parts = names, parts_of(self._held[name] for name in names)
            return self._parts[1]

    def add(self, segment: Segment) -> None:
        """Takes stretches in; afterwards they are there whole, or not at all."""
        with self._lock, self._alone():
            self._sweep()
            self._look()
            self._put(segment)
            while len(self._held) > SEGMENTS:
                self._merge()

    def remove(self, blobs: AbstractSet[str]) -> None:
        """Leaves nothing of these blobs."""
        with self._lock, self._alone():
            self._sweep()
            self._look()
            for name, segment in list(self._held.items()):
                if any(one.blob in blobs for one in segment.stretches):
                    left = joined([segment], blobs)
                    if left is not None:
                        self._put(left)
                    self._drop(name)

    def close(self) -> None:
        with self._lock:
            self._held.clear()
            self._parts, self._looked = None, -1

    def _sweep(self) -> None:
        """Deletes what a writer left that died: whoever writes is alone."""
        if self._folder is not None:
            for name in os.listdir(self._folder):
                if SUFFIX + "." in name:
                    unlink(os.path.join(self._folder, name))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process writes meanwhile: what one removes, another must not join into a new segment."""
        if self._folder is None:
            yield
            return
        os.makedirs(self._folder, 0o700, exist_ok=True)
        with open(os.path.join(self._folder, "lock"), "ab", opener=private) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _merge(self) -> None:
        """Joins the smallest ones, as far as each is not much larger than those before it together."""
        names = sorted(self._held, key=lambda name: (len(self._held[name].spans), name))
        rows = len(self._held[names[0]].spans)
        chosen = names[:1]
        for name in names[1:]:
            more = len(self._held[name].spans)
            if len(chosen) >= 2 and more > 2 * rows:
                break
            chosen.append(name)
            rows += more
        whole = joined([self._held[name] for name in chosen])
        if whole is not None:
            self._put(whole)
        for name in chosen:
            self._drop(name)

    def _put(self, segment: Segment) -> None:
        if self._folder is None:
            self._named += 1
            self._held[f"{self._named:012}"] = segment
            return
        data = _written(segment, self._mark)
        name = blake2b(data[0] + str(os.getpid()).encode(), digest_size=10).hexdigest() + SUFFIX
        path = os.path.join(self._folder, name)
        temporary = f"{path}.{os.getpid()}"
        with open(temporary, "wb", opener=private) as file:
            file.writelines(data)
        os.replace(temporary, path)
        found = _read(path, self._mark, self._width)
        if found is not None:
            self._held[name] = found

    def _drop(self, name: str) -> None:
        self._held.pop(name, None)
        if self._folder is not None:
            unlink(os.path.join(self._folder, name))

    def _look(self) -> None:
        """Opens what is new in the folder and lets go of what is gone."""
        if self._folder is None:
            return
        try:
            changed = os.stat(self._folder).st_mtime_ns
            if changed == self._looked:
                return
            there = os.listdir(self._folder)
        except FileNotFoundError:  # not made yet, or deleted under us: begin again
            self._held.clear()
            return
        names = {name for name in there if name.endswith(SUFFIX)}
        for name in set(self._held) - names:
            del self._held[name]
        for name in names - set(self._held):
            path = os.path.join(self._folder, name)
            found = _read(path, self._mark, self._width)
            if found is None:
                unlink(path)
            else:
                self._held[name] = found
        # A clock of file times ticks every few milliseconds: a change right after this look may bear the same one.
        self._looked = changed if time.time_ns() - changed > _TICK else -1


def _written(segment: Segment, mark: str) -> list[bytes]:
    import json
    vectors = segment.vectors.tobytes()
    head = json.dumps([mark, segment.vectors.shape[1], crc32(vectors), segment.stretches]).encode()
    body = padded(segment.spans.astype("<i8").tobytes()) + padded(segment.lengths.astype("<i8").tobytes())
    start = padded(MAGIC + len(head).to_bytes(8, "little") + blake2b(head + body, digest_size=16).digest() + head)
    return [start, body, vectors]


def _read(path: str, mark: str, width: int) -> Segment | None:
    """None for what is damaged, of another model, or gone."""
    import json

    import numpy as np
    try:
        data = np.memmap(path, np.uint8, "r").view(np.ndarray)
        start = data[:40].tobytes()
        size = int.from_bytes(start[16:24], "little")
        if start[:16] != MAGIC or 40 + size > len(data):
            return None
        head = data[40:40 + size].tobytes()
        found, wide, check, rows = json.loads(head)
        stretches = tuple(Stretch(*row) for row in rows)
        count = sum(one.rows for one in stretches)
        first = -(-(40 + size) // EDGE) * EDGE
        second = first + -(-16 * count // EDGE) * EDGE
        third = second + -(-8 * count // EDGE) * EDGE
        if found != mark or wide != width or len(data) != third + count * width:
            return None
        if blake2b(head + data[first:third].tobytes(), digest_size=16).digest() != start[24:40] or crc32(data.data[third:]) != check:
            return None
    except (OSError, ValueError, TypeError, KeyError):
        return None
    spans = data[first:first + 16 * count].view("<i8").reshape(count, 2)
    return Segment(stretches, spans, data[second:second + 8 * count].view("<i8"), data[third:].view(np.int8).reshape(count, width))


def nearest(parts: Iterable[Part], vector: Int8, length: int, wanted: AbstractSet[str], count: int,
            late: Callable[[], bool], least: int = 1) -> tuple[list[Near], int]:
    """Chunks of wanted blobs with the highest cosines, from least on, all that tie with the last one included, in no order.

    Also for how many parts there was time, -1 for all.
    """
    import numpy as np
    found: list[Near] = []
    for done, part in enumerate(parts):
        if late():
            return found, done
        segment = part.segment
        counts = part.counts if part.blobs <= wanted else tuple(
            count and one.blob in wanted for count, one in zip(part.counts, segment.stretches, strict=True))
        if not any(counts) or not len(segment.spans):
            continue
        dots = _dots(segment.vectors, vector, late)
        if len(dots) < len(segment.vectors):
            return found, done
        near = dots / np.maximum(1, segment.lengths)
        if not all(counts):
            near[~np.repeat(counts, part.rows)] = -1.0
        # Rounded numbers choose the rows, with some room; what they score is whole numbers.
        floor = float(np.partition(near, -count)[-count]) if len(near) > count else 0.0
        if floor > 0:
            scores = _scores(segment, np.flatnonzero(near >= floor * _ROOM), dots, length)
            least = max(least, int(np.partition(scores, -count)[-count]))
        rows = np.flatnonzero(near >= least * length / (SCALE << 16) * _ROOM)
        scores = _scores(segment, rows, dots, length)
        owners = np.searchsorted(part.firsts, rows, "right") - 1
        for owner, (start, end), score in zip(owners.tolist(), segment.spans[rows].tolist(), scores.tolist(), strict=True):
            if score >= least:
                found.append(Near(segment.stretches[owner].blob, start, end, score))
        if len(found) > count:
            least = sorted((one.score for one in found), reverse=True)[count - 1]
            found = [one for one in found if one.score >= least]
    return found, -1


def _scores(segment: Segment, rows: Int64, dots: Floats, length: int) -> Int64:
    """Cosines of some rows in 1/10,000. Products are exact, so is the division."""
    import numpy as np
    scores: Int64 = dots[rows].astype(np.int64) * (SCALE << 16) // np.maximum(1, segment.lengths[rows] * length)
    return scores


def _dots(vectors: Int8, vector: Int8, late: Callable[[], bool]) -> Floats:
    """Products of the rows with a vector: whole numbers below 2**24, held as floats. Fewer than there are rows where time is over."""
    import numpy as np
    products = _products()
    found: list[Floats] = []
    for at in range(0, len(vectors), BLOCK):
        if at and late():
            break
        found.append(products(vectors[at:at + BLOCK], vector))
    return np.concatenate(found)


def _products() -> Callable[[Int8, Int8], Floats]:
    import numpy as np
    try:
        from simsimd import cdist
    except ImportError:
        # 127 * 127 * 1,024 < 2**24: float32 holds every sum of so wide a row exactly, in whatever order it is taken
        return lambda rows, vector: (rows.astype(np.float32) @ vector.astype(np.float32)).astype(np.float64)
    return lambda rows, vector: np.asarray(cdist(vector[None], rows, "dot")).ravel().astype(np.float64, copy=False)
