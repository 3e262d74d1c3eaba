"""Tables: aligned columns, boxes, psql, Markdown, CSV and TSV: headings and totals stand, and each row that reports a failing state."""
from __future__ import annotations

import re
from itertools import pairwise

from byref.filters.columns import ALIGNED, BARS, GAP, RECORD, RECORDS, ROWS, RULED, TOTAL, Form, form_of, in_capitals, is_rule
from byref.filters.extremes import extremes
from byref.filters.failures import is_failure, mark, mark_summary, suspects
from byref.filters.lines import split
from byref.filters.narrow import narrowed
from byref.filters.units import ALWAYS, ANCHOR, PLAIN, Units
from byref.proxy.contracts import Call

# A cell that says that what the row is about does not work, in the words of docker, kubectl, systemctl and CI
_STATE = re.compile(
    r"(?:Exited \([1-9]\d*\)|Restarting \([1-9]|[Dd]ead\b|\S*BackOff\b|Err\w*Pull\b|OOMKilled|Evicted|NotReady|Unschedulable|NodeLost"
    r"|Lost\b|\S*[a-z]Error\b|InvalidImageName|ContainerStatusUnknown|DeadlineExceeded|un(?:healthy|reachable)\b|UNHEALTHY|not[- ]found\b"
    r"|crashed\b|DOWN\b|down\b|errored\b|broken\b|timeout\b|TIMEOUT\b|rejected\b|REJECTED\b)")
_GOES_ON = re.compile(r"\+(?:\||$)|↵")  # psql: a cell has more lines
_CELLS = re.compile(r" *[|│┃║] *")
_HINTS = (
    "Exited", "Restarting", "ead", "BackOff", "Pull", "OOM", "Evict", "Ready", "Unsched", "Lost", "Error", "Invalid", "Unknown", "Exceeded",
    "unhealthy", "UNHEALTHY", "unreachable", "found", "crashed", "DOWN", "down", "errored", "broken", "timeout", "TIMEOUT", "eject",
    "REJECT")
_USED = 200  # percent of the plan's threshold: few rows of a table are ever used
_DESCRIBES = re.compile(r"(?:description|summary|\w*_desc|comment|title)[ |]*$", re.I)


class Table:
    name = "table"
    most = 86

    def match(self, call: Call, media: str, sample: str) -> int:
        rows = sample.split("\n")
        form = form_of(rows[:ROWS + 1][:-1] or rows, call, media)
        return form.sure if form else 0

    def units(self, text: str, call: Call) -> Units | None:
        lines = split(text)
        texts, glued = lines.texts, lines.glued
        whole = [i for i in range(len(texts)) if not (glued and glued[i])]
        rows = ["".join(texts[i:j]) for i, j in pairwise([*whole, len(texts)])] if glued else texts
        form = form_of(rows[:ROWS], call, "")
        if form is None:
            return None
        levels, counts = _ranks(rows, form)
        if not any(counts):
            return None
        rank, number = bytearray(len(texts)), [0] * len(texts)
        for k, i in enumerate(whole):
            rank[i], number[i] = levels[k], counts[k]
        for i in range(1, len(texts)):
            if glued and glued[i] and rank[i - 1] == ALWAYS:
                rank[i] = ALWAYS
        heading = next((row for row in rows[form.first:form.after] if not is_rule(row)), "")
        for k in extremes(heading, [(k, rows[k]) for k, count in enumerate(counts) if count], form.between):
            rank[whole[k]] = max(rank[whole[k]], ANCHOR)
        units = lines.units(rank=rank, strictness=0 if narrowed(call) else _USED)
        units.name, units.counts, units.total = "rows", number, None
        if not call.intent:
            units.sources = _named(texts, rows[form.first:form.after], form.between)
        columns = len(GAP.split(rows[form.first].strip())) if form.between == ALIGNED else 0
        failing = {i for i in suspects(texts) if not number[i] or _reports(texts[i], form.between, columns)}
        starts = {found.start() for found in re.finditer(r"\S+", rows[form.first])} if form.between == ALIGNED else set()
        hints = [hint for hint in _HINTS if hint in text]
        said = {k for hint in hints for k, row in enumerate(rows) if hint in row}
        failing.update([whole[k] for k in said if counts[k] and _fails(rows[k], starts)])
        mark(units, sorted(failing))
        mark_summary(units)
        return units


