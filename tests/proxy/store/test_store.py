"""A store is chosen by the scheme of its URL, and costs a command that stores nothing next to nothing."""
from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from byref.proxy.errors import ConfigError
from byref.proxy.store import open_store, schemes

HEAVY = {"typing", "dataclasses", "re", "json", "pathlib", "subprocess", "tempfile", "argparse", "asyncio", "logging", "contextlib", "enum",
         "datetime", "importlib", "urllib", "socket", "sqlite3", "shutil", "signal", "base64", "inspect", "threading", "zstandard", "re2",
         "numpy"}


@pytest.mark.parametrize("url", [
    "postgresql://host/db", "", "memory", "/tmp/store", "catalog:", "source:x", "__init__:", "FILE:/x", "os:", "..:", "é:"])
def test_a_scheme_without_a_backend_names_those_there_are(url: str) -> None:
    with pytest.raises(ConfigError, match="file: or memory:"):
        open_store(url, max_bytes=1, max_age=1, clock=time.time)


def test_the_schemes_are_the_files_with_a_connect(tmp_path: Path) -> None:
    assert schemes() == ["file", "memory"]


def test_storing_a_small_output_imports_nothing_heavy(tmp_path: Path) -> None:
    script = """if 1:
        import sys, time
        before = set(sys.modules)
        from byref.proxy.contracts import Capture, Event, Manifest, Part, View
        from byref.proxy.store import open_store
        from byref.proxy.text import ref_of
        store = open_store("file:" + sys.argv[1], max_bytes=1 << 30, max_age=1e9, clock=time.time)
        writer = store.writer()
        writer.write(b"hello" * 1000)
        manifest = Manifest("shell", "{}", (Part("stdout", "text/plain", writer.finish()),), 0)
        event = Event("captured", 1.0, "s", "r1", "shell", "text", {"raw": 5})
        store.commit(Capture("/s", "s", "c", None, ref_of(manifest), manifest, "", View("", ()), b"", b"", .1, (event,)))
        store.close()
        print(*set(sys.modules) - before)
    """
    for _ in range(2):  # a new store, and one that is there
        loaded = subprocess.run([sys.executable, "-S", "-c", script, tmp_path / "s"], capture_output=True, text=True, check=True,
                                env={"PYTHONPATH": str(Path(__file__).resolve().parents[3] / "namespace")}).stdout.split()
        assert {name.split(".")[0] for name in loaded} & HEAVY == set()
        assert "byref.proxy.store.file" in loaded and "byref.proxy.store.memory" not in loaded
