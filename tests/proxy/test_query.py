"""What a search asks for, by the forms in which people and models write it."""
from __future__ import annotations

from unicodedata import normalize

import pytest

import byref
from byref.proxy.errors import Invalid
from byref.proxy.query import TERMS, parse, weighed


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


@pytest.mark.parametrize("word", ["café", "Ångström", "한국어", "がぎぐ", "tiếng"])
def test_a_word_is_found_in_either_way_of_writing_its_characters(word: str) -> None:
    """Names of files on macOS come decomposed, and an agent asks as it writes; or it asks with what it copied from there."""
    composed, apart = normalize("NFC", word).lower(), normalize("NFD", word).lower()
    assert composed != apart and {composed, apart} <= forms(composed) == forms(apart)
    with byref.open("memory:") as gateway:
        session = gateway.session("s")
        for text in (composed, apart):
            ref = session.capture(tool="shell", args={"command": f"ls {text}"}, output=f"a.txt\n{text}.txt\nb.txt\n" * 3).ref
            for query in (composed, apart):
                assert f"{text}.txt" in session.search(query, refs=[ref]).text


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


def weights(text: str, **given: float) -> dict[str, int]:
    return {term.form.decode(): term.weight for term in parse(text, given).terms}


def test_weights_go_to_words_and_the_words_inside_in_any_case() -> None:
    assert weights("Timeout of retryOnConflict", TIMEOUT=2, on=0.5) == {
        "timeout": 2000, "of": 1000, "retryonconflict": 1000, "retry": 1000, "on": 500, "conflict": 1000}
    assert weights("retryOnConflict on", retryOnConflict=3) == {"retryonconflict": 3000, "retry": 3000, "on": 3000, "conflict": 3000}
    assert parse("b a", {"b": 2, "A": 0.001}).weights == (("a", 1), ("b", 2000))
    assert parse("b a").weights == () and parse("b a", {}) == parse("b a")


def test_a_word_of_weight_0_is_as_if_it_were_not_asked_for() -> None:
    query, plain = parse("connection timeout  errors", {"timeout": 0}), parse("connection errors")
    assert (query.text, query.exact, query.tokens, query.terms) == (plain.text, plain.exact, plain.tokens, plain.terms)
    assert query.weights == (("timeout", 0),) and query.whole == "connection timeout  errors"
    inner = parse("retryOnConflict", {"on": 0})
    assert inner.text == "retryOnConflict" and b"on" not in [term.form for term in inner.terms]


@pytest.mark.parametrize(("text", "given", "told"), [
    ("a b", {"a": -1}, "from 0 to 100, not -1"), ("a b", {"a": float("nan")}, "from 0 to 100"), ("a b", {"a": 1e9}, "from 0 to 100"),
    ("a b", {"a": float("inf")}, "from 0 to 100"), ("a b", {"a": "2"}, "from 0 to 100"), ("a b", {"a": True}, "from 0 to 100"),
    ("a b", {"a": 10**400}, "from 0 to 100"), ("a b", {"a": 1e-9}, "at least 0.001"),
    ("a b", {"c": 1}, "holds no word 'c'.* it holds a b"), ("a b", {"": 1}, "holds no word"), ("", {"x": 1}, "it holds none"),
    ("a b", {"a": 0, "b": 0}, "nothing is left"), ("a b", {"a": 1, "A": 2}, "two weights"), ("/a b/", {"a": 1}, "a pattern has no words")])
def test_bad_weights_are_told(text: str, given: dict[str, float], told: str) -> None:
    with pytest.raises(Invalid, match=told):
        parse(text, given)


def test_a_model_is_told_where_the_words_with_a_weight_stand() -> None:
    query = parse("On timeout, retryOnConflict: timeout", {"timeout": 0, "on": 2, "retryonconflict": 3})
    assert [(query.whole[start:end], weight) for start, end, weight in weighed(query.whole, query.weights)] == [
        ("On", 2000), ("timeout", 0), ("retry", 3000), ("On", 2000), ("Conflict", 3000), ("timeout", 0)]
    assert list(weighed(query.whole, ())) == []
