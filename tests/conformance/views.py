"""What every view promises, checked against the raw bytes by an oracle that shares no code with the filters.

`look` makes the view of an output; `check` holds it against the bytes: walking through a view from marker to marker, the raw bytes
between two gaps must be exactly the lines that stand between their markers. So nothing falls between and nothing is made up.
"""
from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from byref.filters.render import MARKER, view
from byref.proxy.contracts import Blob, Call, Json, Part, Seen, View
from byref.proxy.store.source import BytesSource
from byref.proxy.text import digest

REF = "rk7f3qmab2x"
SMALL = 400  # bytes up to which an output passes
_AT = r"(?:L\d+(?:-\d+)?|b\d+-\d+|\$[^«»\n]*?)"
_GAP = re.compile(rf"«(?:[\w.-]{{1,32}}:)?({_AT})(?: [^«»\n]*)?»")
_REPEAT = re.compile(r"«×(\d+) to (L\d+(?:-\d+)?|b\d+-\d+)»")
_HEAD = re.compile(rf"«{REF}(?:(?: [^\s«»]{{1,14}})? exit -?\d+:| error:)? (\d+) of (\d+) (\w+)(?: \d+ failures)?»\n")
# ECMA-48: CSI with its parameters, OSC up to its end, and the two-character escapes
_CODES = re.compile(r"\x1b\[[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[\x40-\x5f]")
_NUMBER = re.compile(r" *(\d+) *(→|\t|:|\|)")
_WRITTEN = re.compile(r"\^?[0-9a-f]{7,40}(?: .*\(.* \d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4})?$")


@dataclass(frozen=True)
class Shown:
    """A view, and what it was made of."""

    view: View
    parts: Mapping[str, bytes]
    call: Call

    @property
    def text(self) -> str:
        """What the agent reads: a part that does not end its line gets a line end where another follows."""
        out = self.view.head
        for text in self.view.texts:
            out += "\n" if out and not out.endswith("\n") and out != self.view.head and not self.view.passed else ""
            out += text
        return out

    @property
    def raw(self) -> bytes:
        return b"".join(self.parts.values())

    @property
    def lines(self) -> list[str]:
        """The data lines, without what is ours."""
        return [line for line in self.text.split("\n") if not MARKER.fullmatch(line)]

    @property
    def markers(self) -> list[str]:
        """What is ours, in order; the head first."""
        return [] if self.view.passed else [line for line in self.text.split("\n") if MARKER.fullmatch(line)]


def encoded(raw: str | bytes) -> bytes:
    return raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogateescape")


def look(raw: str | bytes | Mapping[str, str | bytes], command: str | None = None, *, tool: str = "Bash", arguments: Json = None,
         exit_code: int | None = 0, is_error: bool = False, seen: Seen | None = None, profile: str = "auto", budget: int | None = None,
         task: str = "", said: str = "", intent: str = "", media: str = "text/plain") -> Shown:
    """The view of an output: one text is its stdout."""
    parts = {name: encoded(body) for name, body in (raw if isinstance(raw, Mapping) else {"stdout": raw}).items()}
    call = Call(tool, {"command": command} if command is not None else arguments, exit_code, is_error, intent, said, task)
    sources = [(Part(name, media, Blob(digest(body), len(body), body.count(b"\n"))), BytesSource(body)) for name, body in parts.items()]
    return Shown(view(REF, sources, call, seen or Seen(), profile, budget), parts, call)


def check(shown: Shown) -> Shown:
    """Every promise that holds for any output. Returns what it was given."""
    made, text = shown.view, shown.text
    assert len(made.texts) == len(shown.parts)
    if made.passed:
        assert made.head == "" and made.gaps == ()
        assert [encoded(t) for t in made.texts] == list(shown.parts.values())
        return shown
    assert len(shown.raw) > SMALL, "small outputs pass"
    data = text.encode("utf-8")  # raises for a lone surrogate
    assert len(data) < len(shown.raw), f"a view of {len(data)} bytes for {len(shown.raw)}"
    head = _HEAD.fullmatch(made.head)
    assert head, made.head
    assert int(head[1]) <= int(head[2])
    only_ours(shown)
    assert {gap.part for gap in made.gaps} <= set(shown.parts)
    for k, (name, raw) in enumerate(shown.parts.items()):
        body = made.texts[k]
        if k and raw:
            assert body.startswith(f"«{name}»\n"), body[:60]
            body = body[len(name) + 3:]
        gaps = [(gap.address, gap.count, gap.unit) for gap in made.gaps if gap.part == name]
        rows = raw.lstrip()[:1] in (b"{", b"[") and len(shown.parts) > 1  # a part of another shape than the view's
        if made.shape != "json" and not rows and not any(address.startswith("$") or unit == "records" for address, _, unit in gaps):
            walk(raw, body, gaps)
    if head[3] == "lines" and len(shown.parts) == 1 and made.shape != "json":
        assert int(head[2]) == len(rows_of(shown.raw)), "the head counts the lines of the output"
        assert int(head[1]) + sum(gap.count for gap in made.gaps) == int(head[2]), "each line stands or is counted in a gap"
    return shown


def only_ours(shown: Shown) -> None:
    """MARKER finds our lines, whole, and nothing within what the tool printed."""
    for line in shown.text.split("\n"):
        found = MARKER.search(line)
        if found:
            assert found[0] == line, f"a marker within data: {line!r}"
            assert _GAP.fullmatch(line) or _REPEAT.fullmatch(line) or line + "\n" == shown.view.head or line[1:-1] in shown.parts, line
    ours = len(shown.markers)
    repeats, others = sum(bool(_REPEAT.fullmatch(m)) for m in shown.markers), list(shown.parts.values())[1:]
    assert ours == 1 + len(shown.view.gaps) + repeats + sum(map(bool, others)), "none was forged"


