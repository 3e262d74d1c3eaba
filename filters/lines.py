"""Text into lines: escape codes and overwritten text taken away, long lines cut into pieces, every piece addressable."""
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from byref.filters.failures import is_failure, strong
from byref.filters.units import ANCHOR, Units

# ECMA-48 control sequences, OSC strings and two-character escapes
ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-_])")
GOES_ON, ALONE = 1, 2  # how a piece that starts no line stands: joined to the piece before it, or by itself
_LONG = 300  # characters; a line beyond is cut into pieces, else nothing could be left out of one-line JSON
# where a long line may be cut: after an escaped newline or a NUL, a record's end, a sentence, a clause
_CUTS = (re.compile(r"\\r?\\n|\\n|\0"), re.compile(r"[}\]],? ?|; "), re.compile(r"[.!?] |, | \| "), re.compile(r"[ ,;|&>]"))


@dataclass(slots=True)
class Lines:
    """texts: clean pieces in order; numbers: the 1-based raw line of each; glued: GOES_ON or ALONE where a piece continues a line."""

    texts: list[str]
    numbers: list[int] | None
    glued: bytearray | None
    address: Callable[[int, int], str]

    def units(self, *, texts: list[str] | None = None, rank: bytearray | None = None, worth: list[int] | None = None,
              labels: list[str] | None = None, strictness: int = 100) -> Units:
        """One unit a piece, the first and the last as anchors. texts: the pieces without their line numbers, the labels."""
        texts = self.texts if texts is None else texts
        n = len(texts)
        rank = bytearray(n) if rank is None else rank
        if n:
            rank[0], rank[-1] = max(rank[0], ANCHOR), max(rank[-1], ANCHOR)
        return Units(texts, self.address, rank, [0] * n if worth is None else worth, keys=[row.strip() for row in texts], glued=self.glued,
                     labels=labels, total=self.numbers[-1] if self.numbers else n, strictness=strictness)


# The codes that bring the cursor to the first column, as the carriage returns that they are, of the same length.
_RETURNS = (("\x1b[1G", "\r\x1b[m"), ("\x1b[0G", "\r\x1b[m"), ("\x1b[G", "\r\x1bM"))


def _returned(text: str) -> str:
    for code, same in _RETURNS:
        text = text.replace(code, same)
    return text


def clean(line: str) -> str:
    """A line as a terminal would show it: what a carriage return overwrote and all escape codes are gone."""
    if "\x1b" in line:
        line = _returned(line)
    if "\r" in line:
        line, offset = _visible(line)
        line = line[offset:]
    return ESCAPE.sub("", line) if "\x1b" in line else line


def _visible(row: str) -> tuple[str, int]:
    """A line up to its last text, and where that begins: what only blanks or codes were written over stands."""
    while "\r" in row:
        head, _, tail = row.rpartition("\r")
        if ESCAPE.sub("", tail).strip():
            return row, len(head) + 1
        row = head
    return row, 0


def split(text: str, cutter: Callable[[str, int], list[str]] | None = None) -> Lines:
    """The lines of a text, in pieces of about 300 characters where they are longer.

    cutter: cuts a long line from one of its characters on, where a shape knows better; the pieces joined are the line.
    """
    if "\x1b" in text:
        text = _returned(text)
    rows = text.split("\n")
    if rows and not rows[-1]:
        rows.pop()
    if max(map(len, rows), default=0) > _LONG:
        return _split_long(text, rows, cutter or pieces)
    if "\r" in text:
        bare = [row.rstrip("\r") for row in rows]  # a line end as Windows writes it
        if not any(["\r" in row for row in bare]):
            rows = bare
        elif any([_failed(*_visible(row)) for row in rows]):
            return _split_long(text, rows, cutter or pieces)
        else:
            rows = [clean(row) for row in rows]
    if "\x1b" in text:
        rows = [clean(row) for row in rows]
    return Lines(rows, None, None, lambda i, j: f"L{i + 1}" if i == j else f"L{i + 1}-{j + 1}")


