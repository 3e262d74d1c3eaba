"""Changes to a JSON settings file that leave every other byte as it stands: comments, order, blanks, trailing commas.

`merge` puts in what is missing, `remove` takes out what `merge` put in. Objects are merged by key, lists by item. `change` sets
single values.
"""
from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from byref.proxy.contracts import Json
from byref.proxy.errors import ConfigError

Ours = Callable[[Json], bool]
_STOPS = " \t\r\n,:[]{}\"/"


@dataclass(slots=True)
class Node:
    """A value and where it stands. members: of an object, by key, with the place of the key; items: of a list."""

    start: int
    end: int
    value: Json
    members: dict[str, tuple[int, Node]] = field(default_factory=dict)
    items: list[Node] = field(default_factory=list)


def read(text: str) -> Node:
    """The value of a JSON text; comments and trailing commas are allowed. Raises `ConfigError`."""
    try:
        node = _value(text, _skip(text, 0))
        if _skip(text, node.end) != len(text):
            raise ValueError
    except (ValueError, IndexError, RecursionError):
        raise ConfigError("it is not JSON; mend it, then try again") from None
    return node


def merge(text: str, addition: Mapping[str, Json]) -> tuple[str, list[list[str]]]:
    """The text with all of addition in it, and the paths of the containers that had to be made. Raises `ConfigError`."""
    made: list[list[str]] = []
    return _merged(text or "{}\n", [], addition, made), made


def _merged(text: str, path: list[str], addition: Mapping[str, Json], made: list[list[str]]) -> str:
    for key, wanted in addition.items():
        place = [*path, key]
        parent = _at(text, path)
        held = parent.members.get(key)
        if held is None:
            made += [place, *([*place, *below] for below in _containers(wanted))]
            text = _insert(text, parent, len(path) + 1, f"{json.dumps(key)}: {_dumped(wanted, text, len(place))}")
        elif isinstance(wanted, dict) and isinstance(held[1].value, dict):
            text = _merged(text, place, wanted, made)
        elif isinstance(wanted, list) and isinstance(held[1].value, list):
            for item in wanted:
                node = _at(text, place)
                if item not in node.value:  # type: ignore[operator]  # it is a list
                    text = _insert(text, node, len(place) + 1, _dumped(item, text, len(place) + 1))
        elif held[1].value != wanted:
            raise ConfigError(f"{'.'.join(place)} is set already, to something else; take it away first")
    return text


def _containers(value: Json) -> list[list[str]]:
    """The paths of the containers inside a value."""
    if not isinstance(value, dict):
        return []
    return [[key, *below] for key, held in value.items() if isinstance(held, (dict, list)) for below in ([], *_containers(held))]


def remove(text: str, addition: Mapping[str, Json], ours: Ours, made: Collection[list[str]] = ()) -> str:
    """The text without what `merge` put in. ours: whether an item or a value is of that kind, though it differs a little.

    made: the containers that go too, once they are empty.
    """
    return _removed(text, [], addition, ours, made)


def _removed(text: str, path: list[str], addition: Mapping[str, Json], ours: Ours, made: Collection[list[str]]) -> str:
    for key, wanted in addition.items():
        place = [*path, key]
        held = _at(text, path).members.get(key)
        if held is None:
            continue
        value = held[1].value
        if ours(value) or (value == wanted and (place in made or not isinstance(wanted, (dict, list)))):
            text = _cut_member(text, path, key)
            continue
        if isinstance(wanted, dict) and isinstance(value, dict):
            text = _removed(text, place, wanted, ours, made)
        elif isinstance(wanted, list) and isinstance(value, list):
            for index in reversed(range(len(value))):
                if value[index] in wanted or ours(value[index]):
                    text = _cut_item(text, place, index)
        if place in made and not _at(text, place).value:
            text = _cut_member(text, path, key)
    return text


def change(text: str, path: Sequence[str], values: Mapping[str, Json]) -> str:
    """The text with these values in the object at path, by key; None for a key that goes.

    New keys take the places of those that go, so that comments beside them stay. Of a value that stays in part, of an object or at
    the end of a list, that part stands as it stood.
    """
    place, node = list(path), _at(text, list(path))
    held, flat = node.members, "\n" not in text[node.start:node.end]
    new = {key: value for key, value in values.items() if key not in held and value is not None}
    going = [key for key, value in values.items() if value is None and key in held]
    for left, key in enumerate(reversed(going)):
        names = [*new] if left == len(going) - 1 else [*new][-1:]
        pieces = [f"{json.dumps(name)}: {_dumped(new.pop(name), text, len(place) + 1, flat)}" for name in names]
        text = _put_member(text, place, key, pieces) if pieces else _cut_member(text, place, key)
    for key, value in new.items():
        text = _insert(text, _at(text, place), len(place) + 1, f"{json.dumps(key)}: {_dumped(value, text, len(place) + 1, flat)}")
    for key, wanted in values.items():
        if wanted is not None and key in held and held[key][1].value != wanted:
            text = _set(text, [*place, key], wanted)
    return text


def _set(text: str, place: list[str], value: Json) -> str:
    node = _at(text, place)
    was = node.value
    if isinstance(value, dict) and value and None not in value.values() and isinstance(was, dict) and was:
        return change(text, place, {**{gone: None for gone in was if gone not in value}, **value})
    if isinstance(value, list) and isinstance(was, list) and was and value[-len(was):] == was:
        at = node.items[0].start
        return text[:at] + "".join(f"{_dumped(item, text, 0, True)}, " for item in value[:-len(was)]) + text[at:]
    return text[:node.start] + _dumped(value, text, len(place), "\n" not in text[node.start:node.end]) + text[node.end:]