def rows_of(raw: bytes) -> list[bytes]:
    """The lines of an output, the last one even without its newline."""
    rows = raw.split(b"\n")
    return rows[:-1] if rows[-1] == b"" else rows


def span(address: str, raw: bytes) -> tuple[int, int]:
    """The bytes that an address names."""
    first, _, last = address[1:].partition("-")
    if address[0] == "b":
        assert int(first) < int(last) <= len(raw), address
        return int(first), int(last)
    ends = line_ends(raw)
    assert 1 <= int(first) <= int(last or first) < len(ends), f"{address} of {len(ends) - 1} lines"
    assert last != first, "a single line is named once"
    return ends[int(first) - 1], ends[int(last or first)]


@functools.lru_cache(maxsize=8)
def line_ends(raw: bytes) -> list[int]:
    """Where each line ends, after its newline; 0 before the first."""
    ends = list(itertools.accumulate((len(row) + 1 for row in rows_of(raw)), initial=0))
    ends[-1] = min(len(raw), ends[-1])
    return ends


def walk(raw: bytes, body: str, gaps: Sequence[tuple[str, int, str]]) -> None:
    """The view of one part from marker to marker: what lies between two gaps stands between them, line by line."""
    rows = body.split("\n")
    if raw.endswith(b"\n") or not raw:
        assert rows.pop() == "", "a view ends its last line as the output does"
    block: list[str] = []
    at = 0
    left = list(gaps)
    for row in rows:
        gap = _GAP.fullmatch(row)
        if gap:
            assert left, f"{row} is not in View.gaps"
            address, count, unit = left.pop(0)
            assert gap[1] == address
            begin, end = span(address, raw)
            assert begin >= at, f"{address} overlaps what came before, or is out of order"
            stands(raw[at:begin], block)
            if unit == "lines":
                starts = raw.count(b"\n", max(0, begin - 1), end - 1) + (begin == 0)
                assert count == starts, f"{address} is said to hold {count} lines, {starts} start in it"
            block, at = [], end
        elif not _REPEAT.fullmatch(row):
            block.append(row)
    assert not left, f"no marker for {left}"
    stands(raw[at:], block)


def stands(raw: bytes, block: Sequence[str]) -> None:
    """The lines of a view are those of the raw bytes, in order: cleaned, numbers thinned, a shared path once."""
    k, path, number = 0, "", -1
    for row in rows_of(raw):
        line = cleaned(row)
        while b"\r" in row and k < len(block) and not same(block[k], line) and block[k].strip() and same_piece(block[k], row):
            k += 1  # a failure that was overwritten stands by itself, before its line
        shown = block[k] if k < len(block) else None
        below = block[k + 1] if k + 1 < len(block) else None
        assert shown is not None, f"falls between: {line!r}"
        found = _NUMBER.match(line)
        before, number = number, int(found[1]) if found else -1
        if same(shown, line) or (found and same(shown, line.lstrip(" "))):
            path = ""
        elif path.endswith("/") and line.startswith(path) and same(shown, line[len(path):]):
            pass
        elif below is not None and shown.endswith("/") and len(shown) < len(line) and same(shown, line[:len(shown)]) \
                and same(below, line[len(shown):]):
            path, k = line[:len(shown)], k + 1
        elif path and line.startswith(path) and _ends(path, line) and same(shown, line[len(path) + 1:]):
            pass
        elif below is not None and 0 < len(shown) < len(line) and same(shown, line[:len(shown)]) and _ends(shown, line) \
                and same(below, line[len(shown) + 1:]):
            path, k = line[:len(shown)], k + 1
        elif found and number == before + 1 and before >= 0:  # what a reader counts
            assert same(shown, line[found.end():]), f"{line!r} falls between, {shown!r} was made up"
        else:
            raise AssertionError(f"{line!r} falls between, {shown!r} was made up (the line before has number {before})")
        k += 1
    assert k == len(block), f"made up: {block[k]!r}"


def _ends(shared: str, line: str) -> bool:
    """Whether what lines share ends there in one of them: a path before its line number, or who wrote a line, and when, in git blame."""
    return line[len(shared)] in ":-" or (line[len(shared)] == " " and _WRITTEN.match(shared) is not None)


def same_piece(shown: str, row: bytes) -> bool:
    """Whether a line of a view is what a carriage return overwrote."""
    return any([same(shown, cleaned(piece)) for piece in row.split(b"\r")])


def cleaned(row: bytes) -> str:
    """A line as a terminal leaves it: overwritten text and escape codes are gone, but for what only blanks were written over; bytes
    that are no UTF-8 are U+FFFD."""
    pieces = [_CODES.sub("", piece) for piece in row.decode("utf-8", "surrogateescape").split("\r")]
    text = next((piece for piece in reversed(pieces) if piece.strip()), pieces[0])
    return re.sub("[\udc80-\udcff]+", "\ufffd", text)


def same(shown: str, line: str) -> bool:
    """Equal, but for what looks like a marker and trailing blanks; a run of bytes that are no UTF-8 is one U+FFFD or more."""
    if "\ufffd" in shown:
        shown, line = re.sub("\ufffd+", "\ufffd", shown), re.sub("\ufffd+", "\ufffd", line)
    shown, line = shown.rstrip(), line.rstrip()
    return shown == line or (len(shown) == len(line) and all(a == b or (a == "<" and b == "«") for a, b in zip(shown, line, strict=True)))
