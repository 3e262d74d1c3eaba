"""One pattern of many alternatives."""
from __future__ import annotations

import re

from byref.filters.patterns import any_of


def test_it_matches_where_any_alternative_does() -> None:
    pattern = any_of(r"^a+$", r"b\d", r"c|d")
    assert [bool(pattern.search(text)) for text in ("aaa", "xb7", "d", "ab", "")] == [True, True, True, False, False]


def test_flags_hold_for_all() -> None:
    assert any_of("^a", "^b", flags=re.I | re.M).findall("A\nB\nc") == ["A", "B"]
