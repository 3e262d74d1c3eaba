"""What a call asks is said in words of its arguments and its intent."""
from __future__ import annotations

from byref.filters.asked import met, words_asked
from byref.proxy.contracts import Call


def test_words_come_from_any_depth_of_the_arguments_and_from_the_intent() -> None:
    call = Call("t", {"query": {"search": "Cold Cache"}, "ids": ["W12", 7, None]}, intent="the bottleneck")
    assert words_asked(call) == {"cold", "cache", "w12", "bottleneck"}


def test_a_text_meets_a_word_whole_and_in_any_case() -> None:
    asked = words_asked(Call("t", "cold cache"))
    assert met(asked, "A COLD cache, cold as ever") == 2
    assert met(asked, "caches are colder") == 0
    assert met(frozenset(), "anything") == 0
