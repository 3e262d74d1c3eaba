"""What of an output no view has shown yet, for a long query that names the output: a purpose more than a string.

The agent has the view before it, so what it lacks is what the view left out. Of that, pieces are picked one after another by the
terms that nothing before them holds, more where the layers found them, for the tokens they take: greedy maximum coverage under a
budget (Lin, Bilmes: A Class of Submodular Functions for Document Summarization, 2011). Ends where a piece says too little for its
size. Asked again, a query in a context gets the same answer: what a search tells does not count as shown.
"""
from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import NamedTuple

from byref.proxy.address import Bytes, Lines, Path, parse
from byref.proxy.errors import Corrupt, Invalid, Unknown
from byref.proxy.excerpts import HEAD, SHOWN, UNSEEN, Place
from byref.proxy.scanning import Unit, cut
from byref.proxy.store.source import BytesSource
from byref.proxy.text import estimate, project, terms_by_line, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from byref.layers.contract import Held, Scope
    from byref.layers.ranking import Ranked
    from byref.proxy.contracts import Gap, Seen, Source
    from byref.proxy.query import Query

LONG = 12  # tokens of a query from which on it says what is wanted rather than what stands there
LARGEST = 256 << 10  # bytes of outputs that are looked through
# Measured by `python bench/es1.py FILE --set NAME=VALUE`: more of `LEAST` and `RISE` is less found for fewer tokens.
LEAST = 60  # new terms for 1,000 tokens, at least
RISE = 160  # and so many more for each 1,000 tokens that the answer has by then: the longer, the more has to be in it
FOUND = 1000  # thousandths by which the best place that the layers found counts more; the others by their share of its score


class Given(NamedTuple):
    """What whoever asks was shown. seen: its lines and terms; gaps: those in its view of a ref, None if it had none.

    sure: it is known that it was. Otherwise the newest view in its scope counts, which is most likely where it has the ref from.
    """

    seen: Seen
    gaps: Callable[[str], Collection[Gap] | None]
    sure: bool


class _Piece(NamedTuple):
    """A unit of an output. terms: what it holds that the view does not show. found: thousandths of the best place's score."""

    place: Place
    terms: frozenset[str]
    cost: int
    found: int
    hidden: bool


def unseen(ranked: Sequence[Ranked], places: Sequence[Place], scope: Scope, query: Query, given: Given, room: int) -> list[Place] | None:
    """Places in the order in which they are to be shown, for so many tokens; None where the query or the context is not of this kind.

    What stands there to the letter, or by name, goes first, shown or not, then what no view showed, the best place before all. Where
    that was shown, its address comes last under the signal `shown`, or, if that is not sure, it comes first; what no layer found bears
    `unseen`, and has no rank.
    """
    if not scope.named or query.compiled is not None or len(query.tokens) <= LONG or scope.total > LARGEST:
        return None
    pieces: list[_Piece] = []
    for held in scope.held.values():
        gaps = given.gaps(held.output.ref)
        try:
            data = scope.open(held.blob).read()
        except (Corrupt, Unknown):
            return None
        if gaps is None or b"\0" in data:
            return None
        part = held.output.manifest.parts[held.part].name
        pieces += _pieces(BytesSource(data), held, [gap.address for gap in gaps if gap.part == part], given.seen,
                          [(number, one) for number, one in enumerate(ranked, 1) if one.hit.span.blob == held.blob])
    first = [place for place in places if ranked[place.rank - 1].tier]
    best = [place for place in places if not ranked[place.rank - 1].tier][:1]
    seed = [i for i, piece in enumerate(pieces) if best and piece.hidden and _meet(piece.place, best[0])][:1]
    picked = [pieces[i].place for i in _picked(pieces, seed, room)]
    if not picked:
        return first + best
    told = [] if seed else best
    if not given.sure:
        return first + told + picked
    return first + picked + [place._replace(signals=(*place.signals, SHOWN)) for place in told]


def _meet(one: Place, other: Place) -> bool:
    """Whether two places have bytes in common."""
    return (one.output is other.output and one.part == other.part
            and one.unit.start < other.unit.end and other.unit.start < one.unit.end)


