"""Our tools as they are offered to a model, and what its calls are given."""
from __future__ import annotations

import json
from pathlib import Path

import byref
from byref.proxy.frontends.llm import answers_anthropic, answers_chat
from byref.proxy.frontends.llm.answers import OFFERED, Asked, anchor, answer, ours
from byref.proxy.text import estimate


def test_fetch_and_search_are_offered_in_few_tokens_and_always_in_the_same_bytes() -> None:
    assert [name for name, _, _ in OFFERED] == ["byref_fetch", "byref_search"]
    assert ours("byref_fetch") == "fetch" and not ours("byref_status")
    for module in (answers_anthropic, answers_chat):
        assert len(json.loads(f"[{module.offer()}]")) == 2 and module.offer() == module.offer() and estimate(module.offer()) < 700


def test_a_call_always_gets_an_answer(tmp_path: Path) -> None:
    with byref.open(f"file:{tmp_path}") as gateway:
        session = gateway.session("s")
        ref = session.capture(tool="Bash", output="one\ntwo\n").ref
        assert answer(session, Asked("c", "byref_fetch", {"ref": ref, "at": "L2"})).text == "two\n"
        for arguments in ({"ref": "raaaaaaaaaa"}, {"ref": 7}, {}, "text", None):
            found = answer(session, Asked("c", "byref_fetch", arguments))
            assert found.failed and found.text


def test_an_answer_is_told_by_its_pieces() -> None:
    assert anchor([("text", "a"), ("text", "b")]) != anchor([("text", "ab")]) and anchor([("text", "a")]) == anchor([("text", "a")])
