"""Documentation in sections below headings, by a layout: every heading stands, and the sections that meet what was asked stand whole."""
from __future__ import annotations

from byref.filters.asked import met, words_asked
from byref.filters.lines import split
from byref.filters.units import MUST, PLAIN, Units
from byref.proxy.contracts import Call

_ROOM = 6000  # characters of sections that stand, the best first; the first of all stands anyway
_STANDS, _GOES = 80, -400  # quarters of worth


def sections(text: str, call: Call, heading: str) -> Units:
    """Units by lines. heading: what a section's first line begins with; before the first one is a section, too."""
    lines = split(text)
    starts = [0, *(i for i, row in enumerate(lines.texts) if i and row.startswith(heading))]
    ends = [*starts[1:], len(lines.texts)]
    asked = words_asked(call)
    sizes = [sum(map(len, lines.texts[start:end])) for start, end in zip(starts, ends, strict=True)]
    scores = [met(asked, "\n".join(lines.texts[start:end])) for start, end in zip(starts, ends, strict=True)]
    chosen: set[int] = set()
    used = 0
    for k in sorted(range(len(starts)), key=lambda k: (-scores[k], k)):
        if not chosen or used + sizes[k] <= _ROOM:
            chosen.add(k)
            used += sizes[k]
    rank, worth = bytearray(len(lines.texts)), [0] * len(lines.texts)
    for k, (start, end) in enumerate(zip(starts, ends, strict=True)):
        for i in range(start, end):
            rank[i] = MUST if k in chosen or (i == start and lines.texts[i].startswith(heading)) else PLAIN
            worth[i] = _STANDS if rank[i] == MUST else _GOES
    units = lines.units(worth=worth)
    units.rank, units.calm = rank, True
    return units
