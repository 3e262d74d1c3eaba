"""`byref report`: what the views saved, net of what was fetched."""
from __future__ import annotations

import json


def test_savings_are_logged_by_tool_and_shape_net_of_fetches(byref, ref):
    name = ref(byref("run", "--", "seq", "20000").stdout)
    before = json.loads(byref("report", "--json").stdout)
    assert before["total"]["calls"] == 1 and before["net"] > 0 and list(before["tools"]) == ["shell"]
    byref("fetch", name, "L1-900")
    after = json.loads(byref("report", "--json").stdout)
    assert after["total"]["fetches"] == 1 and after["net"] < before["net"]
    assert "shell" in byref("report").stdout.decode()


def test_here_is_this_project_alone(byref):
    byref("run", "--", "seq", "2000")
    assert json.loads(byref("report", "--json", BYREF_SCOPE="elsewhere").stdout)["total"]["calls"] == 1
    assert json.loads(byref("report", "--json", "--here", BYREF_SCOPE="elsewhere").stdout)["total"]["calls"] == 0
