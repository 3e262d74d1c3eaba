"""The real OpenCode with byref's plugin, from `byref install` to `byref uninstall`, against a scripted model."""
from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from e2e.programs import HEAD, LIMIT, Bench, ref_in, rows
from e2e.scripted import MAIN, RECORDS, SUB, Json, Scripted, results, text, tool
from e2e.test_claude_code import CODE, LOG, NEW, OLD, bare
from e2e.test_codex import LONGER, TESTS

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("opencode")]
PROGRAM = "opencode"
MODEL = "anthropic/claude-sonnet-4-5"
FULL = 199_500  # tokens of a window of 200,000


class Session(Scripted):
    """The server as OpenCode asks it: titles and summaries come without tools."""

    def __init__(self, steps: list[Any], sub: list[Any], full: int) -> None:
        super().__init__(steps, sub, full)
        self.answers = 0

    def answer(self, request: Json) -> tuple[list[Json], int]:
        with self._lock:
            first, last = json.dumps(request["messages"][0]), json.dumps(request["messages"][-1])
            if "Generate a title" in first:
                return [text("Harbour")], 100
            self.answers += 1
            if not request.get("tools") or ("summary" in last and "anchored" in last):
                self.summaries.append(len(self.requests))
                return [text("Half of the work is done; go on.")], 100
            if SUB in first and MAIN not in first:
                self.subs.append(request)
                return self.sub[min(len(self.subs), len(self.sub)) - 1](request), 100
            number = len(self.requests)
            self.requests.append(request)
            if number >= len(self.steps):
                return [text("All is done.")], 100
            return self.steps[number](request), FULL if number == self.full else 1000


class OpenCode(Bench):
    """A user of OpenCode."""

    def __init__(self, folder: Path, found: Path) -> None:
        super().__init__(folder, ("ANTHROPIC", "OPENCODE"))
        self.program, self.settings = found, self.home / ".config" / "opencode"
        self.settings.mkdir(parents=True)
        (self.project / "harbour.py").write_text(CODE)
        server = folder / "records.py"
        server.write_text(RECORDS)
        self.config = self.settings / "opencode.json"
        self.config.write_text(json.dumps({"$schema": "https://opencode.ai/config.json",  # which it would add
            "model": MODEL, "small_model": MODEL, "autoupdate": False, "share": "disabled", "snapshot": False, "permission": "allow",
            "provider": {"anthropic": {"options": {"baseURL": "{env:SCRIPTED}", "apiKey": "none"}, "models": {
                MODEL.partition("/")[2]: {"name": "scripted", "limit": {"context": 200_000, "output": 8000}}}}},
            "mcp": {"t": {"type": "local", "command": [sys.executable, str(server)]}}}, indent=2))
        self.env |= {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}

    def run(self, scripted: Session, *words: str) -> None:
        done = subprocess.run([str(self.program), "run", "--print-logs", *words], env=self.env | {"SCRIPTED": scripted.url + "/v1"},
                              cwd=self.project, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT, check=False)
        assert done.returncode == 0 and not scripted.faults, (scripted.faults, done.stderr[-3000:], done.stdout[-2000:])


@pytest.fixture
def opencode(found: Path, tmp_path: Path) -> Iterator[OpenCode]:
    made = OpenCode(tmp_path, found)
    yield made
    made.stop()


def shell(call: str, command: str) -> Any:
    return tool("bash", call, command=command, description=call)


