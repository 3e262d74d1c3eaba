"""Changes to a TOML settings file that leave every other line as it stands; the same words as in edits.py.

On tomlkit, which keeps comments, order and blanks. Of a text that it would not give back as it came nothing is changed.
"""
from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, cast

from byref.proxy.contracts import Json
from byref.proxy.errors import ConfigError

Ours = Callable[[Json], bool]

if TYPE_CHECKING:
    from tomlkit.items import Item


def read(text: str) -> Json:
    """The value of a TOML text. Raises `ConfigError`."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as fault:
        raise ConfigError(f"it is not TOML ({fault}); mend it, then try again") from None


def change(text: str, path: Sequence[str], values: Mapping[str, Json]) -> str:
    """The text with these values in the table at path, by key; None for a key that goes. Raises `ConfigError`."""
    try:
        import tomlkit
    except ImportError:
        raise ConfigError("TOML is changed with tomlkit: pip install 'byref[mcp]'") from None
    read(text)
    document = tomlkit.parse(text)
    if document.as_string() != text:
        raise ConfigError("it is written in a way that cannot be changed without touching other lines")
    table = cast("MutableMapping[str, Json]", document)
    for key in path:
        table = cast("MutableMapping[str, Json]", table[key])
    _set(table, values)
    changed = document.as_string()
    wanted = found = read(changed)
    was = read(text)
    for key in path:
        found, was = cast("dict[str, Json]", found)[key], cast("dict[str, Json]", was)[key]
    wanted = {key: value for key, value in (cast("dict[str, Json]", was) | dict(values)).items() if value is not None}
    if found != wanted:
        raise ConfigError(f"{'.'.join(path)} is written in a way that cannot be changed")
    return changed


def _set(table: MutableMapping[str, Json], values: Mapping[str, Json]) -> None:
    from tomlkit.items import Array, Item
    going: list[object] = [table.get(key) for key, value in values.items() if value is None]
    comments = [item.trivia.comment for item in going if isinstance(item, Item)]
    for key, wanted in values.items():
        held: object = table.get(key)
        if wanted is None:
            table.pop(key, None)
        elif isinstance(wanted, dict) and wanted and isinstance(held, MutableMapping) and held:
            _set(held, {**{gone: None for gone in held if gone not in wanted}, **wanted})
        elif isinstance(wanted, list) and isinstance(held, Array) and held and wanted[-len(held):] == held:
            for item in reversed(wanted[:-len(held)]):
                held.insert(0, item)
        elif held is None:
            comment = next((one for one in comments if one), "")  # that of a line that goes
            comments = [one for one in comments if one and one is not comment]
            table[key] = cast(Json, _item(wanted, comment))
        elif held != wanted:
            table[key] = cast(Json, _item(wanted, held.trivia.comment if isinstance(held, Item) else ""))


def _item(value: Json, comment: str) -> Item:
    import tomlkit
    if isinstance(value, dict):
        inline = tomlkit.inline_table()
        inline.update(value)
        made: Item = inline
    else:
        made = tomlkit.item(value)
    if comment:
        made.comment(comment.removeprefix("#").strip())
    return made


def merge(text: str, addition: Mapping[str, Json]) -> tuple[str, list[list[str]]]:
    """The text with the tables of addition, two levels deep, at its end, and no paths: `remove` needs none. Raises `ConfigError`."""
    for name, tables in addition.items():
        for key, wanted in cast("dict[str, Json]", tables).items():
            held = cast("dict[str, Json]", read(text)).get(name)
            if isinstance(held, dict) and key in held:
                if held[key] != wanted:
                    raise ConfigError(f"{name}.{key} is set already, to something else; take it away first")
                continue
            text += _block(text, name, key, wanted)
            read(text)  # where the table it belongs to is written in one line, it can take no more
    return text, []


def remove(text: str, addition: Mapping[str, Json], ours: Ours, made: Collection[list[str]] = ()) -> str:
    """The text without what `merge` put in. ours: whether a table is of that kind, though it differs a little. Raises `ConfigError`."""
    for name, tables in addition.items():
        for key, wanted in cast("dict[str, Json]", tables).items():
            held = cast("dict[str, Json]", read(text)).get(name)
            found = held.get(key) if isinstance(held, dict) else None
            if found is None or not (found == wanted or ours(found)):
                continue
            text = _without(text, name, key)
    return text


def _without(text: str, name: str, key: str) -> str:
    """The text without a table: its lines up to the next table, and a blank line before it."""
    lines = text.splitlines(True)
    start = next((n for n, line in enumerate(lines) if line.split("#")[0].strip() == f"[{name}.{key}]"), None)
    if start is not None:
        end = next((n for n in range(start + 1, len(lines)) if lines[n].startswith("[")), len(lines))
        while end > start + 1 and not lines[end - 1].strip():
            end -= 1
        first = start - 1 if start and not lines[start - 1].strip() else start
        left = "".join(lines[:first] + lines[end:])
        wanted = cast("dict[str, dict[str, Json]]", read(text))
        del wanted[name][key]
        try:
            if {of: value for of, value in wanted.items() if value or of != name} == read(left) or wanted == read(left):
                return left
        except ConfigError:  # it is written in another way than a table of lines
            pass
    return change(text, [name], {key: None})


def _block(text: str, name: str, key: str, table: Json) -> str:
    """A table as it is put after a text, with a blank line before it."""
    import json
    lines = [f"{word} = {json.dumps(value, ensure_ascii=False)}\n" for word, value in cast("dict[str, Json]", table).items()]
    return ("" if not text else "\n" if text.endswith("\n") else "\n\n") + f"[{name}.{key}]\n" + "".join(lines)


def piece(before: str, after: str, path: Sequence[str]) -> tuple[str, str]:
    """The lines that `change` made, and those that stood there before; whole lines."""
    old, new = before.splitlines(True), after.splitlines(True)
    start = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return "".join(new[start:len(new) - end]), "".join(old[start:len(old) - end])
