"""How texts are cut for an index: blocks of whole lines that follow the output's shape, and pieces of lines too long for one."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LEAST = 400  # bytes after which a chunk ends where the text has a seam
MOST = 1000  # bytes after which it ends anyway
LONG = 2000  # bytes of a line that is cut itself
PIECE = 700  # bytes of such a piece
_SEPARATORS = (b"},", b"; ", b". ", b", ", b",", b" ")
_INDENTED = frozenset(b" \t})]")
_PARAGRAPHS = frozenset({"text", "markup"})  # here a blank line ends a chunk however short it is, once it says something
_SAYS = 120


def chunks(data: bytes, shape: str) -> Iterator[tuple[int, int]]:
    """Half-open byte spans, in order, that leave out nothing but blank lines. Every shape's seams: blank lines, and lines at
    the left edge, with which definitions, sections, records, hunks and tests begin."""
    seam = _SAYS if shape in _PARAGRAPHS else LEAST
    start = at = 0
    size = len(data)
    while at < size:
        end = data.find(b"\n", at) + 1 or size
        length = end - at
        if length > LONG:
            if at > start:
                yield start, at
            yield from _pieces(data, at, end)
            start = at = end
            continue
        held = at - start
        blank = length <= 2 and not data[at:end].strip()
        if held and (held + length > MOST or (blank and held >= seam) or (held >= LEAST and data[at] not in _INDENTED)):
            yield start, at
            start = at
        if blank and start == at:
            start = end
        at = end
    if start < size:
        yield start, size


def _pieces(data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > PIECE + PIECE // 4:
        cut = start + PIECE
        for sign in _SEPARATORS:
            found = data.rfind(sign, cut - PIECE // 3, cut)
            if found >= 0:
                cut = found + len(sign)
                break
        else:
            while cut > start + PIECE - 4 and data[cut] & 0xC0 == 0x80:
                cut -= 1
        yield start, cut
        start = cut
    yield start, end