def _spans(data: bytes, source: Source, addresses: Iterable[str]) -> list[tuple[int, int]]:
    """The bytes that a view left out, in order."""
    from byref.filters.lexical import find
    spans: list[tuple[int, int]] = []
    for at in addresses:
        address = parse(at, ())[1]
        if isinstance(address, Lines):
            spans.append(source.lines(address.first, address.last or address.first))
        elif isinstance(address, Bytes):
            spans.append((address.start, len(data) if address.end is None else address.end))
        elif isinstance(address, Path):
            try:
                spans += find(data, address.path)
            except Invalid:  # a path into what is no JSON: the rest of the gaps counts
                continue
    return sorted(spans)


def _pieces(source: BytesSource, held: Held, gaps: Sequence[str], seen: Seen, ranked: Sequence[tuple[int, Ranked]]) -> list[_Piece]:
    """All units of a part, and an end that nothing is picked across."""
    data = source.read()
    best = max((one.fused for _, one in ranked), default=0) or 1
    spans = sorted((one.hit.span.start, one.hit.span.end, number, one) for number, one in ranked if one.signals != ("names",))
    left_out = _spans(data, source, gaps)
    rows: list[tuple[Place, str, list[str], bool, int]] = []
    line = gap = at = 0
    for start, end, whole, first in cut(data):
        line += first
        while gap < len(left_out) and left_out[gap][1] <= start:
            gap += 1
        while at < len(spans) and spans[at][1] <= start:
            at += 1
        number, one = spans[at][2:] if at < len(spans) and spans[at][0] < end else (0, None)
        unit = Unit(start, end, line if whole else 0, line if whole else 0, 0, 0)
        score = 1000 * one.fused // best if one else 0
        place = Place(held.output, held.age, held.part, source, unit, one.hit.near if one else 0, score, one.bps if one else 0,
                      one.signals if one else (UNSEEN,), number)
        text = project(to_text(data[start:end]))
        hidden = (gap < len(left_out) and left_out[gap][0] <= (start + end) // 2 and bool(text.strip()) and _key(text) not in seen.lines)
        rows.append((place, text, [term for row in terms_by_line(text) for term in row], hidden, score))
    known = {term for _, _, terms, hidden, _ in rows if not hidden for term in terms}
    pieces = [_Piece(place, frozenset(terms) - known if hidden else frozenset(), estimate(text) + 1, score, hidden)
              for place, text, terms, hidden, score in rows]
    return [*pieces, _Piece(pieces[-1].place, frozenset(), 1 << 30, 0, False)] if pieces else []


def _picked(pieces: Sequence[_Piece], seed: Sequence[int], room: int) -> list[int]:
    """Which pieces, best first: the seed, then by new terms for their cost, which is less beside one that is picked."""
    covered: set[str] = set()
    taken: set[int] = set()
    order: list[int] = []
    spent = 0

    def cost(i: int) -> int:
        return pieces[i].cost + (HEAD, 0, -HEAD)[(i - 1 in taken) + (i + 1 in taken)]

    def value(i: int) -> int:
        if i in seed and not taken:
            return 1 << 30
        return len(pieces[i].terms - covered) * (1000 + FOUND * pieces[i].found // 1000) // max(1, cost(i))

    heap = [(-value(i), i) for i, piece in enumerate(pieces) if piece.hidden]
    heapify(heap)
    while heap:
        _, i = heappop(heap)
        worth = value(i)
        if i in taken or spent + cost(i) > room:
            continue
        if heap and worth < -heap[0][0]:
            heappush(heap, (-worth, i))
            continue
        if worth < LEAST + RISE * spent // 1000:
            break
        joined = [i]
        for j in (i - 1, i + 1):
            if 0 <= j < len(pieces) and j not in taken and (j - 1 in taken or j + 1 in taken) and pieces[j].cost <= HEAD:
                joined.append(j)  # what lies between two is no dearer than saying that it is left out
        for j in joined:
            spent += cost(j)
            taken.add(j)
            covered |= pieces[j].terms
        order += joined
        for j in {j + step for j in joined for step in (-1, 1)}:
            if 0 <= j < len(pieces) and j not in taken and pieces[j].hidden:
                heappush(heap, (-value(j), j))
    return order


def _key(text: str) -> str:
    """A line as it counts among those shown: without blanks around it, and without its number."""
    text = text.strip()
    number = len(text) - len(text.lstrip("0123456789"))
    return text[number + 1:].strip() if number and text[number:number + 1] in ("→", "\t", ":", "|", "-") else text
