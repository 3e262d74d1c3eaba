"""Tables and plot of the arms: all by what they save, each peer beside cuts and byref at as much saved, and evidence against saved."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

OURS, CUTS = "byref ", "head+tail "
_COLOURS = {OURS: "#1b6ca8", CUTS: "#888888", "": "#c2571a"}
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 760, 480, 60, 170, 30, 48
_APART = 12  # between labels
LEAST = 0.005  # saved: below that an arm does nothing that could be compared


@dataclass(frozen=True, slots=True)
class Measured:
    """An arm over a file. net: of the bill of tool outputs, after a fetch of a piece for each loss; again: after the whole call again.
    milliseconds: of the processor, its children's too, for 10,000 tokens; wall: on the clock.
    """

    arm: str
    saved: float
    es: float
    data: float
    need: float
    edit: float
    net: float
    again: float
    longer: int
    milliseconds: float
    wall: float


def between(rows: Sequence[Measured], saved: float, figure: str) -> float:
    """A figure at so much saved, on the straight line between the two settings on either side; NaN outside of all."""
    points = sorted((row.saved, float(getattr(row, figure))) for row in rows)
    for (x, a), (y, b) in pairwise(points):
        if x <= saved <= y:
            return a if x == y else a + (b - a) * (saved - x) / (y - x)
    return math.nan


def table(rows: Sequence[Measured]) -> list[str]:
    """All arms, by what they save."""
    out = ["| arm | saved | es | data | need | edit | net, fetched | net, called again | longer | CPU ms | ms |",
           "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for row in sorted(rows, key=lambda row: row.saved):
        out.append(f"| {row.arm} | " + " | ".join(_number(value) for value in (row.saved, row.es, row.data, row.need, row.edit, row.net,
                   row.again)) + f" | {row.longer} | {row.milliseconds:.1f} | {row.wall:.1f} |")
    return out


def curve(rows: Sequence[Measured], prefix: str) -> list[Measured]:
    """The settings of cuts, or of byref, from nothing saved on, without those that another one beats in `saved` and in `data`."""
    found = sorted((row for row in rows if row.arm == "raw" or row.arm.startswith(prefix)), key=lambda row: (row.saved, row.data))
    return [row for row in found if not any(other.saved > row.saved and other.data > row.data for other in found)]


def matched(rows: Sequence[Measured]) -> list[str]:
    """Each peer beside head+tail cuts and byref at as much saved."""
    cuts, ours = curve(rows, CUTS), curve(rows, OURS)
    out = ["| at the saved of | saved | data | head+tail | byref | need | head+tail | byref | edit | head+tail | byref | net, fetched "
           "| byref |",
           "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    peers = [row for row in rows if row.arm != "raw" and not row.arm.startswith((CUTS, OURS)) and row.saved >= LEAST]
    for row in sorted(peers, key=lambda row: row.saved):
        cells = [_number(row.saved)]
        for figure in ("data", "need", "edit"):
            cells += [_number(getattr(row, figure)), _number(between(cuts, row.saved, figure)), _number(between(ours, row.saved, figure))]
        cells += [_number(row.net), _number(between(ours, row.saved, "net"))]
        out.append(f"| {row.arm} | " + " | ".join(cells) + " |")
    return out


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def drawn(rows: Sequence[Measured], title: str) -> str:
    """saved to the right, evidence in data upwards, as SVG."""
    lowest = math.floor(10 * min((row.data for row in rows if not math.isnan(row.data)), default=0)) / 10
    most = max(0.6, math.ceil(10 * max(row.saved for row in rows)) / 10)

    def x(saved: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * max(0.0, saved) / most

    def y(data: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (data - lowest) / max(1 - lowest, 0.1)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12" role="img" '
             f'aria-label="{title}">', f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>']
    for tenth in range(round(10 * lowest), 11):
        at = y(tenth / 10)
        parts.append(f'<path d="M{_LEFT} {at:.1f}H{_WIDTH - _RIGHT}" stroke="#ddd"/>'
                     f'<text x="{_LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{tenth / 10:.1f}</text>')
    for tenth in range(0, round(10 * most) + 1):
        parts.append(f'<text x="{x(tenth / 10):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{tenth / 10:.1f}</text>')
    parts.append(f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 10}" text-anchor="middle">tokens of tool outputs left out</text>'
                 f'<text x="{_LEFT}" y="16">used strings that the data still shows: {title}</text>')
    for prefix in (CUTS, OURS):
        points = " ".join(f"{x(row.saved):.1f},{y(row.data):.1f}" for row in curve(rows, prefix))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{_COLOURS[prefix]}" stroke-width="2"/>')
    shown = sorted((row for row in rows if not math.isnan(row.data)), key=lambda row: (-row.data, row.saved))
    for row, label in zip(shown, _labels([y(row.data) + 4 for row in shown]), strict=True):
        colour = next(colour for prefix, colour in _COLOURS.items() if row.arm.startswith(prefix))
        at = y(row.data)
        lead = f"M{x(row.saved) + 5:.1f} {at:.1f}L{_WIDTH - _RIGHT + 6} {label - 4:.1f}"
        parts.append(f'<g fill="{colour}"><circle cx="{x(row.saved):.1f}" cy="{at:.1f}" r="4"/>'
                     f'<text x="{_WIDTH - _RIGHT + 10}" y="{label:.1f}">{row.arm}</text>'
                     f'<path d="{lead}" stroke="{colour}" stroke-opacity="0.25"/></g>')
    return "\n".join([*parts, "</svg>", ""])


def _labels(wanted: Sequence[float]) -> list[float]:
    """Where labels stand, from the top: as near as can be to what is wanted, none upon another, none below the picture."""
    found: list[float] = []
    for at in wanted:
        found.append(max(at, found[-1] + _APART if found else _TOP))
    for place in range(len(found) - 1, -1, -1):
        found[place] = min(found[place], _HEIGHT - 8 - _APART * (len(found) - 1 - place))
    return found
