"""Search: where something stands in the outputs of a scope, by exact text, RE2 pattern and words; ranked, bounded, accounted for.

Each hit has an address that fetch takes. Scores are integers; what is scored alike comes newest first, by the catalog's own
sequence numbers. A search that was not cut by its timebox gives the same answer on every machine.
"""
from __future__ import annotations

import time

from byref.proxy.contracts import dataclass
from byref.proxy.errors import Corrupt, Invalid, Unknown
from byref.proxy.excerpts import Hit, Place, fitting, met
from byref.proxy.paging import SNIFFED
from byref.proxy.query import parse
from byref.proxy.scanning import near, scan
from byref.proxy.signature import tool_kind
from byref.proxy.text import check_ref, estimate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from byref.proxy.contracts import Output, Store
    from byref.proxy.query import Query

LIMIT = 5000  # outputs of one search
HITS = 50  # where neither k nor the size bounds them before
MAX_TOKENS = 1200
LEAST = 100  # tokens: a head, a line, and what ran
USAGE = "say what to look for: words, an exact text, or /regex/ (RE2)\n"
OUTCOMES = ("success", "failure")
_PLACES = 2000  # best places from which hits are taken
_SCANNING = 0.7  # of the timebox; the rest is for ranking and writing
_ALL = 12  # tokens of a query up to which it matters that all are there
_FLOOR = 5  # a place that weighs less than so many parts of the best one's weight is chance
_MISSED = 12  # tokens that are named as not found
_NO_TEXT = ("image/", "audio/", "video/")
_BINARY = 50  # a part of which one byte in so many is NUL, or more, holds no words


@dataclass(frozen=True, slots=True)
class Found:
    """The answer of a search. hits: best first. layers: which methods ran. uncovered: tokens of the query found nowhere.

    searched of outputs were looked at whole. text: all of it as an agent reads it.
    """

    query: str
    hits: tuple[Hit, ...]
    layers: tuple[Ran, ...]
    uncovered: tuple[str, ...]
    outputs: int
    searched: int
    filters: Mapping[str, str]
    text: str


@dataclass(frozen=True, slots=True)
class Ran:
    """A method and what became of it. status: ran, aborted (time was over), skipped. hits: places that it found."""

    name: str
    status: str
    hits: int
    note: str = ""


def search(store: Store, scope: str, text: str, refs: Sequence[str] | None = None, *, tool: str | None = None, signature: str | None = None,
           outcome: str | None = None, kind: str | None = None, since: str | None = None, session: str | None = None,
           timebox_ms: int = 1000, k: int | None = None, max_tokens: int = MAX_TOKENS,
           clock: Callable[[], float] = time.monotonic) -> Found:
    """Where a text, a pattern between slashes, or words stand in the outputs of a scope, or in those of refs.

    tool, signature, outcome (success, failure), kind (a shape's name), since (a ref: what came after it) and session
    narrow the outputs. timebox_ms: after that the answer is what was found so far. k: hits at most; max_tokens: of the
    text, by estimate. Raises a `Miss` for a ref that cannot be read and `Invalid` for a filter or bound that is none; a
    query raises nothing.
    """
    if outcome not in (None, *OUTCOMES):
        raise Invalid(f"outcome is success or failure, not {str(outcome)[:20]!r}")
    if timebox_ms < 1 or max_tokens < LEAST or (k is not None and k < 1):
        raise Invalid(f"timebox_ms and k are at least 1, max_tokens at least {LEAST}")
    filters = {name: value for name, value in (
        ("tool", tool), ("signature", signature), ("outcome", outcome), ("kind", kind), ("since", since), ("session", session)) if value}
    query = parse(text)
    if not query.text:
        return Found("", (), (), (), 0, 0, filters, USAGE)
    until = clock() + timebox_ms / 1000 * _SCANNING
    outputs = _outputs(store, scope, refs, filters)
    places, searched, counts, lines, faults = _scanned(store, outputs, query, lambda: clock() >= until, refs is not None)
    ranked = _ranked(places, query, counts, lines)
    missed = tuple(token for number, token in enumerate(query.tokens) if not any(
        count for count, term in zip(counts, query.terms, strict=True) if term.tokens >> number & 1))
    if query.compiled is None and any(place.unit.exact for place in places):
        missed = ()
    layers = _layers(query, places, searched + len(faults) == len(outputs), faults)
    hits, shown = fitting(ranked, query, min(k or HITS, HITS) if k is None else k, max_tokens - _room(query, missed))
    tail = _tail(query, layers, missed, len(hits), len(outputs), searched, filters, outputs)
    return Found(query.text, hits, layers, missed, len(outputs), searched, filters, shown + tail)


def _outputs(store: Store, scope: str, refs: Sequence[str] | None, filters: Mapping[str, str]) -> list[Output]:
    """The outputs to search, newest first."""
    if refs is not None:
        found = list({ref: store.resolve(scope, check_ref(ref)) for ref in refs}.values())
    else:
        found = list(store.recent(scope, session=filters.get("session"), signature=filters.get("signature"), limit=LIMIT))
    after = store.resolve(scope, check_ref(filters["since"])).seq if "since" in filters else 0
    return sorted((output for output in found if output.seq > after and _passes(output, filters)), key=lambda output: -output.seq)


