"""JSON text changed in place. What is not changed keeps its sender's spelling: digits of numbers, escapes, members that stand twice.

A number that goes through a float is another one where it has more than 17 digits, and none at all beyond 1e308.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from byref.proxy.frontends.wrap.messages import elements, members, skip

if TYPE_CHECKING:
    from typing import TypeAlias

    Change: TypeAlias = "Mapping[str | int, Change] | bytes | None"
    Span: TypeAlias = tuple[int, int, bytes]

LARGEST = 16 << 20  # bytes of a text that is looked through; of a larger one no second copy is to be made


def changed(data: bytes | memoryview, change: Mapping[str | int, Change]) -> bytes:
    """The text of an object or a list with other values, JSON each, at some keys and indices; None takes a member out.

    The index past the last one of a list adds to it. Raises ValueError where a key to be changed is absent or stands twice, and for
    what is no JSON or too large.
    """
    text = _text(data)
    out: list[bytes | memoryview] = []
    at = 0
    for start, end, new in sorted(_spans(text, skip(text, 0), change, inner=False)):
        out += data[at:start], new
        at = end
    return b"".join((*out, data[at:]))


def member(data: bytes | memoryview, key: str) -> str:
    """The text of a member's value, of the last one where it stands twice. Raises ValueError as `changed`."""
    text = _text(data)
    found = {name: (start, end) for name, start, end, _ in members(text, skip(text, 0))}
    if key not in found:
        raise ValueError(f"no {key}")
    return bytes(data[slice(*found[key])]).decode()


def items(data: bytes | memoryview, key: str) -> list[str]:
    """The texts of the items of a member that is a list. Raises ValueError as `changed`."""
    text = _text(data)
    (at,) = [start for name, start, _, _ in members(text, skip(text, 0)) if name == key]
    return [bytes(data[start:end]).decode() for start, end in elements(text, at)]


def _text(data: bytes | memoryview) -> str:
    if len(data) > LARGEST:
        raise ValueError("too large")
    return bytes(data).decode("latin-1")  # a position is a position in the bytes


def _spans(text: str, at: int, change: Change, *, inner: bool = True) -> Iterator[Span]:
    if not isinstance(change, Mapping):
        raise ValueError("neither an object nor a list")
    found: list[tuple[str | int, int, int]]
    if text[at:at + 1] == "[":
        found = [(index, start, end) for index, (start, end) in enumerate(elements(text, at))]
        if (new := change.get(len(found))) is not None:
            end = found[-1][2] if found else at + 1
            yield end, end, (b"," if found else b"") + _json(new)
    else:
        found = [(key, start, end) for key, start, end, _ in members(text, at, inner=inner)]
    keys = [key for key, _, _ in found]
    if any(keys.count(key) != 1 for key in change if key != len(found)):
        raise ValueError("a key to be changed is absent or stands twice")
    for number, (key, start, end) in enumerate(found):
        if key not in change:
            continue
        new = change[key]
        if new is None:
            yield _member(text, at, found, number)
        elif isinstance(new, bytes):
            yield start, end, new
        else:
            yield from _spans(text, start, new)


def _member(text: str, at: int, found: list[tuple[str | int, int, int]], number: int) -> Span:
    """What goes with a member that is taken out: its key, and a comma beside it."""
    before = found[number - 1][2] if number else at + 1
    end = found[number][2]
    if number:
        return before, end, b""
    comma = skip(text, end)
    return before, comma + (text[comma:comma + 1] == ","), b""


def _json(new: Change) -> bytes:
    if not isinstance(new, bytes):
        raise ValueError("what is added is JSON")
    return new
