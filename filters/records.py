"""Records of one kind as a table: names once, then rows of values as they are written.

A cell is the raw characters of a value. A string loses its quotes where nothing else can be meant; a null is
`null`, an empty string `""`, a missing member nothing at all, and `…` a value that stands on its own below.
"""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import TypeAlias

from byref.filters.scanner import Number, Value
from byref.filters.templates import MANY, RARE

Path: TypeAlias = tuple[int, ...]
Record: TypeAlias = tuple[tuple[str, Value], ...]
Write: TypeAlias = Callable[[str], str]  # a folded string body to what stands in the raw text

_CELL, _ROW = 160, 240  # characters: longer strings stand on their own; a row's first part takes about so many
_FEW, _NEARLY = 8, 85  # records from which, and percent of them by which, a value is the usual one
_SHARED = 400  # characters of a value that is said once for all records
_NEST, _WIDE = 80, 16  # characters of a nested value that stays in its row; members of a nested object that become columns
_SCALAR = re.compile(r"true|false|null|True|False|None|…|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|-?Infinity|NaN")
_PLAIN_NAME = re.compile(r"[^\s|{}\"=…]+")
# Members that say little to a reader: addresses of other resources, hashes, pictures.
_DULL = re.compile(
    r"(?:.*[_.:-])?(?:urls?|uri|href|links?|node_id|gravatar_id|etag|hash|sha\d*|md5|digest|signature|avatar|icons?|images?|img|thumbnails?|logo|"
    r"photos?|self|rel|_type|indexed|integrity|shasum|deposited)(?:[_.:-].*)?|.*(?:Url|URL|Uri|Hash|Icon|Image)$")
# Values that say little, whatever their name: addresses, hashes and keys of 16 characters and more in hex, times in milliseconds.
_OPAQUE = re.compile(r"\"?(?:https?:(?:\\*/){2}\S+|(?=[0-9-]*[a-f])[0-9a-f-]{16,}|(?:sha\d+|md5|data|W/)[-:;\"]\S+|1[4-9]\d{11})\"?", re.I)
_LINK = ("html_url", "url", "link", "href", "webUrl", "web_url", "permalink", "URL", "doi", "DOI", "landing_page_url", "pdf_url")
_VITAL = re.compile(
    r"(?:.*[_.-])?(?:id|key|name|title|label|login|user(?:name)?|email|number|status|state|type|kind|category|date|time|at|year|count|"
    r"total|score|rank|price|amount|value|version|doi|symbol|path|file|error|message|reason|code|ticker|text|summary)|"
    r".*(?:Id|Name|Date|Count|Type|Status|Price)", re.I)


def short(value: Value, room: int, write: Write) -> str | None:
    """A value in compact JSON, its numbers and strings as they are written; None if longer than room characters."""
    if isinstance(value, str):
        text = value if isinstance(value, Number) else f'"{write(value)}"'
    elif value is None:
        text = "null"
    elif isinstance(value, bool):
        text = "true" if value else "false"
    else:
        parts: list[str] = []
        room -= 2
        if isinstance(value, list):
            for item in value:
                part = f'"{write(item)}"' if type(item) is str else short(item, room, write)
                if part is None or len(part) > room:
                    return None
                room -= len(part) + 1
                parts.append(part)
            text = f"[{','.join(parts)}]"
        else:
            for name, item in value:
                part = short(item, room - len(name) - 3, write)
                if part is None:
                    return None
                part = f'"{write(name)}":{part}'
                room -= len(part) + 1
                parts.append(part)
            text = f"{{{','.join(parts)}}}"
        return text if room >= -1 else None
    return text if len(text) <= room else None


@lru_cache(maxsize=4096)
def dull(name: str) -> bool:
    """Whether a member of this name rarely matters: addresses, hashes, pictures."""
    return bool(_DULL.fullmatch(name))


def opaque(name: str, value: Value) -> bool:
    """Whether a value is an address, a hash or the like, or holds nothing else, under a name that does not say that it matters."""
    if type(value) is list:
        return bool(value) and all([type(item) is str and _OPAQUE.fullmatch(item) is not None for item in value[:_WIDE]])
    return isinstance(value, str) and _OPAQUE.fullmatch(value) is not None and not _vital(name)


@dataclass(slots=True)
class Group:
    """Columns that stand together. names: the heading's; rows: one text a record; index: columns that hold the record's own name.

    each: members equal in all records, or (not strict) in all whose rows say nothing else; odd: rows that say what hardly any other says.
    """

    names: list[str]
    each: list[str]
    rows: list[str]
    dull: bool = False
    strict: bool = True
    index: str = ""
    odd: frozenset[int] = frozenset()


