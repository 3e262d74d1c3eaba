"""One search by late interaction: what is scored in which order, how far time goes, and what stands in the best chunks."""
from __future__ import annotations

from itertools import accumulate, pairwise
from typing import NamedTuple

from byref.layers.caching import remembered
from byref.layers.contract import Contribution, Hit, Meet, Span
from byref.layers.encoding import Piece, encoded, piece
from byref.layers.maxsim import EMPTY, SCALE, Tokens, likeness, scan
from byref.layers.pools import narrow
from byref.layers.sidecar import Place, Sidecar
from byref.proxy.errors import Corrupt, Unknown
from byref.proxy.query import AS_IT_IS, weighed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from byref.layers.contract import Budget, Held, Scope
    from byref.layers.encoders.contract import Encoder
    from byref.layers.encoding import Knobs
    from byref.layers.sidecar import Sidecars
    from byref.proxy.query import Query

    Int64: TypeAlias = NDArray[np.int64]
    Floats: TypeAlias = NDArray[np.float32]

QUERY = 2000  # characters of a query; the rest adds nothing
FRESH = 24 << 10  # bytes that are encoded while searching: a second or two, if the budget has them
TOGETHER = 1 << 10  # of them at once, between two looks at the clock: a chunk, or a few small ones
SHOWN = 50  # best hits that are taken apart
LEFT = 0.03  # seconds that are left for that, or a fifth of a short time
CARRIES = 750  # thousandths of what a chunk has over its poorest line: the lines that carry so much are shown
# With MiniLM over the docstrings of Python, `bench/knobs.py --floors`, in 1/10,000: 5 of 100 answers lie below 3,331, and half of the best
# for queries of other subjects; of words that stand there, 5 of 100 below 4,831, and of those that do not, half.
FLOOR = 3000  # of a hit that nobody else found
COVERED = 4500  # of a word's best likeness anywhere, below which nothing covers it
_SLICE = 8192  # tokens of candidates scored between two looks at the clock


class Asked(NamedTuple):
    """A query as an encoder reads it. weights: of its tokens, in thousandths. spans: in text, (0, 0) for what stands nowhere in it.

    words: of the query, each with its tokens' numbers.
    """

    text: str
    vectors: Floats
    weights: Int64
    spans: Sequence[tuple[int, int]]
    words: Sequence[tuple[str, tuple[int, ...]]]

    @classmethod
    def of(cls, encoder: Encoder, query: Query) -> Asked:
        """Words of weight 0 are read, for what they say of others, and not scored."""
        import numpy as np
        text = (query.whole or query.text)[:QUERY]
        found = remembered(encoder.mark, text, encoder.query)
        spans = [(start, end) for start, end in found.spans.tolist()]
        weights = [AS_IT_IS] * len(spans)
        for start, end, weight in weighed(text, query.weights):
            for number, (first, last) in enumerate(spans):
                if first < end and start < last:
                    weights[number] = weight
        words = []
        for start, end, _ in weighed(text, [(token.lower(), 1) for token in query.tokens]):
            inside = tuple(number for number, (first, last) in enumerate(spans) if first < end and start < last and weights[number])
            if inside:
                words.append((text[start:end], inside))
        return cls(text, found.vectors, np.array(weights, np.int64), spans, words)


class _Scored(NamedTuple):
    """Chunks of one part. first: number of the first in its sidecar; fresh: the sidecar itself, where it is in no file."""

    place: Place
    first: int
    totals: Int64
    fresh: Sidecar | None = None


