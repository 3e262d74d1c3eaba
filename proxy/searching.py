"""Search: where something stands in the outputs of a scope, by exact text, RE2 pattern and words; ranked, bounded, accounted for.

Each hit has an address that fetch takes. Scores are integers; what is scored alike comes newest first, by the catalog's own
sequence numbers. A search that was not cut by its timebox gives the same answer on every machine.
"""
from __future__ import annotations

import re
import time

from byref.proxy.contracts import dataclass
from byref.proxy.errors import Corrupt, Invalid, Unknown
from byref.proxy.intake import to_text
from byref.proxy.paging import SNIFFED
from byref.proxy.query import parse
from byref.proxy.scanning import SAME, near, scan
from byref.proxy.signature import tool_kind
from byref.proxy.text import check_ref, estimate, project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from byref.proxy.contracts import Output, Source, Store
    from byref.proxy.query import Query
    from byref.proxy.scanning import Unit

LIMIT = 5000  # outputs of one search
HITS = 50  # where neither k nor the size bounds them before
MAX_TOKENS = 1200
LEAST = 50  # tokens: a head, a line, and what ran
USAGE = "say what to look for: words, an exact text, or /regex/ (RE2)\n"
OUTCOMES = ("success", "failure")
_AROUND = (4, 2, 1, 0)  # lines shown around a hit: as many as there is room for
_WIDE = 1600  # bytes around a hit within which they are looked for
_SHORT = 300  # bytes of a line around a hit
_STEP = 120  # bytes around a piece of a long line that stand for one line around
_ALL = 12  # tokens of a query up to which it matters that all are there
_MISSED = 12  # tokens that are named as not found
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])|\r(?=\n|$)|\x00")


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
class Hit:
    """One place. address: for fetch with ref, the part in it where the output has several. signals: what found it.

    terms: tokens of the query that stand there. age: how many outputs of the scope that were searched are newer. score:
    comparable within one answer.
    """

    ref: str
    address: str
    part: str
    excerpt: str
    signals: tuple[str, ...]
    terms: tuple[str, ...]
    tool: str
    age: int
    score: int


@dataclass(frozen=True, slots=True)
class Ran:
    """A method and what became of it. status: ran, aborted (time was over), skipped. hits: places that it found."""

    name: str
    status: str
    hits: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Place:
    """A unit of a part of an output. near: the terms of its neighbours too. key: by which places are ranked."""

    output: Output
    age: int
    index: int
    source: Source
    unit: Unit
    near: int
    score: int = 0


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
    until = clock() + timebox_ms / 1000
    outputs = _outputs(store, scope, refs, filters)
    places, searched, counts, lines, faults = _scanned(store, outputs, query, lambda: clock() >= until, refs is not None)
    ranked = _ranked(places, query, counts, lines)
    missed = tuple(token for number, token in enumerate(query.tokens) if not any(
        count for count, term in zip(counts, query.terms, strict=True) if term.tokens >> number & 1))
    if query.compiled is None and any(place.unit.exact for place in places):
        missed = ()
    layers = _layers(query, places, searched == len(outputs), faults)
    hits, shown = _fitting(ranked, query, min(k or HITS, HITS) if k is None else k, max_tokens - _room(query, missed))
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
             named: bool) -> tuple[list[_Place], int, list[int], int, list[str]]:
    """All places, how many outputs were looked at whole, in how many places each term stands, of how many lines; what failed."""
    places: list[_Place] = []
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
                if b"\0" in source.read(0, SNIFFED):
                    continue
                scanned = scan(source, query, late)
            except (Corrupt, Unknown) as fault:
                if named:
                    raise Corrupt(output.ref, f"its part {part.name}: {fault}") from None
                faults.append(output.ref)
                continue
            for bit, count in enumerate(scanned.places):
                counts[bit] += count
            lines += scanned.lines
            whole = whole and scanned.whole
            places += [_Place(output, age, index, source, unit, merged)
                       for unit, merged in zip(scanned.units, near(scanned.units), strict=True)]
        searched += whole
    return places, searched, counts, lines, faults


