"""A file in the folder is the feature."""
from __future__ import annotations

import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from byref.proxy import discover
from byref.proxy.errors import ConfigError


def test_what_lies_in_a_folder_is_found_by_its_name(root: Path) -> None:
    shapes = {file.stem for file in (root / "filters" / "shapes").glob("*.py") if not file.stem.startswith("_")}
    assert shapes and set(discover.names("shapes")) == shapes
    assert {"memory", "file"} <= set(discover.names("stores"))
    assert discover.names("shapes") == tuple(sorted(discover.names("shapes")))


def test_a_file_of_layers_is_one_where_it_makes_one_and_a_part_of_them_else(root: Path) -> None:
    files = {file.stem: file.read_text() for file in (root / "layers").glob("*.py") if not file.stem.startswith("_")}
    names = set(discover.names("layers"))
    assert {"text", "bm25", "late"} <= names < set(files) and "contract" not in names
    assert names == {name for name, text in files.items() if re.search(r"^def layer\(", text, re.MULTILINE)}
    with pytest.raises(ConfigError, match="no layers named 'contract'"):
        discover.load("layers", "contract")


def test_nothing_is_imported_before_it_is_used(root: Path) -> None:
    import subprocess
    code = ("import sys; from byref.proxy.discover import names; names('shapes'); "
            "print([m for m in sys.modules if m.startswith('byref.filters.shapes.')])")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_a_name_loads_its_module_and_a_wrong_one_says_what_there_is() -> None:
    assert discover.load("shapes", "text").__name__ == "byref.filters.shapes.text"
    with pytest.raises(ConfigError, match="text"):
        discover.load("shapes", "no-such")
    with pytest.raises(ConfigError, match="layers"):
        discover.names("plugins")


def test_other_distributions_add_but_do_not_replace(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [EntryPoint("text", "evil:SHAPE", "byref.shapes"), EntryPoint("mine", "no_such_package.shape:SHAPE", "byref.shapes")]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [p for p in points if p.group == group])
    discover.found.cache_clear()
    try:
        assert discover.found("shapes")["text"] == "byref.filters.shapes.text"
        with pytest.raises(ConfigError, match="mine cannot be used"):
            discover.load("shapes", "mine")
    finally:
        discover.found.cache_clear()
