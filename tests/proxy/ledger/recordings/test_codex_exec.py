"""What `codex exec --json` prints: lines of 0.171.0, of a run against a scripted model, and of its resumption."""
from __future__ import annotations

import json
from pathlib import Path

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import read_file
from byref.proxy.ledger.recordings.codex_exec import SHOWN
from byref.proxy.ledger.trajectories import Trajectory

THREAD = {"type": "thread.started", "thread_id": "01a22b74"}
BEGAN: list[Json] = [
    THREAD, {"type": "item.completed", "item": {"id": "item_2", "type": "error", "message": "Model metadata for `scripted` not found."}},
    {"type": "turn.started"}]
ENDED: Json = {"type": "turn.completed", "usage": {"input_tokens": 11000, "cached_input_tokens": 3300, "cache_write_input_tokens": 0,
                                                   "output_tokens": 330, "reasoning_output_tokens": 0}}


def said(number: int, text: str, kind: str = "agent_message") -> Json:
    return {"type": "item.completed", "item": {"id": f"item_{number}", "type": kind, "text": text}}


def command(number: int, words: str, output: str = "", code: int = 0, events: tuple[str, ...] = ("started", "completed")) -> list[Json]:
    item = {"id": f"item_{number}", "type": "command_execution", "command": f"/bin/bash -lc '{words}'"}
    ends: dict[str, dict[str, Json]] = {
        "started": {"aggregated_output": "", "exit_code": None, "status": "in_progress"},
        "completed": {"aggregated_output": output, "exit_code": code, "status": "failed" if code else "completed"}}
    return [{"type": f"item.{event}", "item": {**item, **ends[event]}} for event in events]


def records(number: int, **result: Json) -> list[Json]:
    item = {"id": f"item_{number}", "type": "mcp_tool_call", "server": "t", "tool": "records", "arguments": {"a": 1}}
    return [{"type": "item.started", "item": {**item, "result": None, "error": None, "status": "in_progress"}},
            {"type": "item.completed", "item": {**item, "result": None, "error": None, "status": "completed", **result}}]


def read(path: Path, rows: list[Json]) -> tuple[list[Trajectory], list[str]]:
    told: list[str] = []
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return list(read_file(str(path), told.append)), [fault.replace(str(path), "") for fault in told]


def test_commands_and_calls_of_servers_are_calls(tmp_path: Path) -> None:
    (found,), told = read(tmp_path / "a.jsonl", [
        *BEGAN, said(3, "I look."), *command(4, "seq 1 2", "1\n2\n"), said(5, "hm", "reasoning"), *command(6, "exit 3", "no\n", 3),
        *records(7, result={"content": [{"type": "text", "text": "rows"}], "structured_content": None}),
        *records(8, error={"message": "no server"}, status="failed"),
        {"type": "item.completed", "item": {"id": "item_9", "type": "file_change", "changes": [{"path": "/x", "kind": "add"}]}},
        said(10, "parse_header it is"), ENDED])
    assert told == [] and (found.id, found.source, found.usage) == ("01a22b74", "Codex", None)
    assert [(t.tool, t.arguments, t.output, t.is_error) for t in found.turns] == [
        ("shell", {"command": "/bin/bash -lc 'seq 1 2'"}, "1\n2\n", False), ("shell", {"command": "/bin/bash -lc 'exit 3'"}, "no\n", True),
        ("mcp__t__records", {"a": 1}, "rows", False), ("mcp__t__records", {"a": 1}, "no server", True)]
    assert found.turns[0].next_thought == "hm" and found.turns[3].next_action == "parse_header it is" and "I look." in found.first_action


def test_calls_that_run_at_once_are_of_one_answer(tmp_path: Path) -> None:
    first, second = (command(n, f"echo {n}", f"{n}\n") for n in (4, 5))
    rows = [*BEGAN, said(3, "Both."), first[0], second[0], second[1], first[1], said(6, "Done."), ENDED]
    (found,), told = read(tmp_path / "a.jsonl", rows)
    assert told == [] and [turn.output for turn in found.turns] == ["5\n", "4\n"] and found.requests() == [1, 1]


def test_a_resumed_thread_goes_on_and_another_is_another(tmp_path: Path) -> None:
    found, told = read(tmp_path / "a.jsonl", [
        *BEGAN, *command(4, "ls", "a"), ENDED, *BEGAN, *command(4, "ls -l", "b"), ENDED, {"type": "thread.started", "thread_id": "other"},
        *command(1, "pwd", "c"), {"type": "turn.failed", "error": {"message": "no"}}, {"type": "error", "message": "no"}])
    assert told == [] and [(one.id, [turn.output for turn in one.turns]) for one in found] == [("01a22b74", ["a", "b"]), ("other", ["c"])]


def test_of_a_long_output_the_model_saw_both_ends(tmp_path: Path) -> None:
    text = "".join(f"{n}\n" for n in range(1, 40_001))
    (found,), _ = read(tmp_path / "a.jsonl", [*BEGAN, *command(4, "seq 1 40000", text), *command(5, "cat", "é" * (SHOWN // 2))])
    assert found.turns[0].output == f"{text[:SHOWN // 2]}\n…\n{text[-SHOWN // 2:]}"
    assert found.turns[1].output == "é" * (SHOWN // 2), "to its last byte"


def test_a_recording_that_begins_or_ends_in_the_middle_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    (found,), told = read(tmp_path / "a.jsonl", [
        *command(4, "ls", "a", events=("completed",)), *command(5, "make", events=("started",)),
        {"type": "item.completed", "item": {"id": "item_6", "type": "hologram"}}, {"type": "item.completed", "item": 7}, {"a": 1}])
    assert [turn.output for turn in found.turns] == ["a"]
    assert told == [":3: an item of the type 'hologram' is not known here, and not read", ":4: `item` is to be an object",
                    ":5: an object that is no part of the file's format"]


def test_a_thread_whose_rollout_was_read_counts_twice_and_that_is_told(tmp_path: Path) -> None:
    seen: set[int] = set()
    told: list[str] = []
    (tmp_path / "rollout.jsonl").write_text(json.dumps({"type": "session_meta", "timestamp": "t", "payload": {"id": "01a22b74"}}) + "\n")
    list(read_file(str(tmp_path / "rollout.jsonl"), told.append, seen))
    (tmp_path / "printed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*BEGAN, *command(4, "ls", "a")]))
    assert len(list(read_file(str(tmp_path / "printed.jsonl"), told.append, seen))) == 1
    assert len(told) == 1 and told[0].endswith("leave one of the two out")


def test_what_first_versions_printed_is_told_with_what_to_give_instead(tmp_path: Path) -> None:
    found, told = read(tmp_path / "a.jsonl", [{"id": "0", "msg": {"type": "exec_command_begin", "call_id": "c"}}] * 3)
    assert found == [] and told[0].endswith("is not read: give the rollout that the run left in ~/.codex/sessions") and len(told) == 2
