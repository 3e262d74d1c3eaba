"""Pages over stored bytes: each fits a token budget, ends at a line where it can, and all together are the bytes exactly."""
from __future__ import annotations

from byref.proxy.contracts import dataclass
from byref.proxy.intake import to_bytes, to_text
from byref.proxy.text import estimate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from byref.proxy.contracts import Source

SNIFFED = 8000  # bytes in which git's xdl_mmfile looks for a NUL; with one it is binary here if a view takes it for binary, too


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes start to end of one part's source."""

    part: str
    source: Source
    start: int
    end: int


class Pieces:
    """Some pieces in order as one run of bytes, `glue` between them."""

    __slots__ = ("_binary", "_bounds", "glue", "pieces", "size")

    def __init__(self, pieces: Sequence[Piece], glue: bytes = b"") -> None:
        self.pieces, self.glue = pieces, glue
        self._bounds: list[tuple[int, int]] = []
        self._binary: dict[str, bool] = {}
        at = 0
        for piece in pieces:
            self._bounds.append((at, at + piece.end - piece.start))
            at += piece.end - piece.start + len(glue)
        self.size = max(0, at - len(glue)) if pieces else 0

    def read(self, start: int, end: int) -> bytes:
        """Bytes start to end of the run. A piece that is read as the whole of its part is checked against the whole hash."""
        out = []
        for (low, high), piece in zip(self._bounds, self.pieces, strict=True):
            if high + len(self.glue) > start and low < end:
                first, last = max(start, low), min(end, high)
                if first < last:
                    out.append(_read(piece.source, piece.start + first - low, piece.start + last - low))
                if self.glue and end > high and piece is not self.pieces[-1]:
                    out.append(self.glue[max(0, start - high):end - high])
        return b"".join(out)

    def stretch(self, at: int) -> tuple[int, bool]:
        """Where the stretch of text, or of one binary part, that holds this position ends; and whether it is binary."""
        end, kind = at, None
        for i, (_, high) in enumerate(self._bounds):
            if high <= at and i + 1 < len(self._bounds):
                continue
            binary = self._is_binary(i)
            if kind is None:
                kind = binary
            elif binary or kind:
                return end, kind
            end = high if i + 1 == len(self._bounds) else high + len(self.glue)
        return max(end, at), bool(kind)

    def place(self, start: int, end: int) -> tuple[str, int, int] | None:
        """Part, start and end within it, of a stretch that lies in one piece."""
        for (low, high), piece in zip(self._bounds, self.pieces, strict=True):
            if low <= start and end <= high:
                return piece.part, piece.start + start - low, piece.start + end - low
        return None

    def _is_binary(self, i: int) -> bool:
        piece = self.pieces[i]
        if piece.part not in self._binary:
            sample = piece.source.read(0, SNIFFED)
            self._binary[piece.part] = b"\0" in sample and _no_text(to_text(sample))
        return self._binary[piece.part]


def _no_text(sample: str) -> bool:
    """Whether a view would take it for binary: names that end in NULs (`find -print0`), and a NUL in a log, are text."""
    from byref.filters.shapes.binary import is_binary
    return is_binary(sample)


def _read(source: Source, start: int, end: int) -> bytes:
    return b"".join(source.blocks()) if start == 0 and end == source.size else source.read(start, end)


def page_end(run: Pieces, start: int, limit: int, max_tokens: int) -> tuple[bytes, int]:
    """The bytes of the page of text that starts here, at most to limit and max_tokens by estimate; and where it ends."""
    room = max_tokens * 10 // 3 + 4  # no text is denser than ASCII: three tokens for ten characters
    window = run.read(start, min(limit, start + room))
    more = start + len(window) < limit
    size = _whole_characters(window) if more else len(window)
    text = to_text(window[:size])
    if estimate(text) > max_tokens:
        low, high = 1, len(text)  # text[:low] fits, or is a single character
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if estimate(text[:middle]) <= max_tokens else (low, middle)
        size = len(to_bytes(text[:low]))
    if start + size < limit:
        size = window.rfind(b"\n", 0, size) + 1 or size
    return window[:size], start + size


def binary_room(max_tokens: int) -> int:
    """How many bytes in base64 come to at most so many tokens."""
    return max(1, max_tokens * 10 // 3 // 4 * 3)


def _whole_characters(data: bytes) -> int:
    """The length without a UTF-8 character that was cut at the end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            need = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) - back if need > back else len(data)
        if byte < 0x80:
            break
    return len(data)
