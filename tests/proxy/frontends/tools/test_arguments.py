"""Arguments are what their operation says: checked, as a schema, and as a command line."""

from __future__ import annotations

import argparse

import pytest

from byref.proxy.contracts import Json
from byref.proxy.errors import Invalid
from byref.proxy.frontends.tools.arguments import checked, options, parsed, schema
from byref.proxy.operations import Adapter, Argument, Operation, Request

WHAT = Operation(
    "find",
    "Finds.",
    (
        Argument("search", "what to look for", required=True, plain=True),
        Argument("limit", "how many, 100% at most", "integer"),
        Argument("all_of_it", "everything", "flag"),
        Argument("kind", "of what", choices=("a", "b")),
        Argument("ids", "only these", "texts"),
    ),
    request=lambda given: Request("/"),
)
OF = Adapter("tool", "a tool", (WHAT,), base="https://example.org")


def test_what_is_set_comes_in_the_order_of_the_definition() -> None:
    assert list(checked(OF, WHAT, {"ids": ["1"], "limit": 0, "search": "x", "all_of_it": False, "kind": None})) == [
        "search",
        "limit",
        "ids",
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "needs search"),
        ({"search": "x", "size": 1}, "takes search, limit"),
        ({"search": 3}, "is a text"),
        ({"search": "x", "limit": "3"}, "whole number"),
        ({"search": "x", "limit": True}, "whole number"),
        ({"search": "x", "kind": "c"}, "one of a, b"),
        ({"search": "x", "ids": "1"}, "list of texts"),
        ({"search": "x", "ids": [1]}, "list of texts"),
        ({"search": "x", "all_of_it": "yes"}, "true or false"),
    ],
)
def test_what_does_not_fit_is_told(given: dict[str, Json], said: str) -> None:
    with pytest.raises(Invalid, match=said):
        checked(OF, WHAT, given)


def test_a_schema_says_the_same() -> None:
    made = schema(WHAT)
    assert made["required"] == ["search"]
    properties = made["properties"]
    assert isinstance(properties, dict) and properties["kind"] == {"type": "string", "enum": ["a", "b"], "description": "of what"}
    assert properties["ids"] == {"type": "array", "items": {"type": "string"}, "description": "only these"}


def words(*given: str) -> dict[str, Json]:
    parser = argparse.ArgumentParser()
    options(parser, WHAT)
    return parsed(WHAT, parser.parse_args(given))


def test_a_command_line_says_the_same() -> None:
    assert words("--search", "x y", "--limit", "3", "--all-of-it", "--ids", "1", "--ids", "2") == {
        "search": "x y",
        "limit": 3,
        "all_of_it": True,
        "ids": ["1", "2"],
    }
    assert words("x y") == {"search": "x y"} and words("--limit", "0", "x")["limit"] == 0
    with pytest.raises(Invalid, match="twice"):
        words("x", "--search", "y")
