"""The log of our own faults: there when needed, silent about what a tool said."""
from __future__ import annotations

import os
from pathlib import Path

import pytest

from byref.proxy import faults
from byref.proxy.errors import StoreFull
from byref.proxy.faults import FaultLog


def raised(fault: Exception) -> Exception:
    try:
        raise fault
    except Exception as caught:
        return caught


def test_a_fault_is_a_line_with_its_time_its_class_and_its_place(tmp_path: Path) -> None:
    log = FaultLog(str(tmp_path / "new"), lambda: 0.0)
    shown = log.add("view", raised(KeyError("hunter2 from the output")))
    line = (tmp_path / "new" / "byref.log").read_text()
    assert line.startswith("1970-01-01T00:00:00Z ") and "view: KeyError:" in line and "test_faults.py:" in line
    assert "hunter2" not in line + shown, "a foreign message may quote the output"


def test_our_own_faults_say_what_is_wrong(tmp_path: Path) -> None:
    assert "no room left" in FaultLog(str(tmp_path)).add("capture", raised(StoreFull("no room left")))
    assert "No space left on device" in FaultLog(None).add("capture", raised(OSError(28, os.strerror(28), "secret-name")))


def test_nobody_else_can_read_it_and_it_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "LIMIT", 200)
    log = FaultLog(str(tmp_path))
    for _ in range(50):
        log.add("x", raised(StoreFull("full")))
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["byref.log", "byref.log.1"]
    assert all(file.stat().st_mode & 0o077 == 0 and file.stat().st_size < 500 for file in files)


def test_a_log_that_cannot_be_written_harms_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    log = FaultLog(str(tmp_path / "file"))
    for _ in range(150):
        log.add("open", raised(StoreFull("full")))
    assert len(log.recent) == faults.KEPT
