"""Lines that an RE2 pattern matches, with lines around them, each under an address that fetch takes."""
from __future__ import annotations

from typing import NamedTuple

from byref.proxy.contracts import dataclass
from byref.proxy.errors import Invalid
from byref.proxy.text import estimate, pattern, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Sequence

    from byref.proxy.contracts import Source
    from byref.proxy.text import Pattern

WINDOW = 16 << 20  # bytes searched at once; a line is never split over two windows unless it is longer
LONG = 400  # bytes; of a longer line only the surroundings of a match are shown
_FAR = 1 << 60
AROUND = 160  # bytes on either side of a match in a long line


@dataclass(frozen=True, slots=True)
class Hit:
    """One line, or several that one match spans. rows: (line number, text), context first; offset: of the match in its part."""

    part: str
    line: int
    offset: int
    rows: tuple[tuple[str, str], ...]
    last: int


class Met(NamedTuple):
    """Where a match begins, the lines from low to high that it stands in, newline left out, and in a long line what is shown of it."""

    start: int
    low: int
    high: int
    inside: tuple[int, int] | None


def met(finds: Iterable[re.Match[bytes]], data: bytes, begin: int, stop: int) -> Iterator[Met]:
    """Lines with matches, each line once, or places in a long line; of matches from begin on, in lines that begin before stop."""
    done = -1
    for found in finds:
        low = data.rfind(b"\n", 0, found.start()) + 1
        if low >= stop:
            break
        if found.start() < begin or low == len(data) or found.start() < done:
            continue
        high = data.find(b"\n", max(found.start(), found.end() - 1))
        high = len(data) if high < 0 else high
        if high - low > LONG and b"\n" not in data[low:high]:
            a, b = max(low, found.start() - AROUND), min(high, found.end() + AROUND, found.start() + 2 * LONG)
            a, done = _character(data, a, low), _character(data, b, a)
            yield Met(found.start(), low, high, (a, done))
        else:
            done = high + 1
            yield Met(found.start(), low, high, None)


def matches(part: str, source: Source, compiled: Pattern, context: int, start: int = 0) -> Iterator[Hit]:
    """Hits in one part in order, from the line, or the place in a long line, at byte start on."""
    for base, first, data, begin, stop in _windows(source, context, start):
        line, counted = first, 0
        for place, low, high, inside in met(compiled.finditer(data), data, begin, stop):
            line += data.count(b"\n", counted, low)
            counted = low
            if inside is not None:
                a, b = inside
                yield Hit(part, line, base + place, ((f"b{base + a}-{base + b}:", to_text(data[a:b])),), line)
            else:
                yield Hit(part, line, base + low, *_rows(data, line, low, high, context))


