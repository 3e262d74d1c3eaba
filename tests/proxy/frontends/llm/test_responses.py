"""OpenAI Responses: results, their calls, and requests that hold the end of a conversation alone."""
from __future__ import annotations

import json
from typing import Any

from byref.proxy.frontends.llm import responses
from byref.proxy.frontends.llm.conversation import Conversation
from byref.proxy.frontends.llm.reading import parse
from llm_requests import Dialog


def read(body: Any) -> Conversation:
    return responses.read(*parse(body if isinstance(body, bytes) else json.dumps(body).encode(), responses.INTO))


def test_each_result_is_joined_with_its_call_and_what_was_said_before_it() -> None:
    dialog = Dialog("responses", "Build it.", session="0a1b2c3d")
    dialog.turn([("c1", "Bash", {"command": "ls"}, "one"), ("c2", "Read", {"path": "x"}, "two")], "Look first.")
    dialog.turn([("c3", "Bash", {"command": "make"}, "three")])
    found = read(dialog.body())
    assert [(r.call_id, r.calling.tool, r.calling.arguments, r.calling.said, r.new, r.texts[0].text) for r in found.results] == [
        ("c1", "Bash", {"command": "ls"}, "Look first.", False, "one"), ("c2", "Read", {"path": "x"}, "Look first.", False, "two"),
        ("c3", "Bash", {"command": "make"}, "", True, "three")]
    assert (found.task, found.system, found.session, found.whole) == ("Build it.", "You are an agent.", "0a1b2c3d", True)


def test_a_request_that_goes_on_from_an_answer_is_not_the_whole_conversation() -> None:
    found = read({"previous_response_id": "resp_1", "input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]})
    assert not found.whole and found.results[0].new and not read({"conversation": {"id": "conv_1"}, "input": "x"}).whole
    assert read({"input": "Build it."}).task == "Build it."


def test_custom_tools_and_lists_of_texts() -> None:
    found = read({"input": [{"type": "reasoning", "id": "r"},
                            {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** Begin"},
                            {"type": "custom_tool_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "done"}]}]})
    assert found.results[0].calling.arguments == "*** Begin" and found.results[0].texts[0].text == "done" and found.results[0].new
