"""Texts become windows of tokens, and each token knows where it stands."""
from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.layers.encoders.recipe import Recipe
from byref.layers.encoders.windows import Windows
from byref.proxy.errors import Invalid

CLS, SEP, MASK, QUERY, DOCUMENT = 2, 3, 4, 5, 6


def test_each_row_is_a_token_of_the_text(tokens: Path) -> None:
    text = "The build  FAILS: exit code 2. Café"
    window, = Windows(str(tokens), Recipe()).documents([text])
    assert window.names == ["The", "build", "FAILS", ":", "exit", "code", "2", ".", "Café"]
    assert [text[start:end] for start, end in window.spans] == window.names
    assert (window.ids[0], window.ids[-1]) == (CLS, SEP) and list(window.rows) == list(range(1, 10)) and window.seen == 11


@given(st.lists(st.sampled_from(["the", "build", "tests", "unused", "日本", "é", "[unused0]", "\n", "𝒳", "İ", "."]), max_size=60))
def test_no_token_is_lost_between_windows(tokens: Path, words: list[str]) -> None:
    text = " ".join(words)
    whole = [span for window in Windows(str(tokens), Recipe(window=512)).documents([text]) for span in window.spans]
    pieces = Windows(str(tokens), Recipe(window=10, prefixes=("", "[unused1]"), inserted=True, lower=True)).documents([text])
    assert [span for window in pieces for span in window.spans] == whole
    assert all(len(window.ids) <= 10 and window.ids[:2] == [CLS, DOCUMENT] and window.ids[-1] == SEP for window in pieces)
    assert max((len(window.ids) for window in pieces), default=0) - min((len(window.ids) for window in pieces), default=0) <= 1, "even"


def test_a_text_cannot_spell_the_sign_before_it(tokens: Path) -> None:
    recipe = Recipe(prefixes=("[unused0] ", "[unused1] "), inserted=True, late=True)
    window, = Windows(str(tokens), recipe).documents(["[unused1] build"])
    assert window.ids[:2] == [CLS, DOCUMENT] and DOCUMENT not in window.ids[2:]
    assert window.names[0] == "[" and window.spans[0] == (0, 1)


def test_a_prefix_in_words_stands_before_the_text_and_is_none_of_it(tokens: Path) -> None:
    made = Windows(str(tokens), Recipe(prefixes=("query: ", "query: "), late=True))
    window, = made.documents(["the build"])
    assert window.names == ["the", "build"] and window.spans == [(0, 3), (4, 9)] and len(window.ids) == 6
    asked, = made.query("the build")
    assert list(asked.names) == ["[CLS]", "query", ":", "the", "build", "[SEP]"]
    assert [span for span in asked.spans if span != (0, 0)] == [(0, 3), (4, 9)]


def test_a_plain_encoder_is_asked_with_the_text_alone(tokens: Path) -> None:
    window, = Windows(str(tokens), Recipe()).query("the build")
    assert window.names == ["the", "build"]
    assert Windows(str(tokens), Recipe()).query(" ") == []


@pytest.mark.parametrize("seen", [False, True])
def test_a_query_is_filled_up_with_mask_tokens(tokens: Path, seen: bool) -> None:
    recipe = Recipe(prefixes=("[unused0]", "[unused1]"), inserted=True, late=True, fill=8, seen=seen, skipped=(".",))
    window, = Windows(str(tokens), recipe).query("the build.")
    assert window.ids[:2] == [CLS, QUERY] and window.ids[-2:] == [MASK, MASK] and len(window.ids) == 8
    assert window.seen == (8 if seen else 6) and list(window.rows) == list(range(8))
    assert list(window.names) == ["[CLS]", "[unused0]", "the", "build", ".", "[SEP]", "[MASK]", "[MASK]"]


def test_what_a_checkpoint_skips_has_no_row_in_documents(tokens: Path) -> None:
    window, = Windows(str(tokens), Recipe(skipped=(".", ",", "no such token"))).documents(["the, build."])
    assert window.names == ["the", "build"] and list(window.rows) == [1, 3] and len(window.ids) == 6


def test_a_tokenizer_that_is_missing_or_damaged_is_named(tmp_path: Path, tokens: Path) -> None:
    with pytest.raises(Invalid, match=r"no tokenizer\.json"):
        Windows(str(tmp_path), Recipe())
    whole = (tokens / "tokenizer.json").read_bytes()
    (tmp_path / "tokenizer.json").write_bytes(whole[:len(whole) // 2])
    with pytest.raises(Invalid, match=r"tokenizer\.json in .* is damaged .* fetch the model again"):
        Windows(str(tmp_path), Recipe())
