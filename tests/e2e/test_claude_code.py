"""The real Claude Code with byref in its settings, from `byref install` to `byref uninstall`, against a scripted model."""
from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from e2e.scripted import MAIN, RECORDS, SUB, Scripted, results, text, tool

VERSION = "2.1.332"
LIMIT = 120  # seconds for one run on a machine that does much else
HEAD = re.compile(r"«(r[a-z2-7]{10}) ")
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("claude-code")]

CODE = "".join(
    f"def {verb}_{noun}(path, limit={n}):\n    \"\"\"{verb.title()} the {noun} below a path.\"\"\"\n    rows, left = load(path), limit\n"
    + "".join(f"    if rows[{k}].{noun}_{k} > {n + k}:\n        left = left - {verb}(rows[{k}], {n * k})\n" for k in range(9))
    + f"    return [row for row in rows[:left] if row.{noun}_id != {n * 7}]\n\n\n"
    for n, (verb, noun) in enumerate((v, o) for v in ("read", "check", "merge", "split", "count", "order")
                                     for o in ("ledger", "parcel", "branch", "tariff", "voyage", "beacon", "garden", "signal")))
OLD, NEW = "row.garden_id != 42", "row.garden_id != 43"
LOG = ("for i in $(seq 1 450); do echo \"2026-01-01 step $i of the build: object file $((i*37%500)).o written\"; done; "
       "echo 'ERROR: cannot link beacon'")
FIRST = "2026-01-01 step 1 of the build: object file 37.o written"


@pytest.fixture(scope="session")
def program(root: Path) -> Path:
    """The program itself, from its package; installed once into the checkout's cache."""
    folder = root / ".cache" / f"claude-code-{VERSION}"
    found = folder / "node_modules" / ".bin" / "claude"
    if not found.exists():
        if shutil.which("npm") is None:
            pytest.skip("Claude Code could not be installed: there is no npm here")
        folder.mkdir(parents=True, exist_ok=True)
        package = f"@anthropic-ai/claude-code@{VERSION}"
        try:
            done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), package],
                                  capture_output=True, text=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            pytest.skip("Claude Code could not be installed: npm gave no answer within two minutes")
        if done.returncode:
            pytest.skip(f"Claude Code could not be installed: {done.stderr.strip()[-300:]}")
    told = subprocess.run([str(found), "--version"], capture_output=True, text=True, check=False)
    if not told.stdout.startswith(VERSION):
        pytest.skip(f"Claude Code {VERSION} does not run here: {told.stdout}{told.stderr}"[:300])
    return found


class Bench:
    """A fresh home with a project in it."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.data = folder / "byref"
        for path in (self.home / ".claude", self.project / ".git"):
            path.mkdir(parents=True)
        (self.project / "harbour.py").write_text(CODE)
        server = folder / "records.py"
        server.write_text(RECORDS)
        (self.home / ".claude.json").write_text(json.dumps({"mcpServers": {"t": {
            "type": "stdio", "command": sys.executable, "args": [str(server)]}}}))
        (self.home / ".claude" / "settings.json").write_text('{\n  "model": "claude-opus-5-5",\n  "cleanupPeriodDays": 20\n}\n')
        left_out = ("ANTHROPIC", "CLAUDE", "BYREF", "AWS_", "GOOGLE_")
        self.env = {k: v for k, v in os.environ.items() if not k.upper().startswith(left_out)} | {
            "HOME": str(self.home), "BYREF_HOME": str(self.data), "ANTHROPIC_API_KEY": "sk-ant-none", "IS_SANDBOX": "1",
            "BYREF_HOOK_WAIT": "5",  # a machine that does much else is no fault of the hooks'
            "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1", "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "MCP_CONNECTION_NONBLOCKING": "0", "CLAUDE_CODE_MCP_STARTUP_WAIT_MS": "60000",  # tools are there from the first request on
            # The one entry point where this build has Grep as a tool of its own.
            "CLAUDE_CODE_ENTRYPOINT": "local-agent"}

    def byref(self, *words: str) -> str:
        done = subprocess.run([sys.executable, "-c", "from byref.proxy.frontends.cli import main; main()", *words], env=self.env,
                              cwd=self.project, capture_output=True, text=True, timeout=LIMIT, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def files(self) -> dict[str, str]:
        """The hash of each settings file and skill; the program's own notes change with every start."""
        paths = [self.home / ".claude" / "settings.json", *(self.home / ".claude" / "skills").rglob("*")]
        return {str(p.relative_to(self.home)): hashlib.sha256(p.read_bytes()).hexdigest() for p in paths if p.is_file()}

    def run(self, program: Path, scripted: Scripted, *words: str) -> list[Any]:
        done = subprocess.run(
            [str(program), "-p", *words, "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"],
            env=self.env | {"ANTHROPIC_BASE_URL": scripted.url}, cwd=self.project, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=LIMIT, check=False)
        assert done.returncode == 0 and not scripted.faults, (scripted.faults, done.stderr[-2000:], done.stdout[-2000:])
        return [json.loads(line) for line in done.stdout.splitlines()]

    def stop(self) -> None:
        """Ends the daemon at once, as a crash would."""
        pid = re.search(r"^pid: *(\d+)", self.byref("serve", "--status"), re.M)
        assert pid, "no daemon runs"
        os.kill(int(pid[1]), signal.SIGKILL)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    subprocess.run([sys.executable, "-m", "byref.proxy.frontends.serve", "--stop"], env=made.env, capture_output=True, check=False)


