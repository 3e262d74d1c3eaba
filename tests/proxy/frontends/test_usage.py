"""`byref usage`: what was called, and what became of searches."""
from __future__ import annotations

import json


def test_searches_and_calls_are_said(byref):
    byref("run", "--", "seq", "2000")
    for query in ("1234", "1234", "nothing like that"):
        byref("search", query)
    found = json.loads(byref("usage", "--json", "--days", "1").stdout)
    assert found["calls"] == {"search": 3, "shell": 1} and found["searches"] == 3
    assert found["empty"] == 1 / 3 and found["again_within_60_s"] == 1 / 3 and found["queries"] == {"1234": 2, "nothing like that": 1}
    assert "1234" in byref("usage").stdout.decode()


def test_here_is_this_project_alone(byref):
    byref("run", "--", "seq", "2000")
    assert json.loads(byref("usage", "--json", "--here", BYREF_SCOPE="elsewhere").stdout)["calls"] == {}
