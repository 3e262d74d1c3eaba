"""Plain text: what nothing else claims."""
from __future__ import annotations

from byref.filters import banners
from byref.filters.failures import mark, mark_summary, suspects
from byref.filters.lines import split
from byref.filters.narrow import narrowed
from byref.filters.steering import demote
from byref.filters.templates import group
from byref.filters.units import Units
from byref.proxy.contracts import Call


class Text:
    name = "text"
    most = 1

    def match(self, call: Call, media: str, sample: str) -> int:
        return 1

    def cut(self, text: str, call: Call) -> Units:
        return split(text).units()

    def units(self, text: str, call: Call) -> Units:
        units = split(text).units(strictness=0 if narrowed(call) else 100)
        mark(units, suspects(units.texts))
        mark_summary(units, call.is_error or bool(call.exit_code))
        group(units, -2)
        banners.mark(units)
        demote(units)
        return units


SHAPE = Text()
