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


def test_the_layers_are_told_with_what_they_are_and_how_far_they_came(byref):
    byref("run", "--", "seq", "2000")
    found = json.loads(byref("status", "--json").stdout)["layers"]
    head, *rows = byref("status", "--layers").stdout.decode().splitlines()
    assert head.split() == ["layer", "version", "role", "origin", "granularity", "coverage", "ms", "query"]
    assert [row.split()[0] for row in rows[:len(found)]] == [one["name"] for one in found]
    for row, one in zip(rows, found, strict=False):
        for value in (one["role"], one["origin"], one["granularity"], f"{one['coverage'] // 100}%", one["accepts"], str(one["latency_ms"])):
            assert value and value in row
    text = next(row for row in rows if row.startswith("text "))
    assert "100%" in text and "/regex/" in text
    lacking = [one for one in found if one["missing"]]
    assert lacking, "here are no models"
    assert rows[len(found):] == [f"without {one['name']}: {one['missing']}" for one in lacking]
