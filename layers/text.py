"""The text itself: the whole query to the letter or in other case, an RE2 pattern, and words, in the bytes of every output.

Needs no index, so it is always current. Blobs whose words an index answers for are looked through for the whole query alone.
"""
from __future__ import annotations

from byref.layers.contract import GENERATE, WHOLE, Contribution, Hit, LayerStatus, Span
from byref.proxy.errors import Corrupt, Unknown
from byref.proxy.query import AS_IT_IS, met, within_stretch
from byref.proxy.scanning import near, scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from threading import Event

    from byref.layers.contract import Added, Budget, Scope
    from byref.proxy.query import Query

PLACES = 2000  # best places that are of use
ALL = 12  # tokens of a query up to which it matters that all are there
LIKE = 64  # words of a stretch of text that are looked for
STEP = 1_000_000  # of a score: more than all words together weigh
FLOOR = 5  # a place that weighs less than so many parts of the best one's weight is chance
RATE = 300_000  # bytes a millisecond, roughly
SNIFFED = 4096  # bytes at the start of a part by which a binary one is told
BINARY = 50  # a part of which one byte in so many is NUL, or more, holds no words


def layer(folder: str | None) -> Text:
    return Text()


class Text:
    """See the module."""

    name, version, roles = "text", "1", frozenset({GENERATE})

    def applies(self, scope: Scope, query: Query) -> bool:
        return True

    def status(self, scope: Scope) -> LayerStatus:
        return LayerStatus(self.name, self.version, GENERATE, "bytes search, RE2", "line", WHOLE, "exact text, words or /regex/",
                           1 + scope.total // RATE)

    def search(self, query: Query, scope: Scope, budget: Budget, candidates: Sequence[Hit] | None = None) -> Contribution:
        """The best lines, or pieces of long lines. Raises `Corrupt` for a damaged output that the caller named."""
        found: list[Hit] = []
        counts, lines = [0] * len(query.terms), 1
        searched: set[str] = set()
        faults: list[str] = []
        wordless = query.without_terms()
        stretch = within_stretch(query)
        worded = query if not query.apart else query.with_terms(query.terms[:LIKE])
        for number, held in enumerate(scope.held.values()):
            if number and budget.late():
                break
            ref = held.output.ref
            try:
                source = scope.open(held.blob)
                start = source.read(0, SNIFFED)
                if start.count(b"\0") * BINARY > len(start):
                    searched.add(held.blob)
                    continue
                asked = wordless if held.blob in scope.worded else worded
                scanned = scan(source, asked, budget.late)
            except (Corrupt, Unknown) as fault:
                if scope.named:
                    raise Corrupt(ref, f"its part {held.output.manifest.parts[held.part].name}: {fault}") from None
                if ref not in faults:
                    faults.append(ref)
                continue
            for bit, count in enumerate(scanned.places):
                counts[bit] += count
            lines += scanned.lines
            if scanned.whole:
                searched.add(held.blob)
            pattern = query.compiled is not None
            found += [Hit(Span(held.blob, unit.start, unit.end), 0, "regex" if pattern else "exact" if unit.exact else "words",
                          unit.terms, merged, unit.line, unit.last, 0 if pattern else unit.exact)
                      for unit, merged in zip(scanned.units, near(scanned.units), strict=True)
                      if not query.apart or not stretch(held.blob, unit.start, unit.end)]
        whole = len(searched) == len(scope.held)
        note = f"unreadable: {' '.join(faults[:3])}" if faults else ""
        return Contribution(_ranked(found, query, counts, lines, scope), None if whole else frozenset(searched),
                            whole or (bool(faults) and not budget.late()), tuple(counts), tuple(faults), note)

    def indexed(self) -> frozenset[str]:
        return frozenset()

    def apply(self, add: Sequence[Added], remove: Sequence[str], cancel: Event) -> None:
        pass

    def close(self) -> None:
        pass


def _ranked(found: Sequence[Hit], query: Query, counts: Sequence[int], lines: int, scope: Scope) -> list[Hit]:
    """Best first: the text to the letter, then in other case, then all words in a line or its neighbours, then most by weight.

    A word weighs the binary logarithm of how rare it is, in whole numbers, times what the caller gave it; one beside the line weighs half.
    """
    part, step = (1, STEP * AS_IT_IS) if query.weights else (AS_IT_IS, STEP)  # with weights all counts in thousandths
    weights = [max(1, (lines // max(1, count)).bit_length()) * term.factor * term.weight // part
               for count, term in zip(counts, query.terms, strict=True)]
    tokens = len(query.tokens)
    sums: dict[int, int] = {}

    def weigh(bits: int) -> int:
        if bits not in sums:
            sums[bits] = sum(weight for bit, weight in enumerate(weights) if bits >> bit & 1)
        return sums[bits]

    scored: list[tuple[int, int, int, Hit]] = []
    heaviest = 0
    for hit in found:
        weight = weigh(hit.terms) + weigh(hit.near)
        everything = 1 < tokens <= ALL and len(met(query, hit.near)) == tokens
        heaviest = max(heaviest, weight)
        held = scope.held[hit.span.blob]
        scored.append((-((hit.exact * 2 + everything) * step + weight), held.age, held.part, hit))
    scored.sort(key=lambda one: (*one[:3], one[3].span.start))
    return [hit._replace(score=-negative) for negative, _, _, hit in scored if hit.exact or -negative * FLOOR >= heaviest][:PLACES]