def _ranked(places: Sequence[_Place], query: Query, counts: Sequence[int], lines: int) -> list[_Place]:
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

    scored = []
    for place in places:
        everything = 1 < tokens <= _ALL and len(_met(query, place.near)) == tokens
        score = (place.unit.exact * 2 + everything) * 1_000_000 + weigh(place.unit.terms) + weigh(place.near)
        scored.append(_Place(place.output, place.age, place.index, place.source, place.unit, place.near, score))
    return sorted(scored, key=lambda place: (-place.score, place.age, place.index, place.unit.start))


def _met(query: Query, bits: int) -> tuple[str, ...]:
    """The tokens of the query of which a term is among these."""
    held = 0
    for bit, term in enumerate(query.terms):
        if bits >> bit & 1:
            held |= term.tokens
    return tuple(token for number, token in enumerate(query.tokens) if held >> number & 1)


def _layers(query: Query, places: Sequence[_Place], whole: bool, faults: Sequence[str]) -> tuple[Ran, ...]:
    status = "ran" if whole else "aborted"
    note = f"unreadable: {' '.join(faults[:5])}" if faults else ""
    if query.compiled is not None:
        return (Ran("regex", status, len(places), note),)
    exact = Ran("exact", status, sum(place.unit.exact > 0 for place in places), note)
    if not query.terms:
        return exact, Ran("words", "skipped", 0, "no words in the query")
    return exact, Ran("words", status, sum(place.unit.terms > 0 for place in places), note)


def _fitting(ranked: Sequence[_Place], query: Query, k: int, room: int) -> tuple[tuple[Hit, ...], str]:
    """As many hits as there is room for, each with as many lines around it as leave room for all."""
    hits: tuple[Hit, ...] = ()
    shown = ""
    for around in _AROUND:
        hits, shown, all_fit = _shown(ranked, query, k, room, around)
        if all_fit:
            break
    return hits, shown


def _shown(ranked: Sequence[_Place], query: Query, k: int, room: int, around: int) -> tuple[tuple[Hit, ...], str, bool]:
    from byref.filters.render import MARKER
    hits: list[Hit] = []
    out: list[str] = []
    taken: dict[tuple[str, int], list[tuple[int, int]]] = {}
    texts: set[str] = set()
    used, ref = 0, ""
    for place in ranked:
        spans = taken.setdefault((place.output.ref, place.index), [])
        unit = place.unit
        if len(hits) == k or any(start <= unit.start and unit.end <= end for start, end in spans):
            if len(hits) == k:
                break
            continue
        start, end, address = _span(place, around, spans)
        own = project(to_text(place.source.read(unit.start, unit.end))).strip()
        if own in texts:  # the same line again: what stands there is shown
            continue
        excerpt = MARKER.sub(lambda m: "<" + m[0][1:], _ESCAPES.sub("", project(to_text(place.source.read(start, end)))))
        excerpt = excerpt.rstrip("\n").encode("utf-8", "replace").decode()
        hit = _hit(place, query, address, excerpt)
        text = _head(hit, ref, place.output) + excerpt + "\n"
        cost = estimate(text)
        if used + cost > room:
            if not hits and around == 0:
                text = _cut(text, room)
                hits.append(hit)
                out.append(text)
            return tuple(hits), "".join(out), False
        texts.add(own)
        spans.append((start, end))
        used, ref = used + cost, hit.ref
        hits.append(hit)
        out.append(text)
    return tuple(hits), "".join(out), True


def _hit(place: _Place, query: Query, address: str, excerpt: str) -> Hit:
    output, unit = place.output, place.unit
    signals: tuple[str, ...] = ("regex",)
    if query.compiled is None:
        signals = ("exact",) * (unit.exact > 0) + ("words",) * (unit.terms > 0)
    part = output.manifest.parts[place.index].name
    where = f"{part}:{address}" if len(output.manifest.parts) > 1 else address
    return Hit(output.ref, where, part, excerpt, signals, _met(query, place.near), output.manifest.tool, place.age, place.score)


