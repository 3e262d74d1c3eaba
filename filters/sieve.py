"""Outputs too large to weigh line by line: one pass over the bytes keeps the lines worth weighing.

Kept are the first and last lines, the first line of each new template (the line without its numbers and ids), and every
line that reports a failure, once per masked text with its count. The rest becomes hidden units with exact addresses.
Memory: a block, the kept lines, the templates up to a limit, and a few words for each distinct failure.
"""
from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from byref.filters.failures import FOOT, NEAR, alike, beside, is_failure, is_summary, masked, masks, strong
from byref.filters.lines import ESCAPE, clean
from byref.filters.steering import demote
from byref.filters.templates import LEADING, MANY, ODD, RARE, VARIABLE
from byref.filters.units import ALWAYS, ANCHOR, HIDDEN, MUST, PLAIN, Units
from byref.proxy.contracts import Source
from byref.proxy.text import short_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byref.proxy.text import Pattern

HUGE = 1 << 18  # bytes from which an output is sieved before it is weighed
_ENDS = 60  # lines kept at each end
_SURE = 3  # of them that stand in every view
_TEMPLATES = 2000  # new templates kept; an output with more has no templates, it is a listing
_FAILURES = 600  # failing lines kept; beyond, they are counted
_LINE = 600  # bytes of a line that are kept; the rest is addressed
_BEFORE = 150  # of them before what made the line worth keeping
_LOOKED = 2000  # failures of which the lines beside are looked at, for where they are
_CODE = 32  # bytes of an escape code that a window may not cut


@dataclass(slots=True)
class _Piece:
    """A run of bytes within the raw text. head, foot: whether it starts, ends a line."""

    end: int
    line: int
    head: bool
    foot: bool
    text: bytes
    rank: int


