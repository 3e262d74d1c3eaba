"""From ranked spans to the lines that are shown: what stands in a chunk that an index names, read again where it lies."""
from __future__ import annotations

from byref.proxy.errors import Corrupt, Unknown
from byref.proxy.excerpts import Place
from byref.proxy.scanning import Unit, near, within
from byref.proxy.store.source import BytesSource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from byref.layers.contract import Hit, Scope
    from byref.layers.ranking import Ranked
    from byref.proxy.contracts import Source
    from byref.proxy.query import Query

PLACES = 2000  # best places from which hits are taken
WHOLE = 256 << 10  # bytes of a part that is read once for all its places
SHOWN = 600  # bytes of a chunk that is shown whole, where no word of the query stands in it
LINES = 2  # of a chunk: the best
STEP = 10_000_000  # from one tier to the next in the score of a hit


def places(ranked: Sequence[Ranked], scope: Scope, query: Query, counts: Sequence[int],
           chunks: int) -> list[Place]:
    """Places in order of rank. counts: how often each term stands in the scope, as far as it is known.

    chunks: how many are looked into at most, for the lines in them.
    """
    found: list[Place] = []
    sources: dict[str, Source] = {}
    read = 0
    for number, one in enumerate(ranked[:PLACES], 1):
        span = one.hit.span
        held = scope.held[span.blob]
        try:
            if span.blob not in sources:
                source = scope.open(span.blob)
                sources[span.blob] = BytesSource(source.read()) if source.size <= WHOLE else source
            source = sources[span.blob]
            if one.hit.last >= 0:
                units = [(Unit(span.start, span.end, one.hit.line, one.hit.last, one.hit.terms, one.hit.exact), one.hit.near)]
            else:
                read += 1
                if read > chunks:
                    continue
                units = _units(source, _numbered(source, one.hit), query, counts)
        except (Corrupt, Unknown):
            continue  # let go or damaged since it was indexed
        found += [Place(held.output, held.age, held.part, source, unit, merged, one.tier * STEP + one.fused, one.bps, one.signals, number)
                  for unit, merged in units]
    return found


def _numbered(source: Source, hit: Hit) -> Hit:
    """A hit of whole lines with the number of its first, where that is cheap to know."""
    span = hit.span
    if hit.line or not isinstance(source, BytesSource) or (span.start and source.read(span.start - 1, span.start) != b"\n"):
        return hit
    if span.end < source.size and source.read(span.end - 1, span.end) != b"\n" and source.read(span.end, span.end + 1) != b"\n":
        return hit
    return hit._replace(line=source.read(0, span.start).count(b"\n") + 1)


def _units(source: Source, hit: Hit, query: Query, counts: Sequence[int]) -> list[tuple[Unit, int]]:
    """The best lines of a chunk, each with the terms beside it; its beginning where none of them holds a term."""
    span = hit.span
    data = source.read(span.start, span.end)
    units = within(data, span.start, hit.line, query)
    if not units:
        end = data.rfind(b"\n", 0, SHOWN) + 1 if len(data) > SHOWN else len(data)
        end = end or min(len(data), SHOWN)
        lines = data.count(b"\n", 0, end - 1) if end else 0
        return [(Unit(span.start, span.start + end, hit.line, hit.line and hit.line + lines, 0, 0), 0)]
    weights = [max(1, (1_000_000 // max(1, count)).bit_length()) * term.weight
               for count, term in zip(counts or [0] * len(query.terms), query.terms, strict=True)]
    scored = sorted(zip(units, near(units), strict=True), key=lambda pair: (-pair[0].exact, -sum(
        weight * (2 if pair[0].terms >> bit & 1 else 1) for bit, weight in enumerate(weights) if pair[1] >> bit & 1), pair[0].start))
    return scored[:LINES]
