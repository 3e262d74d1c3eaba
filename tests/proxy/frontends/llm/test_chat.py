"""OpenAI Chat Completions: results, their calls, and arguments as text."""
from __future__ import annotations

import json

from byref.proxy.frontends.llm import chat
from byref.proxy.frontends.llm.reading import parse
from llm_requests import Dialog


def test_each_result_is_joined_with_its_call_and_what_was_said_before_it() -> None:
    dialog = Dialog("chat", "Build it.", session="0a1b2c3d")
    dialog.turn([("c1", "Bash", {"command": "ls"}, "one"), ("c2", "Read", {"path": "x"}, "two")], "Look first.")
    dialog.turn([("c3", "Bash", {"command": "make"}, "three")])
    found = chat.read(*parse(dialog.body(), chat.INTO))
    assert [(r.call_id, r.calling.tool, r.calling.arguments, r.calling.said, r.new, r.texts[0].text) for r in found.results] == [
        ("c1", "Bash", {"command": "ls"}, "Look first.", False, "one"), ("c2", "Read", {"path": "x"}, "Look first.", False, "two"),
        ("c3", "Bash", {"command": "make"}, "", True, "three")]
    assert (found.task, found.system, found.session, found.stream) == ("Build it.", "You are an agent.", "0a1b2c3d", False)
    assert set(found.tools) == {"Bash", "mcp__byref__fetch"}


def test_a_result_may_be_a_list_of_texts() -> None:
    body = {"messages": [{"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]}
    assert [text.text for text in chat.read(*parse(json.dumps(body).encode(), chat.INTO)).results[0].texts] == ["a", "b"]


def test_arguments_that_are_no_json_stay_text() -> None:
    assert chat.arguments('{"a": 1}') == {"a": 1} and chat.arguments("{broken") == "{broken" and chat.arguments(None) is None
    custom = [{"id": "c", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}, {"id": 7}, "x"]
    assert chat.called(custom, "s")["c"] == chat.Calling("patch", "*** Begin", "s")