def _rows(data: bytes, line: int, low: int, high: int, context: int) -> tuple[tuple[tuple[str, str], ...], int]:
    """The rows of a match on the lines from low to high, with context; and the number of the last of these lines."""
    top, bottom = low, high
    before = 0
    while before < context and top > 0:
        top = data.rfind(b"\n", 0, top - 1) + 1
        before += 1
    after = 0
    while after < context and bottom + 1 < len(data):
        end = data.find(b"\n", bottom + 1)
        bottom = len(data) if end < 0 else end
        after += 1
    texts = data[top:bottom].split(b"\n")
    last = line + len(texts) - before - after - 1
    rows = []
    for number, text in enumerate(texts, line - before):
        sign = ":" if line <= number <= last else "-"
        if len(text) > LONG and sign == "-":
            text = text[:_character(text, LONG // 2, 0)] + " …".encode()
        rows.append((f"L{number}{sign}", to_text(text)))
    return tuple(rows), last


def _windows(source: Source, context: int, start: int) -> Iterator[tuple[int, int, bytes, int, int]]:
    """(offset, line number, bytes, from where, up to where lines count) of overlapping stretches of whole lines.

    The overlap is what the context of a line at the edge needs; each line counts in one window alone.
    """
    base, number, begin = 0, 1, start
    if start:
        base, number = _back(source, start, context)
        begin = start - base
    while base < source.size:
        data = source.read(base, min(source.size, base + WINDOW))
        if base + len(data) == source.size:
            yield base, number, data, begin, len(data)
            return
        stop = len(data)
        for _ in range(context + 1):
            cut = data.rfind(b"\n", 0, max(0, stop - 1)) + 1
            stop = cut if cut > begin else stop
        yield base, number, data, begin, stop
        again = stop
        for _ in range(context):
            again = data.rfind(b"\n", 0, max(0, again - 1)) + 1
        if again == 0:
            again = stop
        number += data.count(b"\n", 0, again)
        base, begin = base + again, stop - again


def _back(source: Source, start: int, context: int) -> tuple[int, int]:
    """The start of the line `context` lines before the one at byte start, and its number."""
    low, high = 1, source.size + 1
    while high - low > 1:  # the line that holds a byte, by halving over what the source tells of lines
        middle = (low + high) // 2
        low, high = (middle, high) if source.lines(middle, middle)[0] <= start else (low, middle)
    first = max(1, low - context)
    return source.lines(first, first)[0], first


def _character(data: bytes, at: int, low: int) -> int:
    """The start of the UTF-8 character that holds this byte."""
    for back in range(4):
        if at - back <= low or at - back >= len(data) or data[at - back] & 0xC0 != 0x80:
            return max(low, at - back)
    return at


def search(parts: Sequence[tuple[str, Source]], source_pattern: str, context: int, max_tokens: int,
           resume: tuple[int, int]) -> tuple[str, int, tuple[int, int] | None]:
    """(text, number of hits, where to go on) of the lines that match, as much as max_tokens takes.

    resume: index of the part and byte in it. Rows read `L12:text` for a match, `L11-text` for a line around one, with
    the part before it where there are several; `--` stands between stretches. Raises `Invalid`.
    """
    compiled = pattern("(?m)" + source_pattern)
    if resume[0] >= max(1, len(parts)):
        raise Invalid("this cursor is not one that fetch gave")
    out, tokens, hits = "", 0, 0
    for index in range(resume[0], len(parts)):
        name, source = parts[index]
        label = name + ":" if len(parts) > 1 else ""
        printed = 0
        for hit, below in _paired(matches(name, source, compiled, context, resume[1] if index == resume[0] else 0)):
            text = _written(hit, label, printed, below, bool(out))
            cost = estimate(text) + 1
            if tokens + cost > max_tokens:
                if hits:
                    return out, hits, (index, hit.offset)
                text = _cut(text, max_tokens)
            out += text
            tokens += cost
            hits += 1
            printed = hit.last if hit.rows[0][0][0] == "b" else min(int(hit.rows[-1][0][1:-1]), below - 1)
    return out, hits, None


def _paired(hits: Iterator[Hit]) -> Iterator[tuple[Hit, int]]:
    """Each hit and the line of the next one: up to there goes its context."""
    former: Hit | None = None
    for hit in hits:
        if former is not None:
            yield former, hit.line
        former = hit
    if former is not None:
        yield former, former.last + _FAR


def _written(hit: Hit, label: str, printed: int, below: int, glue: bool) -> str:
    if hit.rows[0][0][0] == "b":
        return "".join(f"{label}{address}{text}\n" for address, text in hit.rows)
    rows = [(address, text) for address, text in hit.rows if address[-1] == ":" or printed < int(address[1:-1]) < below]
    apart = glue and len(hit.rows) > 1 and int(rows[0][0][1:-1]) > printed + 1
    return ("--\n" if apart else "") + "".join(f"{label}{address}{text}\n" for address, text in rows)


def _cut(text: str, max_tokens: int) -> str:
    """As much of one hit as fits."""
    low, high = 0, len(text)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if estimate(text[:middle]) <= max_tokens else (low, middle)
    return text[:low]
