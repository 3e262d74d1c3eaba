"""What of an answer of Responses is ours, and how it is put back."""
from __future__ import annotations

import json
from typing import Any

import pytest

from byref.proxy.frontends.llm import responses
from byref.proxy.frontends.llm.answers import Answered
from byref.proxy.frontends.llm.answers_responses import ResponsesTalk, restored
from byref.proxy.frontends.llm.reading import applied, parse
from llm_answers import answer
from llm_requests import Dialog

ASKED = ("u1", "byref_fetch", {"ref": "r"})


def test_reasoning_goes_back_with_the_calls_that_it_led_to() -> None:
    talk = ResponsesTalk()
    talk.whole(answer("responses", 1, "Look. ", ASKED))
    first = json.loads(f"[{talk.follow([Answered(talk.ended()[0], 'found', False)])[1:]}]")
    assert [item["type"] for item in first] == ["reasoning", "message", "function_call", "function_call_output"]
    talk.whole(answer("responses", 2, "So."))
    message: Any = talk.message()
    assert [item["type"] for item in message["output"]] == ["reasoning", "message"] * 2 and message["usage"]["output_tokens"] == 10
    body = json.dumps({"input": [{"role": "user", "content": "x"}, *message["output"], {"role": "user", "content": "y"}]}).encode()
    text, request = parse(body, responses.INTO)
    again = json.loads(applied(text, restored(text, request, {talk.anchor(): talk.hidden})))["input"]
    assert again[1:5] == first and again[5:7] == message["output"][2:] and again[7] == {"role": "user", "content": "y"}


def test_an_answer_that_was_cut_off_calls_nothing() -> None:
    talk = ResponsesTalk()
    talk.whole({**answer("responses", 1, ASKED), "status": "incomplete"})
    assert talk.ended() == [] and not talk.goes_on()


@pytest.mark.parametrize(("more", "alone"), [
    ({"store": False}, True), ({}, False), ({"store": True}, False), ({"store": False, "previous_response_id": "resp_1"}, False)])
def test_only_clients_that_send_all_and_leave_nothing_with_the_provider(more: Any, alone: bool) -> None:
    assert responses.read(*parse(Dialog("responses").body(**more), responses.INTO)).alone is alone