def _head(hit: Hit, before: str, output: Output) -> str:
    """The line above an excerpt; ref, tool and age where they are others than above."""
    signs = "+".join(hit.signals)
    if hit.ref == before:
        return f"«{hit.address} {signs}»\n"
    newer = f", {hit.age} newer" if hit.age else ""
    tool = output.manifest.tool[:40].replace("«", "<").replace("»", ">").replace("\n", " ")
    return f"«{hit.ref} {hit.address} {signs} of {tool}{newer}»\n"


def _span(place: _Place, around: int, spans: Sequence[tuple[int, int]]) -> tuple[int, int, str]:
    """The bytes that are shown for a place, and their address."""
    unit, source = place.unit, place.source
    low, high = max(0, unit.start - _WIDE), min(source.size, unit.end + _WIDE)
    data = source.read(low, high)
    for count in range(around, -1, -1):
        start, end, above, below = _wider(data, unit, low, count) if unit.line else _longer(data, unit, low, count)
        if not any(start < last and first < end for first, last in spans) or count == 0:
            break
    if not unit.line:
        return start, end, f"b{start}-{end}"
    first, last = unit.line - above, unit.last + below
    return start, end, f"L{first}" if first == last else f"L{first}-{last}"


def _wider(data: bytes, unit: Unit, low: int, count: int) -> tuple[int, int, int, int]:
    """Start and end with so many lines around; how many there were above and below."""
    start, end = unit.start - low, unit.end - low
    end += data[end:end + 1] == b"\n" and data[end - 1:end] != b"\n"
    above = below = 0
    while above < count and start > 0:
        before = data.rfind(b"\n", 0, start - 1) + 1
        if (before == 0 and low > 0) or start - before > _SHORT:
            break
        start, above = before, above + 1
    while below < count and end < len(data):
        after = data.find(b"\n", end) + 1 or len(data)
        if (after == len(data) and data[-1:] != b"\n" and len(data) == unit.end - low + _WIDE) or after - end > _SHORT:
            break
        end, below = after, below + 1
    return low + start, low + end, above, below


def _longer(data: bytes, unit: Unit, low: int, count: int) -> tuple[int, int, int, int]:
    """The same for a piece of a long line: so many steps of bytes to either side, within the line and at whole characters."""
    start, end = unit.start - low, unit.end - low
    first = data.rfind(b"\n", 0, start) + 1
    last = data.find(b"\n", end)
    start = max(first, start - count * _STEP)
    end = min(len(data) if last < 0 else last, end + count * _STEP)
    while start > first and data[start] & 0xC0 == 0x80:
        start -= 1
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return low + start, low + end, 0, 0


def _cut(text: str, room: int) -> str:
    low, high = 0, len(text)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if estimate(text[:middle]) < room else (low, middle)
    return text[:low] + "\n"


def _room(query: Query, missed: Sequence[str]) -> int:
    """Tokens of the last line, at most."""
    return 40 + estimate(" ".join(_short(missed)))


def _short(missed: Sequence[str]) -> list[str]:
    return [token if len(token) <= 40 else token[:37] + "..." for token in missed[:_MISSED]]


def _tail(query: Query, layers: Sequence[Ran], missed: Sequence[str], shown: int, outputs: int, searched: int,
          filters: Mapping[str, str], found: Sequence[Output]) -> str:
    """The last line: what ran and found how much, where, and what of the query stands nowhere."""
    ran = ", ".join(f"{one.name} {one.hits}" + (f" ({one.status})" if one.status != "ran" else "") for one in layers)
    where = f"{searched} of {outputs} outputs searched" if outputs != 1 else "1 output searched" if searched else "the output was searched in part"
    told = [f"{shown} shown" if shown else "no match", f"found: {ran}", where]
    if query.fault:
        told.append("no RE2 pattern, so searched as text")
    if filters:
        told.append("only " + ", ".join(f"{name} {value[:60]}" for name, value in filters.items()))
    if missed:
        rest = len(missed) - _MISSED
        told.append("nowhere: " + " ".join(_short(missed)) + (f" and {rest} more" if rest > 0 else ""))
    return f"[{'; '.join(told)}]\n"
