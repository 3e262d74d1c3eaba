"""It is said when a view takes a prompt below what its provider caches, and only then."""
from __future__ import annotations

from byref.proxy.frontends.llm.cacheable import fallen, minimum
from byref.proxy.frontends.llm.conversation import Conversation


def test_only_a_prompt_that_was_long_enough_can_fall() -> None:
    found = Conversation(model="claude-sonnet-5")
    long, short = "word " * 2000, "word " * 200
    assert fallen(found, long, short) == 1024 and fallen(found, long, long[:-50]) == 0
    assert fallen(found, short, short[:-50]) == 0 and fallen(found, short, short) == 0


def test_models_differ() -> None:
    assert minimum("claude-haiku-4-5-20251001") == 4096 and minimum("gpt-6") == 1024
    assert fallen(Conversation(model="claude-opus-4-5"), "word " * 4000, "word " * 1000) == 4096
