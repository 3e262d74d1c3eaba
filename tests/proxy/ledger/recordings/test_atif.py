"""Trajectories of ATIF 1.7."""
from __future__ import annotations

import json
from pathlib import Path

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import read_file
from byref.proxy.ledger.trajectories import Usage

STEPS: list[Json] = [
    {"step_id": 1, "source": "system", "message": "be brief"}, {"step_id": 2, "source": "user", "message": "mend the parser"},
    {"step_id": 3, "source": "agent", "message": [{"type": "text", "text": "I look."}], "reasoning_content": "where is it",
     "tool_calls": [{"tool_call_id": key, "function_name": "bash", "arguments": {"command": key}} for key in ("c1", "c2")],
     "observation": {"results": [{"source_call_id": "c2", "content": "two"}, {"source_call_id": "c1", "content": [
         {"type": "text", "text": "one"}]}]}, "metrics": {"prompt_tokens": 100, "completion_tokens": 9, "cached_tokens": 60}},
    {"step_id": 4, "source": "agent", "message": "", "tool_calls": [{"tool_call_id": "c3", "function_name": "keys", "arguments": {}}],
     "observation": {"results": [{"content": "a terminal"}]}},
    {"step_id": 5, "source": "agent", "message": "parse_header it is"}]
ROW: dict[str, Json] = {"schema_version": "ATIF-v1.7", "session_id": "s1", "steps": STEPS,
                        "agent": {"name": "terminus-2", "version": "2", "model_name": "m"}}


def test_each_call_has_its_result(tmp_path: Path) -> None:
    (tmp_path / "trajectory.json").write_text(json.dumps(ROW, indent=2))
    told: list[str] = []
    (found,) = read_file(str(tmp_path / "trajectory.json"), told.append)
    assert told == [] and (found.id, found.source, found.task, found.model, found.system) == ("s1", "ATIF", "mend the parser", "m", 8)
    assert [(t.tool, t.arguments, t.output) for t in found.turns] == [
        ("bash", {"command": "c2"}, "two"), ("bash", {"command": "c1"}, "one"), ("keys", {}, "a terminal")]
    assert found.requests() == [1, 1, 2] and found.turns[2].next_action == "parse_header it is"
    assert found.first_action.startswith("I look.") and found.usage == Usage(1, 40, 60, 0, 9)


def test_sub_agents_are_sessions_and_copied_steps_count_where_they_were_made(tmp_path: Path) -> None:
    inner = {**ROW, "trajectory_id": "inner"}
    copied = [{**step, "is_copied_context": True} for step in STEPS[:4] if isinstance(step, dict)]
    outer = {**ROW, "trajectory_id": "outer", "steps": [*copied, *STEPS[3:]], "subagent_trajectories": [inner]}
    (tmp_path / "a.json").write_text(json.dumps(outer))
    found = list(read_file(str(tmp_path / "a.json"), print))
    assert [(one.id, [turn.output for turn in one.turns]) for one in found] == [
        ("outer", ["a terminal"]), ("inner", ["two", "one", "a terminal"])]


def test_what_is_not_known_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({**ROW, "steps": [*STEPS, {"source": "ghost", "message": "x"}]}) + '\n{"a": 1}\n')
    told: list[str] = []
    assert len(list(read_file(str(tmp_path / "a.jsonl"), told.append))) == 1
    assert [fault.replace(str(tmp_path / "a.jsonl"), "") for fault in told] == [
        ":1 step 6: a step of the source 'ghost' is not known here, and not read", ":2: an object that is no part of the file's format"]
