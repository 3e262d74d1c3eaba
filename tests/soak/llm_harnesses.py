"""The real Codex and OpenCode through `byref serve --llm --answer`, without a hook, plugin or MCP server of ours: a pytest file.

`tests/soak/harnesses.py` runs it, for it takes some minutes. Both modes: what is remembered, and `--stateless`.
"""
from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from e2e import test_codex, test_opencode
from e2e.programs import HEAD, LIMIT, Bench, ended, program, ref_in, rows
from e2e.responses import Responses
from e2e.responses import text as said
from e2e.responses import tool as called
from e2e.scripted import MAIN, SUB, text, tool
from e2e.test_claude_code import CODE, LOG, NEW, OLD, bare
from e2e.test_codex import LONG, TESTS, Codex
from e2e.test_opencode import OpenCode, Session, shell

__all__ = ["ended"]  # a fixture
pytestmark = [pytest.mark.e2e]


class Through:
    """The scripted model as the program reaches it: through a daemon of its own."""

    def __init__(self, bench: Bench, scripted: Any, *words: str) -> None:
        self.scripted = scripted
        self.daemon = subprocess.Popen(
            [sys.executable, "-m", "byref.proxy.frontends.serve", "--llm", f"mine={scripted.url.removesuffix('/v1')}", "--answer", *words],
            env=bench.env, cwd=bench.home, stdout=subprocess.PIPE, text=True)
        assert self.daemon.stdout is not None
        self.url = self.daemon.stdout.readline().split()[2] + ("/v1" if scripted.url.endswith("/v1") else "")

    @property
    def faults(self) -> list[str]:
        """What the script did not find."""
        found: list[str] = self.scripted.faults
        return found

    def close(self) -> None:
        self.daemon.terminate()
        self.daemon.communicate(timeout=LIMIT)


@pytest.mark.xdist_group("codex")
@pytest.mark.parametrize("mode", [(), ("--stateless",)], ids=["stateful", "stateless"])
def test_codex_with_compaction_subagent_and_a_second_daemon(root: Path, tmp_path: Path, ended: list[Any], mode: tuple[str, ...]) -> None:
    codex = Codex(tmp_path, program(root, "codex"))
    results = test_codex.results

    def fetch(request: Any) -> list[Any]:
        return called("byref_fetch", "fetched", ref=ref_in(results(request)["log"]), at="L105-115")(request)  # after five on how it ended

    def beside(request: Any) -> list[Any]:
        return [*test_codex.shell("beside", "echo beside")(request), called("byref_search", "searched", query="beacon")(request)[1]]

    steps = [test_codex.shell("log", LOG), test_codex.shell("again", LOG + " | cat"), test_codex.shell("fails", TESTS),
             test_codex.shell("read", "cat harbour.py"), fetch, called("records", "records", "mcp__t"), beside,
             test_codex.shell("off", "BYREF=off seq 1 500"), test_codex.shell("long", LONG),
             called("spawn_agent", "agent", "multi_agent_v1", message=f"{SUB}: read the file"), test_codex.shell("wait", "sleep 4"),
             test_codex.shell("full", "echo almost full"), test_codex.shell("fresh", LOG)]
    scripted = Responses(steps, [test_codex.shell("sub", "cat harbour.py"), lambda request: [said("It is a harbour.")]], full=11)
    ended.append(scripted)
    through = Through(codex, scripted, *mode)
    ended.append(through)
    told = codex.run(through, f"{MAIN}: mend garden_id in harbour.py")  # type: ignore[arg-type]
    assert any(one["type"] == "item.completed" and one["item"].get("text") == "All is done." for one in told), "the answer arrives"
    early = results(scripted.requests[scripted.summaries[0] - 1])
    sent = {**early, **results(scripted.requests[-1])}
    log = subprocess.run(["bash", "-c", LOG], capture_output=True, text=True, check=True).stdout
    check(sent, log, stateful=not mode)
    fetched([results(request) for request in scripted.requests[:scripted.summaries[0]]], log, stateful=not mode)
    assert len(early["long"]) < 1000
    assert rows(results(scripted.subs[-1])["sub"]) & rows(sent["read"]), "a subagent was shown nothing before"
    assert "fresh" not in early and steady(sent["fresh"]) == steady(sent["log"]), "a compaction forgets what was shown"
    whole = [request for request in scripted.requests[:scripted.summaries[0]] if not mode or "fetched" not in results(request)]
    for part in (whole, scripted.requests[scripted.summaries[0]:], scripted.subs):
        for earlier, later in pairwise(part):
            assert later["input"][:len(earlier["input"])] == earlier["input"], "what was sent is never rewritten"
            assert later.get("instructions") == earlier.get("instructions")
    through.close()
    last = Responses([test_codex.shell("resumed", "echo so")], [], full=-1)
    again = Through(codex, last, *mode)
    ended += [last, again]
    codex.run(again, "resume", "--last", f"{MAIN}: build once more")  # type: ignore[arg-type]
    assert results(last.requests[-1])["fresh"] == sent["fresh"], "another daemon sends the same bytes"


