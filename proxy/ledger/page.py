"""A report as one page: no request leaves it, light and dark, readable at phone width."""
from __future__ import annotations

from collections.abc import Sequence
from html import escape

from byref.proxy.ledger.tables import Table, said
from byref.proxy.ledger.totals import Report

_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#59636e;--line:#d1d9e0;--paper:#fff;--bar:#0969da;--part:#b6d4f5}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9198a1;--line:#3d444d;--paper:#0d1117;--bar:#4493f8;--part:#1f3a5f}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:70rem;background:var(--paper);color:var(--ink);font:16px/1.45 system-ui,sans-serif}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft)}
th,td{padding:.3rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child,td:first-child{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:8rem}
thead th{color:var(--soft);font-weight:600}tr:last-child.all td,tr.all th{font-weight:700}
p{margin:.4rem 0;color:var(--soft);overflow-wrap:anywhere}p.first{color:var(--ink);font-size:1.1rem}
svg{width:100%;height:auto;max-height:14rem}svg text{fill:var(--soft);font-size:11px}
@media(max-width:40rem){body{padding:.6rem}th,td{padding:.3rem .4rem}}
"""
_WIDTH, _HEIGHT, _DAYS = 640, 160, 60


def page(tables: Sequence[Table], found: Report) -> str:
    """The tables as HTML, under a chart of the days."""
    parts = [f"<p class=first>{escape(note)}</p>" for table in tables if not table.columns for note in table.notes]
    parts.append(_days(found))
    parts += [_table(table) for table in tables if table.columns]
    body = "\n".join(filter(None, parts))
    return ("<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width,initial-scale=1'>"
            "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">"
            f"<title>byref report</title><style>{_STYLE}</style>\n<main><h1>What byref saved</h1>\n{body}\n</main></html>\n")


def _table(table: Table) -> str:
    head = "".join(f"<th scope=col>{escape(column)}</th>" for column in table.columns)
    rows = []
    for row in table.rows:
        cells = "".join(f"<td>{escape(said(cell))}</td>" for cell in row[1:])
        rows.append(f"<tr{' class=all' if row[0] == 'all' else ''}><th scope=row>{escape(said(row[0]))}</th>{cells}</tr>")
    notes = "".join(f"<p>{escape(note)}</p>" for note in table.notes)
    title = f"By {table.title}" if table.columns[0] == table.title else table.title[:1].upper() + table.title[1:]
    drawn = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f"<section><h2>{escape(title)}</h2><div class=wide tabindex=0>{drawn}</div>{notes}</section>"


def _days(found: Report) -> str:
    """Bars of raw tokens a day, the part of them that views showed in front."""
    days = sorted(found.days.items())[-_DAYS:]
    most = max((row.raw for _, row in days), default=0)
    if not most:
        return ""
    step = _WIDTH / len(days)
    bars = []
    for number, (day, row) in enumerate(days):
        told = f"{day}: {row.raw} raw, {row.view} in views, {row.net} net"
        for kind, size in (("part", row.raw), ("bar", row.view)):
            height = size * _HEIGHT / most
            place = f"x={number * step + 1:.1f} y={_HEIGHT - height:.1f} width={max(1.0, min(step - 2, 48)):.1f} height={height:.1f}"
            bars.append(f"<rect {place} fill='var(--{kind})'><title>{escape(told)}</title></rect>")
    label = f"Tokens a day, from {days[0][0]} to {days[-1][0]}: raw (the bar) and in views (its lower part); the highest bar is {most}"
    return (f"<figure style='margin:0'><svg viewBox='0 0 {_WIDTH} {_HEIGHT}' preserveAspectRatio=xMinYMid role=img "
            f"aria-label='{escape(label, True)}'>{''.join(bars)}</svg><figcaption><p>{escape(label)}</p></figcaption></figure>")
