"""Titles: which lines say what a text is about, and how much a string that stands in one is it. Told by structure alone.

A title is the first line of an output, a heading, or a line that begins what is indented below it.
"""
from __future__ import annotations

from byref.proxy.errors import Corrupt, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from byref.layers.contract import Hit, Scope
    from byref.proxy.contracts import Source
    from byref.proxy.query import Query

EXACT, PREFIX, TITLE, BODY = 100, 60, 30, 15  # keyword tiers
AROUND = 300  # bytes before and after a line by which a title is told
MOST = 500  # best places of a query that are told by it
_DEFINES = frozenset(b"""abstract async class const constexpr def define enum export final fn fun func function impl interface let macro
    module namespace package private proc protected pub public static struct sub trait type typedef usage val var virtual void""".split())
_MARKS = b" \t#*=-$>|`.:<"  # before what a heading or an entry of a list says
_ENDS = b" \t:{#=`"  # after it


def keyword(data: bytes, start: int, end: int, place: int, size: int, opening: bool) -> int:
    """How much a line is about a string that stands in it, as `EXACT`, `PREFIX`, `TITLE`, `BODY`; 0 where it is part of a longer word.

    data: the line, from start to end, and what stands around it; the string is at place, so many bytes long. opening: data begins where
    the output does. A title is the string, begins with it (signs and words such as `def` aside) or ends with it, or holds it; any
    other line is the body.
    """
    if (_joins(data, place - 1, place) and place > start) or (_joins(data, place + size, place + size - 1) and place + size < end):
        return 0
    if data[place + size:place + size + 1] == b"-" and place + size + 1 < end and _joins(data, place + size + 1, place + size - 1):
        return 0
    if not titled(data, start, end, opening):
        return BODY
    before, after = data[start:place].strip(_MARKS), data[place + size:end].strip(_ENDS)
    if not before and not after:
        return EXACT
    return PREFIX if not after or all(word in _DEFINES for word in before.split()) else TITLE


def titled(data: bytes, start: int, end: int, opening: bool) -> bool:
    """Whether a line is the first that says something, a heading by its sign or underlined, or begins what is indented below it."""
    line = data[start:end]
    if (opening and not data[:start].strip()) or line.startswith(b"#"):
        return True
    below = data[end + 1:].split(b"\n", 2)
    if below and len(below[0].strip()) > 2 and not below[0].strip().strip(b"=-~^") and len(set(below[0].strip())) == 1:
        return True
    if not below[0].strip():
        return False
    indent = len(line) - len(line.lstrip(b" \t"))
    return len(below[0]) - len(below[0].lstrip(b" \t")) > indent


def _joins(data: bytes, at: int, beside: int) -> bool:
    """Whether the characters at these two bytes are of one word."""
    return 0 <= at < len(data) and all(data[one] == 95 or data[one] > 127 or chr(data[one]).isalnum() for one in (at, beside))


def told(hits: Sequence[Hit], query: Query, scope: Scope, late: Callable[[], bool]) -> list[Hit]:
    """The same hits; of the first `MOST`, those of lines with the whole query say how much the line is about it."""
    asked = query.exact.lower()
    sources: dict[str, Source] = {}
    found = list(hits)
    for number, hit in enumerate(found[:MOST]):
        if not hit.exact or hit.line == 0:
            continue
        if late():
            break
        span = hit.span
        base = max(0, span.start - AROUND)
        try:
            if span.blob not in sources:
                sources[span.blob] = scope.open(span.blob)
            data = sources[span.blob].read(base, min(scope.held[span.blob].size, span.end + AROUND))
        except (Corrupt, Unknown):  # let go since it was looked through
            continue
        start, end, best = span.start - base, span.end - base, 0
        low = data.lower()
        place = low.find(asked, start, end)
        while place >= 0:
            best = max(best, keyword(data, start, end, place, len(asked), base == 0))
            place = low.find(asked, place + 1, end)
        found[number] = hit._replace(title=best)
    return found
