"""Synonym rules: whole words and phrases, both ways or one, at most four forms; a file that cannot be used is told."""
from __future__ import annotations

import tomllib

import pytest

from byref.layers.synonyms import FORMS, NONE, Synonyms, synonyms
from byref.proxy.errors import ConfigError
from byref.proxy.query import parse

# As a user writes it into synonyms.toml.
EXAMPLE = """
groups = [["login", "sign in", "authentication"], ["error", "failure"]]
[words]
db = ["database", "postgres"]
"数据库" = ["database"]
"C++" = ["cpp"]
"""


@pytest.fixture
def rules() -> Synonyms:
    return synonyms(tomllib.loads(EXAMPLE), "synonyms.toml")


@pytest.mark.parametrize(("query", "forms"), [
    ("why does Login fail", ["why does sign in fail", "why does authentication fail"]),
    ("after sign  in", ["after login", "after authentication"]),
    ("db is slow", ["database is slow", "postgres is slow"]), ("database is slow", []),
    ("login error", ["sign in error", "login failure", "authentication error"]),
    ("relogin logins db2 my_db", []), ("db-url", ["database-url", "postgres-url"]),
    ("数据库连接超时", ["database连接超时"]), ("C++ build", ["cpp build"]), ("/login/", []), ("login", ["sign in", "authentication"]),
])
def test_a_form_differs_in_one_whole_word_or_phrase(rules: Synonyms, query: str, forms: list[str]) -> None:
    assert rules.forms(parse(query)) == forms


def test_the_longest_phrase_is_replaced() -> None:
    rules = synonyms({"words": {"time out": ["deadline"], "time": ["hour"]}}, "f")
    assert rules.forms(parse("time out")) == ["deadline"]


def test_first_alternatives_come_first_and_no_more_than_four() -> None:
    rules = synonyms({"words": {"a1": ["b1", "b2", "b3"], "c1": ["d1", "d2", "d3"]}}, "f")
    assert rules.forms(parse("a1 c1")) == ["b1 c1", "a1 d1", "b2 c1", "a1 d2"] and FORMS == 4


def test_without_rules_there_are_no_forms() -> None:
    assert synonyms({}, "f") is NONE and NONE.forms(parse("login")) == []


@pytest.mark.parametrize(("text", "says"), [
    ("group = []", "no setting 'group'"), ('groups = [["one"]]', "two texts"), ("groups = 3", "list of lists"),
    ("[words]\ndb = 'x'", "list of"),
    ('groups = [["a", ""]]', "1 to 100"), ("words = 3", "table"), ('[words]\n"" = ["a"]', "1 to 100"),
])
def test_a_file_that_cannot_be_used_is_told(text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        synonyms(tomllib.loads(text), "synonyms.toml")
