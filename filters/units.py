"""Units: an output cut into the pieces that a view shows or leaves out.

A shape turns the text of a part into `Units`; `select` weighs and picks; `render` writes the view. A shape
is one file in `filters/shapes/` with one object named SHAPE.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from byref.proxy.contracts import Call

PLAIN, ANCHOR, MUST, ALWAYS, HIDDEN, LAST = 0, 1, 2, 3, 4, 5


@dataclass(slots=True)
class Units:
    """Parallel lists over the pieces of one part, in the order of the raw text.

    texts: what a view shows of the unit: one line of clean text without its newline, lexically in the raw
        text, or a declared re-rendering of it (then `rendered`).
    address(i, j): the address of units i to j inclusive, as fetch takes it: `L12-40`, `b0-4096`, `$.results[3:9]`.
    rank: PLAIN, ANCHOR (headings, definitions, first and last: shown unless dear) MUST (a failure: stands unless the
        context was shown it), ALWAYS (summaries and failing names) HIDDEN: stands for a run of the raw text that no view shows,
        or LAST: stands only where nothing but what was shown is left out.
    worth: base worth of each unit in quarters, by the structure alone; select adds the rest.
    name: what a unit is called in the plural: lines, matches, tests, records.
    keys: what stands for the unit among lines already shown: its text without a line-number prefix, stripped.
    counts: how many of the output's own units (`name`) a unit stands for; None is one each.
    rendered: True when texts are re-renderings rather than pieces of the raw text.
    sources: for re-renderings, the raw text of each unit, from which terms are taken; None is texts.
    total: how many units of that name the whole output has; None is their sum.
    labels: line numbers as they stand before each unit (`120→`), printed at a block's start and every tenth line.
    heads: what stands before a unit and is shared by its neighbours (`src/a.py:`), printed once as a heading.
    glued: not 0 where a unit goes on within the raw line of the unit before it: 1 is printed on its line, 2 on one of its own.
    repeats: for a unit that stands for later ones like it: (how many there are, the address of the last).
    failures: how many distinct failures a unit is the first to report; for hidden units, how many are in them.
    failing: how many of the output's own units report a failure, all that say the same counted.
    ruled: failures that a rule alone calls so, as warnings: where all are too many, they go before the others.
    marked: the units that were told to report one, ascending: what `failures` and `repeats` say of them.
    sizes: characters of each unit; None is the length of its text and a newline.
    strictness: percent of the plan's threshold that applies: 0 keeps all that was not shown yet, as where the caller
        narrowed the output already; above 100 where little of a kind is ever used.
    calm: no rank tells of a failure: MUST is what always stands of records that went well.
    """

    texts: list[str]
    address: Callable[[int, int], str]
    rank: bytearray
    worth: list[int]
    name: str = "lines"
    keys: list[str] = field(default_factory=list)
    counts: list[int] | None = None
    rendered: bool = False
    sources: list[str] | None = None
    total: int | None = None
    labels: list[str] | None = None
    heads: list[str] | None = None
    glued: bytearray | None = None
    repeats: dict[int, tuple[int, str]] = field(default_factory=dict)
    failures: dict[int, int] = field(default_factory=dict)
    failing: int = 0
    ruled: set[int] = field(default_factory=set)
    marked: list[int] = field(default_factory=list)
    sizes: list[int] | None = None
    strictness: int = 100
    calm: bool = False


class Shape(Protocol):
    """One kind of output. Pure functions of their arguments; no I/O.

    A shape that says in `most`, an integer, how sure it can be of plain text is asked only where that could put it first. One with a
    method `cut`, like `units` without ranks and worth, is asked for these where all units stand anyway.
    """

    name: str

    def match(self, call: Call, media: str, sample: str) -> int:
        """Confidence from 0 to 100 that an output is of this shape, from the call, the media type and its first 4,000 characters."""

    def units(self, text: str, call: Call) -> Units | None:
        """The units of a text, or None when it turns out to be of another kind; then the next best shape is asked."""
