"""Match lists: each file that matched stands, a path once, and nothing of what the search found is misread."""
from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from byref.filters.detect import detect
from byref.filters.shapes.matches import SHAPE
from byref.proxy.contracts import Call, Seen
from conformance.outputs import real
from conformance.views import check, look


def found(files: int, each: int, form: str = "src/part_{f}/module.py:{n}:    value_{f}_{n} = compute(total_{n})") -> str:
    return "".join(form.format(f=f, n=n * 7 + 1) + "\n" for f in range(files) for n in range(each))


@pytest.mark.parametrize("name", ["search", "context"])
def test_a_real_search(name: str) -> None:
    output = real(name)
    shown = check(look({"stdout": output.parts["stdout"]}, **output.call))
    assert shown.view.shape == "matches" and shown.view.head.rstrip("»\n").endswith("matches")
    paths = set(re.findall(r"^(\S+?\.py):\d+:", output.parts["stdout"].decode(), re.M))
    assert len(paths) > 3 and all(path in shown.text for path in paths), "each file that matched is named"


def test_a_path_stands_once_above_its_matches() -> None:
    raw = found(6, 30)
    shown = check(look(raw, "grep -rn value src", profile="safe"))
    assert not shown.view.gaps and len(shown.text) < len(raw) * 3 // 4
    assert shown.text.count("src/part_3/module.py") == 1 and "8:    value_3_8 = compute(total_8)" in shown.lines


@pytest.mark.parametrize(("command", "form"), [
    ("grep -rn value docs", "docs/old notes/part {f}.md:{n}:the value_{n}"),
    ("grep -rn value docs", "docs/2026-05-04-{f}/part.md:{n}:the value_{n}"),
    ("findstr /s /n value *.cs", "C:\\src\\old notes\\part{f}.cs:{n}:the value_{n}\r"),
])
def test_a_path_may_have_blanks_and_dates(command: str, form: str) -> None:
    raw = found(40, 12, form)
    shown = check(look(raw, command.replace("findstr", "rg"), budget=300))
    paths = {line.partition(":1:")[0] for line in raw.splitlines() if ":1:" in line}
    assert shown.view.head.endswith(" of 480 matches»\n") and len(paths) == 40
    assert [path for path in sorted(paths) if path not in shown.text] == []


def test_each_file_that_stands_above_its_matches_shows_the_first_of_them() -> None:
    raw = "\n".join(f"src/m{f}.py\n" + "".join(f"{n + f}:    value_{f}_{n}\n" for n in range(30)) for f in range(40))
    shown = check(look(raw, "rg -n --heading value", budget=300))
    assert shown.view.head.endswith(" of 1200 matches»\n")
    for f in range(40):
        at = shown.lines.index(f"src/m{f}.py")
        assert shown.lines[at + 1] == f"{f}:    value_{f}_0"


def test_of_a_file_whose_context_comes_first_the_match_stands() -> None:
    raw = "".join(f"svc-{f}/m{f}.py-{n}-before\nsvc-{f}/m{f}.py:{n + 1}:value {f}_{n}\nsvc-{f}/m{f}.py-{n + 2}-after\n--\n"
                  for f in range(30) for n in range(3, 60, 5))
    shown = check(look(raw, "grep -rn -C1 value .", budget=300))
    assert [f for f in range(30) if f"value {f}_3" not in shown.text] == []


def test_matches_are_counted_not_lines() -> None:
    raw = "".join(f"src/m{f}.py-{n}-before\nsrc/m{f}.py:{n + 1}:value of the day {f * n}\nsrc/m{f}.py-{n + 2}-after\n--\n"
                  for f in range(40) for n in range(3, 40, 5))
    shown = check(look(raw, "grep -rn -C1 value src", budget=300))
    total = raw.count("value of")
    assert shown.view.head.endswith(f" of {total} matches»\n")
    stand = int(shown.view.head.split()[1])
    assert stand + sum(gap.count for gap in shown.view.gaps) == total
    assert {gap.unit for gap in shown.view.gaps} == {"matches"}


def test_a_short_or_narrowed_list_stands_whole() -> None:
    assert not look(found(5, 10), "grep -rn value src").view.gaps
    assert not look(found(20, 8), "grep -rn value src | head -160").view.gaps