class _Sieve:
    """The state of one pass. line and offset are those of the next byte to come; fresh: it starts a line; open: the row that goes on.

    failing, standing: what rules call a failure, and what they keep besides.
    """

    def __init__(self, failing: Sequence[Pattern], standing: Sequence[Pattern]) -> None:
        self.failing, self.standing, self.kept = failing, standing, 0
        self.line, self.offset, self.fresh, self.open = 1, 0, True, -1
        self.looked = 0
        self.pieces: dict[int, _Piece] = {}
        self.same: dict[bytes, tuple[int, int, str]] = {}  # masked failure: first piece, count, address of the last
        self.templates: dict[bytes, list[int]] = {}  # of each the first piece, how many lines, the number of the last
        self.tail: list[tuple[int, int, bytes, bool, bool]] = []  # line, offset, the row's last bytes, whether it starts and ends a line

    def scan(self, data: bytes, ended: bool) -> None:
        """The next bytes; ended: the last of them ends a line (or the text)."""
        rows = data.split(b"\n")
        if not rows[-1]:
            rows.pop()
        self.open = -1 if ended else len(rows) - 1
        starts = [self.offset, *accumulate(map(len, rows), lambda at, size: at + size + 1, initial=self.offset)][1:-1] if rows else []
        if self.line <= _ENDS:
            for k in range(min(len(rows), _ENDS - self.line + 1)):
                self.keep(k, rows, starts, 0, ANCHOR if self.line + k <= _SURE else PLAIN)
        if len(self.templates) < _TEMPLATES:
            self.news(data, rows, starts)
        seen, covered = -1, 0
        for found in strong().finditer(data):
            at = self.offset + found.start()
            k = bisect_right(starts, at) - 1
            if k != seen or (len(rows[k]) > _LINE and at >= covered):
                seen, covered = k, self.failure(k, rows, starts, at - starts[k])
        if self.failing or self.standing:
            self.ruled(data, rows, starts)
        self.tail = [*self.tail, *(self.end(k, rows, starts) for k in range(max(0, len(rows) - _ENDS), len(rows)))][-_ENDS:]
        self.offset += len(data)
        self.line += len(rows) if ended else len(rows) - 1
        self.fresh = ended

    def end(self, k: int, rows: list[bytes], starts: list[int]) -> tuple[int, int, bytes, bool, bool]:
        """What is kept of row k if it turns out to be one of the last."""
        row = rows[k]
        begin = max(0, len(row) - _LINE)
        while begin and begin < len(row) and row[begin] & 0xC0 == 0x80:
            begin += 1
        return self.line + k, starts[k] + begin, row[begin:], not begin and (k > 0 or self.fresh), k != self.open

    def news(self, data: bytes, rows: list[bytes], starts: list[int]) -> None:
        """Keeps the first line of every template that is new, and counts the others."""
        keys = data.translate(None, VARIABLE).split(b"\n")[:len(rows)]
        lasts = dict(zip(keys, range(len(keys)), strict=True))
        fresh = lasts.keys() - self.templates.keys()
        for k, key in enumerate(keys if fresh else ()):
            if key in fresh and len(self.templates) < _TEMPLATES:
                fresh.discard(key)
                self.templates[key] = [self.keep(k, rows, starts, 0, PLAIN), 0, 0]
        for key, often in Counter(keys).items():
            if key in self.templates:
                known = self.templates[key]
                known[1], known[2] = known[1] + often, self.line + lasts[key]

    def ruled(self, data: bytes, rows: list[bytes], starts: list[int]) -> None:
        """Keeps what rules speak of: a failure unless it is noted as one already, and of the others the first ones."""
        noted: set[int] = set()
        for patterns in (self.failing, self.standing):
            for found in (found for sign in patterns for found in sign.finditer(data) if found.start() < found.end()):
                at = self.offset + found.start()
                k = bisect_right(starts, at) - 1
                if k in noted:
                    continue
                noted.add(k)
                if patterns is not self.failing:
                    self.kept += 1
                    if self.kept <= _FAILURES:
                        self.keep(k, rows, starts, max(0, at - starts[k] - _BEFORE), ANCHOR)
                elif not (len(rows[k]) <= _LINE and is_failure(rows[k].decode("utf-8", "surrogateescape"))):
                    self.failure(k, rows, starts, at - starts[k], True)

    def failure(self, k: int, rows: list[bytes], starts: list[int], at: int, sure: bool = False) -> int:
        """Notes a failure at byte `at` of row k. Returns up to where it is noted, 0 if it is none. sure: it is one, whatever it says."""
        begin = max(0, at - _BEFORE) if len(rows[k]) > _LINE else 0
        text = rows[k][begin:begin + _LINE].decode("utf-8", "surrogateescape")
        if not sure and not is_failure(text):
            return 0
        place, said = self.place(k, rows)
        key = short_hash(f"{masked(text)}\0{place}" if place else masked(text))
        line = self.line + k
        before = self.same.get(key)
        if place and before is None and len(self.same) < _FAILURES:
            self.keep(said, rows, starts, 0, MUST)
        if before is not None:
            self.same[key] = (before[0], before[1] + 1, f"L{line}")
        elif len(self.same) < _FAILURES:
            self.same[key] = (self.keep(k, rows, starts, begin, MUST), 1, f"L{line}")
        else:
            self.same[key] = (-line, 1, f"L{line}")
        return starts[k] + begin + _LINE

    def place(self, k: int, rows: list[bytes]) -> tuple[str, int]:
        """Where the failure of row k is, as far as a row beside it says so, and which row that is."""
        if self.looked >= _LOOKED:
            return "", -1
        self.looked += 1
        first = max(0, k - NEAR)
        texts = [row[:_LINE].decode("utf-8", "surrogateescape") for row in rows[first:k + NEAR]]
        at = beside(texts, k - first)
        return (masked(texts[at]), first + at) if at >= 0 else ("", -1)

    def keep(self, k: int, rows: list[bytes], starts: list[int], begin: int, rank: int) -> int:
        """Keeps row k, of a long one a window that starts at `begin`. Returns the piece's byte offset."""
        row = rows[k]
        end = len(row)
        if end > _LINE:
            end = min(end, begin + _LINE)
            while begin and row[begin] & 0xC0 == 0x80:
                begin += 1
            while end < len(row) and row[end] & 0xC0 == 0x80:
                end -= 1
            code = row.rfind(b"\x1b", max(begin + 1, end - _CODE), end)
            if code >= 0 and end < len(row):
                found = ESCAPE.match(row[code:end + _CODE].decode("utf-8", "surrogateescape"))
                end = end if found and found.end() <= end - code else code
        else:
            begin = 0
        start = starts[k] + begin
        whole = end == len(row) and k != self.open
        head = begin == 0 and (k > 0 or self.fresh)
        before = self.pieces.get(start)
        if before is None or before.rank < rank:
            self.pieces[start] = _Piece(starts[k] + end + whole, self.line + k, head, whole, row[begin:end], rank)
        return start


def sieve(source: Source, failing: Sequence[Pattern] = (), standing: Sequence[Pattern] = ()) -> Units:
    """Units of a huge part: kept lines, and hidden runs between them. Reads the source once, in blocks.

    failing, standing: patterns of lines that report a failure, and of others worth keeping, beside what is known anyway.
    """
    state, rest = _Sieve(failing, standing), b""
    for block in source.blocks():
        data = rest + block if rest else block
        while len(data) > HUGE:  # cut by its bytes alone: blocks come in any size
            cut = data.rfind(b"\n", 0, HUGE) + 1
            split = cut or _character(data, HUGE)
            state.scan(data[:split], bool(cut))
            data = data[split:]
        rest = data
    if rest:
        state.scan(rest, True)
    for k, (line, start, row, head, foot) in enumerate(state.tail):
        state.line, state.fresh, state.open = line, head, -1 if foot else 0
        left = len(state.tail) - k
        summary = left <= FOOT and is_summary(clean(row.decode("utf-8", "surrogateescape")))
        state.keep(0, [row], [start], 0, ALWAYS if summary else ANCHOR if left <= _SURE else PLAIN)
    return _units(state, source.size)


