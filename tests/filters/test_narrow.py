"""What a call says of its output: whether the caller asked for a part."""
from __future__ import annotations

import pytest

from byref.filters.narrow import narrowed
from byref.proxy.contracts import Call, Json


@pytest.mark.parametrize("arguments", [
    {"command": "cat a | head -5"}, {"command": "cat a | grep x"}, {"command": "sed -n 1,9p a"}, {"command": "tail -50 log"},
    {"command": "git log | wc -l"},
    {"command": "awk '{print $1}' a"}, {"command": "grep -n -A 3 x a.py"}, {"file_path": "a", "offset": 10},
    {"file_path": "a", "limit": 10},
    {"path": "a", "view_range": [1, 9]}, {"pattern": "x", "head_limit": 3}, {"command": "rg x | sort | uniq -c"},
])
def test_a_caller_who_asked_for_a_part(arguments: Json) -> None:
    assert narrowed(Call("x", arguments))


@pytest.mark.parametrize("arguments", [
    {"command": "cat a"}, {"command": "make all"}, {"command": "grep -rn x ."}, {"file_path": "a"}, {"file_path": "a", "offset": None},
    None, {"command": "header a"},
    {"command": "echo tail"}, "pytest",
])
def test_a_caller_who_did_not(arguments: Json) -> None:
    assert not narrowed(Call("x", arguments))
