"""Recorded sessions of Claude Code once through the library and once as hook events: the same views, so the same figures.

usage: hook_evidence.py [--limit N]. Needs ../shared/eval/evidence.py and its recordings, else it says so and ends well.
An output of Read goes in as a file's content and comes back as the cell that the program would show; all else as text. Both
arms get Read's numbers in today's form, and of an edit the one line that the program shows today whatever a hook says. Figures of
the two arms differ by what a cell costs and by nothing else.
"""
from __future__ import annotations

import argparse
import importlib.util
import json
import re
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import byref
from byref.adapters.harnesses.claude_code import CELL, STAND
from byref.proxy.frontends.hooks import answer

SHARED = Path(__file__).resolve().parents[2] / "shared"
RECORDED = SHARED / "corpus" / "trajectories-local.jsonl"
SOURCE = "Claude Code"
FIGURES = ("saved", "es", "data", "edit")
CLOSE = 0.005
_NUMBERED = re.compile(r"^ *(\d+)→", re.M)


class Hooks:
    """An arm of evidence.py: each output as the events of one call, and what the program would then show of it."""

    def __init__(self, folder: Path) -> None:
        self.gateway, self.marker, self.folder, self.n = byref.open("memory:"), byref.MARKER, folder, 0
        self.before = ""

    def __call__(self, trajectory: dict[str, Any]) -> Hooks:
        self.n, self.calls = self.n + 1, 0
        self.transcript = self.folder / f"{self.n}.jsonl"
        self.transcript.write_text("")
        self.base = {"session_id": f"replay-{self.n}", "cwd": str(self.folder), "transcript_path": str(self.transcript)}
        self.tell(hook_event_name="SessionStart", source="startup")
        self.tell(hook_event_name="UserPromptSubmit", prompt=trajectory["task"])
        return self

    def tell(self, **event: object) -> bytes:
        return answer(self.gateway, "claude-code", json.dumps({**self.base, **event}).encode())

    def view(self, tool: str, arguments: object, text: str) -> str:
        self.calls += 1
        call = {"tool_name": tool, "tool_input": arguments, "tool_use_id": f"toolu_{self.calls}"}
        blocks = [{"type": "text", "text": self.before}, {"type": "tool_use", "id": call["tool_use_id"], "name": tool, "input": arguments}]
        with self.transcript.open("a") as file:
            file.write(json.dumps({"type": "assistant", "message": {"id": f"msg_{self.calls}", "content": blocks}}) + "\n")
        self.tell(hook_event_name="PreToolUse", **call)
        said = self.tell(hook_event_name="PostToolUse", **call, tool_response=response(tool, text))
        return shown(json.loads(said)["hookSpecificOutput"]["updatedToolOutput"]) if said else text


def response(tool: str, text: str) -> object:
    """A recorded text in the shape in which the program holds it."""
    if tool == "Bash":
        return {"stdout": text, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
    rows = text.split("\n")
    cut = [row.partition("\t") for row in rows]
    start = int(cut[0][0]) if tool == "Read" and cut[0][0].isdigit() else 0
    if start and [number for number, _, _ in cut] == [str(start + k) for k in range(len(rows))]:
        return {"type": "text", "file": {"filePath": "f", "content": "\n".join(row for _, _, row in cut), "numLines": len(rows),
                                         "startLine": start, "totalLines": len(rows)}}
    return text


def shown(output: Any) -> str:
    """What the program shows the model of a rewritten output."""
    if isinstance(output, str):
        return output
    if "stdout" in output:
        return str(output["stdout"])
    return CELL[0] + output["file"]["cells"][0]["source"].removeprefix("\n") + CELL[1]


def figures(evidence: ModuleType, path: Path, arm: Any, limit: int | None) -> dict[str, float]:
    """The row of all sources: shares that were saved, and that the views still show."""
    total, shares = evidence.replay(str(path), arm, limit, SOURCE, False, None)
    count = total["ALL"]
    mean = {name: sum(values) / len(values) for name, values in shares["ALL"].items()}
    return {"saved": 1 - count["view"] / count["raw"], "es": mean["es"], "data": mean["data"], "edit": count["edits_kept"] / count["edits"]}


def recorded(into: Path) -> Path:
    """The recordings with Read's line numbers, and results of edits, as today's program writes them."""
    path = into / "recorded.jsonl"
    with RECORDED.open(encoding="utf8", errors="surrogateescape") as file, path.open("w", encoding="utf8", errors="surrogateescape") as out:
        for line in file:
            row = json.loads(line)
            if SOURCE in row["source"]:
                for turn in row["turns"]:
                    if turn["tool"] == "Read" and turn["output"]:
                        turn["output"] = _NUMBERED.sub(r"\1\t", turn["output"])
                    elif turn["tool"] in STAND:
                        turn["output"] = turn["output"].partition("\n")[0]
                out.write(json.dumps(row) + "\n")
    return path


def compare(limit: int | None) -> dict[str, tuple[float, float]] | None:
    """By figure: library, hooks. None where the recordings are not there."""
    script = SHARED / "eval" / "evidence.py"
    if not script.is_file() or not RECORDED.is_file():
        return None
    spec = importlib.util.spec_from_file_location("evidence", script)
    assert spec is not None and spec.loader is not None
    evidence = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(evidence)
    with tempfile.TemporaryDirectory() as folder:
        path = recorded(Path(folder))
        library = figures(evidence, path, evidence.arm("byref"), limit)
        hooks = figures(evidence, path, Hooks(Path(folder)), limit)
    return {name: (library[name], hooks[name]) for name in FIGURES}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, help="sessions")
    found = compare(parser.parse_args().limit)
    if found is None:
        print(f"skipped: {RECORDED} and its script are laid beside the checkout where this project is developed")
        return 0
    print(f"{'':8}{'library':>9}{'hooks':>9}{'apart':>9}")
    for name, (library, hooks) in found.items():
        print(f"{name:8}{library:9.4f}{hooks:9.4f}{abs(library - hooks):9.4f}")
    return 0 if all(abs(library - hooks) <= CLOSE for library, hooks in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
