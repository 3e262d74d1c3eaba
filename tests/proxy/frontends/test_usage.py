"""`byref usage`: what was called, and what became of searches."""
from __future__ import annotations

import json


def test_searches_and_calls_are_said(byref):
    byref("run", "--", "seq", "2000")
    for query in ("1234", "1234", "nothing like that"):
        byref("search", query)
    found = json.loads(byref("usage", "--json", "--days", "1").stdout)
    assert found["calls"] == {"byref search": 3, "shell": 1} and found["searches"] == 3
    assert found["empty"] == 1 / 3 and found["again_within_60_s"] == 1 / 3 and found["queries"] == {"1234": 2, "nothing like that": 1}
    assert "1234" in byref("usage").stdout.decode()


def test_here_is_this_project_alone(byref):
    byref("run", "--", "seq", "2000")
    assert json.loads(byref("usage", "--json", "--here", BYREF_SCOPE="elsewhere").stdout)["calls"] == {}


def test_a_ledger_without_a_call_says_what_writes_there(byref):
    said = byref("usage").stdout.decode()
    assert said.startswith("no call of the last 14 days is in the ledger yet: `byref run -- COMMAND`") and said.count("\n") == 1
    assert byref("report").stdout.decode().startswith("no call is in the ledger yet")
    assert byref("report", "--here", "--days", "2").stdout.decode().startswith("no call of this project of the last 2 days is")
    assert json.loads(byref("report", "--json").stdout)["total"]["calls"] == 0