@pytest.mark.parametrize(("command", "raw"), [
    ("rg value", found(9, 20, "src/part_{f}/module.py:{n}:    value_{f}_{n}")), ("git grep -n value", found(9, 20)),
    ("grep -n value a.py", found(1, 90, "{n}:    value_{n}")), ("grep -r value .", found(9, 20, "./part_{f}.py:value_{n}")),
    ("grep -rn x C:\\src", found(9, 20, "C:\\src\\part_{f}.py:{n}:value_{n}")),
    (None, found(9, 20)),
])
def test_what_search_tools_print(command: str | None, raw: str) -> None:
    shown = check(look(raw, command))
    assert detect(raw, Call("Bash", {"command": command}))[0] == "matches" and shown.view.shape == "matches"
    check(look(raw, command, budget=60))


@pytest.mark.parametrize("raw", [
    "".join(f"2026-11-01 10:{i % 60:02}:07 worker {i} took a job\n" for i in range(200)),
    "".join(f"12:{i % 60:02}:07 worker {i} took a job\n" for i in range(200)),
    "".join(f"http://example.org/page/{i}: fine\n" for i in range(200)),
])
def test_times_and_addresses_are_no_paths(raw: str) -> None:
    assert detect(raw, Call("Bash", {"command": "cat log"}))[0] != "matches"


@pytest.mark.parametrize("command", ["make", "mypy src", "cc -c a.c"])
def test_errors_of_a_compiler_are_failures_and_not_matches(command: str) -> None:
    raw = found(30, 9, "src/unit_{f}.c:{n}:5: warning: unused variable 'kind_{n}'") + "src/last.c:3:5: error: unknown type name 'later'\n" \
        + found(30, 9, "src/other_{f}.c:{n}:5: warning: unused variable 'kind_{n}'")
    shown = check(look("src/a.c:1:1: error: x\n" + raw, command, exit_code=1, budget=60))
    assert {"src/a.c:1:1: error: x", "src/last.c:3:5: error: unknown type name 'later'"} <= set(shown.lines)


def test_git_grep_in_a_repository(tmp_path: Path) -> None:
    (tmp_path / "a b.txt").write_text("alpha one\nbeta\n" * 90)
    (tmp_path / "c-1.py").write_text("alpha = 1\n" * 90)
    (tmp_path / "blob.bin").write_bytes(b"alpha\0\1\2" * 30)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    done = subprocess.run(["git", "-C", str(tmp_path), "grep", "--no-index", "-n", "alpha"], capture_output=True, check=True)
    for budget in (None, 100):
        shown = check(look(done.stdout, "git grep -n alpha", budget=budget))
        assert b"Binary file blob.bin matches" in done.stdout and "Binary file blob.bin matches" in shown.lines


def test_what_the_tool_itself_says_stands_among_many_matches() -> None:
    rows = found(2, 200).splitlines(keepends=True)
    rows.insert(150, "Binary file src/logo.png matches\n")
    assert "Binary file src/logo.png matches" in check(look("".join(rows), "grep -rn value src", budget=60)).lines


def test_one_file_with_dashes_in_its_name_is_one_file() -> None:
    raw = "".join(f"lib/v-2-x/mod.py:{n}:a = {n}\n" for n in range(200))
    check(look(raw, "grep -rn a lib", budget=100))
    units = SHAPE.units(raw, Call("Bash"))
    assert set(units.heads or ()) <= {"lib/v-2-x/mod.py:", "lib/v-"}


def test_what_was_shown_collapses_with_its_path() -> None:
    raw = found(9, 20)
    first = look(raw, "grep -rn value src", profile="safe")
    moved = raw.replace("part_3/", "part_30/")
    again = check(look(moved, "grep -rn value src", profile="safe", seen=Seen(first.view.lines, first.view.terms, True)))
    assert not again.view.passed and "src/part_30/module.py" in again.text and "src/part_4/module.py" not in "\n".join(again.lines)


def test_what_a_tool_says_beside_its_matches_stands_where_it_says_that_something_failed() -> None:
    rows = [f"src/{name}.py:{i}:    total_{i % 9} = {name}({i})" for name in ("load", "store", "merge", "split") for i in range(90)]
    said = ["grep: ./private: Permission denied", "Traceback (most recent call last):", '  File "a.py", line 1, in f', "Stop: 4"]
    shown = check(look("\n".join([*rows[:100], said[0], *rows[100:], *said[1:]]) + "\n", "grep -rn total .; python a.py"))
    assert shown.view.shape == "matches" and shown.view.gaps and set(said) - {said[2]} <= set(shown.lines)
    context = [f"src/load.py-    raise ValueError({i})" if i % 3 else f"src/load.py:    try_{i}()" for i in range(300)]
    call = Call("Bash", {"command": "grep -r -A2 try src"}, 0)
    assert SHAPE.units("\n".join(context) + "\n", call).failures == {}, "what was searched is none"