def _ranks(rows: list[str], form: Form) -> tuple[list[int], list[int]]:
    """The rank of each line, and 1 for each that begins a row of the table."""
    levels, counts = [PLAIN] * len(rows), [0] * len(rows)
    for i in range(form.first, form.after):
        levels[i] = ALWAYS
    inside, open_quote, grid = True, False, _is_grid(rows, form.after)
    for i in range(form.after, len(rows)):
        row = rows[i]
        if form.between == RECORDS:
            counts[i] = int(RECORD.match(row) is not None)
        elif not row.strip():
            inside = form.between not in (ALIGNED, RULED)
        elif TOTAL.match(row):
            levels[i] = ALWAYS
        elif is_rule(row):
            if not inside and i and _heads(rows[i - 1], rows[i - 2] if i > 1 else ""):  # the next table
                inside, levels[i - 1], levels[i], counts[i - 1] = True, ALWAYS, ALWAYS, 0
        elif not inside and in_capitals(row):
            inside, levels[i] = True, ALWAYS
        elif open_quote:  # a cell goes on over a line end
            open_quote = row.count('"') % 2 == 0
        elif form.between == RULED and BARS.isdisjoint(row):
            inside = False
        else:
            goes_on = not is_rule(rows[i - 1]) and (grid or (form.between == RULED and _GOES_ON.search(rows[i - 1])))
            counts[i] = int(inside and not goes_on)
            open_quote = form.between in (",", ";") and row.count('"') % 2 == 1
    filled = [i for i, count in enumerate(counts) if count]
    for i in (*filled[:2], *filled[-1:]):
        levels[i] = max(levels[i], ANCHOR)
    return levels, counts


def _named(texts: list[str], heading: list[str], between: str) -> list[str] | None:
    """The lines without their last column where that describes: a gap names what it hides by the others."""
    row = next((row for row in heading if _DESCRIBES.search(row)), None)
    if row is None or between not in (ALIGNED, RULED):
        return None
    return [text[:row.rindex("|") if between == RULED and "|" in row else len(row.rstrip(" |").rpartition(" ")[0])] for text in texts]


def _is_grid(rows: list[str], after: int) -> bool:
    """Whether a rule stands below each row, so that a row may take several lines."""
    return sum(map(is_rule, rows[after:after + 12])) > 2


def _heads(row: str, before: str) -> bool:
    """Whether a line above a rule is a heading: the first after a blank line or another rule."""
    return bool(row.strip()) and (not before.strip() or is_rule(before))


def _reports(row: str, between: str, columns: int) -> bool:
    """Whether one of its cells begins with a sign of failure: what describes a thing may well name one. A line with few cells of an
    aligned table is none of its rows."""
    cells = GAP.split(row) if between == ALIGNED else _CELLS.split(row) if between == RULED else row.split(between)
    if len(cells) * 3 <= columns:
        return True
    return any([is_failure(" ".join(cell.strip(' "').split()[:2])) for cell in cells if cell])


def _fails(row: str, starts: set[int]) -> bool:
    """Whether a cell begins with a failing state. starts: where the columns of an aligned table begin."""
    for found in _STATE.finditer(row):
        at = found.start()
        before = row[:at]
        if not before.strip(" |│┃║\"") or at in starts or before.endswith(("  ", "\t", "| ", "│ ", "(", ",", ";", '"')):
            return True
    return False


SHAPE = Table()
