"""A `.traj` of SWE-agent."""
from __future__ import annotations

import json
from pathlib import Path

from byref.proxy.ledger.reading import read_file


def test_each_step_is_a_call(tmp_path: Path) -> None:
    steps = [{"action": "find_file parser.py\n", "observation": "Found 1 match: src/parser.py", "response": "I look for it", "thought": "",
              "state": "{}"},
             {"action": "open src/parser.py", "observation": "[File: src/parser.py]", "response": "src/parser.py, then", "thought": ""},
             {"action": "", "observation": "", "response": "done", "thought": "done"}]
    history = [{"role": "system", "content": "rules"}, {"role": "user", "content": "a demo", "is_demo": True},
               {"role": "user", "content": "mend the parser"}]
    (tmp_path / "a.traj").write_text(json.dumps({"environment": "swe_main", "trajectory": steps, "history": history, "info": {}}, indent=2))
    told: list[str] = []
    (found,) = read_file(str(tmp_path / "a.traj"), told.append)
    assert (found.source, found.task, found.system, told) == ("SWE-agent", "mend the parser", 5, [])
    assert [(turn.tool, turn.arguments, turn.output) for turn in found.turns] == [
        ("find_file", {"command": "find_file parser.py"}, "Found 1 match: src/parser.py"),
        ("open", {"command": "open src/parser.py"}, "[File: src/parser.py]")]
    assert "src/parser.py, then" in found.turns[0].next_action