def _put_member(text: str, path: list[str], key: str, pieces: Sequence[str]) -> str:
    """The text with other members in the place of one."""
    parent = _at(text, path)
    start, node = parent.members[key]
    between = ", " if "\n" not in text[parent.start:parent.end] else ",\n" + _indent(text) * (len(path) + 1)
    return text[:start] + between.join(pieces) + text[node.end:]


def piece(before: str, after: str, path: Sequence[str]) -> tuple[str, str]:
    """What `change` made of a part of the text, and that part before."""
    (old, new) = (_at(text, list(path)) for text in (before, after))
    return after[new.start:new.end], before[old.start:old.end]


def _at(text: str, path: list[str]) -> Node:
    node = read(text)
    for key in path:
        node = node.members[key][1]
    return node


def _insert(text: str, into: Node, depth: int, piece: str) -> str:
    """A member or item after the last one of a container."""
    inner, outer = _indent(text) * depth, _indent(text) * (depth - 1)
    last = into.items[-1] if into.items else max((node for _, node in into.members.values()), key=lambda n: n.end, default=None)
    if last is None:
        return f"{text[:into.start + 1]}\n{inner}{piece}\n{outer}{text[into.end - 1:]}"
    at = _after_comma(text, last.end)  # a list that ends in a comma ends in one again, so that a cut knows whose it is
    before, after = ("", ",") if at > last.end else (",", "")
    one_line = "\n" not in text[into.start:into.end]
    return f"{text[:at]}{before}{' ' if one_line else chr(10) + inner}{piece}{after}{text[at:]}"


def _cut_member(text: str, path: list[str], key: str) -> str:
    parent = _at(text, path)
    spans = [(start, node.end) for start, node in parent.members.values()]
    return _cut(text, parent, spans, list(parent.members).index(key))


def _cut_item(text: str, path: list[str], index: int) -> str:
    parent = _at(text, path)
    return _cut(text, parent, [(item.start, item.end) for item in parent.items], index)


def _cut(text: str, parent: Node, spans: list[tuple[int, int]], index: int) -> str:
    """Without one of a container's spans and one comma beside it."""
    start, end = spans[index]
    if len(spans) == 1:
        between = text[parent.start + 1:start] + text[_after_comma(text, end):parent.end - 1]
        return text[:parent.start + 1] + (between if between.strip() else "") + text[parent.end - 1:]
    if index == 0:
        return text[:start] + text[spans[1][0]:]
    former, after = spans[index - 1][1], _after_comma(text, end)
    return text[:_after_comma(text, former)] + text[after:] if after > end else text[:former] + text[end:]


def _after_comma(text: str, at: int) -> int:
    comma = _skip(text, at)
    return comma + 1 if text[comma] == "," else at


def _dumped(value: Json, text: str, depth: int, flat: bool = False) -> str:
    unit = _indent(text)
    return json.dumps(value, indent=None if flat else unit, ensure_ascii=False).replace("\n", "\n" + unit * depth)


def _indent(text: str) -> str:
    """The unit by which a file indents: that of its first indented line, else two blanks."""
    for line in text.split("\n"):
        blanks = line[:len(line) - len(line.lstrip(" \t"))]
        if blanks and line.strip():
            return blanks
    return "  "


def _skip(text: str, at: int) -> int:
    """The next place that is neither blank nor comment."""
    while at < len(text):
        if text[at] in " \t\r\n\ufeff":
            at += 1
        elif text.startswith("//", at):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text.startswith("/*", at):
            at = text.index("*/", at) + 2
        else:
            break
    return at


def _value(text: str, at: int) -> Node:
    if text[at] == "{":
        return _object(text, at)
    if text[at] == "[":
        return _list(text, at)
    if text[at] == '"':
        end = at + 1
        while text[end] != '"':
            end += 2 if text[end] == "\\" else 1
        return Node(at, end + 1, json.loads(text[at:end + 1], strict=False))
    end = at
    while end < len(text) and text[end] not in _STOPS:
        end += 1
    return Node(at, end, json.loads(text[at:end]))


def _object(text: str, start: int) -> Node:
    value: dict[str, Json] = {}
    node = Node(start, start, value)
    at = _skip(text, start + 1)
    while text[at] != "}":
        name = _value(text, at)
        colon = _skip(text, name.end)
        if not isinstance(name.value, str) or text[colon] != ":":
            raise ValueError
        held = _value(text, _skip(text, colon + 1))
        value[name.value] = held.value
        node.members[name.value] = at, held
        at = _next(text, held.end, "}")
    node.end = at + 1
    return node


def _list(text: str, start: int) -> Node:
    value: list[Json] = []
    node = Node(start, start, value)
    at = _skip(text, start + 1)
    while text[at] != "]":
        item = _value(text, at)
        value.append(item.value)
        node.items.append(item)
        at = _next(text, item.end, "]")
    node.end = at + 1
    return node


def _next(text: str, end: int, close: str) -> int:
    at = _skip(text, end)
    if text[at] == ",":
        return _skip(text, at + 1)
    if text[at] != close:
        raise ValueError
    return at
