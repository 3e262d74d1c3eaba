"""grep finds what ripgrep and GNU grep find, with ripgrep and without it."""
from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from byref.adapters.tools import grep
from byref.proxy.errors import Invalid
from byref.proxy.operations import Here, Result

RUN = grep.ADAPTER.operations[0].run
PATTERNS = ["def ", r"\bimport (os|re)\b", "retry", "nothing has this zebra-crossing", "é", r"^\s*return$", r"x{2,3}"]


def here(folder: Path, *, ripgrep: bool = True, room: int = 1 << 30, stopped: bool = False) -> Here:
    """ripgrep: whether it can be found; git is there either way."""
    place = folder.parent / "bin"
    place.mkdir(exist_ok=True)
    for name in ("git",):
        if not (place / name).exists():
            (place / name).symlink_to(shutil.which(name) or "/nowhere")
    path = os.environ["PATH"] if ripgrep else str(place)
    return Here(str(folder), {"PATH": path, "HOME": str(folder)}, lambda: stopped, room)


def run(where: Here, **arguments: object) -> tuple[list[str], Result]:
    assert RUN is not None
    result = RUN(arguments, where)  # type: ignore[arg-type]
    out = result.parts["stdout"]
    assert isinstance(out, bytes)
    return out.decode("utf-8", "surrogateescape").splitlines(), result


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A work tree of git with what it ignores, what is hidden, what is no text, and several languages."""
    place = tmp_path / "tree"
    (place / "pkg/inner").mkdir(parents=True)
    (place / ".hidden").mkdir()
    (place / "pkg/a.py").write_text("import os\nimport re\n\ndef retry(x):\n    return\n\n\ndef other():\n    return retry\n")
    (place / "pkg/inner/b.py").write_text("# café\nxx xxx\nretry = 'é'\nRETRY = 2\n")
    (place / "notes.txt").write_text("first\nretry later\n" + "filler\n" * 30 + "retry again\nlast, without a newline: retry")
    (place / "ignored.log").write_text("retry\n")
    (place / ".hidden/c.txt").write_text("retry\n")
    (place / "binary.bin").write_bytes(b"\0\1retry\n")
    (place / ".gitignore").write_text("*.log\n")
    subprocess.run(["git", "-C", str(place), "init", "-q"], check=True)
    return place


needs_rg = pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")


@needs_rg
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("more", [{}, {"context": 1}, {"count": True}, {"files": True}, {"ignore_case": True}, {"word": True},
                                  {"fixed": True}, {"glob": ["*.py"]}, {"glob": ["!*.py"]}, {"hidden": True}, {"ignored": True},
                                  {"paths": ["pkg", "notes.txt"]}])
def test_it_is_the_same_with_and_without_ripgrep(tree: Path, pattern: str, more: dict[str, object]) -> None:
    with_it = run(here(tree), pattern=pattern, **more)
    without = run(here(tree, ripgrep=False), pattern=pattern, **more)
    assert with_it[0] == without[0]
    assert with_it[1].exit_code == without[1].exit_code


@pytest.mark.parametrize("ripgrep", [pytest.param(True, marks=needs_rg), False])
@pytest.mark.parametrize("pattern", ["def ", "retry", "xx"])
def test_lines_are_those_that_gnu_grep_prints(tree: Path, ripgrep: bool, pattern: str) -> None:
    out = subprocess.run(["grep", "-rnI", "-e", pattern, "pkg", "notes.txt"], cwd=tree, capture_output=True, text=True, check=True)
    found, result = run(here(tree, ripgrep=ripgrep), pattern=pattern, paths=["pkg", "notes.txt"])
    assert sorted(found) == sorted(out.stdout.splitlines())
    assert result.exit_code == 0 and not result.is_error


@pytest.mark.parametrize("ripgrep", [pytest.param(True, marks=needs_rg), False])
def test_nothing_found_is_no_error_and_a_missing_folder_is_one(tree: Path, ripgrep: bool) -> None:
    found, result = run(here(tree, ripgrep=ripgrep), pattern="zebra-crossing")
    assert (found, result.exit_code, result.is_error) == ([], 1, False)
    found, result = run(here(tree, ripgrep=ripgrep), pattern="retry", paths=["nowhere"])
    assert (found, result.exit_code, result.is_error) == ([], 2, True)
    assert b"nowhere" in result.parts["stderr"]  # type: ignore[operator]


@pytest.mark.parametrize("ripgrep", [pytest.param(True, marks=needs_rg), False])
def test_a_search_that_is_stopped_says_so(tree: Path, ripgrep: bool) -> None:
    for where in (here(tree, ripgrep=ripgrep, stopped=True), here(tree, ripgrep=ripgrep, room=0)):
        _, result = run(where, pattern="retry")
        assert result.is_error and result.exit_code == 2
        assert b"stopped before it had looked everywhere" in result.parts["stderr"]  # type: ignore[operator]


@pytest.mark.parametrize("ripgrep", [pytest.param(True, marks=needs_rg), False])
def test_a_pipe_is_not_waited_for(tree: Path, ripgrep: bool) -> None:
    (tree / "a.txt").write_text("zebra\n")
    os.mkfifo(tree / "pipe")
    where = here(tree, ripgrep=ripgrep)
    for paths in (["pipe", "a.txt"], ["pipe"]):
        lines, result = run(where, pattern="zebra", paths=paths)
        assert lines == ["a.txt:1:zebra"] * (len(paths) - 1)
        assert b"pipe: neither a file nor a folder" in bytes(result.parts["stderr"])  # type: ignore[arg-type]
    assert run(where, pattern="zebra", ignored=True)[0] == ["a.txt:1:zebra"]


@pytest.mark.parametrize("ripgrep", [pytest.param(True, marks=needs_rg), False])
def test_bytes_that_are_no_utf8_stay(tree: Path, ripgrep: bool) -> None:
    (tree / "latin.txt").write_bytes(b"caf\xe9 retry\n")
    assert RUN is not None
    result = RUN({"pattern": "retry", "paths": ["latin.txt"]}, here(tree, ripgrep=ripgrep))
    assert result.parts["stdout"] == b"latin.txt:1:caf\xe9 retry\n"


@pytest.mark.parametrize("arguments", [{}, {"pattern": ""}, {"pattern": "a", "context": -1}, {"pattern": "a", "context": 5000},
                                       {"pattern": "a", "paths": "src"}, {"pattern": "a\0"}, {"pattern": "a", "glob": [1]},
                                       {"pattern": "\ud800"}, {"pattern": "a", "paths": ["\ud800"]}])
def test_arguments_that_make_no_search_are_told(tree: Path, arguments: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        run(here(tree), **arguments)


def test_a_pattern_that_is_none_is_an_error_on_both_ways(tree: Path) -> None:
    with pytest.raises(Invalid):
        run(here(tree, ripgrep=False), pattern="(unclosed")
    if shutil.which("rg"):
        _, result = run(here(tree), pattern="(unclosed")
        assert result.is_error and b"unclosed" in result.parts["stderr"]  # type: ignore[operator]


def test_a_pattern_like_an_option_is_a_pattern(tree: Path) -> None:
    (tree / "flags.txt").write_text("use --pre=sh here\n")
    for ripgrep in (True, False):
        if ripgrep and shutil.which("rg") is None:
            continue
        assert run(here(tree, ripgrep=ripgrep), pattern="--pre=sh")[0] == ["flags.txt:1:use --pre=sh here"]


@needs_rg
def test_a_search_that_finds_nothing_for_long_ends_when_nobody_waits(tree: Path) -> None:
    with (tree / "huge.txt").open("wb") as file:  # sparse: seconds to read, no room on the disk
        file.truncate(20 << 30)
    where = here(tree)
    began = time.monotonic()
    assert RUN is not None
    result = RUN({"pattern": "zebra-crossing", "paths": ["huge.txt"]}, Here(
        where.folder, where.environment, lambda: time.monotonic() - began > 0.3, where.room))
    assert result.is_error and b"stopped before it had looked everywhere" in result.parts["stderr"]  # type: ignore[operator]
