"""JSON by a layout: the members that a tool's adapter says matter, a row a record, and one gap for all others.

A cell is written as in any table of records (see records.py). Of a list its first elements stand, and in brackets how many there are,
with `+` where the API says that it cut the list.
"""
from __future__ import annotations

from byref.filters.asked import met, words_asked
from byref.filters.prose import running
from byref.filters.records import Path, Record, heading, is_bare, short
from byref.filters.scanner import Document, Number, Value
from byref.filters.sheet import Sheet
from byref.filters.units import ANCHOR, HIDDEN, MUST, PLAIN
from byref.proxy.contracts import Call, Column, Layout

_CELL = 240  # characters of a cell: a longer one is cut off at a word, and the gap holds the rest
_ALSO = 120  # characters of names of members that stand nowhere else
_FIRM, _ROW, _PROSE = 80, 24, -400  # quarters of worth: a sentence stands for what is asked in it alone
_NOTHING: tuple[Value, ...] = (None, "", [], ())
_BEST = 2  # pieces of the texts of one record among many


def laid(sheet: Sheet, document: Document, root: Value, layout: Layout, call: Call) -> bool:
    """Adds the units of one JSON value; False, and nothing is added, where it is not of this layout."""
    path: Path = (*sheet.places.prefix(document), 0)
    found = _member(root, path, layout.records)
    if found is None:
        return False
    value, place = found
    records: list[tuple[Path, Record]]
    if isinstance(value, tuple):
        records = [(place, value)]
    elif isinstance(value, list) and value and all(isinstance(item, tuple) for item in value):
        records = [((*place, i), item) for i, item in enumerate(value) if isinstance(item, tuple)]
    else:
        return False
    known = [column for column in layout.firm if any(_member(record, at, column.path.partition("[]")[0]) for at, record in records)]
    if not known or (layout.firm[0] not in known):
        return False
    shown = _top(sheet, document, root, path, layout)
    shown += _rows(sheet, document, records, place, layout, words_asked(call), isinstance(value, tuple))
    left, beside = _beside(document, root, layout)
    if left:
        place = path
        sheet.places.loose.add(place)
    _rest(sheet, document, records, place, layout, shown, beside)
    return True


def _top(sheet: Sheet, document: Document, root: Value, path: Path, layout: Layout) -> int:
    """One line of members outside of the records. Returns the characters that it shows."""
    cells: list[str] = []
    at: Path | None = None
    for name in layout.top:
        found = _member(root, path, name)
        if found is not None:
            cells.append(f"{heading(name)}={_cell(document, found[0])}")
            at = at or found[1]
    if at is not None:
        sheet.add("|".join(cells), document, at, rank=MUST, worth=_FIRM)
    before = len(sheet.texts)
    for name in layout.lead:
        found = _member(root, path, name)
        if found is not None:
            _texts(sheet, document, *found, f"{heading(name)}:")
    for k in range(before, len(sheet.texts)):
        sheet.worth[k], sheet.rank[k] = _FIRM, ANCHOR
    return sum(map(len, cells)) + sum(map(len, sheet.texts[before:]))


def _rows(sheet: Sheet, document: Document, records: list[tuple[Path, Record]], place: Path, layout: Layout, asked: frozenset[str],
          one: bool) -> int:
    columns = [column for column in (*layout.firm, *layout.columns) if any(_text(document, record, column) for _, record in records)]
    firm = [column for column in columns if column in layout.firm]
    rest = [column for column in columns if column not in firm]
    size = 0
    sheet.places.loose.add(place)
    if not one:
        names = "|".join(map(_title, columns))
        title = f"{layout.records}[{len(records)} {{{names}}}]"
        sheet.add(title, document, place, rank=MUST, worth=_FIRM, source=" ".join(map(_title, columns)))
    for i, (at, record) in enumerate(records):
        cells = [_text(document, record, column) for column in firm]
        others = [_text(document, record, column) for column in rest]
        if one:
            cells = [f"{_title(column)}={cell}" for column, cell in zip(firm, cells, strict=True) if cell]
            others = [f"{_title(column)}={cell}" for column, cell in zip(rest, others, strict=True) if cell]
        row = "|".join(cells)
        sheet.add(row if one else f" {i}: {row}", document, at, rank=MUST, worth=_FIRM, count=1, source=row)
        size += len(row)
        text = "|".join(others).rstrip("|")
        if text:
            sheet.add(f"|{text}", document, at, rank=ANCHOR, worth=_ROW, glued=1, source=text)
            size += len(text)
        size += _prose(sheet, document, record, at, "" if one else f"{i}.", layout, asked)
    return size


def _prose(sheet: Sheet, document: Document, record: Record, at: Path, index: str, layout: Layout, asked: frozenset[str]) -> int:
    """The texts of a record in pieces of a few sentences. Of one record they stand; of many, what meets most words that were asked."""
    before = len(sheet.texts)
    for name in layout.prose:
        found = _member(record, at, name)
        if found is None:
            continue
        _texts(sheet, document, *found, f"  {index}{heading(name)}:")
    added = range(before, len(sheet.texts))
    scores = {k: met(asked, sheet.texts[k]) for k in added} if index else {}
    best = sorted([k for k in scores if scores[k]], key=lambda k: (-scores[k], k))[:_BEST]
    for k in added:
        sheet.worth[k] = _ROW if not index or k in best else _PROSE
        sheet.rank[k] = ANCHOR if k in best else PLAIN
    return sum(map(len, sheet.texts[before:]))


