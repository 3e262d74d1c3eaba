"""Where the terms of a query stand in the bytes of one part: the lines that hold them, or pieces of lines too long to show."""
from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from byref.proxy import literals
from byref.proxy.contracts import dataclass
from byref.proxy.errors import Invalid
from byref.proxy.matching import met
from byref.proxy.text import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeAlias

    from byref.proxy.contracts import Source
    from byref.proxy.query import Query, Term
    from byref.proxy.text import Pattern

    Ahead: TypeAlias = Callable[[Iterator[tuple[int, bytes]]], Iterator[tuple[int, bytes]]]
    Finder: TypeAlias = Callable[[int, bytes], Iterable[re.Match[bytes]]]

WINDOW = 1 << 20  # bytes that are looked at in one go: between two, the time is checked
LONG = 600  # bytes of a line that is a unit as a whole
PIECE = 320  # bytes of a unit inside a longer one
COMMON = 2000  # places in a window from which on a term is looked for only where rarer ones stand
PLACES = 10_000  # of all terms in a window: what is commoner than those that fill them is common
SMALL = 64 << 10  # bytes in which terms are looked for one by one; in more, by one pattern
PROBES, PROBE = 4, 16 << 10  # stretches of a window, and bytes of each, by which common terms are told from rare ones
RARE = 32  # terms that are looked for at once
MOST = 256  # units of a window that are looked into: the first; and places of rare terms in it, as far as these can be told before
OVERLAP = 4096  # bytes of a match over several lines that is found wherever windows meet
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
    whole: bool


def scan(source: Source, query: Query, late: Callable[[], bool], ahead: Ahead = iter, finder: Finder | None = None) -> Scanned:
    """The units in which the query, its pattern or its words stand. late: whether time is over; asked between windows.

    ahead: by which windows of a large part are read while others are looked at. finder: of matches in a window, where not RE2 alone
    is to look for them: (byte at which it begins, bytes).
    """
    if query.compiled is not None:
        return _by_pattern(source, finder or (lambda _, data: query.compiled.finditer(data) if query.compiled else ()), late, ahead)
    units: list[Unit] = []
    places = [0] * len(query.terms)
    exacts, line, end = 0, 1, 0
    for base, data in _ahead(source, _windows(source, late, 0), ahead):
        found, many = _window(data, query, places, exacts)
        exacts += many
        here, line, counted = _units(data, base, line, found)
        units += here
        end = base + len(data)
        line += data.count(b"\n", counted) if end < source.size else 0
    return Scanned(tuple(units), tuple(places), end == source.size)


def _windows(source: Source, late: Callable[[], bool], overlap: int) -> Iterator[tuple[int, bytes]]:
    """Stretches of whole lines, as long as there is time; each begins where a line does, so many bytes before the last one ends."""
    base = 0
    while base < source.size and not (base and late()):
        end = min(source.size, base + WINDOW)
        half = base + (end - base) // 2  # in two, as the frames are verified: all of it at once would be hashed once more
        data = source.read(base, half) + source.read(half, end)
        if end == source.size:
            yield base, data
            return
        cut = data.rfind(b"\n") + 1 or len(data)
        yield base, data[:cut]
        base += data.rfind(b"\n", 0, max(0, cut - overlap)) + 1 or cut


def _ahead(source: Source, windows: Iterator[tuple[int, bytes]], ahead: Ahead) -> Iterator[tuple[int, bytes]]:
    return ahead(windows) if source.size > 2 * WINDOW else windows


def _by_pattern(source: Source, finder: Finder, late: Callable[[], bool], ahead: Ahead) -> Scanned:
    units: list[Unit] = []
    first, former, told, end = 1, (0, b""), 0, 0  # number of the first line of a window; the window before; up to where matches are told
    for base, data in _ahead(source, _windows(source, late, OVERLAP), ahead):
        first += former[1].count(b"\n", 0, base - former[0])
        former, line, counted = (base, data), first, 0
        for place, low, high, inside in met(finder(base, data), data, told - base, len(data)):
            if len(units) == EXACT:
                return Scanned(tuple(units), (), True)
            line += data.count(b"\n", counted, low)
            counted = low
            if inside is None:
                last = line + data.count(b"\n", low, high)
                units.append(Unit(base + low, base + high, line, last, 0, SAME))
            else:
                units.append(Unit(base + inside[0], base + inside[1], 0, 0, 0, SAME))
            told = base + (high + 1 if inside is None else max(inside[1], place + 1))
        end = base + len(data)
    return Scanned(tuple(units), (), end >= source.size)


