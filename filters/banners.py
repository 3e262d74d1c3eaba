"""Lines that set the sections of an output apart, as scripts echo them, and `head` and `tail` of several files: `=== name ===`.

They stand, since without them what a view shows of one section reads as if it belonged to the one before.
"""
from __future__ import annotations

from byref.filters.units import ANCHOR, Units

_LONGEST = 120  # characters of such a line
_MOST = 200  # lines; more are rows of something
_SHARE = 4  # they are at most one line in so many
_OPENING, _EITHER = "=#", "-*~+_:"  # signs of which a run before a name is enough, and those of which one has to follow it


def is_banner(text: str) -> bool:
    """Whether a line is a name after a run of signs, or between two."""
    sign = text[:1]
    if not sign or sign not in _OPENING + _EITHER or not text.startswith(sign * 2) or len(text) > _LONGEST:
        return False
    name = text.strip(sign + " \t<>")
    if not name or not any(map(str.isalnum, name[:40])):
        return False
    both = text.rstrip().endswith(sign * 2)
    return (text.startswith(sign * 3) and (both or sign in _OPENING)) or (text.startswith("==> ") and both)


def mark(units: Units) -> None:
    """Makes anchors of them where there are several, and not too many."""
    found = [k for k, text in enumerate(units.texts) if text[:2] in _STARTS and is_banner(text)]
    if 1 < len(found) <= min(_MOST, len(units.texts) // _SHARE):
        for k in found:
            units.rank[k] = max(units.rank[k], ANCHOR)


_STARTS = frozenset(sign * 2 for sign in _OPENING + _EITHER)