def fetched(seen: list[dict[str, str]], log: str, stateful: bool) -> None:
    """That what was fetched came to the model whole, and stays there unless nothing is remembered."""
    held = [one["fetched"] for one in seen if "fetched" in one]
    assert held and set(held) == {"".join(log.splitlines(True)[99:110])}
    first = next(i for i, one in enumerate(seen) if "fetched" in one)
    assert stateful == ("fetched" in seen[first + 1])


def steady(view: str) -> set[str]:
    """The lines of a view but those by which Codex says which run it was."""
    return {row for row in rows(view) if not row.startswith(("Chunk ID: ", "Wall time: "))}


def check(sent: dict[str, str], log: str, stateful: bool) -> None:
    """What the model was sent of each call, whatever the harness."""
    assert len(sent["log"]) < len(log) // 2 and "ERROR: cannot link beacon" in sent["log"] and HEAD.search(sent["log"])
    assert rows(sent["log"]) & set(log.splitlines())
    if stateful:
        assert len(rows(sent["again"]) & rows(sent["log"]) & set(log.splitlines())) < 3, "they were shown before"
    assert "AssertionError: 3 != 4" in sent["fails"] and "1 failed, 300 passed in 2.0s" in sent["fails"] and len(sent["fails"]) < 3000
    assert HEAD.search(sent["read"]) and len(sent["read"]) < len(CODE)
    assert HEAD.search(sent["records"]) and len(sent["records"]) < 12_000
    assert ("ERROR: cannot link beacon" in sent["searched"] if stateful else "searched" not in sent) and "beside" in sent["beside"]
    assert sent["off"].split()[-500:] == [str(n) for n in range(1, 501)]


@pytest.mark.xdist_group("opencode")
@pytest.mark.parametrize("mode", [(), ("--stateless",)], ids=["stateful", "stateless"])
def test_opencode_with_compaction_subagent_and_a_second_daemon(root: Path, tmp_path: Path, ended: list[Any], mode: tuple[str, ...]) -> None:
    opencode = OpenCode(tmp_path, program(root, "opencode"))
    path = str(opencode.project / "harbour.py")

    def results(request: Any) -> dict[str, str]:
        return {name: words for name, (words, _) in test_opencode.results(request).items()}

    def fetch(request: Any) -> list[Any]:
        made: list[Any] = tool("byref_fetch", "fetched", ref=ref_in(results(request)["log"]), at="L100-110")(request)
        return made

    def beside(request: Any) -> list[Any]:
        return [*shell("beside", "echo beside")(request), tool("byref_search", "searched", query="beacon")(request)[1]]

    steps = [shell("log", LOG), shell("again", LOG + " | cat"), shell("fails", TESTS), tool("read", "read", filePath=path),
             tool("edit", "edit", filePath=path, oldString=OLD, newString=NEW), fetch, tool("read", "reread", filePath=path),
             tool("t_records", "records"), beside, shell("off", "BYREF=off seq 1 500"), shell("long", LONG),
             tool("task", "agent", description="look", prompt=f"{SUB}: read the file", subagent_type="general"),
             shell("full", "echo almost full"), shell("fresh", LOG)]
    scripted = Session(steps, [tool("read", "sub", filePath=path), lambda request: [text("It is a harbour.")]], full=12)
    ended.append(scripted)
    through = Through(opencode, scripted, *mode)
    ended.append(through)
    opencode.run(through, f"{MAIN}: mend garden_id in harbour.py")  # type: ignore[arg-type]
    early = results(scripted.requests[scripted.summaries[0] - 1])
    sent = {**early, **results(scripted.requests[-1])}
    log = subprocess.run(["bash", "-c", LOG], capture_output=True, text=True, check=True).stdout
    check(sent, log, stateful=not mode)
    fetched([results(request) for request in scripted.requests[:scripted.summaries[0]]], log, stateful=not mode)
    assert len(early["long"]) < 1000
    assert len(sent.get("long", "")) < 1000, "what a compaction keeps of the newest results goes on as a view"
    assert NEW in (opencode.project / "harbour.py").read_text() and (mode or NEW in sent["reread"]), "a second view says what changed"
    assert rows(results(scripted.subs[-1])["sub"]) & rows(sent["read"]), "a subagent was shown nothing before"
    assert "fresh" not in early and rows(sent["fresh"]) == rows(sent["log"]), "a compaction forgets what was shown"
    whole = [request for request in scripted.requests[:scripted.summaries[0]] if not mode or "fetched" not in results(request)]
    for part in (whole, scripted.requests[scripted.summaries[0]:], scripted.subs):
        for earlier, later in pairwise(part):
            old = bare(earlier["messages"])
            assert bare(later["messages"])[:len(old)] == old, "what was sent is never rewritten"
            assert later["system"] == earlier["system"] and later["tools"] == earlier["tools"]
    report = json.loads(opencode.byref("report", "--json"))
    assert report["net"] > 3_000 and report["messages"] >= len(scripted.requests) + len(scripted.subs)
    through.close()
    last = Session([shell("resumed", "echo so")], [], full=-1)
    again = Through(opencode, last, *mode)
    ended += [last, again]
    opencode.run(again, "--continue", f"{MAIN}: build once more")  # type: ignore[arg-type]
    assert results(last.requests[-1])["fresh"] == sent["fresh"], "another daemon sends the same bytes"