def _failed(row: str, offset: int) -> list[tuple[int, int]]:
    """Where a line holds text that was overwritten up to `offset` and says that something failed: a failure stands all the same."""
    if not offset or strong().search(row[:offset].encode("utf-8", "surrogateescape")) is None:
        return []
    found, begin, said = [], 0, {row[offset:].strip()}
    while begin < offset:
        end = row.index("\r", begin)
        text = row[begin:end]
        if text.strip() not in said and is_failure(text):  # what is written over itself is said once
            said.add(text.strip())
            found.append((begin, end))
        begin = end + 1
    return found


def _split_long(text: str, rows: list[str], cutter: Callable[[str, int], list[str]]) -> Lines:
    texts: list[str] = []
    numbers: list[int] = []
    starts: list[int] = []  # characters from the start of the raw text
    ends: list[int] = []
    glued = bytearray()
    at = 0
    plain, coded = "\r" not in text, "\x1b" in text
    for number, row in enumerate(rows, 1):
        if plain:  # nothing was overwritten
            begin = at
            for piece in [row] if len(row) <= _LONG else (pieces if coded and "\x1b" in row else cutter)(row, 0):
                texts.append(ESCAPE.sub("", piece) if coded and "\x1b" in piece else piece)
                numbers.append(number)
                glued.append(GOES_ON if begin > at else 0)
                starts.append(begin)
                begin += len(piece)
                ends.append(begin)
            at += len(row) + 1
            ends[-1] = min(at, len(text))
            continue
        shown, offset = _visible(row)
        cutting = pieces if "\x1b" in shown else cutter  # half an escape code would stand as text
        parts = [shown[offset:]] if len(shown) - offset <= _LONG else cutting(shown, offset)
        cuts = [(begin, end, ALONE) for begin, end in _failed(shown, offset)]
        for k, piece in enumerate(parts):
            cuts.append((offset, offset + len(piece), GOES_ON if k else ALONE))
            offset += len(piece)
        for k, (begin, end, joint) in enumerate(cuts):
            piece = shown[begin:end]
            texts.append(ESCAPE.sub("", piece) if "\x1b" in piece else piece)
            numbers.append(number)
            glued.append(joint if k else 0)
            starts.append(ends[-1] if k else at)
            ends.append(at + end)
        at += len(row) + 1
        ends[-1] = min(at, len(text))
    ascii_only = text.isascii()
    cursor = (0, 0)  # characters and bytes up to the place asked before: the next one is mostly near

    def byte(index: int) -> int:
        nonlocal cursor
        if ascii_only:
            return index
        before, size = cursor if cursor[0] <= index else (0, 0)
        cursor = index, size + len(text[before:index].encode("utf-8", "surrogateescape"))
        return cursor[1]

    def address(i: int, j: int) -> str:
        if not glued[i] and (j + 1 == len(glued) or not glued[j + 1]):
            return f"L{numbers[i]}" if numbers[i] == numbers[j] else f"L{numbers[i]}-{numbers[j]}"
        return f"b{byte(starts[i])}-{byte(ends[j])}"

    return Lines(texts, numbers, glued, address)


def pieces(row: str, start: int) -> list[str]:
    """Cuts row[start:] where it reads best, each piece at most _LONG characters."""
    out: list[str] = []
    n = len(row)
    while n - start > _LONG:
        window = row[start:start + _LONG]
        cut = 0
        for sign in _CUTS:
            for found in sign.finditer(window):
                cut = found.end()
                if sign is _CUTS[0] and cut > 60:
                    break  # an escaped newline is a line end: the first one, not the last
            if cut > 60:
                break
        if cut <= 60:
            cut = _LONG
        code = row.rfind("\x1b", start, start + cut)
        within = ESCAPE.match(row, code) if code >= 0 else None
        if within and within.end() > start + cut:  # half an escape code would stand as text
            cut = (code if code > start else within.end()) - start
        out.append(row[start:start + cut])
        start += cut
    if start < n:
        out.append(row[start:])
    return out
