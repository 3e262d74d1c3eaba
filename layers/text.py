"""The text itself: the whole query to the letter or in other case, an RE2 pattern, and words, in the bytes of every output.

Needs no index, so it is always current. Blobs whose words an index answers for are looked through for the whole query alone.
"""
from __future__ import annotations

from heapq import nsmallest
from shutil import which
from threading import Event

from byref.layers import ripgrep, workers
from byref.layers.contract import GENERATE, WHOLE, Contribution, Hit, LayerStatus, Span, Unindexed
from byref.layers.titles import told
from byref.proxy.errors import Corrupt, Unknown
from byref.proxy.query import AS_IT_IS, met, within_stretch
from byref.proxy.scanning import Scanned, near, scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from byref.layers.contract import Budget, Held, Scope
    from byref.proxy.contracts import Source
    from byref.proxy.query import Query
    from byref.proxy.scanning import Finder, Unit
    from byref.proxy.text import Pattern

    Look: TypeAlias = Scanned | Corrupt | Unknown | None

PLACES = 600  # best places that are of use
MUCH = 32 << 20  # bytes of a scope from which on starting ripgrep pays
LONG = 0.3  # seconds: the same of a timebox
BLOCK = 128 << 10  # bytes that it is given at once: a frame of the store
SHARED = 2 << 20  # bytes of a scope from which on a second thread helps
RANKED = 8e-6  # seconds kept for ranking each place that was found: one that it takes, and seven in which other layers have the interpreter
HASTY = 4000  # places that are ranked where time is over all the same, beside those to the letter
TICK = 0.002  # seconds between two looks at the clock while it does
ALL = 12  # tokens of a query up to which it matters that all are there
LIKE = 64  # words of a stretch of text that are looked for
STEP = 1_000_000  # of a score: more than all words together weigh
FLOOR = 5  # a place that weighs less than so many parts of the best one's weight is chance
RATE = 300_000  # bytes a millisecond, roughly
SNIFFED = 4096  # bytes at the start of a part by which a binary one is told
BINARY = 50  # a part of which one byte in so many is NUL, or more, holds no words


def layer(folder: str | None) -> Text:
    return Text()


