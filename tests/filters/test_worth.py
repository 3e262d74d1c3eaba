"""What a term is worth: by its form, by what the task and the call hold of it, by how often it stands."""
from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.filters import weights
from byref.filters.worth import NEVER, asked_of, forms_of, insides, odds_of, sharers, task_of, weigh, words_of
from byref.proxy.contracts import Call, Seen
from byref.proxy.text import subwords

TERMS = st.text("abcxyzABCXYZ0189_./-é中", min_size=1, max_size=24)
NOTHING = (frozenset[str](), frozenset[str]())


@pytest.mark.parametrize(("term", "form"), [
    ("retention", "word"), ("disk", "short"), ("Quota", "capital"), ("getHTTPResponse", "camel"), ("SIGTERM", "upper"),
    ("max_bytes", "name"), ("app-server", "name"), ("os.path.join", "dotted"), ("src/app.py", "path"), ("48213", "number"),
    ("10:35:42", ""), ("2026/05/04", ""), ("deadbeef42", "number"),
    ("3f2504e0-4f89-41d3-9a0c-0305e82c3301", "number"), ("abcdefa1-abcd-4abc-abcd-fabcdefabcde", "number"), ("feed-face", "name"),
    ("face-off2", "name"), ("utf8mb4", "name"), ("api", ""), ("----", "")])
def test_the_form_of_a_term(term: str, form: str) -> None:
    assert forms_of(["other", term, "src/x"])[1] == form


def test_what_is_not_worth_naming_has_the_odds_of_nothing_else() -> None:
    assert odds_of(["api", "retention"]) == [NEVER, weights.FORM["word"]]
    assert min(weights.FORM.values()) > NEVER


@given(st.lists(TERMS, max_size=8))
def test_every_term_has_one_form_whatever_stands_beside_it(terms: list[str]) -> None:
    assert forms_of(terms) == [forms_of([term])[0] for term in terms]
    assert set(forms_of(terms)) <= {*weights.FORM, ""}


@given(st.lists(TERMS, max_size=8))
def test_the_words_inside_are_the_letters_of_the_sub_words(terms: list[str]) -> None:
    for term, inside in zip(terms, insides(terms), strict=True):
        assert re.sub(r"[^a-z]", "", inside.replace(" ", "")) == re.sub(r"[^a-z]", "", "".join(subwords(term)))


def test_a_term_that_the_task_holds_by_its_words_is_worth_more_than_one_of_the_call_and_that_more_than_a_strange_one() -> None:
    call = Call("Bash", {"command": "grep -r eviction_policy"}, task="why does the retention sweep stall")
    lines = Counter(["sweep_retention", "policy_eviction", "window_overlap"])
    worth = weigh(lines, asked_of(call), task_of(call), Seen(), 1000)
    assert worth["sweep_retention"] >= worth["policy_eviction"] > worth["window_overlap"] > 0
    assert weights.TASK >= weights.ASKED >= weights.PARTLY


def test_what_the_call_the_task_or_the_context_holds_already_is_worth_nothing() -> None:
    call = Call("Bash", {"command": "cat quarantine.log"}, task="look at retention")
    lines = Counter(["quarantine.log", "retention", "shown_before", "fresh_name"])
    worth = weigh(lines, asked_of(call), task_of(call), Seen(frozenset(), frozenset({"shown_before"}), True), 1000)
    assert set(worth) == {"fresh_name"}


def test_a_term_is_worth_less_where_it_stands_once_and_in_a_large_output() -> None:
    def of(often: int, total: int) -> int:
        return weigh(Counter({"max_bytes": often}), NOTHING, NOTHING, Seen(), total)["max_bytes"]
    assert of(1, 1000) < of(9, 1000)
    assert of(9, 40_000) < of(9, 1000)


def test_sub_words_of_two_letters_point_at_nothing() -> None:
    assert words_of("is_it on")[1] == frozenset()


def test_the_more_lines_share_a_term_the_less_each_has_of_it() -> None:
    assert [sharers(n) for n in (1, 2, 30)] == sorted(sharers(n) for n in (1, 2, 30)) and sharers(31) == sharers(1000)
