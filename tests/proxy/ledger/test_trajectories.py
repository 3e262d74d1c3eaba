"""Recorded trajectories are read as they stand, and what is wrong with a line is said with its place."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from byref.proxy.errors import Invalid
from byref.proxy.ledger.trajectories import Trajectory, Turn, parse, read

LINE = {"id": "a/1", "source": "made", "task": "fix the parser", "turns": [
    {"tool": "Bash", "args": {"command": "ls"}, "output": "parser.py\n", "next_action": "Read parser.py", "is_error": False},
    {"tool": "Read", "args": {"file_path": "parser.py"}, "output": "def parse():\n", "next_action": "done", "next_thought": "easy"}]}


def written(folder: Path, *rows: object) -> Path:
    path = folder / "made.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_line_is_a_trajectory() -> None:
    found = parse(json.dumps({**LINE, "meta": {"first_action": "ls", "sys_chars": 900, "usage": {"first_context": 12_000}}}), "here")
    assert (found.id, found.source, found.task, found.first_action, found.system, found.context) == (
        "a/1", "made", "fix the parser", "ls", 900, 12_000)
    assert found.turns[1] == Turn("Read", {"file_path": "parser.py"}, "def parse():\n", "done", "easy", False)
    assert (found.before(0), found.before(1)) == ("", "Read parser.py\n")


def test_calls_made_at_once_are_answered_by_one_request() -> None:
    turns = [Turn("Bash", {}, "a", said) for said in ("both", "both", "next", "", "")]
    assert Trajectory("i", "s", "t", tuple(turns)).requests() == [1, 1, 2, 3, 4]


def test_source_and_limit_choose(tmp_path: Path) -> None:
    path = written(tmp_path, LINE, {**LINE, "source": "other"}, {**LINE, "id": "a/2"})
    assert [t.id for t in read(path)] == ["a/1", "a/1", "a/2"]
    assert [t.id for t in read(path, source="made")] == ["a/1", "a/2"]
    assert [t.id for t in read(path, source="made", limit=1)] == ["a/1"] and list(read(path, limit=0)) == []


def test_bytes_that_are_no_utf8_and_line_separators_within_strings_stand(tmp_path: Path) -> None:
    path = tmp_path / "made.jsonl"
    row = json.dumps({**LINE, "turns": [{"tool": "Bash", "args": {}, "output": "XX\u2028\x85 end"}]}, ensure_ascii=False).encode()
    path.write_bytes(row.replace(b"XX", b"\xff") + b"\n\n")
    assert [t.turns[0].output for t in read(path)] == ["\udcff\u2028\x85 end"]


@pytest.mark.parametrize(("row", "says"), [
    ([], "is to be an object, not an array"),
    ({**LINE, "task": None}, "`task` is to be a string, not absent or null"),
    ({**LINE, "turns": {}}, "`turns` is to be an array, not an object"),
    ({**LINE, "turns": ["x"]}, "turn 0 is to be an object, not a string"),
    ({**LINE, "turns": [{"tool": "Bash", "args": {}, "output": 7}]}, "turn 0: `output` is to be a string, not a number"),
    ({**LINE, "meta": {"sys_chars": "many"}}, "`sys_chars` is to be a number of 0 or more, not a string"),
    ({**LINE, "meta": {"sys_chars": -1}}, "`sys_chars` is to be 0 or more, and less than"),
    ({**LINE, "meta": {"sys_chars": 10**30}}, "`sys_chars` is to be 0 or more, and less than"),
])
def test_a_malformed_line_is_named_with_its_field(tmp_path: Path, row: object, says: str) -> None:
    with pytest.raises(Invalid) as fault:
        list(read(written(tmp_path, LINE, row)))
    assert "made.jsonl:2" in str(fault.value) and says in str(fault.value)


def test_a_line_cut_short_is_named_too(tmp_path: Path) -> None:
    path = written(tmp_path, LINE)
    path.write_text(path.read_text() + json.dumps(LINE)[:70])
    with pytest.raises(Invalid, match=r"made\.jsonl:2 is no JSON: "):
        list(read(path))


def test_the_recordings_beside_the_checkout_are_read_whole(shared: Path) -> None:
    for name, count, turns in (("local", 99, 3676), ("open", 243, 2067)):
        found = list(read(shared / "corpus" / f"trajectories-{name}.jsonl"))
        assert (len(found), sum(len(t.turns) for t in found)) == (count, turns)