def _passes(output: Output, filters: Mapping[str, str]) -> bool:
    manifest = output.manifest
    failed = manifest.is_error or manifest.exit_code not in (None, 0)
    return (("tool" not in filters or tool_kind(manifest.tool) == tool_kind(filters["tool"]))
            and ("outcome" not in filters or failed == (filters["outcome"] == "failure"))
            and ("kind" not in filters or output.shape == filters["kind"])
            and ("signature" not in filters or output.signature == filters["signature"]))


def _scanned(store: Store, outputs: Sequence[Output], query: Query, late: Callable[[], bool],
             named: bool) -> tuple[list[Place], int, list[int], int, list[str]]:
    """All places, how many outputs were looked at whole, in how many places each term stands, of how many lines; what failed."""
    places: list[Place] = []
    counts, lines, searched = [0] * len(query.terms), 1, 0
    seen: set[str] = set()
    faults: list[str] = []
    for age, output in enumerate(outputs):
        if age and late():
            break
        whole = True
        for index, part in enumerate(output.manifest.parts):
            if part.blob.digest in seen or not part.blob.size:
                continue
            seen.add(part.blob.digest)
            try:
                source = store.open(part.blob.digest)
                start = source.read(0, SNIFFED)
                if start.count(b"\0") * _BINARY > len(start) or part.media.startswith(_NO_TEXT):
                    continue
                scanned = scan(source, query, late)
            except (Corrupt, Unknown) as fault:
                if named:
                    raise Corrupt(output.ref, f"its part {part.name}: {fault}") from None
                if output.ref not in faults:
                    faults.append(output.ref)
                whole = False
                continue
            for bit, count in enumerate(scanned.places):
                counts[bit] += count
            lines += scanned.lines
            whole = whole and scanned.whole
            places += [Place(output, age, index, source, unit, merged)
                       for unit, merged in zip(scanned.units, near(scanned.units), strict=True)]
        searched += whole
    return places, searched, counts, lines, faults


def _ranked(places: Sequence[Place], query: Query, counts: Sequence[int], lines: int) -> list[Place]:
    """Best first: the text to the letter, then in other case, then all words in a line or its neighbours, then most by weight.

    A word weighs the binary logarithm of how rare it is, in whole numbers; one beside the line weighs half.
    """
    weights = [max(1, (lines // max(1, count)).bit_length()) * term.factor for count, term in zip(counts, query.terms, strict=True)]
    tokens = len(query.tokens)
    sums: dict[int, int] = {}

    def weigh(bits: int) -> int:
        if bits not in sums:
            sums[bits] = sum(weight for bit, weight in enumerate(weights) if bits >> bit & 1)
        return sums[bits]

    scored: list[tuple[int, Place]] = []
    heaviest = 0
    for place in places:
        weight = weigh(place.unit.terms) + weigh(place.near)
        everything = 1 < tokens <= _ALL and len(met(query, place.near)) == tokens
        score = (place.unit.exact * 2 + everything) * 1_000_000 + weight
        heaviest = max(heaviest, weight)
        scored.append((score, place))
    return [place._replace(score=score) for score, place in sorted(
        (pair for pair in scored if pair[1].unit.exact or pair[0] * _FLOOR > heaviest),
        key=lambda pair: (-pair[0], pair[1].age, pair[1].part, pair[1].unit.start))[:_PLACES]]


def _layers(query: Query, places: Sequence[Place], whole: bool, faults: Sequence[str]) -> tuple[Ran, ...]:
    status = "ran" if whole else "aborted"
    note = f"unreadable: {' '.join(faults[:3])}" if faults else ""
    if query.compiled is not None:
        return (Ran("regex", status, len(places), note),)
    exact = Ran("exact", status, sum(place.unit.exact > 0 for place in places), note)
    if not query.terms:
        return exact, Ran("words", "skipped", 0, "no words in the query")
    return exact, Ran("words", status, sum(place.unit.terms > 0 for place in places), note)


def _room(query: Query, missed: Sequence[str]) -> int:
    """Tokens of the last line, at most."""
    return 60 + estimate(" ".join(_short(missed)))


def _short(missed: Sequence[str]) -> list[str]:
    return [token if len(token) <= 40 else token[:37] + "..." for token in missed[:_MISSED]]


def _tail(query: Query, layers: Sequence[Ran], missed: Sequence[str], shown: int, outputs: int, searched: int,
          filters: Mapping[str, str], found: Sequence[Output]) -> str:
    """The last line: what ran and found how much, where, and what of the query stands nowhere."""
    ran = ", ".join(f"{one.name} {one.hits}" + (f" ({one.status})" if one.status != "ran" else "") for one in layers)
    where = f"{searched} of {outputs} outputs searched" if outputs != 1 else f"1 output searched{'' if searched else ' in part'}"
    told = [f"{shown} shown" if shown else "no match", f"found: {ran}", where]
    if layers[0].note:
        told.append(layers[0].note)
    if query.fault:
        told.append("no RE2 pattern, so searched as text")
    if filters:
        told.append("only " + ", ".join(f"{name} {value[:60]}" for name, value in filters.items()))
    if missed:
        rest = len(missed) - _MISSED
        told.append("nowhere: " + " ".join(_short(missed)) + (f" and {rest} more" if rest > 0 else ""))
    return f"[{'; '.join(told)}]\n"
