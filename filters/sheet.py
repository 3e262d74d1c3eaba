"""JSON values cut into units: rows of records, members one by one, pieces of long strings, each with its place."""
from __future__ import annotations

import re
from collections.abc import Sequence

from byref.filters.places import Places
from byref.filters.records import Path, dull, short, table
from byref.filters.scanner import Document, Number, Value, read
from byref.filters.units import ANCHOR, MUST, PLAIN, Units

_INLINE, _LINE, _LONG, _BESIDE = 160, 200, 300, 12
_FAULT = re.compile(r"(?:.*[_.-])?(?:errors?|exceptions?|fault|failures?|fatal|traceback|stack_?trace)", re.I)
_STATE = re.compile(r"(?:.*[_.-])?(?:status|state|conclusion|outcome|level|severity)", re.I)
_FAILED = re.compile(r"fail(?:ed|ure)?|error(?:ed)?|fatal|critical|aborted|crashed|timed?[_ -]?out", re.I)
_GOOD = re.compile(r"success|succeeded|ok|passed", re.I)
_TELLING = re.compile(r"(?:.*[_.-])?(?:id|name|title|counts?|total.*|number|next.*|cursor|has_?more|page|message|status|state|type|summary)|.*(?:Cursor|Id|Name|Count)", re.I)
_PROSE = re.compile(r"(?:.*[_.-])?(?:abstract|description|body|content|text|summary|snippet|highlights?|message|answer|title|name|notes?|comment|readme)", re.I)
# after an escaped newline of this level, or a newline that was escaped at the level around it
_BREAK = re.compile("(?:\ufdd2r)?\ufdd2n|\n")
_ENDS = (". ", "! ", "? ", "}, ", "},", "; ", ", ", " ")


