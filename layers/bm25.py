"""Words, by BM25 over chunks: identifier-aware tokens, pairs of characters where a script puts no blanks, light stems; integers alone.

Robertson, Zaragoza: The Probabilistic Relevance Framework (2009), k1 = 1.2, b = 0.75, in 1/1024. A chunk's score is its own plus that of
it together with the chunks right before and after (after Callan, Passage-Level Evidence in Document Retrieval, SIGIR 1994): chunks cut
texts apart, and what is asked for often stands beside. Outputs of one shape are a population of their own: where most of a scope is logs,
its frequencies say that `the` is rare and that every docstring is short. So a word is as common as in the shape where it is the most
common, and a chunk is long beside those of its own shape. Postings take new outputs without a rebuild (`segments`). What is alike comes
newest first.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from threading import Event
from typing import TYPE_CHECKING

from byref.layers.contract import GENERATE, WHOLE, WORDS, Added, Contribution, Hit, LayerStatus, Span
from byref.layers.postings import Builder
from byref.layers.segments import Segment, Segments
from byref.proxy.errors import Corrupt, Unknown
from byref.proxy.query import AS_IT_IS, LONGEST, pieces, within_stretch
from byref.proxy.text import short_hash

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from byref.layers.contract import Budget, Held, Scope
    from byref.proxy.query import Query

    Postings: TypeAlias = dict[int, list[tuple[int, NDArray[np.uint32], NDArray[np.uint8]]]]  # by key: segment, chunks, how often
    # Segments with the chunks of each that count, the shape's number of each chunk, how many chunks and of what length shapes have;
    # which chunks have the next one beside them, and of what length they are with their neighbours, by shape; the order of blobs in time.
    Prepared: TypeAlias = tuple[list[tuple[Segment, NDArray[np.bool_]]], list[NDArray[np.int64]], NDArray[np.int64], NDArray[np.int64],
                                list[NDArray[np.bool_]], NDArray[np.int64], list[NDArray[np.int64]]]

VERSION = "2"  # of chunks, tokens and stems
TERMS = 64  # of a query: the rarest; of one for what is like a text, those that weigh most there and here
UNIT = 1024
LARGE = 200  # chunks of one shape from which on they are a population
HUGE = 256 << 10  # bytes of a blob from which on its shape is rarely told (`filters`): such are a population beside the others of it
SEEN = 10  # of them in which a word stands from which on it says how common it is
AROUND = 5  # times as many chunks as are asked for get their surroundings looked at: the best by their own words
MISSING = "numpy is not installed: pip install 'byref[search]'"


def layer(folder: str | None) -> Bm25:
    return Bm25(folder)


class Bm25:
    """See the module."""

    name, version, roles = "bm25", VERSION, frozenset({GENERATE, WORDS})
    by_terms = True  # all it reads of a query are its terms

    def __init__(self, folder: str | None) -> None:
        self._segments = Segments(folder, VERSION)
        self._there = find_spec("numpy") is not None
        self._shapes: tuple[Mapping[str, Held], dict[str, int], int] | None = None
        self._last: tuple[Mapping[str, Held], list[Segment], Prepared] | None = None

    def applies(self, scope: Scope, query: Query) -> bool:
        return self._there and bool(query.terms) and bool(self._segments.indexed())

    def status(self, scope: Scope) -> LayerStatus:
        known = self.indexed()
        done = sum(held.size for blob, held in scope.held.items() if blob in known)
        return LayerStatus(self.name, VERSION, f"{GENERATE}+{WORDS}", "BM25, integer scores", "chunk of lines",
                           WHOLE * done // max(1, scope.total) if self._there else 0, "words", 2 + scope.total // 20_000_000,
                           "" if self._there else MISSING)

    def indexed(self) -> frozenset[str]:
        return self._segments.indexed() if self._there else frozenset()

    def search(self, query: Query, scope: Scope, budget: Budget, candidates: Sequence[Hit] | None = None) -> Contribution:
        """The best chunks. Frequencies are those of the scope as it is filtered, so that no other scope shows in a score."""
        import numpy as np
        by_key: dict[int, list[int]] = {}
        for bit, term in enumerate(query.terms):
            by_key.setdefault(key(stem(term.form.decode("utf-8", "surrogatepass"))), []).append(bit)
        places = [0] * len(query.terms)
        segments, kinds, sizes, averages, beside, wide, times = self._prepared(scope, query)
        total = int(sizes.sum())
        found: Postings = {}
        for number, (segment, mask) in enumerate(segments):
            for one in by_key:
                posts, counts = _postings(segment, one)
                stays = mask[posts]
                if len(posts) and stays.any():
                    found.setdefault(one, []).append((number, posts[stays], counts[stays]))
        often = {one: sum(len(posts) for _, posts, _ in lists) for one, lists in found.items()}
        for one, bits in by_key.items():
            for bit in bits:
                places[bit] = often.get(one, 0)
        scores = [np.zeros(len(segment.blob), np.int64) for segment, _ in segments]
        heavy = {one: idf(total, _common(lists, kinds, sizes)) * max(query.terms[bit].weight for bit in by_key[one]) // AS_IT_IS
                 for one, lists in found.items()}
        weights: dict[int, int] = {}
        for one in sorted(often, key=lambda one: (-heavy[one] if query.apart else often[one], one))[:TERMS]:
            if budget.late():
                break
            weights[one] = weight = heavy[one]
            for number, posts, counts in found[one]:
                lengths = segments[number][0].length[posts].astype(np.int64)
                scores[number][posts] += weight * _saturated(counts.astype(np.int64), lengths, averages[kinds[number][posts]])
        if not budget.late():
            _add_surroundings(segments, scores, found, weights, kinds, beside, wide, AROUND * budget.hits)
        hits = _best(segments, times, scores, found, by_key, scope, budget.hits)
        known = self.indexed()
        searched = known.intersection(scope.held)
        return Contribution(hits, None if len(searched) == len(scope.held) else searched, not budget.late(), tuple(places))

    def _prepared(self, scope: Scope, query: Query) -> Prepared:
        """What does not depend on the query's words: as long as neither scope nor index changes it is the same."""
        import numpy as np
        there = self._segments.all()
        known = self._last
        if known is not None and not query.apart and known[0] is scope.held and len(known[1]) == len(there) and all(
                one is other for one, other in zip(known[1], there, strict=True)):
            return known[2]
        segments = [(segment, _allowed(segment, scope, query)) for segment in there]
        shapes, names = self._shapes_of(scope)
        kinds = [np.fromiter((shapes.get(blob, 0) for blob in segment.blobs), np.int64, len(segment.blobs))[segment.blob]
                 for segment, _ in segments]
        sizes = sum((np.bincount(kind[mask], minlength=names) for kind, (_, mask) in zip(kinds, segments, strict=True)),
                    np.zeros(names, np.int64))
        averages = _averages([segment.length.astype(np.int64) * mask for segment, mask in segments], kinds, sizes)
        beside, lengths = _surroundings(segments)
        times = [np.fromiter((_time(scope.held.get(blob)) for blob in segment.blobs), np.int64, len(segment.blobs))
                 for segment, _ in segments]
        made = segments, kinds, sizes, averages, beside, _averages(lengths, kinds, sizes), times
        if not query.apart:
            self._last = scope.held, there, made
        return made

    def _shapes_of(self, scope: Scope) -> tuple[Mapping[str, int], int]:
        """The number of each blob's shape, and how many there are; a scope is searched again and again."""
        known = self._shapes
        if known is None or known[0] is not scope.held:
            of = {blob: (held.output.shape, held.size >= HUGE) for blob, held in scope.held.items()}
            numbers = {shape: number for number, shape in enumerate(sorted(set(of.values())))}
            known = self._shapes = scope.held, {blob: numbers[shape] for blob, shape in of.items()}, max(1, len(numbers))
        return known[1:]

    def apply(self, add: Sequence[Added], remove: Sequence[str], cancel: Event) -> None:
        if not self._there:
            if remove:
                self._segments.delete(remove)
            return
        if remove:
            self._segments.remove(remove)
        known = self.indexed()
        wanted = {one.blob: one for one in add if one.blob not in known}
        made = Builder(_keys)
        for blob, one in wanted.items():
            if cancel.is_set():
                break
            try:
                data = b"".join(one.source.blocks())
            except (Corrupt, Unknown):
                continue
            if not made.add(blob, data, one.shape, cancel):
                break
        if len(made):  # what a cancel came too late for is kept
            self._segments.add(made.segment())

    def close(self) -> None:
        self._last = None
        self._segments.close()


