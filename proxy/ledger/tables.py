"""A report as tables, for a terminal, a spreadsheet and a page (`byref.proxy.ledger.page`)."""
from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from byref.proxy.ledger.kv import MODELS
from byref.proxy.ledger.prices import Priced, usual
from byref.proxy.ledger.report import HARNESS
from byref.proxy.ledger.totals import SHARED, Report, Row

UNKNOWN = "unknown"
MOST = 20  # rows of a table in a terminal
_NAME = 8  # characters of a name that stand on one line, however narrow a terminal is
_COLUMNS = ("calls", "raw", "view", "fetched", "repeats", "repeated", "net", "saved", "asked", "turns")
_LEGEND = ("tokens, but for calls and repeats (calls made again for what a view hid; repeated: their tokens). net = raw - view - fetched - "
           "repeated. asked: share of the refs with gaps that were fetched from. turns: requests that followed, the mean of a call")
_DAY = "days are those of UTC"
_SHARED = (f"{', '.join(sorted(SHARED))}: one session for all who call so. Which conversations they are is not known, so their turns are "
           "not counted, and what they saved counts once")
_BILLED = (("input", "input"), ("read", "read from the cache"), ("written", "written to it"), ("output", "output"))

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns; the first cell of a row names it. A share is a float, None is unknown. notes: lines below it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


def tables(found: Report, prices: Sequence[Priced] = ()) -> list[Table]:
    """The tables of a report: by tool, shape, day and session, KV caches, money; at the usual prices where none are given."""
    out = [_rows(title, of, found.total, notes) for title, of, notes in (
        ("tool", found.tools, (_LEGEND,)), ("shape", found.shapes, ()), ("day", found.days, (_DAY,)),
        ("session", found.sessions, (_SHARED,) if found.sessions.keys() & SHARED else ()))]
    return [*out, _kv(found), _money(found, prices or (usual(),)), _totals(found)]


def _rows(title: str, of: Mapping[str, Row], total: Row, notes: tuple[str, ...] = ()) -> Table:
    order = sorted(of.items(), key=lambda item: item[0]) if title == "day" else sorted(of.items(), key=lambda item: (-item[1].raw, item[0]))
    return Table(title, (title, *_COLUMNS), tuple(_row(name or "-", row) for name, row in [*order, ("all", total)]), notes)


def _row(name: str, row: Row) -> tuple[Cell, ...]:
    return (name, row.calls, row.raw, row.view, row.fetched, row.repeats, row.repeated, row.net, row.saved,
            row.asked / row.hid if row.hid else None, round(row.turns / row.calls) if row.calls else 0)


def kv(found: Report) -> dict[str, dict[str, float]]:
    """By model: bytes that a token writes and keeps, bytes that were not held, the same times the turns that did not carry them, and
    FLOPs that prefills were spared, without what they would have read of the tokens before.
    """
    return {model.name: {"written": model.written, "kept": model.kept, "held": found.net * model.kept,
                         "carried": found.carried * model.kept, "prefill": 2 * model.active * found.net} for model in MODELS}


def _kv(found: Report) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, of in kv(found).items():
        rows.append((name, f"{of['written'] / 1024:g}", f"{of['kept'] / 1024:g}", f"{of['held'] / 1e9:z.3f}",
                     f"{of['carried'] / 1e9:z.1f}", f"{of['prefill'] / 1e15:z.2f}"))
    columns = ("model", "KiB written", "kept", "GB saved", "GB-turns saved", "PFLOP prefill")
    return Table("KV cache", columns, tuple(rows), (
        "KiB: that a token writes, and keeps beyond windows. GB: of net tokens kept, in bf16. GB-turns: the same for each following "
        "request that did not carry them. PFLOP: of the prefill that was spared, at least",))


