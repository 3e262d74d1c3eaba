"""JSON values cut into units: rows of records, members one by one, pieces of long strings, each with its place."""
from __future__ import annotations

import re
from collections.abc import Sequence

from byref.filters.outcome import EXPLAINS, failed, may_fail, printed, reports_failure
from byref.filters.places import Places
from byref.filters.prose import prose_worth, running, sentence_end
from byref.filters.records import Path, Record, dull, heading, opaque, short, table
from byref.filters.scanner import Document, Member, Number, Value, read
from byref.filters.templates import ODD
from byref.filters.units import ANCHOR, HIDDEN, MUST, PLAIN, Units
from byref.proxy.text import estimate

_INLINE, _LINE, _LONG = 160, 200, 300  # characters: a value on one line; elements of an array to a line; a piece of a string
_TWICE = 5  # characters from which a value that a member before has is a copy, and no chance
_LATE = 10  # what rows of a table deep inside lose after so many

_BESIDE = 12  # records up to which their large values stand beside their rows, not after all rows
_OPENING = 3  # pieces of a text that stand at its start: a heading, a table's head and first row
_ANCHORS = 12  # lines of members outside of records that stand
_ROWS = 8000  # characters of rows that always stand
_WHOLE, _FULL = 2000, 8000  # characters of an output below which all is worth showing, and over which that fades
_PROSE = re.compile(r"(?:.*[_.-])?(?:abstract|description|body|content|text|summary|snippet|highlights?|message|answer|title|name|notes?|"
                    r"comment|readme)", re.I)
# after an escaped newline of this level, or a newline that was escaped at the level around it
_BREAK = re.compile("(?:\ufdd2r)?\ufdd2n|\n")
_UNICODE = re.compile(r"\\u[0-9a-fA-F]{4}")



