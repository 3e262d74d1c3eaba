"""Which shape an output has: by its call, its media type and its first characters. A wrong guess keeps every invariant."""
from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from byref.filters import shapes
from byref.filters.lines import clean
from byref.filters.units import Shape, Units
from byref.proxy.contracts import Call

_CERTAIN, _HINTED = 101, 29  # confidence in a shape that a rule names: where it sees itself, and where it does not
SAMPLE = 4000  # characters that a shape may look at to say how sure it is


@cache
def known() -> tuple[Shape, ...]:
    """All shapes: one for each file in the folder, in the order of their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(shapes.__path__))
    return tuple(importlib.import_module(f"{shapes.__name__}.{name}").SHAPE for name in names)


def detect(text: str, call: Call, media: str = "text/plain", first: str = "") -> tuple[str, Units]:
    """The name of the most confident shape that can cut this text, and the units. Ties go by name.

    first: the shape that a rule names. It is asked first unless it sees no sign of itself; then it goes before mere guesses.
    """
    sample = text[:SAMPLE]
    if "\x1b" in sample or "\r" in sample:
        sample = "\n".join([clean(row) for row in sample.split("\n")])
    sure = ((shape.match(call, media, sample), shape) for shape in known())
    ranked = sorted(((-(value if shape.name != first else _CERTAIN if value else _HINTED), shape.name, shape) for value, shape in sure),
                    key=lambda entry: entry[:2])
    for _, name, shape in ranked:
        units = shape.units(text, call)
        if units is not None:
            return name, units
    raise AssertionError("the text shape takes every text")
