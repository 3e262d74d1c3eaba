"""Where the terms of a query stand in the bytes of one part: the lines that hold them, or pieces of lines too long to show."""
from __future__ import annotations

from typing import NamedTuple

from byref.proxy.contracts import dataclass
from byref.proxy.matching import matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from byref.proxy.contracts import Source
    from byref.proxy.query import Query, Term

WINDOW = 1 << 20  # bytes that are looked at in one go: between two, the time is checked
LONG = 600  # bytes of a line that is a unit as a whole
PIECE = 320  # bytes of a unit inside a longer one
COMMON = 2000  # places in a window from which on a term is looked for only where rarer ones stand
PLACES = 10_000  # of all terms in a window: what is commoner than those that fill them is common
BESIDE = 12  # common terms that are looked for beside rarer ones
EXACT = 1000  # places of the whole query in a part
SAME, OTHER = 2, 1  # how the whole query stands there: to the letter, or in other case
_ALNUM = frozenset(b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_UPPER = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGIT = frozenset(b"0123456789")
_SEPARATORS = (b"},", b"; ", b", ", b",", b" ")


class Unit(NamedTuple):  # made by the ten thousand: a tuple takes a tenth of a record's time
    """A line, or a piece of a long one. line: its number, 0 for a piece. terms: those in it, as bits; exact: SAME, OTHER or 0."""

    start: int
    end: int
    line: int
    last: int
    terms: int
    exact: int


@dataclass(frozen=True, slots=True)
class Scanned:
    """What one part holds. places: of each term. units: in order. whole: all of it was looked at, else time ran out."""

    units: tuple[Unit, ...]
    places: tuple[int, ...]
    lines: int
    whole: bool


def scan(source: Source, query: Query, late: Callable[[], bool]) -> Scanned:
    """The units in which the query, its pattern or its words stand. late: whether time is over; asked between windows."""
    if query.compiled is not None:
        return _by_pattern(source, query, late)
    units: list[Unit] = []
    places = [0] * len(query.terms)
    exacts, line, base = 0, 1, 0
    while base < source.size:
        if base and late():
            return Scanned(tuple(units), tuple(places), line, False)
        data = source.read(base, min(source.size, base + WINDOW))
        if base + len(data) < source.size:
            cut = data.rfind(b"\n") + 1
            data = data[:cut] if cut else data
        found, met = _window(data, query, places, exacts)
        exacts += met
        units += _units(data, base, line, found)
        line += data.count(b"\n")
        base += len(data)
    return Scanned(tuple(units), tuple(places), line, True)


def _by_pattern(source: Source, query: Query, late: Callable[[], bool]) -> Scanned:
    units: list[Unit] = []
    if query.compiled is not None:
        for hit in matches("", source, query.compiled, 0):
            address = hit.rows[0][0]
            if address[0] == "b":
                start, _, end = address[1:-1].partition("-")
                units.append(Unit(int(start), int(end), 0, 0, 0, SAME))
            else:
                size = sum(len(text.encode("utf-8", "surrogateescape")) + 1 for _, text in hit.rows)
                units.append(Unit(hit.offset, min(source.size, hit.offset + size), hit.line, hit.last, 0, SAME))
            if len(units) >= EXACT or (len(units) % 16 == 0 and late()):
                return Scanned(tuple(units), (), 0, len(units) >= EXACT)
    return Scanned(tuple(units), (), 0, True)


def _window(data: bytes, query: Query, places: list[int], exacts: int) -> tuple[dict[int, list[int]], int]:
    """Start of a unit to [terms, exact, end] for what stands in these bytes; and how often the whole query does."""
    low = _lower(data, query.exact)
    found: dict[int, list[int]] = {}
    met = 0
    for place in _all(low, _lower(query.exact, query.exact), EXACT - exacts):
        same = SAME if data.startswith(query.exact, place) else OTHER
        unit = found.setdefault(_start(data, place), [0, 0])
        unit[1] = max(unit[1], same)
        met += 1
    often = sorted((low.count(term.form), bit) for bit, term in enumerate(query.terms))
    there = [(count, bit) for count, bit in often if count]
    rare, total = 0, 0
    while rare < len(there) and (rare == 0 or (there[rare][0] <= COMMON and total + there[rare][0] <= PLACES)):
        total += there[rare][0]
        rare += 1
    common = there[rare:]
    for _, bit in there[:rare]:
        for place in _places(data, low, query.terms[bit]):
            places[bit] += 1
            found.setdefault(_start(data, place), [0, 0])[0] |= 1 << bit
    for count, bit in common:
        places[bit] += count
    for start, unit in found.items() if common else ():
        end = _end(data, start)
        for _, bit in common[:BESIDE]:
            if next(_places(data, low, query.terms[bit], start, end), -1) >= 0:
                unit[0] |= 1 << bit
    return found, met


def _lower(data: bytes, asked: bytes) -> bytes:
    """In lower case and of the same length: of letters beyond ASCII only where they are asked for and no length changes."""
    if not asked.isascii() and not data.isascii():
        low = data.decode("utf-8", "surrogateescape").lower().encode("utf-8", "surrogateescape")
        if len(low) == len(data):
            return low
    return data.lower()


def _all(data: bytes, form: bytes, limit: int, start: int = 0, stop: int | None = None) -> Iterator[int]:
    """Where a form stands, at most so often, between two bytes."""
    stop = len(data) if stop is None else stop
    place = data.find(form, start, stop) if form and limit > 0 else -1
    while place >= 0 and limit > 0:
        yield place
        limit -= 1
        place = data.find(form, place + len(form), stop)


def _places(data: bytes, low: bytes, term: Term, start: int = 0, stop: int | None = None) -> Iterator[int]:
    """Where a term stands as a word, or as a word inside an identifier."""
    size = len(term.form)
    first, last = term.form[0] in _DIGIT, term.form[-1] in _DIGIT
    for place in _all(low, term.form, COMMON, start, stop):
        if term.edged and place and (before := data[place - 1]) in _ALNUM and (before in _DIGIT) == first:
            follows = data[place + 1:place + 2]
            if data[place] not in _UPPER or (before in _UPPER and not (follows and follows[0] in _ALNUM and follows[0] not in _UPPER)):
                continue
        end = place + size
        if term.edged and not term.loose and end < len(data) and (after := data[end]) in _ALNUM and (after in _DIGIT) == last \
                and (after not in _UPPER or data[end - 1] in _UPPER):
            continue
        yield place


def _start(data: bytes, place: int) -> int:
    """The start of the unit that holds this byte."""
    start = data.rfind(b"\n", 0, place) + 1
    if place - start < LONG:
        end = data.find(b"\n", place, start + LONG + 1)
        if end >= 0 or len(data) <= start + LONG:
            return start
    number = (place - start) // PIECE
    after = _cut(data, start, number + 1)
    return after if place >= after else _cut(data, start, number)


def _end(data: bytes, start: int) -> int:
    """The end of the unit that starts here, its newline left out."""
    first = data.rfind(b"\n", 0, start) + 1
    end = data.find(b"\n", start)
    end = len(data) if end < 0 else end
    if end - first <= LONG:
        return end
    number = (start - first) // PIECE
    cut = _cut(data, first, number + 1)
    return min(end, cut if cut > start else _cut(data, first, number + 2))


def _cut(data: bytes, first: int, number: int) -> int:
    """Where piece `number` of the long line that begins at `first` begins: after a separator near its place, where there is one."""
    if number == 0:
        return first
    at = first + number * PIECE
    low = at - PIECE // 4
    for sign in _SEPARATORS:
        found = data.rfind(sign, low, at)
        if found >= 0:
            return found + len(sign)
    for back in range(4):
        if at - back < len(data) and data[at - back] & 0xC0 != 0x80:
            return at - back
    return at


def _units(data: bytes, base: int, line: int, found: dict[int, list[int]]) -> Iterator[Unit]:
    counted = 0
    for start in sorted(found):
        line += data.count(b"\n", counted, start)
        counted = start
        end = _end(data, start)
        whole = (start == 0 or data[start - 1] == 10) and (end >= len(data) or data[end] == 10)
        terms, exact = found[start]
        yield Unit(base + start, base + end, line if whole else 0, line if whole else 0, terms, exact)


def within(data: bytes, base: int, line: int, query: Query) -> list[Unit]:
    """The units of a stretch of whole lines that begins with this line, at this byte; of a piece of a line where line is 0."""
    found, _ = _window(data, query, [0] * len(query.terms), 0)
    units = list(_units(data, base, line, found))
    return units if line else [unit._replace(line=0, last=0) for unit in units]


def near(units: Sequence[Unit]) -> list[int]:
    """The terms of each unit and of the units right before and after it."""
    merged = [unit.terms for unit in units]
    for i in range(1, len(units)):
        if units[i].start - units[i - 1].end <= 1:
            merged[i] |= units[i - 1].terms
            merged[i - 1] |= units[i].terms
    return merged
