"""Messages as langchain-core 1.8 writes them, in each of its three ways."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import read_file
from byref.proxy.ledger.trajectories import Usage

Message = dict[str, Json]
MESSAGES: list[Message] = [
    {"content": "be brief", "additional_kwargs": {}, "response_metadata": {}, "type": "system", "name": None, "id": None},
    {"content": "go", "additional_kwargs": {}, "response_metadata": {}, "type": "human", "name": None, "id": None},
    {"content": [{"type": "text", "text": "I look."}, {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}}],
     "additional_kwargs": {}, "response_metadata": {"model_name": "gpt-6"}, "type": "ai", "name": None, "id": "lc_run--1",
     "tool_calls": [{"name": "add", "args": {"a": 1}, "id": "c1", "type": "tool_call"}, {"name": "add", "args": {}, "id": "c2"}],
     "invalid_tool_calls": [], "usage_metadata": {"input_tokens": 110, "output_tokens": 5, "total_tokens": 115,
                                                  "input_token_details": {"cache_read": 100}}},
    {"content": "2", "additional_kwargs": {}, "type": "tool", "name": "add", "tool_call_id": "c1", "artifact": None, "status": "success"},
    {"content": "no b", "additional_kwargs": {}, "type": "tool", "name": "add", "tool_call_id": "c2", "artifact": None, "status": "error"},
    {"content": "done", "additional_kwargs": {}, "type": "ai", "id": "lc_run--2", "tool_calls": []}]
CLASSES = {"system": "SystemMessage", "human": "HumanMessage", "ai": "AIMessageChunk", "tool": "ToolMessage"}


def serialized(message: Message) -> Json:
    path: Json = ["langchain", "schema", "messages", CLASSES[str(message["type"])]]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": message}


@pytest.mark.parametrize("text", [
    json.dumps(MESSAGES), json.dumps([{"type": one["type"], "data": one} for one in MESSAGES], indent=1),
    "\n".join(json.dumps(serialized(one)) for one in MESSAGES), json.dumps({"messages": MESSAGES, "todos": []}),
    json.dumps({"values": {"messages": MESSAGES}})], ids=["model_dump", "messages_to_dict", "dumpd", "state", "snapshot"])
def test_messages_are_one_session(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    told: list[str] = []
    (found,) = read_file(str(tmp_path / "a.json"), told.append)
    assert (found.source, found.task, found.system, found.model, told) == ("LangChain", "go", 8, "gpt-6", [])
    assert [(t.tool, t.arguments, t.output, t.is_error, t.next_action) for t in found.turns] == [
        ("add", {"a": 1}, "2", False, "done"), ("add", {}, "no b", True, "done")]
    assert found.usage == Usage(1, 10, 100, 0, 5)


def test_what_is_none_of_them_is_told(tmp_path: Path) -> None:
    rows: list[Json] = [*MESSAGES, {"role": "user", "content": "x"}, {"content": 5, "type": "human"}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    told: list[str] = []
    (found,) = read_file(str(tmp_path / "a.jsonl"), told.append)
    assert len(found.turns) == 2
    assert [fault.replace(str(tmp_path), "") for fault in told] == [
        "/a.jsonl:7: a line of openai in a file of another format is not read: give it a file of its own",
        "/a.jsonl:8: content is to be a text or an array, not a number"]
