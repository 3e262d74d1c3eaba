"""Fuzzy: how like the query the likest stretch of a candidate is, by rapidfuzz; misspelt identifiers are found so.

How like it is, is the mean of the likest stretch's likeness and of that of the whole words around it by typing errors (an inserted,
dropped or other letter, or two letters swapped: optimal string alignment), so that a part of a longer word is less than a word.
Refines what others found. Where the scope is small it looks through all of it, so that no index is needed.
"""
from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from byref.layers.chunking import chunks
from byref.layers.contract import REFINE, WHOLE, Contribution, Hit, LayerStatus, Span, Unindexed
from byref.layers.titles import AROUND, keyword
from byref.proxy.errors import Corrupt, Unknown
from byref.proxy.query import AS_IT_IS
from byref.proxy.text import project

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from byref.layers.contract import Budget, Scope
    from byref.proxy.query import Query

LEAST = 7500  # basis points of likeness below which it is chance
LONGEST = 200  # characters of a query of which a misspelling is looked for
TOKENS = 3  # of such a query: of more words, most are spelt as they stand
SMALL = 1 << 20  # bytes of a scope that is looked through whole
KEPT = 100
EDGE = 3  # bytes at the ends of a stretch that may be of a neighbour
MISSING = "rapidfuzz is not installed: pip install 'byref[search]'"


def layer(folder: str | None) -> Fuzzy:
    return Fuzzy()


class Fuzzy(Unindexed):
    """See the module."""

    name, version, roles = "fuzzy", "1", frozenset({REFINE})

    def __init__(self) -> None:
        self._there = find_spec("rapidfuzz") is not None

    def applies(self, scope: Scope, query: Query) -> bool:
        # A number that is nearly the same is another one: it takes letters to be misspelt.
        letters = sum(map(str.isalpha, query.text))
        even = len(query.tokens) < 2 or all(weight in (0, AS_IT_IS) for _, weight in query.weights)  # it likens the query as a whole
        return (self._there and even and query.compiled is None and letters >= 4 and 2 * letters >= len(query.text) <= LONGEST
                and len(query.tokens) <= TOKENS)

    def status(self, scope: Scope) -> LayerStatus:
        return LayerStatus(self.name, self.version, REFINE, "rapidfuzz partial_ratio", "span of a chunk", WHOLE if self._there else 0,
                           "a string, misspelt or not", 20, "" if self._there else MISSING)

    def search(self, query: Query, scope: Scope, budget: Budget, candidates: Sequence[Hit] | None = None) -> Contribution:
        """The likest stretch of each chunk, as a hit of its line. Scores: basis points of likeness, after the case is folded."""
        from rapidfuzz.distance import OSA
        from rapidfuzz.fuzz import partial_ratio, partial_ratio_alignment
        asked = query.text.lower()
        found: list[tuple[int, int, int, int, Hit]] = []
        whole = True
        for span, line in self._chunks(scope, candidates or ()):
            if budget.late():
                whole = False
                break
            held = scope.held[span.blob]
            try:
                data = scope.open(span.blob).read(span.start, span.end)
            except (Corrupt, Unknown):
                continue
            # A character a byte: what rapidfuzz says of places is then said of bytes.
            text = data.lower().decode("latin-1") if asked.isascii() else project(data.decode("utf-8", "replace")).lower()
            least = LEAST / 100
            if partial_ratio(asked, text, score_cutoff=least) < least:
                continue
            placed = partial_ratio_alignment(asked, text, score_cutoff=least)
            if placed is None:
                continue
            start, end = (placed.dest_start, placed.dest_end) if asked.isascii() else (0, len(data))
            low = data.rfind(b"\n", 0, start) + 1
            high = data.find(b"\n", max(start, end - 1))
            high = len(data) if high < 0 else high
            title = 0
            if asked.isascii():
                start, end = _word(data, asked, start, end, low, high)
                score = int(50 * placed.score + 5000 * OSA.normalized_similarity(asked, text[start:end]))
                title = _title(scope, span, low, high, start, end)
            else:
                score = int(placed.score * 100)
            first = line and line + data.count(b"\n", 0, low)
            hit = Hit(Span(span.blob, span.start + low, span.start + high), score, "fuzzy", line=first, title=title)
            found.append((-score, held.age, held.part, hit.span.start, hit))
        found.sort(key=lambda one: one[:4])
        return Contribution([hit for *_, hit in found[:KEPT]], whole=whole)

    def _chunks(self, scope: Scope, candidates: Sequence[Hit]) -> Iterator[tuple[Span, int]]:
        """What the candidates lie in; all chunks of a small scope."""
        if scope.total > SMALL:
            for hit in candidates:
                yield hit.span, hit.line
            return
        for held in scope.held.values():
            try:
                data = scope.open(held.blob).read()
            except (Corrupt, Unknown):
                continue
            if b"\0" in data[:4096]:
                continue
            line, counted = 1, 0
            for start, end in chunks(data, held.output.shape):
                line += data.count(b"\n", counted, start)
                counted = start
                yield Span(held.blob, start, end), line if start == 0 or data[start - 1] == 10 else 0


def _word(data: bytes, asked: str, start: int, end: int, low: int, high: int) -> tuple[int, int]:
    """A stretch of a line with the rest of the words that it begins and ends in, but without a sign that is not asked for, nor what
    lies beyond it: the stretch is as long as the query, so it reaches a letter or two into a neighbour where a letter was dropped."""
    for at in range(start, min(start + EDGE, end)):
        if not _of_word(data, at) and _of_word(data, at + 1) and asked[:EDGE].isalnum():
            start = at + 1
    for at in range(end - 1, max(end - 1 - EDGE, start), -1):
        if not _of_word(data, at) and _of_word(data, at - 1) and asked[-EDGE:].isalnum():
            end = at
    while start > low and _of_word(data, start - 1) and _of_word(data, start):
        start -= 1
    while end < high and (_of_word(data, end) or data[end] == 45) and _of_word(data, end - 1):
        end += 1
    return start, end


def _of_word(data: bytes, at: int) -> bool:
    return 0 <= at < len(data) and (data[at] == 95 or chr(data[at]).isalnum())


def _title(scope: Scope, span: Span, low: int, high: int, start: int, end: int) -> int:
    """How much the line from low to high in a chunk is about what stands from start to end."""
    base = max(0, span.start + low - AROUND)
    try:
        around = scope.open(span.blob).read(base, min(scope.held[span.blob].size, span.start + high + AROUND))
    except (Corrupt, Unknown):  # let go meanwhile
        return 0
    moved = span.start - base
    return keyword(around, low + moved, high + moved, start + moved, end - start, base == 0)
