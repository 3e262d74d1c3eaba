"""Which rows of a table hold the largest values of what it measures: they are what such a table is mostly asked for."""
from __future__ import annotations

import re
from collections.abc import Sequence

from byref.filters.columns import ALIGNED, GAP, RECORDS, RULED

_MEASURE = re.compile(
    r"%|(?<![a-z])(?:cpu|mem|memory|rss|size|used?|usage|total|cumul\w*|self|time|count|amount|latency|duration|elapsed|restarts|errors|failures"
    r"|bytes|rows|cost|calls|max|avg|mean|p9\d|load|requests|misses|ms|us|sec|seconds)(?![a-z])", re.I)
_DIGITS = 24  # of a value; longer ones are names
_VALUE = re.compile(rf"\s*\(?(\d[\d,]{{,{_DIGITS}}})(?:\.(\d{{1,3}})\d*)?\s?([KMGT]?)i?[Bb]?%?(?:\s.*)?")
_SCALE = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_LEAST = 12  # rows of a table whose extremes are hard to see
_EACH, _ALL = 2, 8  # rows for a column, and in all
_BARS = re.compile(r" *[|│┃║] *")


def extremes(heading: str, rows: Sequence[tuple[int, str]], between: str) -> set[int]:
    """The rows, by their numbers, with the largest values of columns that measure something. heading: the line that names the columns;
    rows: each with its number. None where the columns are not told apart, few rows stand, or a column has hardly any values."""
    if between == RECORDS or len(rows) < _LEAST or not _MEASURE.search(heading):
        return set()
    names = _cells(heading, between, 0)
    wide = len(names)
    if between == ALIGNED and any(len(_cells(row, between, 0)) != wide for _, row in rows[:_LEAST]):
        names = heading.split()
        wide = -len(names)
    measured = [k for k, name in enumerate(names) if _MEASURE.search(name)]
    columns: list[list[tuple[int, int]]] = [[] for _ in measured]
    for i, row in rows:
        cells = _cells(row, between, wide)
        for column, k in zip(columns, measured, strict=True):
            cell = cells[k] if k < len(cells) else ""
            if len(cell) <= _DIGITS and cell.isdigit() and cell.isascii():
                column.append((-1000 * int(cell), i))
            elif found := _VALUE.fullmatch(cell):
                column.append((-_number(found), i))
    largest: set[int] = set()
    for column in columns:
        if len(column) * 5 < len(rows) * 4 or len({value for value, _ in column}) < 3:
            continue
        for _, i in sorted(column)[:_EACH]:
            if len(largest) < _ALL:
                largest.add(i)
    return largest


def largest(rows: Sequence[tuple[int, str]]) -> set[int]:
    """The rows of a long listing, by their numbers, with the largest files."""
    if len(rows) < _LEAST:
        return set()
    cells = [(row.split(None, 5), i) for i, row in rows if row[:1] == "-"]
    sizes = sorted((-_number(found), i) for row, i in cells if len(row) > 4 and (found := _VALUE.fullmatch(row[4])))
    return {i for _, i in sizes[:_EACH]}


def _cells(row: str, between: str, wide: int) -> list[str]:
    """The cells of a row. wide: below 0, of an aligned table, how many there are, with one blank between some."""
    if between == ALIGNED:
        return row.split(None, -wide - 1) if wide < 0 else GAP.split(row.strip())
    return _BARS.split(row.strip("|│┃║ ")) if between == RULED else row.split(between)


def _number(found: re.Match[str]) -> int:
    """A value in thousandths."""
    whole, part, unit = found.groups(default="")
    return (int(whole.replace(",", "")) * 1000 + int(part.ljust(3, "0"))) * _SCALE[unit]
