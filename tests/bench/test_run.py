"""`make bench`: a benchmark that fails, hangs or has nothing to measure takes no other with it, and the exit code tells."""
from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

GOOD = 'print("hook over an empty call: {0} times python -c pass (bar 2.0); at 100 KB p50 20 ms (bar 60), p99 30 ms (bar 150); 60 of 60")'
SCRIPTS = {
    "hooks": GOOD.format(1.5),
    "nearest": 'import sys\nprint("  all   p50  11 ms  best 4 ms")\nsys.exit(1)',  # a bar that is missed
    "dashboard": 'print("left out: needs Chromium and Playwright")',
    "es1": 'import os, sys\nprint("not measured: no " + os.getcwd() + "/recordings", file=sys.stderr)',
    "views": 'print("half")\nraise RuntimeError("no disk")',
    "reverse": 'import sys\nprint("all well so far")\nsys.exit("7 of 200 had no ref")',
    "speed": 'import time\nprint("begun", flush=True)\ntime.sleep(600)',
    "knobs": 'raise SystemExit("never called without --full")',
    "young": '"""What a new one measures.\n\nMore.\n"""\nprint("42 things")',
}
OLD = "old figures\n"


@pytest.fixture
def page(run: ModuleType, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page with an old section of `views`, and a folder of benchmarks."""
    for name, text in SCRIPTS.items():
        (tmp_path / f"{name}.py").write_text(text + "\n")
    found = tmp_path / "benchmarks.md"
    marks = "".join(f"<!-- begin: {name} -->\n<!-- end: {name} -->\n" for name in ("contents", "machine", "glance", "sections"))
    document = sys.modules["document"]
    old = {"views": document.block(run.BY_NAME["views"], document.Ran(OLD, "bench/views.py", 0, 1))}
    found.write_text(document.written(f"# Benchmarks\n\n{marks}", old, {}, False))
    for name, value in (("HERE", tmp_path), ("PAGE", found), ("PEERS", root / "no" / "python")):
        monkeypatch.setattr(run, name, value)
    return found


def called(run: ModuleType, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["run.py", *words])
    code: int = run.main()
    return code


def test_all_that_can_be_measured_is_written_and_a_failure_is_the_exit_code(
        run: ModuleType, page: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    process = run._process
    monkeypatch.setattr(run, "_process", lambda command, environ, errors, limit: process(
        command, environ, errors, 1.0 if "speed.py" in str(command) else limit))
    assert called(run, monkeypatch, "--write") == 1
    text, said = page.read_text(), capfd.readouterr()
    assert "| an empty event, in times of Python's start | 1.5 | ≤ 2 | met |" in text
    assert "| all chunks, p50 | 11 ms | ≤ 10 | **missed** |" in text, "a missed bar is a result"
    assert OLD in text and "half" not in text, "what failed keeps the section that it had"
    assert "### young\n\nWhat a new one measures." in text and "42 things" in text
    for line in ("views: failed: RuntimeError: no disk", "reverse: failed: 7 of 200 had no ref", "es1: not measured: no ./recordings",
                 "speed: failed: ended with -9", "dashboard: left out: needs Chromium and Playwright", "knobs: part of --full",
                 "peers: no no/python: make peers sets it up"):
        assert line in said.out and f"- Left out, and older where it stands below: {line}" in text
    assert "bars missed:\n  nearest: | all chunks" in said.out and "RuntimeError: no disk" in said.err


def test_without_a_failure_it_is_0_though_bars_are_missed(run: ModuleType, page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = page.read_text()
    assert called(run, monkeypatch, "nearest", "dashboard", "hooks") == 0
    assert page.read_text() == before, "without --write the page stays"


def test_check_tells_what_got_worse_by_more_than_a_fifth(
        run: ModuleType, page: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    assert called(run, monkeypatch, "--write", "hooks") == 0 and called(run, monkeypatch, "--check", "hooks") == 0
    (run.HERE / "hooks.py").write_text(GOOD.format(1.7))
    assert called(run, monkeypatch, "--check", "hooks") == 0, "within a fifth"
    (run.HERE / "hooks.py").write_text(GOOD.format(1.9))
    assert called(run, monkeypatch, "--check", "hooks") == 1
    assert "hooks: an empty event, in times of Python's start: 1.5 before, 1.9 now" in capfd.readouterr().out


def test_a_name_that_is_none_is_an_error_that_says_which_there_are(run: ModuleType, page: Path, monkeypatch: pytest.MonkeyPatch,
                                                                  capfd: pytest.CaptureFixture[str]) -> None:
    assert called(run, monkeypatch, "nobody") == 2
    assert "no benchmark nobody; there are views, " in capfd.readouterr().err


def test_where_no_view_is_made_nothing_is_measured(run: ModuleType, page: Path, monkeypatch: pytest.MonkeyPatch,
                                                   capfd: pytest.CaptureFixture[str]) -> None:
    def broken(*_: object, **__: object) -> object:
        raise ImportError("no such shape")
    monkeypatch.setattr("byref.filters.render.view", broken)
    assert called(run, monkeypatch, "--write", "hooks") == 1
    assert "nothing is measured: no view, the raw output passed: ImportError" in capfd.readouterr().err
    assert "### Hooks" not in page.read_text()


def test_full_runs_what_is_left_out_otherwise(run: ModuleType, page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (run.HERE / "knobs.py").write_text('print("int8 loses nothing")')
    assert called(run, monkeypatch, "--full", "--write", "knobs") == 0 and "int8 loses nothing" in page.read_text()
