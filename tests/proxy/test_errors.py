"""Every fault is one of ours, and a miss says in its first word which."""
from __future__ import annotations

import inspect

import pytest

from byref.proxy import errors
from byref.proxy.errors import ByrefError, Corrupt, Evicted, Expired, Invalid, Miss, Unknown


@pytest.mark.parametrize(("miss", "word"), [
    (Unknown("rx"), "unknown"), (Expired("rx", "make"), "expired"), (Evicted("rx", "make"), "evicted"), (Invalid("no range"), "invalid"),
    (Corrupt("rx", "hash differs"), "corrupt"),
])
def test_a_miss_begins_with_its_word(miss: Miss, word: str) -> None:
    assert miss.reason == word and str(miss).startswith(word + ": ")


def test_what_was_held_names_the_call_to_run_again_unless_it_was_purged() -> None:
    for kind in (Expired, Evicted):
        assert "run it again: cargo build" in str(kind("rx", "cargo build"))
        assert str(kind("rx", "")).endswith("run the tool again")


def test_a_ref_is_not_repeated_at_length() -> None:
    assert len(str(Unknown("r" * 10_000))) < 300


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]
    assert kinds and all(issubclass(kind, ByrefError) for kind in kinds)
    for kind in kinds:
        assert kind.__name__ in (errors.__doc__ or ""), kind