@lru_cache(1 << 16)
def _keys(token: str) -> tuple[int, ...]:
    """The keys of a token as it stands: of the words inside it, and of itself where there are several."""
    token = token.strip("._-/")[:LONGEST]
    inside = pieces(token)
    low = token.lower()
    words = [word for word in inside if len(word) > 1 or word.isdigit() or not word.isascii()]
    return tuple(map(_stemmed, [low, *words] if len(inside) > 1 else words))


@lru_cache(1 << 16)
def _stemmed(word: str) -> int:
    return key(stem(word))


@lru_cache(1 << 16)
def key(word: str) -> int:
    """64 bits that stand for a word."""
    return int.from_bytes(short_hash(word), "little")


def stem(word: str) -> str:
    """A word without the endings of English that change no meaning; anything else as it is."""
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    if (word.endswith("ies") and len(word) > 4) or word.endswith("ie"):
        word = word[:word.rindex("ie")] + "y"  # the plural without its s, as queries have it, too
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[:-len(ending)]
            if word[-1] == word[-2] and word[-1] not in "aeiouls":
                word = word[:-1]
            break
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def idf(total: int, often: int) -> int:
    """1024 * log2(1 + (total - often + 1/2) / (often + 1/2)), by squaring: the same on every machine."""
    top, bottom = 2 * total + 2, 2 * often + 1
    whole = max(0, (top // bottom).bit_length() - 1)
    value, result = (top << 32) // (bottom << whole), whole
    for _ in range(10):
        value = value * value >> 32
        result <<= 1
        if value >> 33:
            value >>= 1
            result |= 1
    return result


def _averages(lengths: Sequence[NDArray[np.int64]], kinds: Sequence[NDArray[np.int64]], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The average length of chunks by shape; where they are few, of all."""
    import numpy as np
    sums = np.zeros(len(sizes), np.int64)
    for length, kind in zip(lengths, kinds, strict=True):
        sums += np.bincount(kind, length, len(sizes)).astype(np.int64)  # of doubles, exact below 2**53
    average = max(1, int(sums.sum()) // max(1, int(sizes.sum())))
    return np.where(sizes >= LARGE, np.maximum(1, sums // np.maximum(1, sizes)), average)


def _common(lists: Sequence[tuple[int, NDArray[np.uint32], NDArray[np.uint8]]], kinds: Sequence[NDArray[np.int64]],
            sizes: NDArray[np.int64]) -> int:
    """In how many chunks of the scope a word would stand if it were as common everywhere as where it is the most common."""
    import numpy as np
    often = sum((np.bincount(kinds[number][posts], minlength=len(sizes)) for number, posts, _ in lists), np.zeros(len(sizes), np.int64))
    counted = (sizes >= LARGE) & (often >= SEEN)
    shares = np.where(counted, often * int(sizes.sum()) // np.maximum(1, sizes), 0)
    return max(int(often.sum()), int(shares.max()))


def _saturated(counts: NDArray[np.int64], lengths: NDArray[np.int64], average: NDArray[np.int64]) -> NDArray[np.int64]:
    """BM25's share of a term that stands so often in texts so long, in 1/1024."""
    shares: NDArray[np.int64] = (22 * UNIT * average) * counts // (10 * average * counts + 3 * average + 9 * lengths)
    return shares


def _surroundings(segments: Sequence[tuple[Segment, NDArray[np.bool_]]]) -> tuple[list[NDArray[np.bool_]], list[NDArray[np.int64]]]:
    """Of each segment which chunks have the next one in the same blob, and the length of each that counts with its neighbours there."""
    import numpy as np
    beside, lengths = [], []
    for segment, mask in segments:
        same = segment.blob[1:] == segment.blob[:-1]
        length = segment.length.astype(np.int64)
        whole = length.copy()
        whole[1:] += length[:-1] * same
        whole[:-1] += length[1:] * same
        beside.append(same)
        lengths.append(whole * mask)
    return beside, lengths


def _add_surroundings(segments: Sequence[tuple[Segment, NDArray[np.bool_]]], scores: Sequence[NDArray[np.int64]],
                      found: Postings, weights: Mapping[int, int], kinds: Sequence[NDArray[np.int64]],
                      beside: Sequence[NDArray[np.bool_]], averages: NDArray[np.int64], count: int) -> None:
    """Adds to the best chunks of each segment what they score as one text with their neighbours in the same blob.

    beside, averages: of chunks with their neighbours, as prepared.
    """
    import numpy as np
    for number, (segment, _) in enumerate(segments):
        own = scores[number]
        chosen = np.flatnonzero(own >= _least(own, count))
        before, after = np.concatenate(([False], beside[number])), np.concatenate((beside[number], [False]))
        around = np.stack((np.where(before[chosen], chosen - 1, -1), chosen, np.where(after[chosen], chosen + 1, -1)))  # -1: none
        lengths = np.where(around >= 0, segment.length[around].astype(np.int64), 0).sum(axis=0)
        added = np.zeros(len(chosen), np.int64)
        for one, weight in weights.items():
            for where, posts, counts in found[one]:
                if where == number:
                    places = np.minimum(np.searchsorted(posts, np.maximum(around, 0).astype(np.uint32)), len(posts) - 1)
                    held = np.where((posts[places] == around) & (around >= 0), counts[places], 0).astype(np.int64).sum(axis=0)
                    added += weight * _saturated(held, lengths, averages[kinds[number][chosen]])
        own[chosen] += added


def _least(scores: NDArray[np.int64], count: int) -> int:
    """The score that so many chunks reach, 1 where fewer have any."""
    import numpy as np
    return max(1, int(np.partition(scores, len(scores) - count)[len(scores) - count])) if len(scores) >= count else 1


def _allowed(segment: Segment, scope: Scope, query: Query) -> NDArray[np.bool_]:
    """Which chunks of a segment lie in the scope, and not in a stretch that the query asks for the like of."""
    import numpy as np
    there = np.fromiter((blob in scope.held for blob in segment.blobs), bool, len(segment.blobs))
    chosen: NDArray[np.bool_] = there[segment.blob]
    if query.apart:
        stretch, digests = within_stretch(query), {blob for blob, _, _ in query.apart}
        held = np.fromiter((blob in digests for blob in segment.blobs), bool, len(segment.blobs))[segment.blob]
        for at in np.flatnonzero(held & chosen).tolist():
            chosen[at] = not stretch(segment.blobs[int(segment.blob[at])], int(segment.start[at]), int(segment.end[at]))
    return chosen


def _postings(segment: Segment, one: int) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    import numpy as np
    at = int(np.searchsorted(segment.keys, np.uint64(one)))
    if at == len(segment.keys) or int(segment.keys[at]) != one:
        return segment.posts[:0], segment.counts[:0]
    start, end = int(segment.offsets[at]), int(segment.offsets[at + 1])
    return segment.posts[start:end], segment.counts[start:end]


def _time(held: Held | None) -> int:
    """What orders a blob by time: the newest output first, then by part."""
    return held.age << 10 | min(held.part, 1023) if held is not None else 0


def _first(segment: Segment, times: NDArray[np.int64], places: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """So many of these chunks, by time and place."""
    import numpy as np
    if len(places) <= count:
        return places
    order = times[segment.blob[places]] << 32 | segment.start[places].astype(np.int64)
    return places[np.argpartition(order, count)[:count]]


def _best(segments: Sequence[tuple[Segment, NDArray[np.bool_]]], times: Sequence[NDArray[np.int64]], scores: Sequence[NDArray[np.int64]],
          found: Postings, by_key: dict[int, list[int]], scope: Scope, count: int) -> list[Hit]:
    """The best chunks; ties are resolved by time and place before anything is cut."""
    import numpy as np
    rows: list[tuple[int, int, int, int, int, int]] = []
    best = [own[own >= _least(own, count)] for own in scores]
    least = _least(np.concatenate(best), count) if best else 1
    for number, own in enumerate(scores):
        segment = segments[number][0]
        places = np.concatenate((np.flatnonzero(own > least), _first(segment, times[number], np.flatnonzero(own == least), count)))
        for at, score, blob, start in zip(places.tolist(), own[places].tolist(), segment.blob[places].tolist(),
                                          segment.start[places].tolist(), strict=True):
            held = scope.held[segment.blobs[blob]]
            rows.append((-score, held.age, held.part, start, number, at))
    rows.sort()
    del rows[count:]
    chosen = np.array([(number, at) for *_, number, at in rows], np.int64).reshape(-1, 2)
    bits = [0] * len(rows)
    for one, lists in found.items():
        own_bits = sum(1 << bit for bit in by_key[one])
        for number, posts, _ in lists:
            here = np.flatnonzero(chosen[:, 0] == number)
            places = np.minimum(np.searchsorted(posts, chosen[here, 1]), len(posts) - 1)
            for row in here[posts[places] == chosen[here, 1]].tolist():
                bits[row] |= own_bits
    hits: list[Hit] = []
    for (negative, _, _, start, number, at), terms in zip(rows, bits, strict=True):
        segment = segments[number][0]
        span = Span(segment.blobs[int(segment.blob[at])], start, int(segment.end[at]))
        hits.append(Hit(span, -negative, "words", terms, terms, int(segment.line[at])))
    return hits
