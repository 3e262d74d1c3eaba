"""Usage in each provider's own fields; what is not said stays unknown."""
from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from byref.proxy.frontends.llm.usage import Meter, numbers


@pytest.mark.parametrize(("usage", "found"), [
    ({"input_tokens": 3, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 7, "output_tokens": 5},
     {"input": 3, "read": 90, "written": 7, "output": 5}),
    ({"input_tokens": 3, "cache_read_input_tokens": None, "output_tokens": 0}, {"input": 3, "output": 0}),
    ({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 90}, "output_tokens": 5}, {"input": 10, "read": 90, "output": 5}),
    ({"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 0}}, {"input": 100, "read": 0, "output": 5}),
    ({"prompt_tokens": 100, "completion_tokens": 5}, {"input": 100, "output": 5}),
    ({"prompt_tokens": 100, "prompt_tokens_details": None, "completion_tokens": 5}, {"input": 100, "output": 5}),
    ({"prompt_tokens": 100, "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36, "completion_tokens": 5},
     {"input": 36, "read": 64, "output": 5}),
    (None, {}), ({}, {}), ({"input_tokens": True, "output_tokens": -1}, {})])
def test_numbers_are_disjoint_and_only_what_was_said(usage: Any, found: dict[str, int]) -> None:
    assert numbers(usage) == found


def test_a_body_in_pieces_and_packed() -> None:
    body = json.dumps({"id": "msg_1", "content": [{"text": "x" * 9999}], "usage": {"input_tokens": 3, "output_tokens": 5}}).encode()
    for encoding, data in (("", body), ("gzip", gzip.compress(body))):
        meter = Meter(encoding, events=False)
        for at in range(0, len(data), 7):
            meter.feed(data[at:at + 7])
        spent = meter.spent()
        assert spent is not None and (spent.message, spent.numbers) == ("msg_1", {"input": 3, "output": 5})


def test_the_last_number_of_a_stream_holds() -> None:
    meter = Meter("", events=True)
    meter.feed(b'event: message_start\n'
               b'data: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":3,"output_tokens":1}}}\n\n')
    meter.feed(b'event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":2')
    meter.feed(b'5}}\n\ndata: [DONE] "usage"\n\n')
    spent = meter.spent()
    assert spent is not None and spent.numbers == {"input": 3, "output": 25}


@pytest.mark.parametrize("data", [b"", b"no json", b'{"usage": 7}', b"[1]", b"\x1f\x8b broken"])
def test_what_cannot_be_read_costs_nothing_that_is_known(data: bytes) -> None:
    for encoding in ("", "gzip", "unheard-of"):
        meter = Meter(encoding, events=False)
        meter.feed(data)
        assert meter.spent() is None