class Sheet:
    """Collects the units of one part, in order."""

    def __init__(self, raw: str) -> None:
        self.places = Places(raw)
        self.texts: list[str] = []
        self.sources: list[str] = []
        self.rank = bytearray()
        self.worth: list[int] = []
        self.counts: list[int] = []
        self._lines = 0
        self._suspect = True  # whether the text now cut may say that something failed
        self._base = 0  # the depth at which the text now cut begins
        self._label, self._named = "", ""  # what stands before the value now cut, and the names in it: the place of a record is no term
        self._inside = 0  # how many records the values now cut stand in
        self._explains = False  # whether the values now cut say why the record around them failed
        self.glued = bytearray()
        self.sizes: dict[int, int] = {}
        self.failures: dict[int, int] = {}

    def units(self) -> Units:
        """What was cut. Low worth counts by the size of the output: to leave something out of a small one does not pay."""
        records = sum(self.counts)
        if "\\u" in self.places.text:  # letters that are written as escapes are no words
            self.sources = [_UNICODE.sub(" ", source) if "\\u" in source else source for source in self.sources]
        scale = min(_FULL, max(0, len(self.places.text) - _WHOLE))
        worth = [w if w >= 0 else -(-w * scale // _FULL) for w in self.worth]
        return Units(self.texts, self.places.address, self.rank, worth, name="records" if records else "values",
                     keys=[text.strip() for text in self.texts], counts=self.counts if records else None, rendered=True,
                     sources=self.sources, glued=self.glued, failures=self.failures,
                     sizes=self._measured())

    def _measured(self) -> list[int] | None:
        """The size of each unit where that is not its length: what a hidden one stands for, and letters that are a token each."""
        if not self.sizes and self.places.ascii:
            return None
        return [self.sizes.get(k, _size(text)) for k, text in enumerate(self.texts)]

    def values(self, document: Document) -> int:
        """All values at the top of a document; returns where in its text they end, 0 if there are none."""
        text, at = document.text, 0
        roots: list[Value] = []
        spans: list[Member] = []
        complete = True
        while complete:
            while at < len(text) and text[at] in " \t\r\n\ufeff":
                at += 1
            if at >= len(text) or text[at] not in "[{":
                break
            found = read(text, at, document.literal)
            if found is None:
                break
            value, end, complete = found
            roots.append(value)
            spans.append((at, at, at, end))
            at = end
        if complete and at >= len(text):
            document.know(-1, spans)
            document.whole = True
        prefix = self.places.prefix(document)
        outer, self._suspect = self._suspect, may_fail(text)
        if len(roots) == 1:
            self.value(document, roots[0], (*prefix, 0), "", 0)
        elif roots:
            self.array(document, roots, prefix, "", 0, 0)
        self._suspect = outer
        return at if roots else 0

    def block(self, document: Document, label: str = "", depth: int = 0, worth: int = 0) -> None:
        """A text that may be JSON: cut as that, else as lines; also what follows the JSON."""
        first = document.text.lstrip()[:1]
        end = self.values(document) if first and first in "[{" else 0
        if document.text[end:].strip():
            self.pieces(document, self.places.prefix(document), document.text, end, label, "", depth, worth)

    def _head(self) -> int:
        return PLAIN if self._inside else ANCHOR

    def head(self, document: Document, path: Path, text: str, depth: int) -> None:
        """What opens a container."""
        self.add(f"{' ' * min(depth, 6)}{text}", document, path, -2, rank=self._head())

    def hide(self, document: Document, path: Path, last: int, count: int, size: int, failures: int) -> None:
        """A run of siblings that no view shows."""
        k = len(self.texts)
        self.sizes[k] = size
        if failures:
            self.failures[k] = failures
        self.add("", document, path, last=last, rank=HIDDEN, count=count)

    def words(self, start: int, end: int) -> None:
        """Raw text around JSON, by lines."""
        for line in self.places.text[start:end].splitlines(keepends=True):
            if line.strip():
                self.add(line.strip("\r\n"), None, (), start, start + len(line))
            start += len(line)

    def add(self, text: str, document: Document | None, path: Path, a: int = -1, b: int = -1, *, last: int = -1, rank: int = PLAIN,
            worth: int = 0, count: int = 0, glued: int = 0, source: str | None = None) -> None:
        if "\n" in text or "\r" in text:
            text = text.replace("\n", " ").replace("\r", " ")
        self.texts.append(text)
        if source is None:
            source = text.replace(self._label, self._named, 1) if self._label else text
        self.sources.append(source)
        self.rank.append(rank)
        self.worth.append(worth)
        self.counts.append(count)
        self.glued.append(glued)
        self.places.append(document, path, last, a, b)

    def value(self, document: Document, value: Value, path: Path, label: str, depth: int, name: str = "", worth: int = 0) -> None:
        """One value. label: what stands before it; name: its key, which says what it is worth."""
        text = short(value, _INLINE, document.write)
        rank = MUST if self._suspect and reports_failure(name, value) else PLAIN
        if name and (dull(name) or opaque(name, value)):
            worth -= 8
        if text is not None and (label or value in ([], ()) or isinstance(value, str)):
            self.add(f"{' ' * min(depth, 6)}{label}{text}", document, path, rank=rank, worth=worth, source=f"{name} {text}")
        elif isinstance(value, str):
            self.string(document, value, path, label, depth, worth, rank)
        elif isinstance(value, list):
            self.array(document, value, path, label, depth, worth)
        elif isinstance(value, tuple) and label and (words := running(value)):
            self.index(document, words, path, label, depth, worth)
        elif isinstance(value, tuple):
            self.object(document, value, path, label, depth, worth)

    def object(self, document: Document, value: Record, path: Path, label: str, depth: int, worth: int) -> None:
        """Members one by one; objects that are alike as records whose index is their name."""
        write = document.write
        if len(value) > 2 and _alike([item for _, item in value], 0.4):
            records = [((*path, i), f"{write(key)}: ", item) for i, (key, item) in enumerate(value) if isinstance(item, tuple)]
            self.records(document, records, path, label, depth, worth, keyed=True)
            return
        if label:
            self.add(f"{' ' * min(depth, 6)}{label}{{", document, path, -2, rank=self._head(), worth=worth)
            depth += 1
        line: list[str] = []
        size = first = 0
        low = False  # members that say little stand together, so that they can be left out together
        told: set[str] = set()
        for i, (key, item) in enumerate(value):
            text = short(item, _INLINE, write)
            bad = self._suspect and reports_failure(key, item)
            little = dull(key) or opaque(key, item) or (text is not None and len(text) > _TWICE and text in told)
            if line and (text is None or size + len(key) + len(text) > _INLINE or little != low or bad):
                self._line(document, path, line, first, i - 1, depth, worth - 8 * low)
                line, size = [], 0
            if text is None or bad:
                self.value(document, item, (*path, i), f'"{write(key)}":', depth, key, worth)
                continue
            told.add(text)
            if not line:
                first, low = i, little
            line.append(f'"{write(key)}":{text}')
            size += len(line[-1]) + 1
        if line:
            self._line(document, path, line, first, len(value) - 1, depth, worth - 8 * low)
            if first and not self._inside and not low:
                self.rank[-1] = max(self.rank[-1], ANCHOR)

    def _line(self, document: Document, path: Path, line: list[str], first: int, last: int, depth: int, worth: int) -> None:
        """Short members of an object, as they would stand in compact JSON: a line each would cost more than the raw text."""
        stands = not self._inside and worth >= 0 and self._lines < _ANCHORS
        self._lines += stands
        self.add(f"{' ' * min(depth, 6)}{','.join(line)}", document, (*path, first), last=last, rank=ANCHOR if stands else PLAIN,
                 worth=worth - 6)

    def array(self, document: Document, value: list[Value], path: Path, label: str, depth: int, worth: int) -> None:
        """Objects as records, also in arrays of arrays; small values some to a line; others one by one."""
        if len(value) > 1 and _alike(value, 0.0):
            records = [((*path, i), f"{i}: ", item) for i, item in enumerate(value) if isinstance(item, tuple)]
            self.records(document, records, path, label, depth, worth)
            return
        nested = [item for group in value if isinstance(group, list) for item in group]
        if len(value) > 1 and len(nested) > 1 and all(isinstance(group, list) for group in value) and _alike(nested, 0.0):
            records = [((*path, i, k), f"{i},{k}: ", item) for i, group in enumerate(value) if isinstance(group, list)
                       for k, item in enumerate(group) if isinstance(item, tuple)]
            self.records(document, records, path, label, depth, worth)
            return
        write = document.write
        indent = " " * min(depth, 6)
        opening = len(self.texts)
        self.add(f"{indent}{label}[", document, path, -2, rank=self._head() if label else PLAIN, worth=worth)
        line: list[str] = []
        size = first = lines = 0
        for i, item in enumerate(value):
            text = short(item, _LINE, write)
            if line and (text is None or size + len(text) > _LINE):
                self.add(f"{indent} {','.join(line)}", document, (*path, first), last=i - 1, worth=worth)
                lines += 1
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
            lines += 1
        if lines > 2 and opening + lines + 1 == len(self.texts):
            self._ends(opening, len(value), all([isinstance(item, (Number, list)) for item in value]))

    def _ends(self, opening: int, count: int, numbers: bool) -> None:
        """A long array whose head is a unit: how many elements it has, and both of its ends stand; numbers between them say little."""
        self.texts[opening] += str(count)
        if not self._inside:
            self.rank[opening + 1] = self.rank[-1] = ANCHOR
        if numbers:
            for k in range(opening + 2, len(self.texts) - 1):
                self.worth[k] -= 12

    def records(self, document: Document, records: Sequence[tuple[Path, str, Record]], path: Path, label: str, depth: int, worth: int,
                total: int = 0, keyed: bool = False) -> None:
        """Records as a table: the telling columns, then the others, then what is too large for a row.

        records: place, index as it stands before a row, members. total: how many there are where these are a
        choice. keyed: the index is a name.
        """
        n, indent, top = len(records), " " * min(depth, 6), not self._inside
        cut = table([(place, record) for place, _, record in records], document.write,
                    [index[:-2] for _, index, _ in records] if keyed else ())
        beside = n <= _BESIDE
        total = total or n
        numbered = keyed or total > n or len(records[0][0]) > len(path) + 1 or len(cut.groups) > 1 or any(cut.bigs)
        opening, closing = "{}" if keyed else "[]"
        self.places.loose.add(path)
        deep = depth - self._base > 1
        bad = [self._suspect and failed(record) for _, _, record in records]
        said = printed([record for _, _, record in records]) if any(bad) else {}
        for g, group in enumerate(cut.groups):
            value = worth + (-14 if group.dull else -6 if g else 0 if top else -6)
            stands = top and not g and sum(map(len, group.rows)) <= _ROWS
            head = MUST if not top and not g and any(bad) else ANCHOR if (top or self._explains) and not group.dull else PLAIN
            own = f"{group.index}: " if group.index else ""
            title = f"{opening}{total} {own}{{{'|'.join(group.names)}}}{closing}"
            self.add(f"{indent}{label}{title}", document, path, rank=head, worth=value, source=" ".join(group.names))
            if group.each:
                each = f"{'each' if group.strict else 'each unless said'}: {'|'.join(group.each)}"
                self.add(f"{indent} {each}", document, path, rank=max(head, ANCHOR) if stands or head == MUST else PLAIN, worth=value)
            if not group.names and g:
                continue
            for i, ((place, index, _), row) in enumerate(zip(records, group.rows, strict=True)):
                rank = ANCHOR if stands or (not g and (self._explains or (top and i in (0, n - 1)))) else PLAIN
                if not g:
                    rank = MUST if bad[i] else max(rank, said.get(i, PLAIN))
                self.add(f"{indent} {index}{row}" if numbered else f"{indent} {row}", document, place, rank=rank,
                         worth=value - (_LATE if deep and i >= _BESIDE else 0) + (ODD if i in group.odd else 0),
                         count=int(top and not g), source="" if group.dull else row)
                if not g and beside:
                    self.large(document, cut.bigs[i], index, depth, worth, bad[i])
        if not cut.groups:
            self.add(f"{indent}{label}[{total}]", document, path, -2, rank=ANCHOR if top else PLAIN, worth=worth)
        if not beside or not cut.groups:
            for (_, index, _), large, failing in zip(records, cut.bigs, bad, strict=True):
                self.large(document, large, index, depth, worth, failing)

    def large(self, document: Document, large: list[tuple[str, Path, Value]], index: str, depth: int, worth: int, failing: bool) -> None:
        """What is too large for the row of one record. failing: whether that reports a failure."""
        self._inside += 1
        outer = self._explains
        for name, place, item in large:
            label = f"{index[:-2]}.{heading(name)}:"
            if isinstance(item, tuple) and (words := running(item)):
                self.index(document, words, place, label, depth + 2, worth)
                continue
            key = name.replace("\0", "").rsplit(".", 1)[-1]
            self._label, self._named = label, f"{name} "
            self._explains = failing and EXPLAINS.fullmatch(key) is not None
            self.value(document, item, place, label, depth + 2, key, worth - (0 if _PROSE.fullmatch(key) else 12))
        self._label, self._explains = "", outer
        self._inside -= 1


    def index(self, document: Document, words: list[str], path: Path, label: str, depth: int, worth: int) -> None:
        """A text that is written as an index of its words, in the order in which it reads."""
        text = document.write(" ".join(words))
        at, indent = 0, " " * min(depth, 6)
        while at < len(text):
            stop = len(text) if len(text) - at <= _LONG else sentence_end(text, at, at + _LONG)
            piece = text[at:stop]
            self.add(f"{indent}{label}{piece}" if not at else piece, document, path, glued=int(at > 0),
                     worth=worth + (4 if not at else prose_worth(piece)))
            label, at = "", stop

    def string(self, document: Document, value: str, path: Path, label: str, depth: int, worth: int, rank: int) -> None:
        """A long string: the JSON in it, or its lines and sentences."""
        raw = document.write(value)
        if raw.lstrip("\\nrt \n")[:1] in ("{", "["):
            inner = Document(raw, document.nested(value), -1)
            self.places.parents[inner] = (document, path)
            if read(inner.text, len(inner.text) - len(inner.text.lstrip()), inner.literal) is not None:
                self.add(f"{' ' * min(depth, 6)}{label}", document, path, -2, rank=self._head(), worth=worth)
                outer, self._base = self._base, depth + 1
                self.block(inner, depth=depth + 1, worth=worth)
                self._base = outer
                return
        self.pieces(document, path, value, 0, f'{label}"', "" if document.text.endswith(value) else '"', depth, worth, rank)

    def pieces(self, document: Document, path: Path, body: str, start: int, label: str, close: str, depth: int, worth: int,
               rank: int = PLAIN) -> None:
        """A text by its lines, long lines by sentences. body is folded; start and the places are positions in it."""
        write = document.write
        indent = " " * min(depth, 6)
        n = len(body)
        lines = [found.span() for found in _BREAK.finditer(body, start)]
        lines.append((n, n))
        begin, opening = start, _OPENING
        for full, end in lines:  # where the line's text ends, and where the next line begins
            at, glued = start, 0
            start = end
            while at < full or (at == full == n and not glued and label):
                stop = full if full - at <= _LONG else sentence_end(body, at, at + _LONG)
                last = end if stop == full else stop
                piece = body[at:stop]
                at = stop
                if (not piece or piece.isspace()) and (last < n or not label):
                    continue
                first = opening > 0 or last == n
                opening -= 1
                text = write(piece)
                self.add(f"{indent}{label}{text}" if not glued else text, document, path, begin, last, glued=glued,
                         rank=max(rank, ANCHOR) if first and not self._inside else rank, worth=worth + (4 if first else prose_worth(text)))
                label, indent = "", " " * min(depth + 1, 6)
                begin, glued = last, 1
        if close and begin > 0:
            self.texts[-1] += close



def _size(text: str) -> int:
    """Characters of a unit and its newline, as many as cost what it does: see `byref.proxy.text.estimate`."""
    return len(text) + 1 if text.isascii() else (10 * estimate(text) + 2) // 3 + 1


def _alike(values: Sequence[Value], share: float) -> bool:
    """Whether all are objects, and at least that share of the names of the first ones is common to them."""
    if not all(isinstance(value, tuple) and value for value in values):
        return False
    names = [{name for name, _ in value} for value in values[:20] if isinstance(value, tuple)]
    common = set.intersection(*names)
    return bool(common) and len(common) * len(names) >= share * sum(map(len, names))
