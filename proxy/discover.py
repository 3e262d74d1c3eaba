"""What there is to plug in: shapes, layers, adapters, stores, frontends, recordings. A file in the folder is the feature.

Names come from file names, and from entry points of other distributions in the groups `byref.shapes`, `byref.layers`,
`byref.tools`, `byref.harnesses`, `byref.stores`, `byref.recordings`. Nothing is imported before it is used. A folder whose files share
parts with one another, as layers do, is read for the function that makes a file one of them.
"""
from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import ModuleType

from byref.proxy.errors import ConfigError

PLACES = {"shapes": "byref.filters.shapes", "layers": "byref.layers", "tools": "byref.adapters.tools",
          "harnesses": "byref.adapters.harnesses", "stores": "byref.proxy.store", "frontends": "byref.proxy.frontends",
          "recordings": "byref.proxy.ledger.recordings"}
MAKERS = {"layers": b"\ndef layer("}  # what a file has that is one of them, where not all files of the folder are


def names(kind: str) -> tuple[str, ...]:
    """The names of one kind, sorted. Raises `ConfigError` for a kind that does not exist."""
    return tuple(sorted(found(kind)))


@cache
def found(kind: str) -> Mapping[str, str]:
    """Module by name. A file of ours goes before an entry point of the same name, so that none can be replaced unseen."""
    if kind not in PLACES:
        raise ConfigError(f"nothing of the kind {kind!r} can be plugged in; there are {', '.join(PLACES)}")
    package = import_module(PLACES[kind])
    modules = {}
    for point in _entry_points(f"byref.{kind}"):
        modules[point[0]] = point[1]
    for folder in package.__path__:
        for file in sorted(os.listdir(folder)):
            if file.endswith(".py") and not file.startswith("_") and _makes(kind, os.path.join(folder, file)):
                modules[file[:-3]] = f"{PLACES[kind]}.{file[:-3]}"
    return modules


def load(kind: str, name: str) -> ModuleType:
    """The module of that name. Raises `ConfigError` with the names there are, or why it cannot be imported."""
    module = found(kind).get(name)
    if module is None:
        raise ConfigError(f"no {kind} named {name!r}; there are {', '.join(names(kind)) or 'none'}")
    try:
        return import_module(module)
    except ImportError as fault:
        raise ConfigError(f"{kind} {name} cannot be used: {fault}") from fault


def _makes(kind: str, path: str) -> bool:
    if kind not in MAKERS:
        return True
    with open(path, "rb") as file:
        return MAKERS[kind] in file.read()


def _entry_points(group: str) -> list[tuple[str, str]]:
    from importlib.metadata import entry_points
    return sorted((point.name, point.value.partition(":")[0]) for point in entry_points(group=group))
