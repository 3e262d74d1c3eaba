"""What of an answer of Anthropic's is ours, and how it is put back."""
from __future__ import annotations

import json
from typing import Any

from byref.proxy.frontends.llm import anthropic
from byref.proxy.frontends.llm.answers import Answered
from byref.proxy.frontends.llm.answers_anthropic import AnthropicTalk, restored
from byref.proxy.frontends.llm.reading import applied, parse

THOUGHT: Any = {"type": "thinking", "thinking": "Hm.", "signature": "s1"}
CALL: Any = {"type": "tool_use", "id": "u1", "name": "byref_fetch", "input": {"ref": "r"}}


def said(*content: Any, stop: str = "tool_use") -> Any:
    return {"id": "m", "role": "assistant", "content": list(content), "stop_reason": stop, "usage": {"input_tokens": 1, "output_tokens": 2}}


def test_thoughts_go_back_with_the_calls_that_they_led_to() -> None:
    talk = AnthropicTalk()
    talk.whole(said(THOUGHT, {"type": "text", "text": "Look."}, CALL))
    first = json.loads(f"[{talk.follow([Answered(talk.ended()[0], 'found', False)])[1:]}]")
    assert first[0]["content"] == [THOUGHT, {"type": "text", "text": "Look."}, CALL] and first[1]["content"][0]["content"] == "found"
    talk.whole(said({**THOUGHT, "signature": "s2"}, {"type": "text", "text": "So."}, stop="end_turn"))
    message: Any = talk.message()
    assert [block["type"] for block in message["content"]] == ["thinking", "text", "thinking", "text"] and not talk.goes_on()
    assert message["usage"] == {"input_tokens": 2, "output_tokens": 4}
    came = {"content": message["content"], "role": "assistant", "more": 1}
    body = json.dumps({"messages": [{"role": "user", "content": "x"}, came]}).encode()
    text, request = parse(body, anthropic.INTO)
    again = json.loads(applied(text, sorted(restored(text, request, {talk.anchor(): talk.hidden}))))["messages"]
    assert again[1:3] == first and again[3] == {"content": message["content"][2:], "role": "assistant", "more": 1}


def test_an_answer_that_was_cut_off_calls_nothing() -> None:
    talk = AnthropicTalk()
    talk.whole(said(CALL, stop="max_tokens"))
    assert talk.ended() == [] and not talk.goes_on()


def test_an_answer_that_came_back_changed_is_left_as_it_is() -> None:
    talk = AnthropicTalk()
    talk.whole(said({"type": "text", "text": "Look."}, CALL))
    talk.follow([Answered(talk.ended()[0], "found", False)])
    talk.whole(said({"type": "text", "text": "So."}, stop="end_turn"))
    body = json.dumps({"messages": [{"role": "assistant", "content": [{"type": "text", "text": "Look. So."}]}]}).encode()
    text, request = parse(body, anthropic.INTO)
    assert restored(text, request, {talk.anchor(): talk.hidden}) == []
