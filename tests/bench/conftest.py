"""The modules of bench, by name."""
from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def own() -> tuple[str, ...]:
    """Where they lie, and their names."""
    return "bench", "sections", "beside", "document", "run"


@pytest.fixture
def load(root: Path, own: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Imports one of them; their plain names are nobody else's afterwards."""
    folder, names = root / own[0], own[1:]
    if not folder.is_dir():
        pytest.skip("an sdist has no bench")
    monkeypatch.syspath_prepend(str(folder))
    before = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    yield importlib.import_module
    for name in names:
        sys.modules.pop(name, None)
    sys.modules.update(before)


@pytest.fixture
def sections(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("sections")


@pytest.fixture
def document(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("document")


@pytest.fixture
def run(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("run")