def _character(data: bytes, end: int) -> int:
    """Where the last character before `end` begins, or an escape code: a place where a line without an end may be cut."""
    at = end - 1
    while at > end - 4 and data[at] & 0xC0 == 0x80:
        at -= 1
    code = data.rfind(b"\x1b", end - _CODE, end)
    return at if code < 0 else code


def _units(state: _Sieve, size: int) -> Units:
    """The pieces in order, clipped where they overlap, and a hidden unit for every run between two of them."""
    texts: list[str] = []
    rank = bytearray()
    spans: list[tuple[int, int, int, int, bool, bool]] = []  # bytes, lines, whether a line starts and ends there
    where: dict[int, int] = {}
    glued = bytearray()

    def add(text: str, level: int, *span: int) -> None:
        texts.append(text)
        rank.append(level)
        spans.append((span[0], span[1], span[2], span[3], bool(span[4]), bool(span[5])))
        glued.append(not span[4])

    at, line, foot, before = 0, 1, True, b""
    lines = max((piece.line for piece in state.pieces.values()), default=0)
    for start in sorted(state.pieces):
        piece = state.pieces[start]
        if piece.end <= at:
            where[start] = len(texts) - 1
            continue
        origin, body, head = start, piece.text, piece.head
        if start < at:
            skip = at - start
            while skip < len(body) and body[skip] & 0xC0 == 0x80:
                skip += 1
            body, start, head = body[skip:], start + skip, False
        if start > at:
            add("", HIDDEN, at, start, line, piece.line - head, foot, head)
        elif not head and (b"\r" in body.rstrip(b"\r") or (before.endswith(b"\r") and body.rstrip(b"\r"))):
            for k in range(len(texts) - 1, -1, -1):  # the pieces that it goes on from are overwritten
                if rank[k] == HIDDEN:
                    break
                texts[k] = ""
                if not glued[k]:
                    break
        where[origin] = len(texts)
        add(clean(body.decode("utf-8", "surrogateescape")), piece.rank, start, piece.end, piece.line, piece.line, head, piece.foot)
        before = body
        at, line, foot = piece.end, piece.line + piece.foot, piece.foot
    if at < size:
        add("", HIDDEN, at, size, line, max(line, lines), foot, True)

    def address(i: int, j: int) -> str:
        first, last = spans[i], spans[j]
        if not (first[4] and last[5]):
            return f"b{first[0]}-{min(size, last[1])}"
        return f"L{first[2]}" if first[2] == last[3] else f"L{first[2]}-{last[3]}"

    units = Units(texts, address, rank, [0] * len(texts), keys=[t.strip() for t in texts], glued=glued, total=lines,
                  counts=[max(0, last - first + head) for _, _, first, last, head, _ in spans],
                  sizes=[span[1] - span[0] if level == HIDDEN else len(text) + 1
                         for span, level, text in zip(spans, rank, texts, strict=True)])
    failing = [i for i, level in enumerate(rank) if level == MUST and spans[i][4] and spans[i][5]]
    for k in alike(masks([texts[i] for i in failing])):
        rank[failing[k]] = PLAIN
    firsts = [span[2] for span in spans]
    units.failing = sum(count for _, count, _ in state.same.values())
    for start, count, last in state.same.values():
        if start < 0:
            i = bisect_right(firsts, -start) - 1
            units.failures[i] = units.failures.get(i, 0) + 1
        elif start in where:
            units.failures[where[start]] = units.failures.get(where[start], 0) + 1
            if count > 1:
                units.repeats[where[start]] = (count, last)
    if len(state.templates) < _TEMPLATES:
        _told(units, state, where, lines)
    demote(units)
    return units


def _told(units: Units, state: _Sieve, where: dict[int, int], lines: int) -> None:
    """What templates of many lines tell: the first line with their number. Where nearly all lines are of those, the others are news."""
    many = {start: (often, f"L{last}") for start, often, last in state.templates.values() if often >= MANY}
    alike = sum(often for often, _ in many.values())
    for start, often, _ in state.templates.values():
        i = where[start]
        if start in many and units.rank[i] < MUST and units.texts[i].strip():
            units.repeats.setdefault(i, many[start])
            units.rank[i] = ANCHOR if often * LEADING >= lines else units.rank[i]
        elif often <= RARE and alike * 5 >= lines * 4:
            units.worth[i] += ODD
