"""`byref status`: what this project holds."""
from __future__ import annotations

import json


def test_it_names_what_was_cached_lately_in_this_project_alone(byref):
    assert json.loads(byref("status", "--json").stdout)["outputs"] == 0
    byref("run", "--", "echo", "a b")
    byref("run", "--", "seq", "2000")
    found = json.loads(byref("status", "--json").stdout)
    assert found["outputs"] == 2 and [one["command"] for one in found["recent"]] == ["seq 2000", "echo 'a b'"]
    text = byref("status").stdout.decode()
    assert all(one["ref"] in text and one["command"] in text for one in found["recent"])
    assert json.loads(byref("status", "--json", BYREF_SCOPE="elsewhere").stdout)["outputs"] == 0
