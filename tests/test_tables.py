"""The tables of what views save and lose: what they hold a view against is able to fail, and what is generated stays in its marks."""
from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

FAILURES = [
    ("gcc, clang, mypy", "src/lease.c:12:9: error: 'now' undeclared"), ("ld", "collect2: error: ld returned 1 exit status"),
    ("make", "make[1]: *** [Makefile:7: lease.o] Error 1"), ("rustc", "error[E0425]: cannot find value `now` in this scope"),
    ("cargo test", "test lease::tests::renews ... FAILED"), ("pytest", "FAILED tests/test_lease.py::test_renews - assert 1 == 2"),
    ("pytest", "E       assert 1 == 2"), ("unittest", "FAIL: test_renews (test_lease.TestLease.test_renews)"),
    ("go test", "--- FAIL: TestRenews (0.00s)"), ("tsc", "src/lease.ts(3,7): error TS2322: Type 'string' is not assignable"),
    ("eslint", "  12:5  error  'now' is not defined  no-undef"), ("ruff, flake8", "lease.py:1:8: F401 `os` imported but unused"),
    ("gcc, clang, mypy", 'lease.py:3: error: Incompatible return value type (got "str")'), ("maven", "[ERROR] Failed to execute goal"),
    ("gradle", "> Task :compileJava FAILED"), ("npm, pnpm", "npm error code ERESOLVE"), ("git", "fatal: not a git repository"),
    ("git", "CONFLICT (content): Merge conflict in lease.py"), ("kubectl get", "lease-6d4cf56db6-x  0/1  CrashLoopBackOff  7  5m"),
    ("python", "Traceback (most recent call last):"), ("python", "json.decoder.JSONDecodeError: Expecting value: line 1 column 1"),
    ("log4j, logback", "2026-03-01 10:00:00,123 ERROR [main] lease lost"), ("logcat", "03-17 16:13:47.150  1702 17633 E Lease: lost"),
    ("apache", "[Sun Dec 04 04:47:44 2005] [error] mod_jk child workerEnv in error state 6")]
HARMLESS = ["0 errors, 0 warnings", "tests/test_error.py::test_fails PASSED", "def raise_error(): pass", "ok  lease/errors 0.1s",
            "2026-03-01 10:00:00,123 INFO [main] ERROR_LIMIT is 3", "    raise ValueError('x')", "lease.c:12: note: declared here", ""]


@pytest.fixture(scope="module")
def bench(root: Path) -> Path:
    folder = root / "bench"
    if not folder.is_dir():
        pytest.skip("an sdist has no bench")
    return folder


def loaded(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(folder))
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def test_failures_are_known_by_their_tools_format_and_nothing_else_is(bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signs = loaded(bench, "signs", monkeypatch)
    assert [(tool, signs.tool_of(line)) for tool, line in FAILURES if signs.tool_of(line) != tool] == []
    assert [line for line in HARMLESS if signs.reports_failure(line)] == []


def test_two_reports_of_one_fault_are_alike_and_two_faults_are_not(bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    masked = loaded(bench, "signs", monkeypatch).masked
    assert masked("2026-03-01 10:00:00,1 ERROR lease 7 lost") == masked("2026-03-01 10:00:09,7 ERROR lease 7 lost")
    assert masked("a.c:3: error: x") != masked("a.c:4: error: x") and masked("error: port 80") != masked("error: port 81")


def test_a_failure_that_no_line_and_no_count_stands_for_is_lost(bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fallen = loaded(bench, "samples", monkeypatch).fallen
    error = "lease.c:%d:1: error: no such lease\n"
    raw = "start\n" + "".join(error % n for n in (1, 2, 3)) + "end\n"
    lost = [(error % n).strip() for n in (1, 2, 3)]
    assert fallen(raw, raw) == (3, ())
    assert fallen(raw, "start\n«L2-4 lease»\nend\n") == (3, tuple(lost))
    assert fallen(raw, "start\n«b6-111 lease»\nend\n") == (3, tuple(lost))
    assert fallen(raw, "start\n" + error % 1 + "«L3-4»\nend\n") == (3, tuple(lost[1:]))
    assert fallen(raw, "start\n«L2-4 2 failures lease»\nend\n") == (3, (lost[2],))
    assert fallen(raw, "start\n«L2-4 3 matches 3 failures lease»\nend\n") == (3, ())
    same = "".join(f"2026-03-01 10:00:0{n} ERROR lease lost\n" for n in range(3))
    view = "2026-03-01 10:00:00 ERROR lease lost\n«L2-3»\n"
    assert len(fallen(same, view)[1]) == 1 and fallen(same, view.replace("«L", "«×3 to L3»\n«L")) == (3, ())


def test_what_is_generated_stays_within_its_marks(bench: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(bench))
    corpus = loaded(bench, "corpus", monkeypatch)
    monkeypatch.setattr(corpus, "FIGURES", tmp_path / "figures.md")
    first = corpus.page("one\n")
    (tmp_path / "figures.md").write_text(first + "\nA note of ours.\n")
    assert corpus.page("two\n") == first.replace("one\n", "two\n") + "\nA note of ours.\n"
    (tmp_path / "figures.md").write_text("no marks\n")
    with pytest.raises(SystemExit, match="lacks its marks"):
        corpus.page("three\n")


def test_without_the_recordings_it_says_so(bench: Path, tmp_path: Path) -> None:
    shutil.copytree(bench, tmp_path / "project" / "bench", ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run([sys.executable, str(tmp_path / "project" / "bench" / "corpus.py"), "--write"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0 and done.stdout.startswith("skipped: no ") and not (tmp_path / "project" / "docs").exists()


def test_the_gallery_has_an_example_of_each_shape(bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from byref.filters.detect import known
    assert {shape.name for shape in known()} <= {example.shape for example in loaded(bench, "gallery", monkeypatch).EXAMPLES}