def _money(found: Report, prices: Sequence[Priced]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in prices:
        of = one.prices
        saving, bill = found.saving(of), found.bill(of)
        dollars = one.money(saving)
        money = None if dollars is None else f"{dollars:z.2f}"
        rows.append((of.name, f"{of.read:g}", f"{of.write:g}", f"{of.output:g}", round(saving), money,
                     None if bill is None else round(bill), *(found.of_bill(of) or (None, None))))
    seen = sum(bool(one.messages) for one in found.conversations.values())
    partly = "" if seen == len(found.conversations) else " (at least: their contexts are known only in part where no bill was seen)"
    notes = (*(one.text for one in prices),
             f"net saved, bill: in input tokens; saved less the extra requests that fetches, searches and repeats are{partly}",
             "tool results: their share of what the bill would have been, more than which no view can save" + (
                 "" if found.messages else "; no bill was seen here, so it is unknown") + (
                 f"; both shares are of the {seen} sessions of {len(found.conversations)} whose bill was seen"
                 if 0 < seen < len(found.conversations) else ""))
    return Table("money", ("prices", "read", "write", "output", "net saved", "dollars", "bill", "tool results", "saved of bill"),
                 tuple(rows), notes)


def _totals(found: Report) -> Table:
    total = found.total
    share = found.net / total.raw if total.raw else 0.0
    missed = f" and {_counted(found.misses, 'second call')} that found nothing" if found.misses else ""
    less = [f"{found.searched} that {_counted(found.searches, 'search', 'es')}{missed} took"] if found.searches or missed else []
    less += [f"{found.definitions} of our tools' definitions"] if found.definitions else []
    rows = f": {total.net} as in the tables, less {' and '.join(less)}" if less else ""
    notes = [f"net {found.net} of {total.raw} tokens saved ({share:.1%}){rows}; {total.reduced} of {total.calls} views left something out, "
             f"{found.asked:.0%} of their refs were fetched from"]
    if found.definitions:
        several = [one for one in found.conversations.values() if one.definition]
        seen = sum(bool(one.messages) for one in several)
        each = "each of " * (len(several) != 1)
        requests = _counted(sum(one.requests - 1 for one in several), "request")
        notes.append(f"our tools' definitions took {found.definitions} tokens, once in {each}{_counted(len(several), 'session')}, and "
                     f"were read again in {requests}; that number is billed in {_counted(seen, 'session')}, in the others one a call is "
                     "assumed")
    if found.uncapped:
        notes.append(f"{found.uncapped} tokens of outputs over {HARNESS} bytes are not counted: agents' programs cut there by themselves, "
                     "and which one this was is not known; where none cut, they were saved as well")
    if found.uncached:
        least = " or ".join(map(str, sorted(found.uncached)))
        notes.append(f"{found.uncached.total()} prompts were sent uncached: views made them shorter than the {least} tokens from which "
                     f"their provider caches one; that their {found.uncached_tokens} tokens cost what input does, not what a read does, is "
                     "taken off the money saved")
    notes.append(found.method)
    if found.messages:
        counts = ", ".join(f"{found.billed[name]} {words}" for name, words in _BILLED if name in found.billed)
        notes.append(f"as the provider billed {found.messages} messages: {counts}")
    return Table("", (), (), tuple(notes))


def _counted(number: int, one: str, more: str = "s") -> str:
    return f"{number} {one}{more * (number != 1)}"


def said(cell: Cell) -> str:
    """A cell as text: a share in percent, unknown where it is; of a name what no terminal takes for a command."""
    if cell is None:
        return UNKNOWN
    if isinstance(cell, str):
        return cell if cell.isprintable() else "".join(sign if sign.isprintable() else "?" for sign in cell)
    return f"{cell:z.1%}" if isinstance(cell, float) else str(cell)


def plain(found: Iterable[Table], most: int = MOST) -> str:
    """Tables as text, in columns. most: rows of one; the last, their sum, stands whatever is left out."""
    out = []
    for table in found:
        if table.columns:
            rows = [table.columns, *(tuple(map(said, row)) for row in _fewer(table.rows, most))]
            widths = [max(len(row[i]) for row in rows) for i in range(len(table.columns))]
            out += ["  ".join(cell.rjust(width) if i else cell.ljust(width) for i, (cell, width) in enumerate(
                zip(row, widths, strict=True))).rstrip() for row in rows]
        out += [*table.notes, ""]
    return "\n".join(out[:-1]) + "\n"


def _fewer(rows: Sequence[tuple[Cell, ...]], most: int) -> list[tuple[Cell, ...]]:
    if len(rows) <= most:
        return list(rows)
    return [*rows[:most - 2], (f"({len(rows) - most + 1} more)", *[""] * (len(rows[0]) - 1)), rows[-1]]


def rich(found: Iterable[Table], width: int | None = None) -> str | None:
    """The same drawn by rich, with colours where stdout is a terminal; None where rich is not installed."""
    try:
        from rich import box
        from rich.console import Console
        from rich.table import Table as Drawn
        from rich.text import Text
    except ImportError:
        return None
    held = io.StringIO()
    console = Console(file=held, force_terminal=True, width=width, highlight=False)
    for table in found:
        if table.columns:
            title = None if table.title == table.columns[0] else table.title
            drawn = Drawn(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0), title=title, title_justify="left")
            rows = _fewer(table.rows, MOST)
            # A head may be broken between words, a number may not; names get what is left. What is wider than the terminal, that breaks.
            widest = [max((len(said(row[number])) for row in rows), default=0) for number in range(len(table.columns))]
            least = [max([size, *map(len, column.split())]) for size, column in zip(widest, table.columns, strict=True)]
            rest = sum(least[1:]) + len(table.columns) + 1
            least[0] = min(least[0], max(_NAME, console.width - rest))
            for number, column in enumerate(table.columns):
                drawn.add_column(column, justify="right" if number else "left", overflow="fold", min_width=least[number])
            for row in rows:
                drawn.add_row(*(Text(said(cell)) for cell in row), style="bold" if row[0] == "all" else "")
            Console(file=held, force_terminal=True, width=max(console.width, rest + least[0]), highlight=False).print(drawn)
        for note in table.notes:
            console.print(Text(note, style="" if not table.columns else "dim"))
        console.print()
    return held.getvalue()


def comma(found: Iterable[Table]) -> str:
    """As CSV (RFC 4180): one row each, after the table it is of; shares as numbers, nothing where unknown."""
    held = io.StringIO()
    write = csv.writer(held)
    for table in found:
        if table.columns:
            write.writerow(["table", *table.columns])
            write.writerows([table.title, *("" if cell is None else cell for cell in row)] for row in table.rows)
    return held.getvalue()
