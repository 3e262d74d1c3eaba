"""What a search asks for, by the forms in which people and models write it."""
from __future__ import annotations

import pytest

from byref.proxy.query import TERMS, parse


def forms(text: str) -> set[str]:
    return {term.form.decode() for term in parse(text).terms}


@pytest.mark.parametrize(("text", "wanted"), [
    ("retryOnConflictDelayMs", {"retryonconflictdelayms", "retry", "on", "conflict", "delay", "ms"}),
    ("retry_on_conflict", {"retry_on_conflict", "retry", "on", "conflict"}),
    ("tests/test_a.py::test_b", {"tests/test_a.py", "test", "py", "test_b"}),
    ("getHTTPResponse", {"gethttpresponse", "get", "http", "response"}),
    ("order=88640", {"order", "88640"}),
    ("don't mix", {"don", "mix"}),
    ("连接池 超时", {"连接池", "连接", "接池", "超时"}),
    ("größe Ändern", {"größe", "ändern"}),
])
def test_words_are_the_tokens_as_written_and_the_words_inside(text: str, wanted: set[str]) -> None:
    assert wanted <= forms(text)


def test_a_plural_stands_for_the_singular_too() -> None:
    assert "conflict" in forms("conflicts") and "class" in forms("class")


def test_a_text_between_slashes_is_a_pattern_and_a_path_that_is_none_a_text() -> None:
    assert parse("/err(or)?/i").compiled is not None and parse("/err(or)?/i").terms == ()
    broken = parse("/[/")
    assert broken.compiled is None and "RE2" in broken.fault and broken.exact == b"/[/"
    for text in ("//", "/", "/usr/lib", "a/b/"):
        assert parse(text).compiled is None and not parse(text).fault


@pytest.mark.parametrize("text", ["", "  \t", "🚀", "()", '"unclosed AND (', "a" * 10_000, "\x00", "\ud800 x", "\udcff", "«»", "/(?P<x>/"])
def test_no_query_raises(text: str) -> None:
    assert len(parse(text).terms) <= TERMS and parse(text).text == text.strip()


def test_pasted_text_has_a_bounded_number_of_terms() -> None:
    assert len(parse(" ".join(f"word{i}" for i in range(5000))).terms) <= TERMS
