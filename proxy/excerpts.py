"""What a search shows of the places it found: excerpts under addresses that fetch takes, as many as there is room for."""
from __future__ import annotations

import re
from typing import NamedTuple

from byref.proxy.contracts import dataclass
from byref.proxy.intake import to_bytes, to_text
from byref.proxy.query import met, within_stretch
from byref.proxy.text import estimate, project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from byref.proxy.contracts import Output, Source
    from byref.proxy.query import Query
    from byref.proxy.scanning import Unit

_AROUND = (4, 2, 1, 0)  # lines shown around a hit: as many as there is room for
_WIDE = 1600  # bytes around a hit within which they are looked for
_SHORT = 300  # bytes of a line around a hit
_STEP = 120  # bytes around a piece of a long line that stand for one line around
_HEAD = 24  # tokens of the line above an excerpt
HEAD = 8  # of one that says no more than an address
UNSEEN = "unseen"  # signal of what no layer found, and no view of the context showed
SHOWN = "shown"  # signal of a hit that the context was shown before: its address is told, its text is not said again
_FIRST = ("regex", "exact", "words")  # signals that are named before others
_NO_SIGNS = {ord("«"): "<", ord("»"): ">", ord("\n"): " "}
_NOT_UTF8 = re.compile("[\ud800-\udfff]")
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])|\r(?=\n|$)|\x00")


