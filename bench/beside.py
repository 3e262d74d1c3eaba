"""The plot of times beside references, docs/beside.svg: each figure in times of what it was held against in the same run."""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from sections import BY_NAME, Figure, Section

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW, _FOOT = 860, 470, 60, 34, 20, 40
_MET, _MISSED, _NONE = "#2e7d4f", "#c2571a", "#1b6ca8"


@dataclass(frozen=True, slots=True)
class Point:
    """A row of the plot. times: of the reference's time; bar: at most so many, if it has one."""

    label: str
    times: float
    bar: float | None


def points(printed: Mapping[str, str]) -> list[Point]:
    """All such figures in what benchmarks printed, in their order. A share of a reference's speed is turned over."""
    found = []
    for name, said in printed.items():
        for figure in BY_NAME[name].figures if name in BY_NAME else ():
            value = figure.seen(said) if figure.times else None
            if value:
                found.append(Point(_label(BY_NAME[name], figure), 1 / value if figure.more else value, figure.bar))
    return found


def _label(section: Section, figure: Figure) -> str:
    return f"{section.title}: {figure.label}".replace("`", "")


def drawn(rows: list[Point]) -> str:
    """A row for each, on a logarithmic axis; the line at 1 is the reference, a tick the bar."""
    least = math.floor(math.log10(min([0.5, *(row.times for row in rows)])))
    most = math.ceil(math.log10(max([10, *(row.times for row in rows)])))
    height = _TOP + _ROW * len(rows) + _FOOT

    def x(times: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (math.log10(times) - least) / (most - least)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12" role="img" '
             'aria-label="Times beside references">', f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
             '<text x="8" y="18">time in times of the reference in the same run; | is the bar</text>']
    for power in range(least, most + 1):
        at = x(10 ** power)
        parts.append(f'<path d="M{at:.1f} {_TOP}V{height - _FOOT + 4}" stroke="{"#555" if power == 0 else "#ddd"}"/>'
                     f'<text x="{at:.1f}" y="{height - _FOOT + 20}" text-anchor="middle">{10 ** power:g}</text>')
    for place, row in enumerate(rows):
        y = _TOP + _ROW * place + _ROW / 2
        colour = _NONE if row.bar is None else _MET if row.times <= row.bar else _MISSED
        parts.append(f'<text x="{_LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{escape(row.label)}</text>'
                     f'<circle cx="{x(row.times):.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>'
                     f'<text x="{x(row.times) + 9:.1f}" y="{y + 4:.1f}" fill="{colour}">{row.times:.3g}</text>')
        if row.bar is not None:
            parts.append(f'<path d="M{x(row.bar):.1f} {y - 8:.1f}v16" stroke="{colour}" stroke-width="3"/>')
    return "\n".join([*parts, "</svg>", ""])