def ref_in(request: Any, call: str) -> str:
    found = HEAD.search(results(request)[call][0])
    assert found, f"no view of {call}: {results(request)[call][0][:300]}"
    return found[1]


def rows(view: str) -> set[str]:
    """The lines of a view that are no markers."""
    return {line for line in view.splitlines() if line and "«" not in line}


def bare(messages: list[Any]) -> list[str]:
    """Messages without the cache mark, which wanders to the newest one and makes a text a list of one block."""
    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(one) for one in value]
        if isinstance(value, dict):
            named = {k: plain(v) for k, v in value.items() if k != "cache_control"}
            return named | {"content": [text(named["content"])]} if isinstance(named.get("content"), str) else named
        return value
    return [json.dumps(plain(message)) for message in messages]


def test_a_session_with_compaction_subagent_and_a_killed_daemon(program: Path, bench: Bench) -> None:
    before, held = bench.files(), []
    bench.byref("install", "claude-code", "--yes")
    path = str(bench.project / "harbour.py")

    def fetch(request: Any) -> list[Any]:
        return [text("What was left out?"), {"type": "tool_use", "id": "toolu_fetched", "name": "mcp__byref__fetch",
                                             "input": {"ref": ref_in(request, "log"), "at": "L100-110"}}]

    def seek(request: Any) -> list[Any]:
        query = "how does the code count every voyage and every beacon below a path, and which of these rows does it return in the end?"
        return [text("What is in it?"), {"type": "tool_use", "id": "toolu_sought", "name": "mcp__byref__search",
                                         "input": {"query": query, "refs": [ref_in(request, "read")], "timebox_ms": 20_000}}]

    def kill(request: Any) -> list[Any]:
        bench.stop()
        held.append(os.open(bench.data / "daemon.lock", os.O_RDWR))
        fcntl.flock(held[0], fcntl.LOCK_EX)  # no hook can start another one
        return tool("Bash", "alone", command=LOG)(request)

    steps = [
        tool("Bash", "log", command=LOG), tool("Bash", "again", command=LOG + " | cat"), tool("Bash", "fails", command="seq 1 300; exit 3"),
        tool("Read", "read", file_path=path), tool("Edit", "edit", file_path=path, old_string=OLD, new_string=NEW),
        tool("Read", "reread", file_path=path), tool("Grep", "grep", pattern="row", output_mode="content", path=str(bench.project)),
        tool("mcp__t__records", "records"), tool("mcp__t__records", "broken", broken=True), fetch, seek,
        tool("Bash", "off", command="BYREF=off " + "seq 1 500"),
        tool("Agent", "agent", description="look", prompt=f"{SUB}: read the file", subagent_type="general-purpose"),
        tool("Bash", "wait", command="sleep 2"), tool("Bash", "full", command="echo almost full"),
        tool("Bash", "fresh", command=LOG), kill, tool("Read", "alone-read", file_path=path)]
    scripted = Scripted(steps, [tool("Read", "sub", file_path=path), lambda request: [text("It is a harbour.")]], full=14)
    try:
        bench.run(program, scripted, f"{MAIN}: mend garden_id in harbour.py")
    finally:
        scripted.close()
        for fd in held:
            os.close(fd)
    check(scripted, bench)
    resumed = Scripted([tool("Bash", "other", command=LOG + " | cat"), tool("Bash", "resumed", command=LOG)], [], full=-1)
    try:
        bench.run(program, resumed, "--continue", f"{MAIN}: build once more")
    finally:
        resumed.close()
    fresh, later = results(scripted.requests[-1])["fresh"][0], results(resumed.requests[-1])
    assert len(rows(fresh)) > 1 and rows(later["other"][0]) & rows(fresh) <= {FIRST}, "what goes on was shown what it was shown"
    assert len(rows(later["resumed"][0])) > 200, "a command that is repeated shows what its first view left out"
    report = json.loads(bench.byref("report", "--json"))
    assert report["net"] > 5_000 and report["tools"]["Bash"]["net"] > 0 and report["tools"]["Read"]["net"] > 0
    assert report["tools"]["Bash"]["fetched"] > 0, "a fetch is set off against the tool whose output it shows"
    answers = len(scripted.requests) + len(scripted.subs) + len(resumed.requests)
    assert report["messages"] == answers and report["billed"]["read"] == 300 * answers, "each message is counted once"
    bench.byref("uninstall", "claude-code", "--yes")
    assert bench.files() == before
    assert list(json.loads((bench.home / ".claude.json").read_text())["mcpServers"]) == ["t"]