@dataclass(slots=True)
class Table:
    """Records as columns. groups: the telling ones first; bigs: what does not fit into a row, for each record."""

    groups: list[Group] = field(default_factory=list)
    bigs: list[list[tuple[str, Path, Value]]] = field(default_factory=list)


@dataclass(slots=True)
class _Column:
    name: str
    depth: int
    count: int = 0
    size: int = 0
    big: int = 0
    first: str = ""
    same: bool = True
    order: int = 0
    usual: str = ""
    dull: bool = False


def table(records: Sequence[tuple[Path, Record]], write: Write, index: Sequence[str] = ()) -> Table:
    """Records, each with its path, as a table. index: the names of the records, where they have some."""
    rows: list[dict[str, str]] = []
    bigs: list[list[tuple[str, Path, Value]]] = []
    for path, record in records:
        cells: dict[str, str] = {}
        large: list[tuple[str, Path, Value]] = []
        _flatten(record, "", path, 0, cells, large, write)
        rows.append(cells)
        bigs.append(large)
    columns = _columns(rows, bigs)
    n = len(rows)
    listed = [c for c in columns.values() if c.count > c.big]
    for column in columns.values():
        if 0 < column.count <= column.big:  # mostly large: its small values stand beside the large ones, not in the rows
            for (path, _), cells, large in zip(records, rows, bigs, strict=True):
                if column.name in cells:
                    large.append((column.name, path, Number(cells.pop(column.name))))
    common = _common(columns, bigs, write)
    out = Table(bigs=bigs)
    known: dict[tuple[str, ...], str] = {tuple(index): ""} if index else {}
    proper = {c.name: c for c in listed if c.count * 10 >= n * 3}
    rare = columns.keys() - proper.keys()
    for names, is_dull in _grouped(list(proper.values()), n):
        usual = {c.name: c.usual for c in names if c.count == n and not c.big and n > 1 and (c.same or _usual(c, rows))}
        keys, labels, own = _distinct([c for c in names if c.name not in usual], rows, known)
        mixed = {key for key in keys if columns[key].big}
        texts = []
        others = {key: [k for k, cells in enumerate(rows) if cells[key] != text] for key, text in usual.items() if not columns[key].same}
        odd = frozenset(chain.from_iterable([few for few in others.values() if len(few) <= RARE and n >= MANY]))
        for cells, large in zip(rows, bigs, strict=True):
            row = [cells.get(key, "") for key in keys]
            if mixed:
                there = {name for name, _, _ in large}
                row = ["…" if key in there else text for key, text in zip(keys, row, strict=True)]
            row += [f"{heading(key)}={cells[key]}" for key, text in usual.items() if cells[key] != text]
            if rare and not out.groups:
                row += _named(cells, rare)
            texts.append("|".join(row).rstrip("|") or "|")
        each = [f"{heading(key)}={text}" for key, text in usual.items()]
        out.groups.append(Group(labels, each if out.groups else each + common, texts, is_dull,
                                all(columns[key].same for key in usual), own, odd))
    if not out.groups and (common or any(not rare.isdisjoint(cells) for cells in rows)):
        out.groups.append(Group([], common, ["|".join(_named(cells, rare)) or "|" for cells in rows]))
    return out


def _named(cells: dict[str, str], names: Collection[str]) -> list[str]:
    """Cells that have no column, each with its name."""
    return [f"{heading(key)}={text}" for key, text in cells.items() if key in names]


def is_bare(text: str) -> bool:
    """Whether a string that is not empty can stand without its quotes and be taken for nothing else."""
    first = text[:1]
    if first in '"[{ ' or text[-1] == " " or "|" in text:
        return False
    return first not in "-0123456789tfn…INTF" or _SCALAR.fullmatch(text) is None


@lru_cache(maxsize=4096)
def _vital(name: str) -> bool:
    return bool(_VITAL.fullmatch(name))


def _flatten(record: Record, prefix: str, path: Path, depth: int, cells: dict[str, str],
             large: list[tuple[str, Path, Value]], write: Write) -> None:
    for ordinal, (key, value) in enumerate(record):
        name = prefix + write(key)
        while name in cells or (large and any([name == one for one, _, _ in large])):
            name += "\0"  # a repeated name is a column of its own
        if value is None:
            cells[name] = "null"
        elif isinstance(value, Number):
            cells[name] = value
        elif isinstance(value, str):
            text = write(value)
            if len(text) <= _CELL:
                cells[name] = text if is_bare(text) else f'"{text}"'
            else:
                large.append((name, (*path, ordinal), value))
        elif isinstance(value, tuple) and 0 < len(value) <= _WIDE and depth < 2:
            _flatten(value, name + ".", (*path, ordinal), depth + 1, cells, large, write)
        else:
            inline = short(value, _NEST, write)
            if inline is None:
                large.append((name, (*path, ordinal), value))
            else:
                cells[name] = inline


