"""Recorded tasks once through the library and once as requests to an LLM: the same views, so the same figures.

What Claude Code appended to a recorded result (`<system-reminder>`) is taken off for all: the proxy lets such words stand, as no tool said
them, and the library has no way to tell them from the output.

usage: llm_evidence.py [--limit N] [API ...]. Needs ../shared/eval/evidence.py and its recordings, else it says so and ends well. As an arm
of evidence.py: `PYTHONPATH=bench python ../shared/eval/evidence.py FILE llm_evidence:anthropic`, or `chat`, or `responses`.
"""
from __future__ import annotations

import argparse
import importlib.util
import json
import math
import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import byref  # noqa: E402
from byref.proxy.frontends.llm.conversation import own_length  # noqa: E402
from byref.proxy.frontends.llm.rewriting import Rewriter  # noqa: E402
from llm_requests import FAMILIES, Dialog, recordings, results  # noqa: E402

FIGURES = ("saved", "es", "data", "edit")
CLOSE = 0.005


class Requests:
    """An arm of evidence.py: each output as the last result of a request, through the stateful proxy over a store of files."""

    def __init__(self, api: str) -> None:
        self.api, self.number, self.before, self.marker = api, 0, "", byref.MARKER
        self._folder = tempfile.TemporaryDirectory()
        self.rewriter = Rewriter(byref.open(f"file:{self._folder.name}"), "bench")

    def __call__(self, trajectory: dict[str, Any]) -> Requests:
        self.number, self.calls = self.number + 1, 0
        self.dialog = Dialog(self.api, trajectory["task"], session=f"replay-{self.number}")
        return self

    def view(self, tool: str, arguments: object, text: str) -> str:
        self.calls += 1
        call = f"call_{self.calls}"
        self.dialog.turn([(call, tool, arguments, text)], self.before)
        return results(self.api, self.rewriter.rewrite(self.dialog.family, self.dialog.body()).body)[call]

    def search(self, query: str, max_tokens: int) -> str:
        return ""


anthropic, chat, responses = (partial(Requests, api) for api in FAMILIES)


def without_reminders(path: Path, folder: str) -> Path:
    """The same recordings, each output as its tool gave it."""
    made = Path(folder) / path.name
    with path.open(encoding="utf-8", errors="surrogateescape") as rows, made.open("w", encoding="utf-8", errors="surrogateescape") as out:
        for row in rows:
            held = json.loads(row)
            for turn in held["turns"]:
                said = turn["output"] or ""
                turn["output"] = said[:own_length(said)]
            out.write(json.dumps(held) + "\n")
    return made


def figures(evidence: ModuleType, path: Path, arm: Any, limit: int | None) -> dict[str, float]:
    """The row of all sources: shares that were saved, and that the views still show."""
    total, shares = evidence.replay(str(path), arm, limit, None, False, None)
    count = total["ALL"]
    mean = {name: statistics.mean(values) for name, values in shares["ALL"].items()}
    return {"saved": 1 - count["view"] / count["raw"], "es": mean.get("es", math.nan), "data": mean.get("data", math.nan),
            "edit": count["edits_kept"] / max(1, count["edits"])}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, help="tasks of each file")
    parser.add_argument("apis", nargs="*", default=list(FAMILIES))
    args = parser.parse_args()
    script, paths = ROOT.parent / "shared" / "eval" / "evidence.py", recordings(ROOT)
    if not script.is_file() or not paths:
        print("skipped: the recordings and their script are laid beside the checkout where this project is developed")
        return 0
    spec = importlib.util.spec_from_file_location("evidence", script)
    assert spec is not None and spec.loader is not None
    evidence = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(evidence)
    worst = 0.0
    print(f"{'file':26}{'':11}" + "".join(f"{name:>9}" for name in FIGURES))
    folder = tempfile.TemporaryDirectory()
    for path in (without_reminders(path, folder.name) for path in paths):
        library = figures(evidence, path, evidence.arm("byref"), args.limit)
        print(f"{path.stem:26}{'library':11}" + "".join(f"{library[name]:9.4f}" for name in FIGURES), flush=True)
        for api in args.apis:
            found = figures(evidence, path, Requests(api), args.limit)
            print(f"{'':26}{api:11}" + "".join(f"{found[name]:9.4f}" for name in FIGURES), flush=True)
            worst = max(worst, *(abs(library[name] - found[name]) for name in FIGURES))
    print(f"furthest apart: {worst:.4f}; at most {CLOSE} is the bar")
    return 0 if worst <= CLOSE else 1


if __name__ == "__main__":
    sys.exit(main())
