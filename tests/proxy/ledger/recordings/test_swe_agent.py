"""A `.traj` of SWE-agent."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import read_file
from byref.proxy.ledger.trajectories import Trajectory


def read(path: Path, row: Json) -> tuple[list[Trajectory], list[str]]:
    told: list[str] = []
    path.write_text(json.dumps(row, indent=2))
    return list(read_file(str(path), told.append)), told


def acting(content: str, action: str, key: str, name: str, **given: str) -> Json:
    """A step in a history of version 1, whose model calls functions."""
    return {"role": "assistant", "content": content, "thought": content, "action": action, "agent": "main", "message_type": "action",
            "tool_calls": [{"function": {"arguments": json.dumps(given), "name": name}, "id": key, "type": "function"}]}


def observed(content: str, key: str) -> Json:
    return {"role": "tool", "content": content, "agent": "main", "message_type": "observation", "tool_call_ids": [key]}


HISTORY: list[Json] = [
    {"role": "system", "content": "SETTING", "agent": "main", "message_type": "system_prompt"},
    {"role": "user", "content": [{"type": "text", "text": "mend the parser"}], "agent": "main", "message_type": "observation"},
    acting("I look for it.", "find_file parser.py", "call_1", "find_file", file_name="parser.py"),
    observed("Found 1 matches:\r\n/src/parser.py\n(Open file: n/a)\nbash-$", "call_1"),
    acting("I run it.", "python src/parser.py", "call_2", "bash", command="python src/parser.py"),
    observed("8.2\n(Open file: n/a)\nbash-$", "call_2")]
STEPS: list[Json] = [
    {"action": "find_file parser.py", "observation": "Found 1 matches:\r\n/src/parser.py", "response": "I look for it.",
     "thought": "I look for it.", "execution_time": 0.2, "state": {"open_file": "n/a"}, "query": [], "extra_info": {}},
    {"action": "python src/parser.py", "observation": "8.2", "response": "I run it.", "thought": "I run it.", "execution_time": 0.2}]


@pytest.mark.parametrize("row", [{"environment": "main", "trajectory": STEPS, "history": HISTORY, "info": {"model_stats": {}}},
                                 {"history": HISTORY}])
def test_the_history_is_read_for_what_the_model_saw(tmp_path: Path, row: Json) -> None:
    (found,), told = read(tmp_path / "a.traj", row)
    assert (found.task, found.system, found.first_action, told) == (
        "mend the parser", 7, 'I look for it.\nfind_file {"file_name": "parser.py"}', [])
    assert [(t.tool, t.arguments, t.output) for t in found.turns] == [
        ("find_file", {"file_name": "parser.py"}, "Found 1 matches:\r\n/src/parser.py\n(Open file: n/a)\nbash-$"),
        ("bash", {"command": "python src/parser.py"}, "8.2\n(Open file: n/a)\nbash-$")]


def test_a_history_of_commands_in_the_text_says_each_once(tmp_path: Path) -> None:
    """As versions before 1 write it: the answer holds the command in a fence, and the observation comes from the user."""
    said = "I look for it.\n\n```\nfind_file parser.py\n```"
    history: list[Json] = [
        {"role": "system", "content": "SETTING", "agent": "primary"},
        {"role": "user", "content": "a demonstration", "agent": "primary", "is_demo": True},
        {"role": "user", "content": "mend the parser", "agent": "primary"},
        {"role": "assistant", "content": said, "thought": "I look for it.\n\n", "action": "find_file parser.py\n", "agent": "primary"},
        {"role": "user", "content": "Found 1 matches", "agent": "primary"}]
    (found,), _ = read(tmp_path / "a.traj", {"environment": "swe_main", "trajectory": [], "history": history})
    assert (found.task, found.system, found.first_action) == ("mend the parser", 22, said)
    assert [(t.tool, t.arguments, t.output) for t in found.turns] == [("find_file", {"command": "find_file parser.py"}, "Found 1 matches")]


def test_attempts_are_sessions_and_the_chosen_one_counts_once(tmp_path: Path) -> None:
    attempt: Json = {"trajectory": STEPS, "history": HISTORY, "info": {}}
    found, told = read(tmp_path / "a.traj", {"trajectory": STEPS, "history": HISTORY, "attempts": [attempt, attempt], "instance_id": "x"})
    assert [(one.id, len(one.turns)) for one in found] == [("x#1", 2), ("x#2", 2)] and told == []


def test_what_is_no_step_is_told_and_the_others_read(tmp_path: Path) -> None:
    (found,), told = read(tmp_path / "a.traj", {"trajectory": [*STEPS, "cut"], "history": []})
    assert [turn.output for turn in found.turns] == ["Found 1 matches:\r\n/src/parser.py", "8.2"]
    assert told == [f"{tmp_path}/a.traj: what stands in `trajectory` and is no object is not read"]


def test_each_step_is_a_call(tmp_path: Path) -> None:
    steps = [{"action": "find_file parser.py\n", "observation": "Found 1 match: src/parser.py", "response": "I look for it", "thought": "",
              "state": "{}"},
             {"action": "open src/parser.py", "observation": "[File: src/parser.py]", "response": "src/parser.py, then", "thought": ""},
             {"action": "", "observation": "", "response": "done", "thought": "done"}]
    history = [{"role": "system", "content": "rules"}, {"role": "user", "content": "a demo", "is_demo": True},
               {"role": "user", "content": "mend the parser"}]
    (tmp_path / "a.traj").write_text(json.dumps({"environment": "swe_main", "trajectory": steps, "history": history, "info": {}}, indent=2))
    told: list[str] = []
    (found,) = read_file(str(tmp_path / "a.traj"), told.append)
    assert (found.source, found.task, told) == ("SWE-agent", "mend the parser", [])
    assert found.system == 11, "a demonstration is part of the context"
    assert [(turn.tool, turn.arguments, turn.output) for turn in found.turns] == [
        ("find_file", {"command": "find_file parser.py"}, "Found 1 match: src/parser.py"),
        ("open", {"command": "open src/parser.py"}, "[File: src/parser.py]")]
    assert "src/parser.py, then" in found.turns[0].next_action