def _texts(sheet: Sheet, document: Document, value: Value, place: Path, label: str) -> None:
    """A text in pieces of a few sentences, the texts of a list, and those of the objects in one."""
    if isinstance(value, tuple) and (words := running(value)):
        sheet.index(document, words, place, label, 0, _PROSE)
    elif isinstance(value, tuple):
        for i, (key, item) in enumerate(value):
            if isinstance(item, str):
                _texts(sheet, document, item, (*place, i), f"{label[:-1]}.{heading(key)}:")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            _texts(sheet, document, item, (*place, i), f"{label[:-1]}[{i}]:")
    elif isinstance(value, str) and not isinstance(value, Number) and value:
        sheet.string(document, value, place, label, 0, _PROSE, PLAIN)


def _beside(document: Document, root: Value, layout: Layout) -> tuple[bool, list[str]]:
    """Whether the view leaves out any member outside of the records, and the paths of those that say something."""
    whole = {tuple(layout.records.split("."))}
    for name in (*layout.top, *layout.lead):
        value, _ = _member(root, (), name) or (None, ())
        text = isinstance(value, str) and not isinstance(value, Number) and bool(value)
        if text if name in layout.lead else not _cell(document, value).endswith("…"):
            whole.add(tuple(name.split(".")))
    above = {steps[:k] for steps in whole for k in range(1, len(steps))}
    left: list[tuple[str, ...]] = []
    names: list[str] = []

    def walk(value: Value, at: tuple[str, ...]) -> None:
        known: set[str] = set()
        for key, item in value if isinstance(value, tuple) else ():
            steps = (*at, key)
            if key in known or not (steps in whole or (steps in above and isinstance(item, tuple))):
                left.append(steps)
                if item not in _NOTHING:
                    names.append(heading(document.write(".".join(steps))))
            elif steps not in whole:
                walk(item, steps)
            known.add(key)
    if layout.records:
        walk(root, ())
    return bool(left), names


def _rest(sheet: Sheet, document: Document, records: list[tuple[Path, Record]], place: Path, layout: Layout, shown: int,
          beside: list[str]) -> None:
    """What no row shows, as one gap, below the names of members that it holds. beside: members outside of the records."""
    told = {column.path.partition(".")[0].removesuffix("[]") for column in (*layout.firm, *layout.columns)}
    told |= {name.partition(".")[0] for name in layout.prose}
    names: dict[str, None] = {}
    room = _ALSO
    also = [heading(document.write(key)) for key, value in records[0][1] if key not in told and value not in _NOTHING]
    for name in (*beside, *also):
        if len(name) < room:
            names[name] = None
            room -= len(name) + 1
    if names:
        sheet.add(f" also: {' '.join(names)}", document, place, -2, rank=ANCHOR, worth=0, source="")
    sheet.add("", document, place, rank=HIDDEN)
    sheet.sizes[len(sheet.texts) - 1] = max(0, len(sheet.places.text) - shown)


def _member(value: Value, path: Path, name: str) -> tuple[Value, Path] | None:
    """What lies at a dotted path, with its ordinals; None where it is missing."""
    for step in filter(None, name.split(".")):
        if not isinstance(value, tuple):
            return None
        for i, (key, item) in enumerate(value):
            if key == step:
                value, path = item, (*path, i)
                break
        else:
            return None
    return value, path


def _each(value: Value, names: list[str]) -> list[Value]:
    """What lies at a path with lists in it, in order; what is missing or null is left out."""
    found = _member(value, (), names[0])
    if found is None or found[0] is None:
        return []
    if len(names) == 1:
        return [found[0]]
    if not isinstance(found[0], list):
        return []
    return [one for item in found[0] for one in _each(item, [names[1].removeprefix("."), *names[2:]])]


def _title(column: Column) -> str:
    return heading(column.name or column.path.replace("[]", "").rpartition(".")[2])


def _text(document: Document, record: Record, column: Column) -> str:
    """A cell; empty where the member is missing."""
    names = column.path.split("[]")
    if len(names) == 1:
        found = _member(record, (), column.path)
        if found is None:
            return ""
        if column.flag:
            return _title(column) if found[0] is True else ""
        return _cell(document, found[0])
    listed = _member(record, (), names[0])
    if listed is None:
        return ""
    if not isinstance(listed[0], list):
        return _cell(document, listed[0])
    texts = [_cell(document, one) for one in _each(record, names)]
    cut = _member(record, (), column.also)[0] if column.also and _member(record, (), column.also) else None  # type: ignore[index]
    text = "; ".join(texts[:column.most or len(texts)])
    if len(text) > _CELL:
        text = _short(text)
    if column.most < len(listed[0]) or cut is True:
        text += f" ({len(listed[0])}{'+' * (cut is True)})"
    if cut is True:
        text += f" {heading(column.also)}"
    return text or "[]"


def _cell(document: Document, value: Value) -> str:
    """A value in one line, as it is written."""
    if isinstance(value, str) and not isinstance(value, Number):
        text = document.write(value)
        if not text or not is_bare(text):
            text = f'"{text}"'
        return text if len(text) <= _CELL else _short(text)
    text = short(value, _CELL, document.write) or ""
    return text or "…"


def _short(text: str) -> str:
    at = text.rfind(" ", 0, _CELL)
    return text[:at if at > _CELL // 2 else _CELL] + "…"
