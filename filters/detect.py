"""Which shape an output has: by its call, its media type and its first characters. A wrong guess keeps every invariant."""
from __future__ import annotations

import importlib
import pkgutil
from functools import cache, lru_cache
from heapq import heappop, heappush

from byref.filters import shapes
from byref.filters.lines import clean
from byref.filters.units import Shape, Units
from byref.proxy.contracts import Call

_CERTAIN, _HINTED = 101, 29  # confidence in a shape that a rule names: where it sees itself, and where it does not
_MOST = 100  # confidence of any shape, at most
SAMPLE = 4000  # characters that a shape may look at to say how sure it is


@cache
def known() -> tuple[Shape, ...]:
    """All shapes: one for each file in the folder, in the order of their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(shapes.__path__))
    return tuple(importlib.import_module(f"{shapes.__name__}.{name}").SHAPE for name in names)


def detect(text: str, call: Call, media: str = "text/plain", first: str = "", whole: bool = False) -> tuple[str, Units]:
    """The name of the most confident shape that can cut this text, and the units. Ties go by name.

    first: the shape that a rule names. It is asked first unless it sees no sign of itself; then it goes before mere guesses.
    whole: the units all stand, so that their ranks and worth are not asked for.
    """
    sample = text[:SAMPLE]
    if "\x1b" in sample or "\r" in sample:
        sample = "\n".join([clean(row) for row in sample.split("\n")])
    order = _order(known(), media == "text/plain", first)
    sure: list[tuple[int, str, Shape]] = []  # those that were asked, the most confident first
    for least, name, shape in order:
        while sure and sure[0] < (least, name):
            _, best, claimant = heappop(sure)
            units = getattr(claimant, "cut", claimant.units)(text, call) if whole else claimant.units(text, call)
            if units is not None:
                return best, units
        if shape is not None:
            found = shape.match(call, media, sample)
            if name == first:
                found = _CERTAIN if found else _HINTED
            if found:  # else the text shape goes before it, which takes every text
                heappush(sure, (-found, name, shape))
    raise AssertionError("the text shape takes every text")


@lru_cache(maxsize=256)
def _order(shapes: tuple[Shape, ...], plain: bool, first: str) -> tuple[tuple[int, str, Shape | None], ...]:
    """Shapes by the least that may stand in the order before them: each is asked how sure it is once that could put it first."""
    most = {shape.name: _CERTAIN if shape.name == first else getattr(shape, "most", _MOST) if plain else _MOST for shape in shapes}
    order: list[tuple[int, str, Shape | None]] = [(-most[shape.name], shape.name, shape) for shape in shapes]
    return (*sorted(order, key=lambda one: one[:2]), (1, "", None))