def _window(data: bytes, query: Query, places: list[int], exacts: int) -> tuple[dict[int, list[int]], int]:
    """Start of a unit to [terms, exact] for what stands in these bytes; and how often the whole query does."""
    if len(data) > SMALL:
        often, most = _sampled(data, query.terms), _most(data)
        rare = min(RARE, _rare(often, most, most))
        forms = tuple(query.terms[bit].form for _, bit in often[:rare])
        together = len(often) > 1 and often[0][0] > most
        compiled = _seeker(query.exact, tuple(query.terms[bit].form for _, bit in often[:2]) if together else forms, together)
        if compiled is not None:
            texts = () if together else tuple(dict.fromkeys((query.exact.lower(), *forms) if query.exact else forms))
            begins, low = _begins(data, b"", query.exact, compiled, texts)
            seen = _looked(data, low, query, begins, often, 0 if often and often[0][0] > most else rare, places, exacts)
            if seen[0] or together or rare == len(often):
                return seen
            # None of the rarer ones is there: the next one is, if it is common.
            texts = (query.terms[often[rare][1]].form,)
            compiled = _seeker(b"", texts, False)
            if compiled is None:
                return seen
            begins, low = _begins(data, low, query.exact, compiled, texts)
            return _looked(data, low, query, begins, often[rare:], 0, places, exacts)
    low = _lower(data, query.exact)
    found: dict[int, list[int]] = {}
    many = 0
    for place in _all(low, _lower(query.exact, query.exact), EXACT - exacts):
        same = SAME if data.startswith(query.exact, place) else OTHER
        unit = found.setdefault(_start(data, place), [0, 0])
        unit[1] = max(unit[1], same)
        many += 1
    often = sorted((low.count(term.form), bit) for bit, term in enumerate(query.terms))
    often = [(count, bit) for count, bit in often if count]
    rare = _rare(often, COMMON, PLACES)
    for _, bit in often[:rare]:
        for place in _places(data, low, query.terms[bit]):
            places[bit] += 1
            found.setdefault(_start(data, place), [0, 0])[0] |= 1 << bit
    common = often[rare:]
    for count, bit in common:
        places[bit] += count
    for start, unit in found.items() if common else ():
        end = _end(data, start)
        for _, bit in common[:BESIDE]:
            if next(_places(data, low, query.terms[bit], start, end), -1) >= 0:
                unit[0] |= 1 << bit
    return found, many


def _most(data: bytes) -> int:
    return 1 + MOST * len(data) // WINDOW


def _rare(often: Sequence[tuple[int, int]], most: int, all_of_them: int) -> int:
    """How many terms, rarest first, are looked for everywhere: one, then as long as no one and not all together are too many."""
    rare = total = 0
    while rare < len(often) and (rare == 0 or (often[rare][0] <= most and total + often[rare][0] <= all_of_them)):
        total += often[rare][0]
        rare += 1
    return rare


