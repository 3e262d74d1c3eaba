"""File reads: numbered lines keep what a reader needs to count on; what only looks like a number stays data."""
from __future__ import annotations

import inspect
import json.decoder
import os
import re
import subprocess
import textwrap
from pathlib import Path

import pytest

from byref.filters.detect import detect
from byref.filters.shapes.code import SHAPE
from byref.proxy.contracts import Call, Seen
from conformance.views import check, look

SOURCE = inspect.getsource(json.decoder)
LINES = SOURCE.splitlines()


def numbered(form: str, first: int = 1) -> str:
    return "".join(form.format(n, line) + "\n" for n, line in enumerate(LINES, first))


@pytest.mark.parametrize("form", ["{:6}\t{}", "{:6}→{}", "{:4}: {}", "{:4}| {}", "{}:{}"])
@pytest.mark.parametrize("first", [1, 990])
def test_numbers_are_thinned_to_those_that_one_cannot_count(form: str, first: int) -> None:
    shown = check(look(numbered(form, first), tool="Read", arguments={"file_path": "decoder.py"}))
    assert shown.view.shape == "code" and not shown.view.passed
    numbers = sum(line.lstrip()[:1].isdigit() for line in shown.lines)
    assert first > 1 or numbers <= len(shown.lines) // 8 + len(shown.view.gaps) + 1


def test_every_tenth_number_stands() -> None:
    shown = check(look(numbered("{:6}\t{}"), tool="Read", profile="safe"))
    bare = [line.lstrip() for line in shown.lines]
    for n in range(10, len(LINES), 10):
        assert f"{n}\t{LINES[n - 1]}".rstrip() in [line.rstrip() for line in bare]


@pytest.mark.parametrize("rows", [
    [f"{(i * 7919) % 800}\t./usr/share/doc/package_{i}/copyright" for i in range(300)],  # du
    [f"{10 + i // 40}:{i % 60:02}:07 worker {i % 7} took job {i}" for i in range(300)],  # times of day
    [f"{(i * 131) % 977}: total of bucket_{i}" for i in range(300)],  # ids
], ids=["sizes", "times", "ids"])
def test_numbers_that_do_not_count_lines_are_data(rows: list[str]) -> None:
    for profile in ("safe", "auto", "lean"):
        shown = check(look("\n".join(rows) + "\n", "cat report", profile=profile))
        assert shown.view.passed or all(line in rows for line in shown.lines[:-1])
    units = SHAPE.units("\n".join(rows), Call("Bash", {"command": "cat report"}))
    assert units.keys == rows, "a size that changed is news, though its path was shown"


def test_pieces_of_a_long_line_have_no_numbers() -> None:
    record = ", ".join(f"{i}: item_{i * 37 % 500}" for i in range(120))
    rows = "".join(f"{n}: {record}\n" for n in range(1, 40))
    units = SHAPE.units(rows, Call("Read"))
    assert units.labels is not None and units.glued is not None
    assert [bool(label) for label in units.labels] == [not piece for piece in units.glued]
    check(look(rows, tool="Read", budget=900))


def test_a_number_of_another_script_is_no_line_number() -> None:
    rows = "".join(f"{c}\tvalue {i}\n" for i, c in enumerate(["²", "³", "٣", "9" * 200] * 40))
    check(look(rows, tool="Read"))


def test_a_number_stands_where_lines_were_skipped() -> None:
    rows = "".join(f"{n:6}\t{LINES[n]}\n" for start in range(11, 260, 20) for n in range(start, start + 8))
    shown = check(look(rows, "cat -n decoder.py | sed -n '11,18p;31,38p'", profile="safe"))
    assert not shown.view.passed
    assert {f"{n}\t{LINES[n]}" for n in range(11, 260, 20)} <= {line.lstrip(" ") for line in shown.lines}


def test_lines_shown_under_other_numbers_are_known() -> None:
    first = look(SOURCE, "cat decoder.py", profile="safe")
    seen = Seen(first.view.lines, first.view.terms, True)
    again = check(look(numbered("{:6}\t{}", 57), tool="Read", seen=seen, profile="safe"))
    assert not again.view.passed and len(again.text) < len(again.raw) // 10


def test_a_narrowed_read_stands_whole_but_for_its_numbers() -> None:
    part = "".join(f"{n:6}\t{line}\n" for n, line in enumerate(LINES[100:250], 101))
    shown = check(look(part, tool="Read", arguments={"file_path": "decoder.py", "offset": 101, "limit": 150}))
    assert not shown.view.gaps


def test_definitions_stand_before_their_bodies() -> None:
    names = [f"{verb}_{noun}" for verb in ("load", "store", "merge", "split") for noun in ("orders", "prices", "parcels", "refunds")]
    body = "".join(f"def {name}(event):\n" + textwrap.indent("total = total + total\nitem = item\n" * 6, "    ") for name in names)
    shown = check(look(body, "cat handlers.py", budget=2000))
    standing = [line for line in shown.lines if line.strip()]
    assert sum(line.startswith("def ") for line in standing) * 3 > len(standing) > 2, "of thirteen lines one is a definition"


def test_what_a_definition_takes_stands_with_its_first_line() -> None:
    takes = [f"    {name}: Optional[int] = None," for name in ("width", "height", "depth", "weight", "colour", "finish")]
    body = "".join(f"def pack_{i}(\n" + "\n".join(takes) + "\n) -> int:\n" + "    total = total + total\n" * 40 for i in range(12))
    worth = SHAPE.units(body, Call("Read", {"file_path": "box.py"})).worth
    assert all(worth[1:8]) and not any(worth[8:48])


