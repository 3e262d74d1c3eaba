"""Text into lines: escape codes and overwritten text taken away, long lines cut into pieces, every piece addressable."""
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

# ECMA-48 control sequences, OSC strings and two-character escapes
ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-_])")
_LONG = 300  # characters; a line beyond is cut into pieces, else nothing could be left out of one-line JSON
# where a long line may be cut: after an escaped newline, a record's end, a sentence, a clause
_CUTS = (re.compile(r"\\r?\\n|\\n"), re.compile(r"[}\]],? ?|; "), re.compile(r"[.!?] |, | \| "), re.compile(r"[ ,;|&]"))


@dataclass(slots=True)
class Lines:
    """texts: clean pieces in order; numbers: the 1-based raw line of each; glued: 1 where a piece continues a line."""

    texts: list[str]
    numbers: list[int] | None
    glued: bytearray | None
    address: Callable[[int, int], str]


def clean(line: str) -> str:
    """A line as a terminal would show it: what a carriage return overwrote and all escape codes are gone."""
    if "\r" in line:
        line = line.rstrip("\r")
        line = line[line.rfind("\r") + 1:]
    return ESCAPE.sub("", line) if "\x1b" in line else line


def split(text: str) -> Lines:
    """The lines of a text, in pieces of about 300 characters where they are longer."""
    rows = text.split("\n")
    if rows and not rows[-1]:
        rows.pop()
    if max(map(len, rows), default=0) > _LONG:
        return _split_long(text, rows)
    if "\r" in text or "\x1b" in text:
        rows = [clean(row) for row in rows]
    return Lines(rows, None, None, lambda i, j: f"L{i + 1}" if i == j else f"L{i + 1}-{j + 1}")


def _split_long(text: str, rows: list[str]) -> Lines:
    texts: list[str] = []
    numbers: list[int] = []
    starts: list[int] = []  # characters from the start of the raw text
    ends: list[int] = []
    glued = bytearray()
    at = 0
    for number, row in enumerate(rows, 1):
        shown = row.rstrip("\r") if "\r" in row else row
        offset = shown.rfind("\r") + 1 if "\r" in shown else 0
        pieces = [shown] if len(shown) - offset <= _LONG else _pieces(shown, offset)
        if offset and len(pieces) == 1:
            pieces[0] = shown[offset:]
        begin = at
        for k, piece in enumerate(pieces):
            texts.append(ESCAPE.sub("", piece) if "\x1b" in piece else piece)
            numbers.append(number)
            glued.append(k > 0)
            starts.append(at if k == 0 else begin)
            begin = (at + offset if k == 0 else begin) + len(piece)
            ends.append(begin)
        at += len(row) + 1
        ends[-1] = min(at, len(text))
    ascii_only = text.isascii()

    def byte(index: int) -> int:
        return index if ascii_only else len(text[:index].encode("utf-8", "surrogateescape"))

    def address(i: int, j: int) -> str:
        if not glued[i] and (j + 1 == len(glued) or not glued[j + 1]):
            return f"L{numbers[i]}" if numbers[i] == numbers[j] else f"L{numbers[i]}-{numbers[j]}"
        return f"b{byte(starts[i])}-{byte(ends[j])}"

    return Lines(texts, numbers, glued, address)


def _pieces(row: str, start: int) -> list[str]:
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
