"""Which lines are of one template: they differ in numbers and ids alone."""
from __future__ import annotations

# What ids are made of, and the blanks that fill up numbers: hexadecimal digits go, words are told apart by their other letters.
VARIABLE = b"0123456789abcdefABCDEF .-\t"


def templates(lines: list[str]) -> list[bytes]:
    """The template of each line: itself without what ids are made of. One pass over all of them."""
    if not lines:
        return []
    return "\n".join(lines).encode("utf-8", "surrogateescape").translate(None, VARIABLE).split(b"\n")
