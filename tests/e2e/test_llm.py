"""The real Claude Code through `byref serve --llm --answer`, without any hook and any MCP server of ours, against a scripted model."""
from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from e2e.programs import ended
from e2e.scripted import MAIN, SUB, Scripted, results, text, tool
from e2e.test_claude_code import CODE, HEAD, LIMIT, LOG, NEW, OLD, Bench, bare, bench, program, ref_in, rows

__all__ = ["bench", "ended", "program"]  # fixtures
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("claude-code")]


class Through:
    """The scripted model as the program reaches it: through byref."""

    def __init__(self, bench: Bench, scripted: Scripted) -> None:
        self.scripted = scripted
        words = ["--llm", f"mine={scripted.url}", "--answer"]
        self.daemon = subprocess.Popen([sys.executable, "-m", "byref.proxy.frontends.serve", *words], env=bench.env, cwd=bench.home,
                                       stdout=subprocess.PIPE, text=True)
        assert self.daemon.stdout is not None
        self.url = self.daemon.stdout.readline().split()[2]

    @property
    def faults(self) -> list[str]:
        return self.scripted.faults

    def close(self) -> None:
        self.daemon.terminate()
        self.daemon.communicate(timeout=LIMIT)


def test_a_session_with_compaction_subagent_and_a_second_daemon(program: Path, bench: Bench, ended: list[Any]) -> None:
    path = str(bench.project / "harbour.py")

    def fetch(request: Any) -> list[Any]:
        return [text("What was left out?"), {"type": "tool_use", "id": "toolu_fetched", "name": "byref_fetch",
                                             "input": {"ref": ref_in(request, "log"), "at": "L100-110"}}]

    def beside(request: Any) -> list[Any]:
        called: Any = tool("Bash", "beside", command="echo beside")(request)
        return [*called, {"type": "tool_use", "id": "toolu_searched", "name": "byref_search", "input": {"query": "beacon"}}]

    steps = [
        tool("Bash", "log", command=LOG), tool("Bash", "again", command=LOG + " | cat"), tool("Bash", "fails", command="seq 1 300; exit 3"),
        tool("Read", "read", file_path=path), tool("Edit", "edit", file_path=path, old_string=OLD, new_string=NEW), fetch,
        tool("Read", "reread", file_path=path), beside, tool("Grep", "grep", pattern="row", output_mode="content", path=str(bench.project)),
        tool("mcp__t__records", "records"), tool("Bash", "off", command="BYREF=off " + "seq 1 500"),
        tool("Agent", "agent", description="look", prompt=f"{SUB}: read the file", subagent_type="general-purpose"),
        tool("Bash", "wait", command="sleep 2"), tool("Bash", "full", command="echo almost full"), tool("Bash", "fresh", command=LOG)]
    scripted = Scripted(steps, [tool("Read", "sub", file_path=path), lambda request: [text("It is a harbour.")]], full=13)
    ended.append(scripted)
    through = Through(bench, scripted)
    ended.append(through)
    bench.run(program, through, f"{MAIN}: mend garden_id in harbour.py")  # type: ignore[arg-type]
    check(scripted, bench)
    report = json.loads(bench.byref("report", "--json"))
    assert report["net"] > 5_000 and report["messages"] >= len(scripted.requests) + len(scripted.subs)
    held = b"".join(file.read_bytes() for file in bench.data.rglob("*") if file.is_file())
    assert bench.env["ANTHROPIC_API_KEY"].encode() not in held
    through.close()
    last = Scripted([tool("Bash", "resumed", command="echo so")], [], full=-1)
    again = Through(bench, last)
    ended += [last, again]
    bench.run(program, again, "--continue", f"{MAIN}: build once more")  # type: ignore[arg-type]
    assert results(last.requests[-1])["fresh"] == results(scripted.requests[-1])["fresh"], "another daemon sends the same bytes"


def check(scripted: Scripted, bench: Bench) -> None:
    """What the model was sent."""
    early = results(scripted.requests[scripted.summaries[0] - 1])
    sent = {**early, **results(scripted.requests[-1])}
    log = subprocess.run(["bash", "-c", LOG], capture_output=True, text=True, check=True).stdout
    assert len(sent["log"][0]) < len(log) // 2 and "ERROR: cannot link beacon" in sent["log"][0]
    assert rows(sent["log"][0]) < set(log.splitlines()) and len(rows(sent["again"][0]) & rows(sent["log"][0])) < 3, "they were shown before"
    assert sent["fails"][1] and "Exit code 3" in sent["fails"][0]
    assert HEAD.search(sent["read"][0]) and len(sent["read"][0]) < len(CODE) and HEAD.search(sent["records"][0])
    assert not sent["edit"][1] and NEW in (bench.project / "harbour.py").read_text() and NEW in sent["reread"][0]
    assert sent["fetched"] == ("".join(log.splitlines(True)[99:110]), False)
    assert "ERROR: cannot link beacon" in sent["searched"][0] and sent["beside"][0].strip() == "beside"
    assert sent["off"][0].split()[:500] == [str(n) for n in range(1, 501)]
    assert rows(results(scripted.subs[-1])["sub"][0]) & rows(sent["read"][0]), "a subagent was shown nothing before"
    assert "fresh" not in early and "ERROR: cannot link beacon" in sent["fresh"][0]
    assert rows(sent["fresh"][0]) == rows(sent["log"][0]), "a compaction forgets what was shown"
    for part in (scripted.requests[:scripted.summaries[0]], scripted.requests[scripted.summaries[0]:], scripted.subs):
        for earlier, later in pairwise(part):
            old = bare(earlier["messages"])
            assert bare(later["messages"])[:len(old)] == old, "what was sent is never rewritten"
            assert later["system"] == earlier["system"] and later["tools"] == earlier["tools"]