@pytest.mark.parametrize(("name", "yes"), [
    ("tests/test_box.py", True), ("box_test.go", True), ("src/Box.spec.ts", True), ("BoxTest.java", True), ("tests.py", True),
    ("latest.py", False), ("tests/helpers.py", False), ("test_data/box.py", False)])
def test_the_end_of_a_file_of_tests_is_where_the_next_one_goes(name: str, yes: bool) -> None:
    body = "".join(f"def probe_{i}():\n" + "    total = total + total\n" * 5 for i in range(60))
    for call in (Call("Read", {"file_path": name}), Call("Bash", {"command": f"cat {name}"})):
        assert all(SHAPE.units(body, call).worth[-6:]) is yes


@pytest.mark.parametrize(("call", "text"), [
    (Call("Read", {"file_path": "a.txt"}), "anything"), (Call("str_replace_editor", {"command": "view"}), "anything"),
    (Call("Bash", {"command": "cat a.py"}), "x = 1\ny = 2\n"), (Call("x"), "".join(f"{i}\tline\n" for i in range(1, 30))),
    (Call("x"), "def a():\n    pass\n" * 20),
])
def test_reads_are_told_by_tool_command_numbers_or_definitions(call: Call, text: str) -> None:
    assert detect(text, call)[0] == "code"


def test_a_here_document_is_no_read() -> None:
    assert SHAPE.match(Call("Bash", {"command": "cat > a.py <<'END'\nx\nEND"}), "", "done\n") == 0


def test_a_command_that_failed_shows_why_beside_what_it_read() -> None:
    body = "".join(f"def handler_{i}(event):\n    total = total + {i}\n    return total\n\n" for i in range(300))
    shown = check(look(body + "make: *** [needle] Error 1\n" + body, "cat a.py && make; cat b.py", exit_code=2))
    assert shown.view.shape == "code" and "make: *** [needle] Error 1" in shown.lines


def test_a_log_that_is_read_is_no_code() -> None:
    rows = [f"2026-05-01 10:00:{i % 60:02d} INFO step {i} fine" for i in range(600)]
    rows[300] = "2026-05-01 10:05:00 ERROR disk full"
    shown = check(look("\n".join(rows), tool="read", arguments={"file_path": "app.log"}, exit_code=None))
    assert shown.view.shape == "log" and rows[300] in shown.lines


def test_what_a_log_says_of_failures_stands_when_a_command_reads_it() -> None:
    rows = [row for i in range(200) for row in (f"2026-05-01 10:00:{i % 60:02d} INFO job {i}", "  step one is over", "  step two too")]
    rows[301:301] = ["Traceback (most recent call last):", '  File "/app/jobs.py", line 10, in run', "    total = d['x']", "KeyError: 'x'"]
    shown = check(look("\n".join(rows), "cat logs/app.log"))
    assert shown.view.shape != "code" and shown.view.gaps and "KeyError: 'x'" in shown.lines


def blamed(folder: Path, *options: str) -> str:
    """What git says of a file that two people wrote, in runs of eleven lines."""
    for k, name in enumerate(("Ada", "Grace")):
        who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
               for what, value in (("NAME", f"{name} (Ops)"), ("EMAIL", "a@b"), ("DATE", f"2026-0{k + 1}-02T10:00:00+0000"))}
        rows = [line if i // 11 % 2 <= k else "" for i, line in enumerate(LINES)]
        (folder / "a.py").write_text("".join(row + "\n" for row in rows))
        for words in (["init", "-q"], ["add", "a.py"], ["commit", "-qm", name]):
            subprocess.run(["git", *words], cwd=folder, check=True, env={**os.environ, **who})
    return subprocess.run(["git", "blame", *options, "a.py"], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("options", [(), ("-s",), ("-e", "-l")])
def test_who_wrote_lines_that_stand_together_is_said_once(tmp_path: Path, options: tuple[str, ...]) -> None:
    raw = blamed(tmp_path, *options)
    shown = check(look(raw, f"git blame {' '.join(options)} a.py"))
    assert shown.view.shape == "code" and len(shown.text) < len(raw) * 2 // 3 and not any(" failures" in marker for marker in shown.markers)
    numbers = [int(found[1]) for line in shown.lines if (found := re.search(r"^(?:\^?[0-9a-f]{7,40} .*?)? *(\d+)\)", line))]
    assert numbers == sorted(numbers) and len(numbers) > 60


@pytest.mark.parametrize(("text", "texts", "labels"), [
    ("  9→a\n 10→b\n 11→", ["a", "b", ""], ["9→", "10→", "11→"]), ("1\ta\n2\tb\n3", ["a", "b", "3"], ["1\t", "2\t", ""]),
    ("01\ta\n02\tb\n03\tc", ["a", "b", "c"], ["01\t", "02\t", "03\t"]),
    ("1→a\n2→b\n4→c\n5→d", ["a", "b", "c", "d"], ["1→", "2→", "4→", "5→"]),
    ("1→a\n2→b\n7→c\n9→d", ["a", "b", "7→c", "9→d"], ["1→", "2→", "", ""])])
def test_a_number_is_a_label_where_its_sign_and_a_number_beside_it_say_so(text: str, texts: list[str], labels: list[str]) -> None:
    units = SHAPE.units(text, Call("Read"))
    assert (units.texts, units.labels) == (texts, labels)
    assert SHAPE.cut(text, Call("Read")).texts == texts
