"""Our own trajectories; a line that is none does not stop those after it."""
from __future__ import annotations

import json
from pathlib import Path

from byref.proxy.ledger.reading import read_file

ROW = {"id": "1", "source": "s", "task": "t", "turns": [{"tool": "Bash", "args": {}, "output": "x", "next_action": "y"}],
       "meta": {"model": "m", "usage": {"api_calls": 3, "sum_input": 1, "sum_cache_read": 2, "sum_cache_write": 4, "sum_output": 5}}}


def test_lines_that_are_wrong_are_told_and_the_others_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, (ROW, {**ROW, "task": 7}, {**ROW, "id": "2"}))) + "\n")
    told: list[str] = []
    found = list(read_file(str(path), told.append))
    assert [one.id for one in found] == ["1", "2"]
    assert told == [f"{path}:2: `task` is to be a string, not a number"]
    assert found[0].usage is not None and (found[0].usage.requests, found[0].usage.read, found[0].model) == (3, 2, "m")