def test_a_session_with_compaction_subagent_and_a_killed_daemon(opencode: OpenCode) -> None:
    held: list[int] = []
    before = {path: path.read_bytes() for path in opencode.settings.rglob("*") if path.is_file()}
    opencode.byref("install", "opencode", "--yes")
    assert "by the hooks in" in opencode.byref("doctor")
    path = str(opencode.project / "harbour.py")

    def fetch(request: Any) -> list[Any]:
        return tool("byref_fetch", "fetched", ref=ref_in(results(request)["log"][0]), at="L100-110")(request)

    def kill(request: Any) -> list[Any]:
        opencode.kill()
        held.append(os.open(opencode.data / "daemon.lock", os.O_RDWR))
        fcntl.flock(held[0], fcntl.LOCK_EX)  # no plugin can start another one
        made: list[Any] = shell("alone", LOG)(request)
        return made

    steps = [
        shell("log", LOG), shell("again", LOG + " | cat"), shell("fails", TESTS), tool("read", "read", filePath=path),
        tool("edit", "edit", filePath=path, oldString=OLD, newString=NEW), tool("read", "reread", filePath=path),
        tool("grep", "grep", pattern="row", path=str(opencode.project)), tool("t_records", "records"),
        tool("t_records", "broken", broken=True), tool("read", "none", filePath=path + ".none"), fetch,
        tool("byref_search", "searched", query="cannot link beacon"), shell("off", "BYREF=off seq 1 500"), shell("longer", LONGER),
        tool("task", "agent", description="look", prompt=f"{SUB}: read the file", subagent_type="general"),
        shell("full", "echo almost full"), shell("fresh", LOG), kill, tool("read", "alone-read", filePath=path)]
    scripted = Session(steps, [tool("read", "sub", filePath=path), lambda request: [text("It is a harbour.")]], full=15)
    try:
        opencode.run(scripted, f"{MAIN}: mend garden_id in harbour.py")
    finally:
        scripted.close()
        for fd in held:
            os.close(fd)
    check(scripted, opencode)
    resumed = Session([shell("resumed", LOG)], [], full=-1)
    try:
        opencode.run(resumed, "--continue", f"{MAIN}: build once more")
    finally:
        resumed.close()
    assert len(rows(results(resumed.requests[-1])["resumed"][0])) > 200, "a command that is repeated shows what its first view left out"
    report = json.loads(opencode.byref("report", "--json"))
    assert report["net"] > 5_000 and report["tools"]["bash"]["net"] > 0 and report["tools"]["bash"]["fetched"] > 0
    answers = scripted.answers + resumed.answers
    assert 0 < report["messages"] <= answers and report["billed"]["read"] == 300 * report["messages"], "each message is counted once"
    opencode.byref("uninstall", "opencode", "--yes")
    now = {path: path.read_bytes() for path in opencode.settings.rglob("*") if path.is_file()}
    assert {path: now.get(path) for path in before} == before and not any("byref" in str(path) for path in now)


def check(scripted: Session, opencode: OpenCode) -> None:
    """What the model was sent."""
    assert len(scripted.summaries) == 1 and len(scripted.requests) >= 12
    sent = results(scripted.requests[scripted.summaries[0] - 1]) | results(scripted.requests[-1])
    log = subprocess.run(["bash", "-c", LOG], capture_output=True, text=True, check=True).stdout
    assert len(sent["log"][0]) < len(log) // 2 and "ERROR: cannot link beacon" in sent["log"][0]
    assert rows(sent["log"][0]) < set(log.splitlines()) and len(rows(sent["again"][0]) & rows(sent["log"][0])) < 3, "they were shown before"
    assert "exit 3" in sent["fails"][0].splitlines()[0] and "AssertionError: 3 != 4" in sent["fails"][0]
    assert "1 failed, 300 passed in 2.0s" in sent["fails"][0] and len(sent["fails"][0]) < 3000
    assert HEAD.search(sent["read"][0]) and len(sent["read"][0]) < len(CODE) and sent["read"][0].startswith("<path>")
    assert sent["read"][0].endswith("(End of file - total 1152 lines)\n</content>"), "what the program says round a file stays"
    assert not sent["edit"][1] and NEW in (opencode.project / "harbour.py").read_text()
    assert NEW in sent["reread"][0] and OLD not in sent["reread"][0], "it names what changed"
    first, second = rows(sent["read"][0]), rows(sent["reread"][0])
    assert len(second - first) > 400, "and shows what the first view left out"
    assert HEAD.search(sent["records"][0]) and not sent["records"][1]
    assert sent["broken"] == ("no connection to the records\n" * 40, True)
    assert sent["none"][1] and "File not found" in sent["none"][0]
    assert "".join(log.splitlines(True)[99:110]) == sent["fetched"][0]
    assert "ERROR: cannot link beacon" in sent["searched"][0] and "of bash" in sent["searched"][0]
    assert sent["off"][0].split() == [str(n) for n in range(1, 501)]
    assert re.search(r" of 9000 lines", sent["longer"][0]) and "sounding 1 at 7 fathoms" in sent["longer"][0], "its file holds the whole"
    sub = results(scripted.subs[-1])["sub"][0]
    assert rows(sub) & first, "a subagent was shown nothing before"
    assert rows(sent["fresh"][0]) == rows(sent["log"][0]), "a compaction forgets what was shown"
    assert sent["alone"][0] == log and "«" not in sent["alone-read"][0], "without the daemon the raw output stands"
    for part in (scripted.requests[:scripted.summaries[0]], scripted.requests[scripted.summaries[0]:], scripted.subs):
        for earlier, later in pairwise(part):
            old = bare(earlier["messages"])
            assert bare(later["messages"])[:len(old)] == old, "what was sent is never rewritten"
            assert later["tools"] == earlier["tools"]