def _columns(rows: list[dict[str, str]], bigs: list[list[tuple[str, Path, Value]]]) -> dict[str, _Column]:
    """What there is of every name, in the order in which they come first."""
    large = Counter(name for big in bigs for name, _, _ in big)
    columns: dict[str, _Column] = {}
    for name in dict.fromkeys(chain(chain.from_iterable(rows), large)):
        values = [row[name] for row in rows if name in row]
        first = values[0] if values else ""
        key = name.rstrip("\0").rsplit(".", 1)[-1]
        columns[name] = _Column(name, name.count("."), len(values), sum(map(len, values)), large.get(name, 0), first,
                                values.count(first) == len(values), len(columns), first,
                                dull(key) or (not _vital(key) and _says_little(values)))
    return columns


def _says_little(cells: list[str]) -> bool:
    """Whether the cells of a column are addresses, hashes or lists of them, as far as they say anything."""
    told = [cell for cell in cells if cell not in ("null", "", '""', "[]")]
    if not told or _OPAQUE.fullmatch(told[0].strip("[]").partition('","')[0]) is None:
        return False
    return all([_OPAQUE.fullmatch(cell.strip("[]").partition('","')[0]) for cell in told])


def _grouped(columns: list[_Column], n: int) -> list[tuple[list[_Column], bool]]:
    """Columns in up to three groups: those that tell the records apart, the other values, addresses and hashes."""
    if not columns:
        return []
    link = next((name for name in _LINK if any(c.name == name for c in columns)), None)
    dulls = {c.name for c in columns if c.name != link and (c.dull or c.name.startswith("_links."))}
    room = _ROW
    core: set[str] = set()
    for column in sorted(columns, key=lambda c: (c.depth, not _vital(c.name.rsplit(".", 1)[-1]), c.order)):
        size = 0 if column.same and column.count == n else column.size // n + 1
        if column.name not in dulls and size <= room:
            core.add(column.name)
            room -= size
    groups = [([c for c in columns if c.name in core], False),
              ([c for c in columns if c.name not in core and c.name not in dulls], False),
              ([c for c in columns if c.name in dulls], True)]
    return [group for group in groups if group[0]]


def _usual(column: _Column, rows: list[dict[str, str]]) -> bool:
    """Whether nearly all records share a value: then the few others stand out."""
    if len(rows) < _FEW:
        return False
    column.usual, count = Counter(row[column.name] for row in rows).most_common(1)[0]
    return count * 100 >= len(rows) * _NEARLY


def _common(columns: dict[str, _Column], bigs: list[list[tuple[str, Path, Value]]], write: Write) -> list[str]:
    """Large values that all records share, to be said once; they are taken out of what stands apart."""
    said: dict[str, str] = {}
    for column in columns.values():
        if column.big == len(bigs) > 1 and not column.count:
            values = [value for big in bigs for name, _, value in big if name == column.name]
            text = short(values[0], _SHARED, write)
            if text is not None and all(short(value, _SHARED, write) == text for value in values):
                said[column.name] = f"{heading(column.name)}={text}"
    if said:
        for big in bigs:
            big[:] = [entry for entry in big if entry[0] not in said]
    return list(said.values())


def _distinct(columns: list[_Column], rows: list[dict[str, str]], known: dict[tuple[str, ...], str]) -> tuple[list[str], list[str], str]:
    """The columns that differ from every other, and their headings: `title=display_name` where two hold the same values."""
    keys: list[str] = []
    twins: dict[str, list[str]] = {}
    for column in columns:
        values = tuple([row.get(column.name, "") for row in rows])
        first = known.setdefault(values, column.name) if len(rows) > 1 and not column.big else column.name
        if first == column.name:
            keys.append(first)
        twins.setdefault(first, []).append(heading(column.name))
    strangers = ["=".join([heading(first), *names]) for first, names in twins.items() if first and first not in keys]
    return keys, ["=".join(twins[key]) for key in keys] + strangers, "=".join(twins.get("", []))


def heading(name: str) -> str:
    """A name as it stands in a heading: in quotes where it could be taken for more than one."""
    name = name.replace("\0", "")
    return name if _PLAIN_NAME.fullmatch(name) else f'"{name}"'
