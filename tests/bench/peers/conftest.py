"""The modules of bench/peers, by name."""
from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

OWN = ("arms", "published", "tables", "run")


@pytest.fixture
def load(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Imports one of them; their plain names are nobody else's afterwards."""
    folder = root / "bench" / "peers"
    if not folder.is_dir():
        pytest.skip("an sdist has no bench")
    monkeypatch.syspath_prepend(str(folder))
    before = {name: sys.modules.pop(name) for name in OWN if name in sys.modules}
    yield importlib.import_module
    for name in OWN:
        sys.modules.pop(name, None)
    sys.modules.update(before)


@pytest.fixture
def arms(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("arms")


@pytest.fixture
def tables(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("tables")


@pytest.fixture
def published(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("published")


@pytest.fixture
def run(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("run")