class Text(Unindexed):
    """See the module."""

    name, version, roles = "text", "1", frozenset({GENERATE})

    def applies(self, scope: Scope, query: Query) -> bool:
        return True

    def status(self, scope: Scope) -> LayerStatus:
        return LayerStatus(self.name, self.version, GENERATE, "bytes search, RE2", "line", WHOLE, "exact text, words or /regex/",
                           1 + scope.total // RATE)

    def search(self, query: Query, scope: Scope, budget: Budget, candidates: Sequence[Hit] | None = None) -> Contribution:
        """The best lines, or pieces of long lines. Raises `Corrupt` for a damaged output that the caller named."""
        looks = _looks(query, scope, budget)
        counts, lines = [0] * len(query.terms), 1
        searched: set[str] = set()
        faults: dict[str, None] = {}
        for held, look in zip(scope.held.values(), looks, strict=False):
            if look is None:
                continue
            if isinstance(look, Exception):
                if scope.named:
                    raise Corrupt(held.output.ref, f"its part {held.output.manifest.parts[held.part].name}: {look}") from None
                faults.setdefault(held.output.ref)
                continue
            for bit, count in enumerate(look.places):
                counts[bit] += count
            lines += held.output.manifest.parts[held.part].blob.lines
            if look.whole:
                searched.add(held.blob)
        whole = len(searched) == len(scope.held)
        note = f"unreadable: {' '.join(list(faults)[:3])}" if faults else ""
        hits = told(_ranked(looks, query, counts, lines, scope, budget.late), query, scope, budget.late)
        return Contribution(hits, None if whole else frozenset(searched),
                            whole or (bool(faults) and not budget.late()), tuple(counts), tuple(faults), note)


def _looks(query: Query, scope: Scope, budget: Budget) -> list[Look]:
    """What was found in each blob of the scope, in order; None where there was no time. At least the first is begun.

    Decompression and RE2 leave the interpreter to others: two threads look through twice as much, where there are two cores.
    """
    wordless = query.without_terms()
    worded = query if not query.apart else query.with_terms(query.terms[:LIKE])
    units = [0]  # so far; ranking them takes time, too

    def late() -> bool:
        return budget.cancel.is_set() or budget.clock() + units[0] * RANKED >= budget.until

    looks: list[Look] = [None] * len(scope.held)
    turns = iter(list(enumerate(scope.held.values())))  # `next` of it is atomic

    def look(held: Held, finder: Finder | None = None) -> Look:
        try:
            source = _text(scope, held)
            if source is None:
                return Scanned((), (), True)
            found = scan(source, wordless if held.blob in scope.worded else worded, late, workers.ahead, finder)
            units[0] += len(found.units)
            return found
        except (Corrupt, Unknown) as fault:
            return fault

    def work() -> None:
        if sift is not None:
            for number, held, places in sift.through(turns):
                looks[number] = Scanned((), (), True) if places == [] else look(held, sift.finder(places))
        for number, held in turns:
            if number and late():
                return
            looks[number] = look(held)

    sift = _sift(query, scope, budget)

    through = Event()
    failed: list[Exception] = []

    def help_out() -> None:
        try:
            work()
        except Exception as fault:  # raised by whoever waits
            failed.append(fault)
        through.set()

    shared = len(scope.held) > 1 and scope.total >= SHARED
    if shared:
        workers.start(help_out)
    work()
    if shared:
        while not through.wait(TICK) and not late():
            pass
        if failed:
            raise failed[0]
    return list(looks)  # what is not through by now stays out


def _text(scope: Scope, held: Held) -> Source | None:
    """The bytes of a blob; None where they are no text."""
    source = scope.open(held.blob)
    start = source.read(0, SNIFFED)
    return None if start.count(b"\0") * BINARY > len(start) else source


def _sift(query: Query, scope: Scope, budget: Budget) -> Sift | None:
    """ripgrep goes ahead of RE2 where it is installed, there is much to look through, and RE2 is slow at the pattern."""
    compiled, left = query.compiled, budget.until - budget.clock()
    there = which("rg") if compiled is not None and scope.total >= MUCH and left >= LONG else None
    asked = ripgrep.sieve(compiled.pattern.decode()) if there is not None and compiled is not None else None
    if there is None or asked is None or compiled is None:
        return None
    try:
        start = scope.open(max(scope.held.values(), key=lambda held: held.size).blob).read(0, BLOCK)
    except (Corrupt, Unknown):
        return None
    until = budget.until - left / 3
    return Sift(scope, compiled, there, asked, lambda: budget.clock() < until) if ripgrep.pays(compiled, start) else None


class Sift:
    """Parts that ripgrep was given, in each thread to one of its own. go_on: whether there is time to give it more."""

    def __init__(self, scope: Scope, compiled: Pattern, there: str, asked: ripgrep.Sieve, go_on: Callable[[], bool]) -> None:
        self._scope, self._compiled, self._there, self._asked, self._go_on = scope, compiled, there, asked, go_on

    def through(self, turns: Iterator[tuple[int, Held]]) -> Iterator[tuple[int, Held, list[int] | None]]:
        """What it went through, and the places in it; None where RE2 has to look at all of it."""
        given: list[tuple[int, Held]] = []
        faulty: set[int] = set()

        def blocks(number: int, held: Held) -> Iterator[bytes]:
            try:
                source = _text(self._scope, held)
                if source is not None:
                    yield from (source.read(at, min(held.size, at + BLOCK)) for at in range(0, held.size, BLOCK))
            except (Corrupt, Unknown):  # RE2 comes to the same fault, and tells it
                faulty.add(number)

        def parts() -> Iterator[Iterator[bytes]]:
            for number, held in turns:
                given.append((number, held))
                yield blocks(number, held)

        places = ripgrep.offsets(self._there, self._asked, parts(), self._go_on) or []
        for index, (number, held) in enumerate(given):
            yield number, held, None if number in faulty or index >= len(places) else places[index]

    def finder(self, places: list[int] | None) -> Finder | None:
        return None if places is None else ripgrep.finder(self._compiled, self._asked, places)


def _ranked(looks: Sequence[Look], query: Query, counts: Sequence[int], lines: int, scope: Scope, late: Callable[[], bool]) -> list[Hit]:
    """Best first: the text to the letter, then in other case, then all words in a line or its neighbours, then most by weight.

    A word weighs the binary logarithm of how rare it is, in whole numbers, times what the caller gave it; one beside the line weighs half.
    """
    part, step = (1, STEP * AS_IT_IS) if query.weights else (AS_IT_IS, STEP)  # with weights all counts in thousandths
    weights = [max(1, (lines // max(1, count)).bit_length()) * term.factor * term.weight // part
               for count, term in zip(counts, query.terms, strict=True)]
    tokens = len(query.tokens)

    def weigh(terms: int, around: int) -> tuple[int, bool]:
        weight = sum(((terms >> bit & 1) + (around >> bit & 1)) * weight for bit, weight in enumerate(weights))
        return weight, 1 < tokens <= ALL and len(met(query, around)) == tokens

    known: dict[tuple[int, int], tuple[int, bool]] = {}
    pattern, stretch = query.compiled is not None, within_stretch(query)
    scored: list[tuple[int, int, int, int, Unit, int, Held]] = []
    heaviest, hasty = 0, False
    for number, (held, look) in enumerate(zip(scope.held.values(), looks, strict=False)):
        if not isinstance(look, Scanned):
            continue
        hasty = hasty or (number % 64 == 0 and late())
        for unit, around in zip(look.units, near(look.units), strict=True):
            if hasty and len(scored) >= HASTY and not unit.exact:
                continue
            if query.apart and stretch(held.blob, unit.start, unit.end):
                continue
            key = unit.terms, around
            if key not in known:
                known[key] = weigh(*key)
            weight, everything = known[key]
            heaviest = max(heaviest, weight)
            exact = 0 if pattern else unit.exact
            scored.append((-((exact * 2 + everything) * step + weight), held.age, held.part, unit.start, unit, around, held))
    best = nsmallest(PLACES, (one for one in scored if one[4].exact or -one[0] * FLOOR >= heaviest))
    return [Hit(Span(held.blob, unit.start, unit.end), -negative, "regex" if pattern else "exact" if unit.exact else "words", unit.terms,
                around, unit.line, unit.last, 0 if pattern else unit.exact) for negative, _, _, _, unit, around, held in best]
