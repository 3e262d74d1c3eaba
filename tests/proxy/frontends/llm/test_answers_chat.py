"""What of an answer of Chat's is ours, and how it is put back."""
from __future__ import annotations

import json
from typing import Any

from byref.proxy.frontends.llm import chat
from byref.proxy.frontends.llm.answers import Answered
from byref.proxy.frontends.llm.answers_chat import ChatTalk, restored
from byref.proxy.frontends.llm.reading import applied, parse
from byref.proxy.frontends.wrap.events import Splitter

CALL: Any = {"id": "u1", "type": "function", "function": {"name": "byref_fetch", "arguments": '{"ref": "r"}'}}
BASH: Any = {"id": "c1", "type": "function", "function": {"name": "Bash", "arguments": "{}"}}


def said(text: str | None, *calls: Any) -> Any:
    message = {"role": "assistant", "content": text, **({"tool_calls": list(calls)} if calls else {})}
    return {"id": "m", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
            "usage": {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 1}}}


def test_a_text_is_parted_where_the_call_stood() -> None:
    talk = ChatTalk()
    talk.whole(said("Look: é. ", CALL))
    first = json.loads(f"[{talk.follow([Answered(talk.ended()[0], 'found', False)])[1:]}]")
    talk.whole(said("So.", BASH))
    message: Any = talk.message()
    assert message["choices"][0]["message"] == {"role": "assistant", "content": "Look: é. So.", "tool_calls": [BASH]}
    assert message["usage"] == {"prompt_tokens": 2, "prompt_tokens_details": {"cached_tokens": 2}}
    body = json.dumps({"messages": [message["choices"][0]["message"]]}).encode()
    text, request = parse(body, chat.INTO)
    again = json.loads(applied(text, sorted(restored(text, request, {talk.anchor(): talk.hidden}))))["messages"]
    assert again[:2] == first and again[2] == {"role": "assistant", "content": "So.", "tool_calls": [BASH]}


def test_a_chunk_with_calls_of_both_keeps_the_clients_in_its_place() -> None:
    talk, split = ChatTalk(), Splitter()
    delta = {"tool_calls": [{"index": 0, **CALL}, {"index": 1, **BASH}]}
    chunk = {"id": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    out = b"".join(talk.event(event) for event in split.feed(f"data: {json.dumps(chunk)}\n\n".encode()))
    assert json.loads(out[6:])["choices"][0]["delta"]["tool_calls"] == [{"index": 0, **BASH}]


def test_several_choices_and_words_that_are_no_json_pass() -> None:
    talk, split = ChatTalk(), Splitter()
    data = b': ping\n\ndata: {"choices": [], "usage": null}\n\ndata: {broken\n\n'
    assert b"".join(talk.event(event) for event in split.feed(data)) == data
