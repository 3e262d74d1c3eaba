"""Which lines are of one template: they differ in numbers and ids alone."""
from __future__ import annotations

from byref.filters.units import ANCHOR, MUST, Units

# What ids are made of, and the blanks that fill up numbers: hexadecimal digits go, words are told apart by their other letters.
VARIABLE = b"0123456789abcdefABCDEF .-\t"

MANY = 12  # lines of one template that are told by their number
LEADING = 50  # templates at most that show their first line, by their share
LIKE = -8  # quarters: what a line is worth less that is like many
RARE, ODD = 2, 16  # lines of a template so few that they are odd among many alike, and the quarters that this is worth
_STANDS = bytes(level >= MUST for level in range(256))


def templates(lines: list[str]) -> list[bytes]:
    """The template of each line: itself without what ids are made of. One pass over all of them."""
    if not lines:
        return []
    return "\n".join(lines).encode("utf-8", "surrogatepass").translate(None, VARIABLE).split(b"\n")


def group(units: Units, like: int = LIKE) -> None:
    """Of many lines of one template the first and the last are worth what is in them, the first with their number.

    like: quarters that a line of many is worth more. Failures that stand are not among them. The templates that make up
    the most of an output show their first line. Where nearly all lines are like many, the others are what is new.
    """
    groups: dict[bytes, list[int]] = {}
    for i, key in enumerate(templates(units.texts)):
        groups.setdefault(key, []).append(i)
    standing = units.rank.translate(_STANDS)
    alike = 0
    for same in groups.values():
        if len(same) >= MANY and sum([standing[i] for i in same]) * 2 < len(same) and units.texts[same[0]].strip():
            alike += len(same)
            for i in same[1:-1]:
                units.worth[i] += like
            if not any(map(str.isalnum, units.texts[same[0]])):  # a rule, a bracket: its number tells nothing
                continue
            units.repeats[same[0]] = (len(same), units.address(same[-1], same[-1]))
            if len(same) * LEADING >= len(units.texts):
                units.rank[same[0]] = max(units.rank[same[0]], ANCHOR)
    if alike * 5 >= len(units.texts) * 4:
        for same in groups.values():
            if len(same) <= RARE:
                for i in same:
                    units.worth[i] += ODD
