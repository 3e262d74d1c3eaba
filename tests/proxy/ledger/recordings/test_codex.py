"""What Codex writes into its sessions' folder is read, in its newer and in its older form."""
from __future__ import annotations

import json
from pathlib import Path

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import read_file
from byref.proxy.ledger.trajectories import Trajectory, Usage

ITEMS: list[dict[str, Json]] = [
    {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "mend the parser"}]},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "look first"}], "encrypted_content": "x"},
    {"type": "function_call", "name": "shell", "arguments": '{"command": ["bash", "-lc", "make"]}', "call_id": "c1"},
    {"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin Patch", "call_id": "c2"},
    {"type": "function_call_output", "call_id": "c1", "output": '{"output": "error in parse_header", "metadata": {"exit_code": 2}}'},
    {"type": "custom_tool_call_output", "call_id": "c2", "output": "Success"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "parse_header is at fault"}]},
]


def count(total: int, cached: int) -> Json:
    last = {"input_tokens": 1000, "cached_input_tokens": cached, "output_tokens": 20, "total_tokens": 1020}
    return {"timestamp": "t", "type": "event_msg", "payload": {"type": "token_count", "info": {
        "total_token_usage": {"total_tokens": total}, "last_token_usage": last}}}


def read(path: Path, rows: list[Json]) -> list[Trajectory]:
    told: list[str] = []
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = list(read_file(str(path), told.append))
    assert told == []
    return found


def enveloped(items: list[dict[str, Json]]) -> list[Json]:
    return [{"timestamp": "t", "type": "response_item", "payload": item} for item in items]


def test_a_rollout_is_read_with_its_calls_and_its_bill(tmp_path: Path) -> None:
    meta = {"timestamp": "t", "type": "session_meta", "payload": {"id": "abc", "cwd": "/home/dev/x", "instructions": "be brief"}}
    context = {"timestamp": "t", "type": "turn_context", "payload": {"model": "gpt-5-codex"}}
    (found,) = read(tmp_path / "a.jsonl", [meta, context, *enveloped(ITEMS[:6]), count(1020, 0), count(1020, 0), *enveloped(ITEMS[6:]),
                                           count(2040, 900)])
    assert (found.id, found.model, found.task, found.system) == ("abc", "gpt-5-codex", "mend the parser", 13)
    assert [(t.tool, t.output, t.is_error, t.next_action) for t in found.turns] == [
        ("shell", "error in parse_header", True, "parse_header is at fault"), ("apply_patch", "Success", False, "parse_header is at fault")]
    assert found.turns[0].arguments == {"command": ["bash", "-lc", "make"]}
    assert found.usage == Usage(2, 1100, 900, 0, 40), "what was told twice was billed once, and cached tokens are no fresh ones"


def test_an_older_rollout_has_its_items_bare(tmp_path: Path) -> None:
    (found,) = read(tmp_path / "a.jsonl", [{"id": "old", "timestamp": "t", "instructions": None}, *ITEMS])
    assert (found.id, [turn.output for turn in found.turns]) == ("old", ["error in parse_header", "Success"])


def test_what_follows_a_compaction_starts_anew(tmp_path: Path) -> None:
    again: list[dict[str, Json]] = [{"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c3"},
                                    {"type": "function_call_output", "call_id": "c3", "output": "ok"}]
    rows = [*enveloped(ITEMS), {"timestamp": "t", "type": "compacted", "payload": {"message": "so far"}}, *enveloped(again)]
    found = read(tmp_path / "a.jsonl", rows)
    assert [(len(one.turns), one.task) for one in found] == [(2, "mend the parser"), (1, "so far")]