def _sampled(data: bytes, terms: Sequence[Term]) -> list[tuple[int, int]]:
    """(places, bit) of each term, rarest first, as stretches of the window let them be guessed; the text alone decides, no clock."""
    step = len(data) // PROBES
    low = b"\n".join(data[at:at + PROBE] for at in range(0, PROBES * step, step)).lower()
    return sorted((low.count(term.form) * len(data) // (PROBES * PROBE), bit) for bit, term in enumerate(terms))


@lru_cache(64)
def _seeker(exact: bytes, forms: tuple[bytes, ...], together: bool) -> Pattern | None:
    """Finds the whole query, any of these forms, or two of them on a line, in any case; None where they are no text or too many."""
    written = [_quoted(form) for form in forms]
    if together:
        first, second = written
        written = [f"{first}[^\n]*{second}", f"{second}[^\n]*{first}"]
    try:
        return pattern("(?i)" + "|".join(dict.fromkeys([*([_quoted(exact)] if exact else []), *written])))
    except (Invalid, UnicodeDecodeError):
        return None


def _quoted(form: bytes) -> str:
    return "".join(c if c.isalnum() or ord(c) > 127 else f"\\x{{{ord(c):x}}}" for c in form.decode())


def _begins(data: bytes, low: bytes, exact: bytes, compiled: Pattern, texts: tuple[bytes, ...]) -> tuple[Iterator[int], bytes]:
    """Where matches begin, and the data in lower case, if that was needed. texts: what the pattern looks for, where it is no more."""
    if literals.pays(texts) and exact.isascii() and literals.literal(data, texts):
        low = low or data.lower()
        return literals.places(low, texts), low
    return (match.start() for match in compiled.finditer(data)), low


def _looked(data: bytes, low: bytes, query: Query, begins: Iterable[int], often: Sequence[tuple[int, int]], rare: int, places: list[int],
            exacts: int) -> tuple[dict[int, list[int]], int]:
    """The same for a large window. Each unit with a match is looked into once, for all terms that are not too many.

    low: the data in lower case, or empty: then units are made so. begins: where matches do, in order. rare: how many terms are found
    wherever they stand, so that they can be counted.
    """
    found: dict[int, list[int]] = {}
    many = looked = end = 0
    most = _most(data)
    exact = _lower(query.exact, query.exact)
    sought = [(number < rare, bit, query.terms[bit]) for number, (_, bit) in enumerate(often[:rare + BESIDE])]
    for place in begins:
        if place < end:
            continue
        if looked == most:
            break
        looked += 1
        start = _start(data, place)
        end = max(_end(data, start), place + 1)
        base, text, small = 0, data, low
        if not low:
            base = start - min(start, 1)
            text = data[base:end + 1]
            small = _lower(text, query.exact)
        terms = 0
        for counted, bit, term in sought:
            if small.find(term.form, start - base, end - base) >= 0 and next(_places(text, small, term, start - base, end - base), -1) >= 0:
                terms |= 1 << bit
                places[bit] += counted
        same = 0
        if exacts + many < EXACT and exact:
            beyond = end + len(exact) - 1
            if data.find(query.exact, start, beyond) >= 0:
                same = SAME
            elif (low.find(exact, start, beyond) if low else
                  _lower(data[start:end + len(exact)], query.exact).find(exact, 0, beyond - start)) >= 0:
                same = OTHER
            many += same > 0
        if terms or same:
            found[start] = [terms, same]
    for estimate, bit in often[rare:]:
        if not estimate:  # too many terms to look for: whether they stand here at all is to be known
            low = low or _lower(data, query.exact)
            estimate = low.count(query.terms[bit].form)
        places[bit] += estimate
    return found, many


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


def _units(data: bytes, base: int, line: int, found: dict[int, list[int]]) -> tuple[list[Unit], int, int]:
    """In order; and the number of the line in which the last one begins, and where that is."""
    units: list[Unit] = []
    counted = 0
    for start in sorted(found):
        line += data.count(b"\n", counted, start)
        counted = start
        end = _end(data, start)
        whole = (start == 0 or data[start - 1] == 10) and (end >= len(data) or data[end] == 10)
        terms, exact = found[start]
        units.append(Unit(base + start, base + end, line if whole else 0, line if whole else 0, terms, exact))
    return units, line, counted


def cut(data: bytes) -> Iterator[tuple[int, int, bool, bool]]:
    """All units of these bytes, in order: start, end without the newline, whether it is a whole line, and whether one begins here."""
    start, first = 0, True
    while start < len(data):
        end = _end(data, start)
        ends = end >= len(data) or data[end] == 10
        yield start, end, first and ends, first
        first = ends
        start = end + 1 if ends else end


def within(data: bytes, base: int, line: int, query: Query) -> list[Unit]:
    """The units of a stretch of whole lines that begins with this line, at this byte; of a piece of a line where line is 0."""
    found, _ = _window(data, query, [0] * len(query.terms), 0)
    units, _, _ = _units(data, base, line, found)
    return units if line else [unit._replace(line=0, last=0) for unit in units]


def near(units: Sequence[Unit]) -> list[int]:
    """The terms of each unit and of the units right before and after it."""
    merged = [unit.terms for unit in units]
    for i in range(1, len(units)):
        if units[i].start - units[i - 1].end <= 1:
            merged[i] |= units[i - 1].terms
            merged[i - 1] |= units[i].terms
    return merged