class Seeking:
    """See the module. signal: of its hits."""

    def __init__(self, encoder: Encoder, knobs: Knobs, index: Sidecars, asked: Asked, scope: Scope, budget: Budget, signal: str) -> None:
        self._encoder, self._knobs, self._index, self._scope, self._budget, self._signal = encoder, knobs, index, scope, budget, signal
        kept = asked.weights > 0
        self._kept = [number for number, one in enumerate(kept.tolist()) if one]
        vectors = asked.vectors if knobs.axes is None else _projected(asked.vectors, knobs.axes)
        self._asked, self._query, self._weights = asked, vectors[kept], asked.weights[kept]
        self._mean = int(self._weights.sum())
        self._scored: list[_Scored] = []
        self._best = self._weights * 0 - SCALE
        left = budget.until - budget.clock()
        self._until = budget.until - min(LEFT, max(0.0, left) / 5)
        self._bytes = FRESH
        self._searched: set[str] = set()
        self._ends: dict[str, int] = {}  # up to where blobs were scored, from their start on

    def found(self, candidates: Sequence[Hit], used: Sequence[str]) -> Contribution:
        """Candidates first, then the rest, blobs that were used before others."""
        held = self._scope.held
        wanted: dict[str, list[Span]] = {}
        for hit in candidates:
            if hit.span.blob in held:
                wanted.setdefault(hit.span.blob, []).append(hit.span)
        whole = self._candidates(wanted)
        order = dict.fromkeys(blob for blob in (*wanted, *used, *held) if blob in held)
        whole = whole and self._rest([place for blob in order for place in self._index.places(blob)])
        whole = whole and self._fresh([held[blob] for blob in order])
        hits = self._hits(wanted)
        if not whole or len(self._searched) < len(held):
            return Contribution(hits, frozenset(self._searched), whole)
        return Contribution(hits, uncovered=self._uncovered())

    def _late(self) -> bool:
        return self._budget.cancel.is_set() or self._budget.clock() >= self._until

    # candidates

    def _candidates(self, wanted: dict[str, list[Span]]) -> bool:
        """Chunks that meet the spans, as their blobs come. False where there was no time for all."""
        parts: list[tuple[_Scored, Tokens]] = []
        tokens = 0
        lacking: list[tuple[Held, list[Span]]] = []
        for blob, spans in wanted.items():
            for place in self._index.places(blob):
                met = [span for span in spans if span.start < place.end and place.start < span.end]
                if not met or (one := self._index.open(place)) is None:
                    continue
                for first, last in _meeting(one, met):
                    parts.append((_Scored(place, first, _none()), _cut(one, first, last)))
                    tokens += len(parts[-1][1].vectors)
            if rest := [span for span in spans if span.end > self._index.reached(blob)]:
                lacking.append((self._scope.held[blob], rest))
            if tokens >= _SLICE:
                if not self._scan(parts):
                    return False
                parts, tokens = [], 0
        return self._scan(parts) and all([self._encoded(held, spans) for held, spans in lacking])

    def _scan(self, parts: Sequence[tuple[_Scored, Tokens]]) -> bool:
        if not parts:
            return True
        import numpy as np
        with narrow():
            found = scan(self._query, self._weights, (tokens for _, tokens in parts), self._late)
        np.maximum(self._best, found.best, out=self._best)
        self._scored += [one._replace(totals=totals) for (one, _), totals in zip(parts, found.totals, strict=False)]
        return found.done == len(parts)

    def _encoded(self, held: Held, spans: Sequence[Span] | None) -> bool:
        """Encodes chunks of a blob that has no vectors yet, those that meet the spans or all. False where there was no time or room."""
        group: list[Piece] = []
        try:
            source = self._scope.open(held.blob)
            start = self._ends.get(held.blob, 0) if spans is None else self._index.reached(held.blob)
            first = start if spans is None else min(span.start for span in spans)
            while start < source.size:
                if self._late():
                    return False
                one = piece(held.blob, source, held.output.shape, start, first)
                start += len(one.data)
                met = one.spans if spans is None else [cut for cut in one.spans if any(
                    span.start < one.start + cut[1] and one.start + cut[0] < span.end for span in spans)]
                group += _portions(one, met)
                if spans is not None and start >= max(span.end for span in spans):
                    break
        except (Corrupt, Unknown):  # the text layer names it
            return True
        for one in group:
            size = sum(end - begin for begin, end in one.spans)
            if size > self._bytes or self._late():
                return False
            self._bytes -= size
            made = encoded(self._encoder, self._knobs, [one], self._late)
            if made is None or not self._scan([(_Scored(Place(*made[0][:4]), 0, _none(), made[0]), made[0].tokens)]):
                return False
        if spans is None:
            self._searched.add(held.blob)
        return True

    # the rest

    def _rest(self, places: Sequence[Place]) -> bool:
        """All that has vectors, a block at a time."""
        import numpy as np
        opened: list[Place] = []

        def parts() -> Iterator[Tokens]:
            for place in places:
                one = self._index.open(place)
                if one is not None:
                    opened.append(place)
                    yield one.tokens
        with narrow():
            found = scan(self._query, self._weights, parts(), self._late)
        np.maximum(self._best, found.best, out=self._best)
        for place, totals in zip(opened, found.totals, strict=False):
            self._scored.append(_Scored(place, 0, totals))
        for place in opened[:found.done]:
            if place.start <= self._ends.get(place.blob, 0):
                self._ends[place.blob] = max(place.end, self._ends.get(place.blob, 0))
                if place.end >= place.size:
                    self._searched.add(place.blob)
        return found.done == len(opened) and not self._late()

    def _fresh(self, lacking: Sequence[Held]) -> bool:
        """Small blobs without vectors, as far as there is room for. True where there was time."""
        for held in lacking:
            if held.blob not in self._searched and held.size <= self._bytes:
                self._encoded(held, None)
                if self._late():
                    return False
        return True

    # hits

    def _hits(self, wanted: dict[str, list[Span]]) -> list[Hit]:
        """The best chunks; those that meet no candidate only from FLOOR on. Equal ones by time and place."""
        import numpy as np
        least = FLOOR * self._mean
        if not self._scored:
            return []
        everything = np.concatenate([one.totals for one in self._scored])
        count = 3 * self._budget.hits  # chunks that were scored twice, as candidates and with the rest, are among them
        cut = int(np.partition(everything, -count)[-count]) if len(everything) > count else EMPTY + 1
        best: dict[tuple[str, int], tuple[tuple[int, ...], int, int, _Scored, Sidecar]] = {}
        for one in self._scored:
            numbers = np.flatnonzero(one.totals >= max(cut, EMPTY + 1))
            opened = one.fresh or (self._index.open(one.place) if len(numbers) else None)
            if opened is None:
                continue
            held = self._scope.held[opened.blob]
            for number in numbers.tolist():
                total = int(one.totals[number])
                start, end = opened.chunks[one.first + number].tolist()
                spans = wanted.get(opened.blob, ())
                if total < least and not any(span.start < end and start < span.end for span in spans):
                    continue
                best[opened.blob, start] = (-total, held.age, held.part, start), one.first + number, total, one, opened
        ranked = sorted(best.values(), key=lambda row: row[0])[:self._budget.hits]
        hits = []
        for place, (_, chunk, total, _, opened) in enumerate(ranked):
            start, end = opened.chunks[chunk].tolist()
            hit = Hit(Span(opened.blob, start, end), total // self._mean, self._signal)
            hits.append(self._apart(hit, opened, chunk) if place < SHOWN and not self._budget.late() else hit)
        return hits

    def _apart(self, hit: Hit, opened: Sidecar, chunk: int) -> Hit:
        """A hit with what each token of the query met, and trimmed to the lines that carry it."""
        import numpy as np
        products = likeness(self._query, opened.tokens, chunk)
        first, last = int(opened.tokens.bounds[chunk]), int(opened.tokens.bounds[chunk + 1])
        places = opened.places[first:last].astype(np.int64) + opened.start
        at = products.argmax(axis=1)
        parts = []
        for number, where in enumerate(at.tolist()):
            span = self._asked.spans[self._kept[number]]
            if span[0] < span[1]:
                score = int(products[number, where]) * int(self._weights[number]) // AS_IT_IS
                parts.append(Meet(self._asked.text[span[0]:span[1]], score, int(places[where, 0]), int(places[where, 1])))
        try:
            data = self._scope.open(hit.span.blob).read(hit.span.start, hit.span.end)
        except (Corrupt, Unknown):
            return hit._replace(parts=tuple(parts))
        start, end = carrying(products, self._weights, places[:, 0] - hit.span.start, data)
        return hit._replace(span=Span(hit.span.blob, hit.span.start + start, hit.span.start + end), parts=tuple(parts))

    def _uncovered(self) -> tuple[str, ...]:
        """Words of the query whose tokens have nothing like them anywhere."""
        number_of = {number: place for place, number in enumerate(self._kept)}
        return tuple(word for word, inside in self._asked.words
                     if sum(int(self._best[number_of[number]]) for number in inside) < COVERED * len(inside))


def carrying(products: Int64, weights: Int64, starts: Int64, data: bytes) -> tuple[int, int]:
    """The fewest neighbouring lines of a chunk that carry most of its score: half-open bytes in it. starts: of its tokens, in bytes."""
    import numpy as np
    lines = [0, *accumulate(len(line) + 1 for line in data.split(b"\n"))]
    lines = [*lines[:-2], len(data)] if data.endswith(b"\n") else [*lines[:-1], len(data)]
    if len(lines) < 3 or not len(starts):
        return 0, len(data)
    owners = np.searchsorted(np.array(lines), starts, "right") - 1
    firsts = np.flatnonzero(np.diff(owners, prepend=-1))
    best = np.maximum.reduceat(products, firsts, axis=1)  # of each line that has tokens
    whole = int(best.max(axis=1) @ weights)
    least = int((weights @ best).min())
    need = least + (whole - least) * CARRIES // 1000
    found = (len(firsts), 0, len(firsts) - 1)
    for first in range(len(firsts)):
        carried = weights @ np.maximum.accumulate(best[:, first:first + found[0]], axis=1)
        enough = np.flatnonzero(carried >= need)
        if len(enough) and int(enough[0]) + 1 < found[0]:
            found = int(enough[0]) + 1, first, first + int(enough[0])
    _, first, last = found
    return lines[int(owners[firsts[first]])], lines[int(owners[firsts[last]]) + 1]


def _meeting(one: Sidecar, spans: Sequence[Span]) -> Iterator[tuple[int, int]]:
    """Runs of chunks that meet spans."""
    import numpy as np
    meets = np.zeros(len(one.chunks) + 2, bool)
    for span in spans:
        meets[1:-1] |= (one.chunks[:, 0] < span.end) & (one.chunks[:, 1] > span.start)
    edges = np.flatnonzero(np.diff(meets)).tolist()
    yield from ((a, b) for number, (a, b) in enumerate(pairwise(edges)) if number % 2 == 0)


def _cut(one: Sidecar, first: int, last: int) -> Tokens:
    """The tokens of some chunks."""
    begin, end = int(one.tokens.bounds[first]), int(one.tokens.bounds[last])
    scales = one.tokens.scales
    return Tokens(one.tokens.vectors[begin:end], None if scales is None else scales[begin:end], one.tokens.bounds[first:last + 1] - begin)


def _portions(one: Piece, spans: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    """A piece as several of a few chunks, each encoded by itself."""
    some: list[tuple[int, int]] = []
    for cut in spans:
        some.append(cut)
        if sum(end - start for start, end in some) >= TOGETHER:
            yield one._replace(spans=some)
            some = []
    if some:
        yield one._replace(spans=some)


def _projected(vectors: Floats, axes: Floats) -> Floats:
    from byref.layers.encoding import unit
    return unit(vectors @ axes)


def _none() -> Int64:
    import numpy as np
    return np.zeros(0, np.int64)