def check(scripted: Scripted, bench: Bench) -> None:
    """What the model was sent."""
    last, early = results(scripted.requests[-1]), results(scripted.requests[scripted.summaries[0] - 1])
    sent = {**early, **last}
    log = subprocess.run(["bash", "-c", LOG], capture_output=True, text=True, check=True).stdout
    assert len(sent["log"][0]) < len(log) // 2 and "ERROR: cannot link beacon" in sent["log"][0]
    first = rows(sent["log"][0])
    assert len(first) > 1 and first < set(log.splitlines()), "a view shows lines as they are"
    assert rows(sent["again"][0]) & first <= {FIRST}, "they were shown before, but for the one that stands for its kind"
    assert sent["fails"][1] and sent["fails"][0].startswith("Exit code 3\n1\n2\n") and sent["fails"][0].rstrip().endswith("300")
    assert HEAD.search(sent["read"][0]) and len(sent["read"][0]) < len(CODE) and OLD in sent["read"][0], "what the task names stands"
    assert not sent["edit"][1] and NEW in (bench.project / "harbour.py").read_text()
    assert NEW in sent["reread"][0] and OLD not in sent["reread"][0], "it names what changed"
    first, second = rows(sent["read"][0]), rows(sent["reread"][0])
    assert len(second - first) > 400 and len(second & first) < 20, "and shows what the first view left out, not what it showed"
    line = CODE.split("\n").index(next(row for row in CODE.split("\n") if OLD in row)) + 1
    numbered = re.search(rf"^{line}\t.*{NEW}|^{line - 1}\t.*\n.*{NEW}", sent["reread"][0], re.M)
    assert numbered, "its line is numbered, or the one before it"
    assert HEAD.search(sent["records"][0]) and not sent["records"][1]
    assert sent["broken"][1] and sent["broken"][0].startswith("no connection to the records\n" * 40)
    assert sent["fetched"] == ("".join(log.splitlines(True)[99:110]), False)
    assert "def count_voyage(path, limit=36):\n" in sent["sought"][0] and not sent["sought"][1], "a search for a purpose finds its place"
    assert sent["off"][0].split() == [str(n) for n in range(1, 501)]
    sub = results(scripted.subs[-1])["sub"][0]
    assert rows(sub) & first, "a subagent was shown nothing before"
    assert len(scripted.summaries) == 1
    assert "fresh" not in early and rows(sent["fresh"][0]) == rows(sent["log"][0]), "a compaction forgets what was shown"
    assert "ERROR: cannot link beacon" in sent["fresh"][0]
    assert sent["alone"][0].strip() == log.strip() and "«" not in sent["alone-read"][0], "without the daemon the raw output stands"
    for part in (scripted.requests[:scripted.summaries[0]], scripted.requests[scripted.summaries[0]:], scripted.subs):
        for earlier, later in pairwise(part):
            old = bare(earlier["messages"])
            assert bare(later["messages"])[:len(old)] == old, "what was sent is never rewritten"
            assert later["system"] == earlier["system"] and later["tools"] == earlier["tools"]
