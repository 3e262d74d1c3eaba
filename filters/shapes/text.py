"""Plain text: what nothing else claims."""
from __future__ import annotations

from byref.filters.failures import mark, mark_summary, suspects
from byref.filters.lines import split
from byref.filters.narrow import narrowed
from byref.filters.units import ANCHOR, Units
from byref.proxy.contracts import Call


class Text:
    name = "text"

    def match(self, call: Call, media: str, sample: str) -> int:
        return 1

    def units(self, text: str, call: Call) -> Units:
        lines = split(text)
        n = len(lines.texts)
        units = Units(lines.texts, lines.address, bytearray(n), [0] * n, keys=[t.strip() for t in lines.texts], glued=lines.glued,
                      total=lines.numbers[-1] if lines.numbers else n, strictness=0 if narrowed(call) else 100)
        if n:
            units.rank[0] = units.rank[-1] = ANCHOR
        mark(units, suspects(units.texts))
        mark_summary(units)
        return units


SHAPE = Text()
