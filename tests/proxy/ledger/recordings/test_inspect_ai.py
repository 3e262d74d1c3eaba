"""Logs of Inspect, as 0.3.285 writes them: an archive, or one document."""
from __future__ import annotations

import json
import zipfile
from pathlib import Path

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import read_file
from byref.proxy.ledger.trajectories import Usage

KEY = "c0ffee"
USED: Json = {"input_tokens": 40, "input_tokens_cache_read": 60, "output_tokens": 9, "total_tokens": 109}
SAMPLE: dict[str, Json] = {
    "id": "crackme", "epoch": 1, "input": "find the flag", "target": ["flag"], "output": {"model": "gpt-5", "choices": []},
    "messages": [
        {"id": "m0", "role": "system", "content": "be brief"},
        {"id": "m1", "role": "user", "source": "input", "content": "find the flag"},
        {"id": "m2", "role": "assistant", "source": "generate", "model": "gpt-5", "content": [
            {"type": "reasoning", "reasoning": "look"}, {"type": "text", "text": "I look."}], "tool_calls": [
                {"id": "c1", "function": "bash", "arguments": {"cmd": "ls"}, "type": "function"},
                {"id": "c2", "function": "bash", "arguments": {"cmd": "cat x"}, "type": "function"}]},
        {"id": "m3", "role": "tool", "tool_call_id": "c1", "function": "bash", "content": f"attachment://{KEY}"},
        {"id": "m4", "role": "tool", "tool_call_id": "c2", "function": "bash", "content": "", "error": {
            "type": "timeout", "message": "Command timed out"}},
        {"id": "m5", "role": "assistant", "content": "crackme.py it is"}],
    "events": [{"event": "model", "output": {"usage": USED}}, {"event": "tool"}, {"event": "model", "output": {"usage": {
        **USED, "input_tokens": 100}}}],
    "model_usage": {"openai/gpt-5": USED}, "attachments": {KEY: "crackme.py\n" * 20}}
HEADER: dict[str, Json] = {"version": 2, "status": "success", "eval": {"model": "openai/gpt-5"}, "plan": {}, "results": {}}
BESIDE: dict[str, Json] = {
    "_journal/start.json": {"version": 2, "eval": {}, "plan": {}}, "header.json": HEADER, "reductions.json": [
        {"scorer": "match", "reducer": "mean", "samples": []}],
    "summaries.json": [{"id": "crackme", "epoch": 1, "input": "x", "target": ["flag"], "scores": {}}]}


def test_an_archive_has_a_session_for_each_sample(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        for name, held in {**BESIDE, "samples/1.json": SAMPLE, "samples/2.json": {**SAMPLE, "epoch": 2}}.items():
            archive.writestr(name, json.dumps(held))
    told: list[str] = []
    found = list(read_file(str(tmp_path / "log.eval"), told.append))
    assert told == [] and [one.id for one in found] == ["crackme epoch 1", "crackme epoch 2"]
    one = found[0]
    assert (one.source, one.task, one.model, one.system) == ("Inspect", "find the flag", "gpt-5", 8)
    assert [(t.tool, t.arguments, t.output, t.is_error) for t in one.turns] == [
        ("bash", {"cmd": "ls"}, "crackme.py\n" * 20, False), ("bash", {"cmd": "cat x"}, "Command timed out", True)]
    assert one.turns[0].next_action == "crackme.py it is" and one.first_action.startswith("I look.") and "look" in one.first_action
    assert one.usage == Usage(2, 80, 120, 0, 18), "input that counts the cache, by its total, and input that does not"


def test_a_document_has_all_samples(tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text(json.dumps({**HEADER, "samples": [SAMPLE, {**SAMPLE, "id": 2}]}, indent=2))
    told: list[str] = []
    found = list(read_file(str(tmp_path / "log.json"), told.append))
    assert told == [] and [(one.id, len(one.turns)) for one in found] == [("crackme epoch 1", 2), ("2 epoch 1", 2)]


def test_where_several_models_were_asked_nobody_knows_what_the_conversation_cost(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({**SAMPLE, "model_usage": {"openai/gpt-5": USED, "a monitor": USED}}))
    (found,) = read_file(str(tmp_path / "a.json"), print)
    assert found.usage is None


def test_what_is_no_part_of_a_log_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(SAMPLE) + "\n" + '{"a": 1}\n')
    told: list[str] = []
    assert len(list(read_file(str(tmp_path / "a.jsonl"), told.append))) == 1
    assert told == [f"{tmp_path / 'a.jsonl'}:2: an object that is no part of the file's format"]
