"""Quality of a search against its timebox, and how punctual it is: MRR@10 by set of questions from 5 ms to 2 s.

usage: anytime.py [--every N] [--write]

The documents of labelled.py, each an output, lie among megabytes of logs in one scope, with every index built but those of layers that
run a model: over so many logs that takes too long. What the same questions find without the logs is printed first: a few questions are
harder or easier than all, and one scope than one a collection. How long searches took beyond their timebox stands beside how late a
bare sleep of 20 ms was in the same run: that is the machine's.
--write draws the curves into docs/anytime.svg.
"""
from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from labelled import Question, labelled
from retrieval import DEAR, TOP, figures

import byref
from byref.proxy.captured import Captured
from byref.proxy.session import Session
from inputs import log

BOXES = (5, 7, 10, 15, 20, 30, 50, 100, 200, 500, 1000, 2000)  # milliseconds
SETS = ("identifier", "typo", "paraphrase")
LOGS, LOG = 40, 500_000  # outputs beside the documents, and bytes of each
PICTURE = Path(__file__).parents[1] / "docs/anytime.svg"
_COLOURS = {"identifier": "#1b6ca8", "typo": "#c2571a", "paraphrase": "#2e7d4f"}
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 360, 52, 110, 24, 44


@dataclass(frozen=True, slots=True)
class Row:
    """At one timebox. quality: MRR@10 by set; over: p99 of milliseconds beyond it; used: the median of those used."""

    box: int
    quality: dict[str, float]
    used: float
    over: float


def filled(session: Session) -> tuple[dict[str, str], list[Question]]:
    """Captures the documents; key of each by ref, and the questions."""
    given = labelled()
    keys = {}
    for collection in ("python", "help"):
        for key, text in given.documents[collection].items():
            captured: Captured = session.capture(tool="document", output=text, raw=True)
            keys[captured.ref] = key
    return keys, [question for question in given.questions if question.tag in SETS and question.collection in ("python", "help")]


def measured(session: Session, keys: dict[str, str], questions: Sequence[Question], box: int) -> Row:
    """Every question once."""
    quality: dict[str, list[float]] = {tag: [] for tag in SETS}
    used = []
    for question in questions:
        began = time.perf_counter()
        found = session.search(question.query, timebox_ms=box, max_tokens=20_000, k=4 * TOP)
        used.append(1000 * (time.perf_counter() - began))
        ranked = list(dict.fromkeys(keys[hit.ref] for hit in found.hits if hit.ref in keys))
        quality[question.tag].append(figures(ranked, question.answers)[2])
    used.sort()
    return Row(box, {tag: fmean(values) for tag, values in quality.items()}, used[len(used) // 2], percentile(used, 99) - box)


def percentile(ordered: Sequence[float], share: int) -> float:
    """The value below which so many percent lie, nearest rank."""
    return ordered[max(0, math.ceil(len(ordered) * share / 100) - 1)]


def lateness(times: int = 200, milliseconds: int = 20) -> float:
    """p99 of how late a bare sleep is, in milliseconds."""
    late = []
    for _ in range(times):
        began = time.perf_counter()
        time.sleep(milliseconds / 1000)
        late.append(1000 * (time.perf_counter() - began) - milliseconds)
    return percentile(sorted(late), 99)


def drawn(rows: Sequence[Row]) -> str:
    """The curves as SVG: timebox on a logarithmic axis, MRR@10 upwards."""
    first, last = math.log(rows[0].box), math.log(rows[-1].box)

    def x(box: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (math.log(box) - first) / (last - first)

    def y(value: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * value
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12" '
             f'role="img" aria-label="Quality of search against its timebox">', f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>']
    for tenth in range(0, 11, 2):
        at = y(tenth / 10)
        parts.append(f'<path d="M{_LEFT} {at:.1f}H{_WIDTH - _RIGHT}" stroke="#ddd"/>'
                     f'<text x="{_LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{tenth / 10:.1f}</text>')
    for box in (5, 10, 20, 50, 100, 200, 500, 1000, 2000):
        parts.append(f'<path d="M{x(box):.1f} {_HEIGHT - _BOTTOM}v5" stroke="#666"/>'
                     f'<text x="{x(box):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{box}</text>')
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">timebox, ms</text><text x="{_LEFT}" y="14">MRR@10</text>')
    lowest = 0.0
    for tag in sorted(SETS, key=lambda tag: rows[-1].quality[tag]):
        points = " ".join(f"{x(row.box):.1f},{y(row.quality[tag]):.1f}" for row in rows)
        dots = "".join(f'<circle cx="{x(row.box):.1f}" cy="{y(row.quality[tag]):.1f}" r="2.5"/>' for row in rows)
        at = max(lowest, rows[-1].quality[tag])
        lowest = at + 0.05  # labels keep apart
        parts.append(f'<g fill="{_COLOURS[tag]}"><polyline points="{points}" fill="none" stroke="{_COLOURS[tag]}" stroke-width="2"/>{dots}'
                     f'<text x="{_WIDTH - _RIGHT + 8}" y="{y(at) + 4:.1f}">{tag} {rows[-1].quality[tag]:.2f}</text></g>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=2, help="only every Nth question")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    with byref.open("memory:", profile="safe") as gateway:
        session = gateway.session("bench")
        there = gateway.indexes.orchestrator(session.scope)
        there.layers = tuple(layer for layer in there.layers if layer.name not in DEAR)
        keys, questions = filled(session)
        began = time.perf_counter()
        gateway.indexes.build(session.scope)
        alone = measured(session, keys, questions[::given.every], BOXES[-1])
        print("the documents alone, all of them in one scope: " + ", ".join(f"{tag} {value:.3f}" for tag, value in alone.quality.items())
              + f" at {BOXES[-1]} ms")
        for number in range(LOGS):
            session.capture(tool="log", output=log(LOG, number))  # of the shape that it has
        gateway.indexes.build(session.scope)
        print(f"{len(keys)} documents among {LOGS * LOG / 1e6:.0f} MB of logs, indexed in {time.perf_counter() - began:.0f} s")
        for question in questions[:5]:
            session.search(question.query, timebox_ms=20_000)
        print(f"{'timebox':>8} {'p50 used':>9} {'p99 over':>9}  " + "  ".join(f"{tag:>10}" for tag in SETS) + "   bare sleep p99 late")
        rows = []
        for box in BOXES:
            row = measured(session, keys, questions[::given.every], box)
            rows.append(row)
            print(f"{box:>8} {row.used:>9.1f} {max(0.0, row.over):>9.1f}  " + "  ".join(f"{row.quality[tag]:>10.3f}" for tag in SETS)
                  + f"   {lateness():.1f}", flush=True)
    if given.write:
        PICTURE.write_text(drawn(rows), encoding="utf-8")
        print(f"drawn into {PICTURE.name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
