"""Which shape an output has: by its call, its media type and its first characters. A wrong guess keeps every invariant."""
from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from heapq import heapify, heappop, heappush

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
    plain = media == "text/plain"
    # the least that may stand in the order before a shape: a shape is asked how sure it is once that could put it first
    waiting = [(-(_CERTAIN if shape.name == first else getattr(shape, "most", _MOST) if plain else _MOST), shape.name, False, shape)
               for shape in known()]
    heapify(waiting)
    while waiting:
        _, name, asked, shape = heappop(waiting)
        if not asked:
            sure = shape.match(call, media, sample)
            heappush(waiting, (-(sure if name != first else _CERTAIN if sure else _HINTED), name, True, shape))
            continue
        units = getattr(shape, "cut", shape.units)(text, call) if whole else shape.units(text, call)
        if units is not None:
            return name, units
    raise AssertionError("the text shape takes every text")