class Sheet:
    """Collects the units of one part, in order."""

    def __init__(self, raw: str) -> None:
        self.places = Places(raw)
        self.texts: list[str] = []
        self.rank = bytearray()
        self.worth: list[int] = []
        self.counts: list[int] = []
        self.glued = bytearray()

    def units(self) -> Units:
        records = sum(self.counts)
        return Units(self.texts, self.places.address, self.rank, self.worth, name="records" if records else "values", keys=[t.strip() for t in self.texts],
                     counts=self.counts if records else None, rendered=True, glued=self.glued)

    def values(self, document: Document) -> int:
        """All values at the top of a document; returns where in its text they end, 0 if there are none."""
        text, at = document.text, 0
        roots: list[Value] = []
        while True:
            while at < len(text) and text[at] in " \t\r\n\ufeff":
                at += 1
            if at >= len(text) or text[at] not in "[{":
                break
            found = read(text, at)
            if found is None:
                break
            value, at, complete = found
            roots.append(value)
            if not complete:
                break
        prefix = self.places.prefix(document)
        if len(roots) == 1:
            self.value(document, roots[0], (*prefix, 0), "", 0)
        elif roots:
            self.array(document, roots, prefix, "", 0, 0)
        return at if roots else 0

    def block(self, document: Document, label: str = "", depth: int = 0, worth: int = 0) -> None:
        """A text that may be JSON: cut as that, else as lines; also what follows the JSON."""
        first = document.text.lstrip()[:1]
        end = self.values(document) if first and first in "[{" else 0
        if document.text[end:].strip():
            self.pieces(document, self.places.prefix(document), document.text, end, label, "", depth, worth)

    def words(self, start: int, end: int) -> None:
        """Raw text around JSON, by lines."""
        for line in self.places.text[start:end].splitlines(keepends=True):
            if line.strip():
                self.add(line.strip("\r\n"), None, (), start, start + len(line))
            start += len(line)

    def add(self, text: str, document: Document | None, path: Path, a: int = -1, b: int = -1, *, last: int = -1, rank: int = PLAIN,
            worth: int = 0, count: int = 0, glued: int = 0) -> None:
        if "\n" in text or "\r" in text:
            text = text.replace("\n", " ").replace("\r", " ")
        self.texts.append(text)
        self.rank.append(rank)
        self.worth.append(worth)
        self.counts.append(count)
        self.glued.append(glued)
        self.places.append(document, path, last, a, b)

    def value(self, document: Document, value: Value, path: Path, label: str, depth: int, name: str = "", worth: int = 0) -> None:
        """One value. label: what stands before it; name: its key, which says what it is worth."""
        text = short(value, _INLINE, document.level.unfold)
        rank = _rank(name, value)
        if name and dull(name):
            worth -= 8
        if text is not None:
            if name and _TELLING.fullmatch(name):
                worth += 8
            self.add(f"{' ' * min(depth, 6)}{label}{text}", document, path, rank=rank, worth=worth)
        elif isinstance(value, str):
            self.string(document, value, path, label, depth, worth, rank)
        elif isinstance(value, list):
            self.array(document, value, path, label, depth, worth)
        elif isinstance(value, tuple):
            self.object(document, value, path, label, depth, worth)

    def object(self, document: Document, value: tuple[tuple[str, Value], ...], path: Path, label: str, depth: int, worth: int) -> None:
        """Members one by one; objects that are alike as records whose index is their name."""
        write = document.level.unfold
        if len(value) > 2 and _alike([item for _, item in value]):
            records = [((*path, i), f"{write(key)}: ", item) for i, (key, item) in enumerate(value) if isinstance(item, tuple)]
            self.records(document, records, path, label, depth, worth)
            return
        if label:
            self.add(f"{' ' * min(depth, 6)}{label}{{", document, path, -2, rank=ANCHOR, worth=worth)
            depth += 1
        for i, (key, item) in enumerate(value):
            self.value(document, item, (*path, i), f'"{write(key)}":', depth, key, worth)

    def array(self, document: Document, value: list[Value], path: Path, label: str, depth: int, worth: int) -> None:
        """Objects as records, also in arrays of arrays; small values some to a line; others one by one."""
        if len(value) > 1 and _alike(value, 0.0):
            self.records(document, [((*path, i), f"{i}: ", item) for i, item in enumerate(value) if isinstance(item, tuple)], path, label, depth, worth)
            return
        nested = [item for group in value if isinstance(group, list) for item in group]
        if len(value) > 1 and len(nested) > 1 and all(isinstance(group, list) for group in value) and _alike(nested, 0.0):
            self.records(document, [((*path, i, k), f"{i},{k}: ", item) for i, group in enumerate(value) if isinstance(group, list)
                                    for k, item in enumerate(group) if isinstance(item, tuple)], path, label, depth, worth)
            return
        write = document.level.unfold
        indent = " " * min(depth, 6)
        self.add(f"{indent}{label}[", document, path, -2, rank=ANCHOR if label else PLAIN, worth=worth)
        line: list[str] = []
        size = first = 0
        for i, item in enumerate(value):
            text = short(item, _LINE, write)
            if line and (text is None or size + len(text) > _LINE):
                self.add(f"{indent} {','.join(line)}", document, (*path, first), last=i - 1, worth=worth)
                line, size = [], 0
            if text is None:
                self.value(document, item, (*path, i), f"{i}: ", depth + 1, worth=worth)
            else:
                if not line:
                    first = i
                line.append(text)
                size += len(text) + 1
        if line:
            self.add(f"{indent} {','.join(line)}", document, (*path, first), last=len(value) - 1, worth=worth)

    def records(self, document: Document, records: Sequence[tuple[Path, str, tuple[tuple[str, Value], ...]]], path: Path, label: str, depth: int,
                worth: int) -> None:
        """Records as a table: the telling columns, then the others, then what is too large for a row."""
        write = document.level.unfold
        cut = table([(place, record) for place, _, record in records], write)
        n, indent = len(records), " " * min(depth, 6)
        beside = n <= _BESIDE
        keyed = not records[0][1][0].isdigit()
        numbered = keyed or len(cut.groups) > 1 or any(cut.bigs)
        self.places.loose.add(path)
        for g, group in enumerate(cut.groups):
            value = worth + (8 if g == 0 else -12 if group.dull else 0)
            self.add(f"{indent}{label}[{n} {{{'|'.join(group.names)}}}]", document, path, -2, rank=PLAIN if group.dull else ANCHOR, worth=value)
            if group.each:
                self.add(f"{indent} each: {'|'.join(group.each)}", document, path, -2, worth=value)
            if not group.names and g:
                continue
            for i, ((place, index, record), row) in enumerate(zip(records, group.rows, strict=True)):
                rank = ANCHOR if g == 0 and i in (0, n - 1) else PLAIN
                if g == 0 and any(_rank(key, item) == MUST for key, item in record):
                    rank = MUST
                self.add(f"{indent} {index}{row}" if numbered else f"{indent} {row}", document, place, rank=rank, worth=value, count=int(g == 0))
                if g == 0 and beside:
                    self.large(document, cut.bigs[i], index, depth, worth)
        if not cut.groups:
            self.add(f"{indent}{label}[{n}]", document, path, -2, rank=ANCHOR, worth=worth)
        if not beside or not cut.groups:
            for (_, index, _), large in zip(records, cut.bigs, strict=True):
                self.large(document, large, index, depth, worth)

    def large(self, document: Document, large: list[tuple[str, Path, Value]], index: str, depth: int, worth: int) -> None:
        """What is too large for the row of one record."""
        for name, place, item in large:
            key = name.rstrip("\0").rsplit(".", 1)[-1]
            self.value(document, item, place, f"{index[:-2]}.{name}:".replace("\0", ""), depth + 2, key, worth + (0 if _PROSE.fullmatch(key) else -4))

    def string(self, document: Document, value: str, path: Path, label: str, depth: int, worth: int, rank: int) -> None:
        """A long string: the JSON in it, or its lines and sentences."""
        raw = document.level.unfold(value)
        if raw.lstrip("\\nrt \n")[:1] in ("{", "["):
            inner = Document(raw, document.level.inner(), -1)
            self.places.parents[inner] = (document, path)
            if read(inner.text, len(inner.text) - len(inner.text.lstrip())) is not None:
                self.add(f"{' ' * min(depth, 6)}{label}", document, path, -2, rank=ANCHOR, worth=worth)
                self.block(inner, depth=depth + 1, worth=worth)
                return
        self.pieces(document, path, value, 0, f'{label}"', '"', depth, worth, rank)

    def pieces(self, document: Document, path: Path, body: str, start: int, label: str, close: str, depth: int, worth: int, rank: int = PLAIN) -> None:
        """A text by its lines, long lines by sentences. body is folded; start and the places are positions in it."""
        write = document.level.unfold
        indent = " " * min(depth, 6)
        ends = [found.end() for found in _BREAK.finditer(body, start)]
        ends.append(len(body))
        begin = start
        for end in ends:
            line = _BREAK.sub("", body[start:end])
            if not line.strip() and end < len(body):
                start = end
                continue
            at, glued = start, 0
            while True:
                stop = end if end - at <= _LONG else _sentence(body, at, at + _LONG)
                text = write(_BREAK.sub("", body[at:stop]))
                if stop == len(body):
                    text += close
                if text:
                    self.add(f"{indent}{label}{text}" if not glued else text, document, path, begin, stop, rank=rank, worth=worth, glued=glued)
                    label, indent = "", " " * min(depth + bool(close), 6)
                    begin = stop
                at, glued = stop, 1
                if stop == end:
                    break
            start = end


def _sentence(text: str, start: int, end: int) -> int:
    """Where a line reads best cut, between start and end."""
    for sign in _ENDS:
        at = text.rfind(sign, start + 60, end)
        if at >= 0:
            return at + len(sign)
    return end


def _alike(values: Sequence[Value], share: float = 0.6) -> bool:
    """Whether all are objects, and at least that share of the names of the first ones is common to them."""
    if not all(isinstance(value, tuple) and value for value in values):
        return False
    names = [{name for name, _ in value} for value in values[:20] if isinstance(value, tuple)]
    common = set.intersection(*names)
    return bool(common) and len(common) * len(names) >= share * sum(map(len, names))


def _rank(name: str, value: Value) -> int:
    """MUST for members that say that something failed."""
    if not name or value is None or value is False or value in ("", "0", "[]", "{}") or value == [] or value == ():
        return MUST if value is False and _GOOD.fullmatch(name) else PLAIN
    if _FAULT.fullmatch(name) or value is True and name == "isError":
        return MUST
    if isinstance(value, str) and not isinstance(value, Number) and _STATE.fullmatch(name) and _FAILED.fullmatch(value):
        return MUST
    return PLAIN
