"""Names: outputs by the command, the path or the tool that they came from."""
from __future__ import annotations

from typing import Any

import pytest

from byref.layers.contract import Budget
from byref.layers.names import BODY, EXACT, PREFIX, TITLE, layer
from byref.proxy.query import parse

ARGUMENTS = '{"command":"pytest -q tests/test_auth.py","description_of":"looks for flaky runs"}'


@pytest.mark.parametrize(("query", "score"), [
    ("pytest -q tests/test_auth.py", EXACT), ("PYTEST  -q tests/test_auth.py", EXACT), ("shell", EXACT), ("pytest -q", PREFIX),
    ("test_auth.py", TITLE), ("test_auth.py pytest", TITLE), ("pytest flaky", BODY),
])
def test_a_call_is_found_by_its_name(world: Any, budget: Budget, query: str, score: int) -> None:
    here = world({"out": "1 passed\n"}, "Bash", ARGUMENTS)
    assert [hit.score for hit in layer(None).search(parse(query), here.scope, budget).hits] == [score]


def test_what_no_call_is_named_after_finds_nothing(world: Any, budget: Budget) -> None:
    here = world({"out": "1 passed\n"}, "Bash", ARGUMENTS)
    assert not layer(None).search(parse("cargo build"), here.scope, budget).hits
    assert not layer(None).applies(here.scope, parse("/pytest/"))


def test_a_binary_output_has_no_opening_to_show(world: Any, budget: Budget) -> None:
    here = world({"out": b"\0\1\2" * 50}, "Bash", ARGUMENTS)
    assert not layer(None).search(parse("pytest"), here.scope, budget).hits