@dataclass(frozen=True, slots=True)
class Hit:
    """One place. address: for fetch with ref, the part in it where the output has several. signals: what found it.

    terms: tokens of the query that stand there. age: how many outputs of the scope that were searched are newer. score:
    comparable within one answer. bps: 10,000 for the exact text or call, 5,000 for words, both 15,000. rank: among all places, 0 for none.
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
    bps: int = 0
    rank: int = 0


class Place(NamedTuple):
    """A unit of a part of an output. near: the terms of its neighbours too. score, bps, signals, rank: of the ranked span."""

    output: Output
    age: int
    part: int
    source: Source
    unit: Unit
    near: int
    score: int
    bps: int
    signals: tuple[str, ...]
    rank: int

    def text(self, start: int, end: int) -> str:
        """Bytes of the part as text, without what only a terminal reads."""
        return _ESCAPES.sub("", project(to_text(self.source.read(start, end))))


def fitting(ranked: Sequence[Place], query: Query, k: int, room: int, alone: bool = False) -> tuple[tuple[Hit, ...], str]:
    """As many hits as there is room for, each with as many lines around it as leave room for all; with none where alone."""
    hits: tuple[Hit, ...] = ()
    shown = ""
    for around in _AROUND[-1:] if alone else _AROUND:
        hits, shown, all_fit = _shown(ranked, query, k, room, around)
        if all_fit:
            break
    return hits, shown


def _shown(ranked: Sequence[Place], query: Query, k: int, room: int, around: int) -> tuple[tuple[Hit, ...], str, bool]:
    """Hits in order of their best place, and their text; whether all places had room. Places that touch make one hit."""
    blocks: list[Block] = []
    here: dict[tuple[str, int], list[Block]] = {}
    lines: set[str] = set()
    used, all_fit = 0, True
    stretch = within_stretch(query)
    for place in ranked:
        unit = place.unit
        beside = here.setdefault((place.output.ref, place.part), [])
        own = place.text(unit.start, unit.end).strip()
        inside = next((block for block in beside if block.start <= unit.start and unit.end <= block.end), None)
        if inside is not None:
            inside.join(place)
            lines.add(own)
            continue
        if own in lines:  # the same line again: what it says is shown
            continue
        start, end, above, below = _span(place, around, beside, stretch)
        block = next((block for block in beside if block.touches(start, end, unit)), None)
        cost = 0 if SHOWN in place.signals else estimate(place.text(start, end)) + 1
        if block is None:
            there = blocks[-1].place.output.ref if blocks else ""
            name = place.output.manifest.parts[place.part].name
            cost += _HEAD if place.output.ref != there else estimate(f"«{name}:b{start}-{end} exact+words»\n")
        if used + cost > room or (block is None and len(blocks) == k):
            all_fit = all_fit and used + cost <= room
            if blocks or around:
                if used + cost > room:
                    break
                continue
            end = start + _room_for(place.text(start, end), room - _HEAD)
            above = below = 0
        used += cost
        lines.add(own)
        if block is None:
            block = Block(place, start, end, unit.line - above, unit.last + below)
            blocks.append(block)
            beside.append(block)
        else:
            block.widen(start, end, unit.line - above, unit.last + below)
        block.join(place)
    hits = tuple(block.hit(query) for block in blocks)
    befores = (None, *hits)
    return hits, "".join(f"{_head(hit, before)}{'' if SHOWN in hit.signals else hit.excerpt + chr(10)}"
                         for hit, before in zip(hits, befores, strict=False)), all_fit


class Block:
    """Places of a part that lie together, as one hit."""

    def __init__(self, place: Place, start: int, end: int, first: int, last: int) -> None:
        self.place, self.start, self.end, self.first, self.last = place, start, end, first, last
        self.near, self.bps = 0, 0
        self.signals: dict[str, None] = {}

    def touches(self, start: int, end: int, unit: Unit) -> bool:
        return (self.place.unit.line > 0) == (unit.line > 0) and start <= self.end and self.start <= end

    def widen(self, start: int, end: int, first: int, last: int) -> None:
        self.start, self.end = min(start, self.start), max(end, self.end)
        self.first, self.last = min(first, self.first), max(last, self.last)

    def join(self, place: Place) -> None:
        self.near |= place.near
        self.bps = max(self.bps, place.bps)
        self.signals |= dict.fromkeys(place.signals)

    def hit(self, query: Query) -> Hit:
        place = self.place
        output = place.output
        told = self.signals.keys() - {UNSEEN} or {UNSEEN}
        signals = tuple(sorted(told, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name)))
        address = f"b{self.start}-{self.end}"
        if place.unit.line:
            address = f"L{self.first}" if self.first == self.last else f"L{self.first}-{self.last}"
        part = output.manifest.parts[place.part].name
        where = f"{part}:{address}" if len(output.manifest.parts) > 1 else address
        excerpt = unmarked(place.text(self.start, self.end).rstrip("\n"))
        return Hit(output.ref, where, part, excerpt, signals, met(query, self.near), output.manifest.tool, place.age, place.score,
                   self.bps, place.rank)


def unmarked(text: str) -> str:
    """Text of an output in which nothing can pass for a marker of ours; what is no UTF-8 as U+FFFD."""
    from byref.filters.render import MARKER
    return _NOT_UTF8.sub("\ufffd", MARKER.sub(lambda m: "<" + m[0][1:], text))


def _head(hit: Hit, before: Hit | None) -> str:
    """The line above an excerpt; ref, tool, age and signals where they are others than above."""
    signs = "+".join(hit.signals)
    if before is not None and hit.ref == before.ref:
        return f"«{hit.address}»\n" if hit.signals == before.signals else f"«{hit.address} {signs}»\n"
    newer = f", {hit.age} newer" if hit.age else ""
    tool = hit.tool[:40].translate(_NO_SIGNS)
    return f"«{hit.ref} {hit.address} {signs} of {tool}{newer}»\n"


def _span(place: Place, around: int, beside: Sequence[Block], stretch: Callable[[str, int, int], bool]) -> tuple[int, int, int, int]:
    """The bytes that are shown for a place, and how many whole lines around it they hold above and below."""
    unit, source = place.unit, place.source
    low, high = max(0, unit.start - _WIDE), min(source.size, unit.end + _WIDE)
    data = source.read(low, high)
    blob = place.output.manifest.parts[place.part].blob.digest
    for count in range(around, 0, -1):
        span = _wider(data, unit, low, high == source.size, count) if unit.line else _longer(data, unit, low, count)
        if not any(span[0] < block.end and block.start < span[1] for block in beside) and not stretch(blob, *span[:2]):
            return span
    return _wider(data, unit, low, high == source.size, 0) if unit.line else _longer(data, unit, low, 0)


def _wider(data: bytes, unit: Unit, low: int, last: bool, count: int) -> tuple[int, int, int, int]:
    """With so many lines around. last: the part ends with these bytes."""
    start, end = unit.start - low, unit.end - low
    end += data[end:end + 1] == b"\n" and data[end - 1:end] != b"\n"
    above = below = 0
    while above < count and start > 0:
        before = data.rfind(b"\n", 0, start - 1) + 1
        if (before == 0 and low > 0) or start - before > _SHORT:
            break
        start, above = before, above + 1
    while below < count and end < len(data):
        after = data.find(b"\n", end) + 1
        after = after or (len(data) if last else len(data) + _SHORT)
        if after - end > _SHORT:
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


def _room_for(text: str, room: int) -> int:
    """How many bytes of a text come to at most so many tokens."""
    low, high = 0, len(text)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if estimate(text[:middle]) <= room else (low, middle)
    return len(to_bytes(text[:low]))
