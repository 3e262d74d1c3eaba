"""From a blob's bytes to token vectors: stretches, chunks, an encoder, and what is made smaller before it is kept."""
from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from byref.layers.chunking import chunks
from byref.layers.maxsim import INT8, Tokens, stored
from byref.layers.sidecar import Sidecar
from byref.proxy.text import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from byref.layers.encoders.contract import Encoded, Encoder
    from byref.proxy.contracts import Source

    Int64: TypeAlias = NDArray[np.int64]
    Floats: TypeAlias = NDArray[np.float32]

CHUNKER = "1"  # version of how blobs are cut, and of what becomes of their tokens
STRETCH = 16 << 10  # bytes of a blob that are encoded at once, half a second to a second: what an abort loses at most
BINARY = 50  # of stretches of which one byte in so many is NUL, or more, nothing is taken in


class Knobs(NamedTuple):
    """What a layer keeps of token vectors; what each costs: `python bench/knobs.py`.

    kind: INT8 or BF16. pooling: so many neighbouring tokens of a chunk become one. axes: (width, fewer) principal axes on which they are
    projected, with its name in the version; None for all. whole: a stretch is encoded as one text and cut afterwards (late chunking).
    """

    kind: str = INT8
    pooling: int = 1
    axes: Floats | None = None
    axes_name: str = ""
    whole: bool = False

    @property
    def version(self) -> str:
        return f"{CHUNKER}-{self.kind}-{self.pooling}-{self.axes_name}-{self.whole:d}"


class Piece(NamedTuple):
    """A stretch of a blob with the spans of chunks in it, from its start on."""

    blob: str
    start: int
    size: int
    data: bytes
    spans: Sequence[tuple[int, int]]


def piece(blob: str, source: Source, shape: str, start: int, first: int = 0) -> Piece:
    """The stretch of a blob that begins at this byte; it ends with a line where one ends in reach. first: a byte before which chunks are
    of no use, so that a stretch that ends there is not cut."""
    data = source.read(start, min(source.size, start + STRETCH))
    if start + len(data) < source.size:
        cut = data.rfind(b"\n") + 1
        while not cut and len(data) > 1 and data[-1] & 0xC0 == 0x80:
            data = data[:-1]
        data = data[:cut] if cut else data
    unwanted = start + len(data) <= first or data.count(b"\0") * BINARY > len(data)
    spans = [] if unwanted else list(chunks(data, shape))
    return Piece(blob, start, source.size, data, spans)


def encoded(encoder: Encoder, knobs: Knobs, pieces: Sequence[Piece], late: Callable[[], bool]) -> list[Sidecar] | None:
    """A sidecar for each piece; None where there was no time for all."""
    if knobs.whole:
        spans = [[(one.spans[0][0], one.spans[-1][1])] if one.spans else [] for one in pieces]
    else:
        spans = [list(one.spans) for one in pieces]
    cut = [Text(one.data[start:end]) for one, some in zip(pieces, spans, strict=True) for start, end in some]
    found = encoder.documents([text.text for text in cut], late)
    if found is None:
        return None
    made = []
    at = 0
    for one, some in zip(pieces, spans, strict=True):
        here = range(at, at + len(some))
        at += len(some)
        made.append(_sidecar(knobs, one, [(some[number - here.start][0], cut[number], found[number]) for number in here], encoder.width))
    return made


def _sidecar(knobs: Knobs, one: Piece, texts: Sequence[tuple[int, Text, Encoded]], width: int) -> Sidecar:
    import numpy as np
    vectors: list[Floats] = [np.zeros((0, width), np.float32)]
    places: list[Int64] = [np.zeros((0, 2), np.int64)]
    for start, text, found in texts:
        vectors.append(found.vectors)
        places.append(text.bytes_of(found.spans) + start)
    rows, spans = np.concatenate(vectors), np.concatenate(places)
    bounds = np.append(np.searchsorted(spans[:, 0], [start for start, _ in one.spans]), len(spans)).astype(np.int64)
    rows, spans, bounds = pooled(rows, spans, bounds, knobs.pooling)
    if knobs.axes is not None:
        rows = unit(rows @ knobs.axes)
    numbers, scales = stored(rows, knobs.kind)
    cuts = np.array(one.spans, np.int64).reshape(-1, 2) + one.start
    return Sidecar(one.blob, one.start, one.start + len(one.data), one.size, Tokens(numbers, scales, bounds), cuts, spans.astype(np.uint32))


def pooled(rows: Floats, spans: Int64, bounds: Int64, factor: int) -> tuple[Floats, Int64, Int64]:
    """Each run of `factor` neighbours within a chunk as their mean, brought back to unit length; its span is theirs together."""
    import numpy as np
    if factor < 2 or not len(rows):
        return rows, spans, bounds
    starts = np.concatenate([np.arange(a, b, factor) for a, b in pairwise(bounds.tolist())] or [np.zeros(0, np.int64)]).astype(np.int64)
    ends = np.append(starts[1:], len(rows))
    joined = np.stack([spans[starts, 0], np.maximum.reduceat(spans[:, 1], starts)], axis=1)
    sizes = np.diff(bounds)
    cuts = np.concatenate([[0], np.cumsum(-(-sizes // factor))]).astype(np.int64)
    assert int(ends[-1]) == len(rows)
    return unit(np.add.reduceat(rows, starts, axis=0)), joined, cuts


def unit(rows: Floats) -> Floats:
    """Rows of unit length; one of zeros stays so."""
    import numpy as np
    made: Floats = (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)).astype(np.float32)
    return made


def axes_of(rows: Floats, width: int) -> Floats:
    """(numbers, width): the directions in which these rows lie, longest first. Not centred: a product must stay one."""
    import numpy as np
    _, vectors = np.linalg.eigh(rows.T.astype(np.float64) @ rows.astype(np.float64))
    made: Floats = np.ascontiguousarray(vectors[:, ::-1][:, :width]).astype(np.float32)
    return made


class Text:
    """Bytes as a text for a model, and back: from its characters to bytes. What is no UTF-8 is one sign a byte."""

    def __init__(self, data: bytes) -> None:
        self._ascii = data.isascii()
        self._raw = data.decode("utf-8", "surrogateescape")
        raw = self._raw if self._ascii else "".join("\ufffd" if "\udc80" <= sign <= "\udcff" else sign for sign in self._raw)
        self.text = project(raw)

    def bytes_of(self, spans: Int64) -> Int64:
        """Spans of characters as spans of bytes."""
        import numpy as np
        if self._ascii:
            return spans
        signs = np.frombuffer(self._raw.encode("utf-32-le", "surrogatepass"), "<u4")
        sizes = 1 + (signs >= 0x80) + (signs >= 0x800) + (signs >= 0x10000)
        sizes[(signs >= 0xDC80) & (signs <= 0xDCFF)] = 1
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        made: Int64 = ends[np.minimum(spans, len(signs))]
        return made
