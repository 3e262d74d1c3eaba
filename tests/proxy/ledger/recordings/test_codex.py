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


def test_of_a_file_and_an_older_copy_of_it_each_call_counts_once(tmp_path: Path) -> None:
    meta = {"timestamp": "t", "type": "session_meta", "payload": {"id": "abc"}}
    rows = [meta, *enveloped(ITEMS[:6]), count(1020, 0), *enveloped(ITEMS[6:]), count(2040, 900)]
    seen: set[int] = set()
    found = []
    for name, held in (("old", rows[:8]), ("new", rows)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in held))
        found += list(read_file(str(tmp_path / name), print, seen))
    assert [[turn.output for turn in one.turns] for one in found] == [["error in parse_header"], ["Success"]]
    assert [one.usage for one in found] == [Usage(1, 1000, 0, 0, 20), Usage(1, 100, 900, 0, 20)]


def test_an_older_rollout_has_its_items_bare(tmp_path: Path) -> None:
    (found,) = read(tmp_path / "a.jsonl", [{"id": "old", "timestamp": "t", "instructions": None}, *ITEMS])
    assert (found.id, [turn.output for turn in found.turns]) == ("old", ["error in parse_header", "Success"])


def test_what_follows_a_compaction_starts_anew(tmp_path: Path) -> None:
    again: list[dict[str, Json]] = [{"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c3"},
                                    {"type": "function_call_output", "call_id": "c3", "output": "ok"}]
    rows = [*enveloped(ITEMS), {"timestamp": "t", "type": "compacted", "payload": {"message": "so far"}}, *enveloped(again)]
    found = read(tmp_path / "a.jsonl", rows)
    assert [(len(one.turns), one.task) for one in found] == [(2, "mend the parser"), (1, "so far")]


def meta(key: str, **more: Json) -> Json:
    return {"timestamp": "t", "type": "session_meta", "payload": {"id": key, "base_instructions": {"text": "be brief"}, **more}}


def told_by(path: Path, rows: list[Json], seen: set[int] | None = None) -> tuple[list[Trajectory], list[str]]:
    told: list[str] = []
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return list(read_file(str(path), told.append, seen)), [fault.replace(str(path), "") for fault in told]


def test_what_the_program_says_itself_is_no_task_and_its_instructions_are_counted(tmp_path: Path) -> None:
    texts = ("<environment_context>\n  <cwd>/home/dev/x</cwd>\n</environment_context>", "# AGENTS.md instructions for x\n\n<INSTRUCTIONS>")
    own: list[dict[str, Json]] = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]} for text in texts]
    (found,) = read(tmp_path / "a.jsonl", [meta("abc"), *enveloped([*own, *ITEMS])])
    assert found.task == "mend the parser"
    assert found.system == len("be brief" + "rules") + sum(map(len, texts))


def test_a_tool_of_an_mcp_server_is_named_with_its_server(tmp_path: Path) -> None:
    call: dict[str, Json] = {"type": "function_call", "name": "fetch", "namespace": "mcp__byref", "arguments": "{}", "call_id": "c1"}
    output: list[Json] = [{"type": "input_text", "text": "Wall time: 0.1 seconds\nOutput:"}, {"type": "input_text", "text": "out"},
                          {"type": "input_image", "image_url": "data:image/png;base64,aaaa"}]
    (found,) = read(tmp_path / "a.jsonl", enveloped([call, {"type": "function_call_output", "call_id": "c1", "output": output}]))
    assert [(t.tool, t.output) for t in found.turns] == [("mcp__byref__fetch", "Wall time: 0.1 seconds\nOutput:\nout")]


def test_what_a_compaction_tells_again_bills_nothing_and_what_it_kept_is_the_new_task(tmp_path: Path) -> None:
    zero = count(2040, 0)
    zero["payload"]["info"]["last_token_usage"] = dict.fromkeys(("input_tokens", "output_tokens", "total_tokens"), 0)  # type: ignore[index, call-overload]
    kept: list[Json] = [ITEMS[1], {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "summed up"}]}]
    again: list[dict[str, Json]] = [{"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c3"},
                                    {"type": "function_call_output", "call_id": "c3", "output": "ok"}]
    before, after = read(tmp_path / "a.jsonl", [
        meta("abc"), *enveloped(ITEMS), count(1020, 0), count(2040, 300),
        {"timestamp": "t", "type": "compacted", "payload": {"message": "summed up", "replacement_history": kept}}, zero,
        *enveloped(again), count(3060, 900)])
    assert (before.usage, after.usage) == (Usage(2, 1700, 300, 0, 40), Usage(1, 100, 900, 0, 20))
    assert (after.task, after.context, after.system) == ("mend the parser\nsummed up", 1000, len("be brief"))


def test_what_a_fork_copied_counts_once_and_its_name_is_its_own(tmp_path: Path) -> None:
    seen: set[int] = set()
    rows: list[Json] = [meta("abc"), *enveloped(ITEMS), count(1020, 0)]
    told_by(tmp_path / "a.jsonl", rows, seen)
    new: list[dict[str, Json]] = [{"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c3"},
                                  {"type": "function_call_output", "call_id": "c3", "output": "ok"}]
    (found,), told = told_by(tmp_path / "b.jsonl", [meta("def", forked_from_id="abc"), *rows, *enveloped(new), count(2040, 0)], seen)
    assert (found.id, [turn.output for turn in found.turns], told) == ("def", ["ok"], [])
    assert found.usage == Usage(1, 1000, 0, 0, 20)


def test_items_that_are_not_known_are_told_once_and_counted(tmp_path: Path) -> None:
    new: list[dict[str, Json]] = [{"type": "hologram"}, {"type": "web_search_call", "id": "w"}, {"type": "hologram"},
                                  {"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}},
                                  {"type": "shell_call_output", "call_id": "s", "output": [{"stdout": "a", "stderr": "b", "outcome": {}}]}]
    wrong: Json = {"timestamp": "t", "type": "response_item", "payload": 5}
    (found,), told = told_by(tmp_path / "a.jsonl", [meta("abc"), *enveloped(new), wrong])
    assert [(t.tool, t.arguments, t.output) for t in found.turns] == [("shell", {"commands": ["ls"]}, "a\nb")]
    assert told == [":2: an item of the type 'hologram' is not known here, and not read", ":7: `payload` is to be an object",
                    ": 2 times: an item of the type 'hologram' is not known here, and not read"]


def test_what_the_program_itself_wrote_is_read() -> None:
    """codex.jsonl: a rollout of Codex 0.171.0 with a scripted model, compacted and resumed; its folders are renamed, long texts cut."""
    told: list[str] = []
    before, after = read_file(str(Path(__file__).with_name("codex.jsonl")), told.append)
    assert told == []
    assert [turn.tool for turn in before.turns] == [
        "exec_command", "exec_command", "exec_command", "mcp__t__records", "mcp__t__records", "apply_patch", "view_image",
        "multi_agent_v1__spawn_agent", "exec_command", "exec_command"]
    assert before.requests() == [1, 2, 2, 3, 4, 5, 6, 7, 8, 9] and before.turns[-2].next_thought == "hm"
    assert (before.task, before.turns[6].output) == ("MAINTASK: mend it", ""), "a picture has no text"
    assert before.usage == Usage(10, 256_000, 3000, 0, 300), "with the request for the summary"
    assert after.task.startswith("MAINTASK: mend it\nAnother language model") and after.usage == Usage(4, 2800, 1200, 0, 120)
    assert [turn.arguments for turn in after.turns] == [{"cmd": "echo fresh"}, {"cmd": "echo again"}]
