"""The real Codex with byref in its settings, from `byref install` to `byref uninstall`, against a scripted model."""
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
from e2e.responses import Responses, shell, text, tool
from e2e.scripted import MAIN, RECORDS, SUB
from e2e.test_claude_code import CODE, LOG

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("codex")]
PROGRAM = "codex"
SETTINGS = '# mine\nmodel = "scripted"   # none that is known\nmodel_provider = "scripted"\n' \
    "model_auto_compact_token_limit = 200000\nmodel_context_window = 270000\n" \
    "tool_output_token_limit = 10000\n"  # as for the models that it knows; for others it is a quarter of that
ANSWERS = '[model_providers.scripted]\nname = "scripted"\nwire_api = "responses"\nenv_key = "SCRIPTED_KEY"\n'
TESTS = ("for i in $(seq 1 300); do echo \"tests/test_harbour.py::test_$i PASSED\"; done; "
         "echo 'FAILED tests/test_harbour.py::test_mole - AssertionError: 3 != 4'; echo '1 failed, 300 passed in 2.0s'; exit 3")
LONG = "for i in $(seq 1 2200); do echo \"sounding $i at $((i*7%311)) fathoms\"; done"
LONGER = LONG.replace("2200", "9000")


class Codex(Bench):
    """A user of Codex."""

    def __init__(self, folder: Path, found: Path) -> None:
        super().__init__(folder, ("OPENAI", "CODEX"))
        self.program, self.settings = found, self.home / ".codex"
        self.settings.mkdir()
        (self.project / "harbour.py").write_text(CODE)
        server = folder / "records.py"
        server.write_text(RECORDS)
        self.config = self.settings / "config.toml"
        self.config.write_text(f'{SETTINGS}\n{ANSWERS}\n[mcp_servers.t]\ncommand = "{sys.executable}"\nargs = ["{server}"]  # records\n')
        self.env["SCRIPTED_KEY"] = "none"

    def run(self, scripted: Responses, *words: str, trust: bool = False) -> list[Any]:
        bypass = [] if trust else ["--dangerously-bypass-hook-trust"]
        done = subprocess.run(
            [str(self.program), "exec", "--json", "--dangerously-bypass-approvals-and-sandbox", *bypass,
             "-c", f'model_providers.scripted.base_url="{scripted.url}"', *words],
            env=self.env, cwd=self.project, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT, check=False)
        assert done.returncode == 0 and not scripted.faults, (scripted.faults, done.stderr[-2000:], done.stdout[-2000:])
        return [json.loads(line) for line in done.stdout.splitlines()]

    def trust(self) -> None:
        """Trusts all hooks, as `/hooks` in the program does: their hashes by its own reckoning, in its own settings."""
        asked = [{"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "t", "version": "1"}}}, {"method": "initialized"},
                 {"id": 2, "method": "hooks/list", "params": {"cwds": [str(self.project)]}}]
        with subprocess.Popen([str(self.program), "app-server"], env=self.env, cwd=self.project, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            assert server.stdin and server.stdout
            server.stdin.write("".join(json.dumps(one) + "\n" for one in asked))
            server.stdin.flush()
            found = next(one for line in server.stdout if (one := json.loads(line)).get("id") == 2)
            server.kill()
        hooks = [hook for of in found["result"]["data"] for hook in of["hooks"]]
        assert hooks
        self.config.write_text(self.config.read_text() + "".join(
            f'\n[hooks.state."{hook["key"]}"]\ntrusted_hash = "{hook["currentHash"]}"\n' for hook in hooks))


@pytest.fixture
def codex(found: Path, tmp_path: Path) -> Iterator[Codex]:
    made = Codex(tmp_path, found)
    yield made
    made.stop()


def results(request: Any) -> dict[str, str]:
    """What the server was sent of each tool call."""
    return {one["call_id"].removeprefix("call_"): one["output"] if isinstance(one["output"], str) else
            "".join(part.get("text", "") for part in one["output"]) for one in request["input"] if one["type"].endswith("_output")}


def test_a_session_with_compaction_subagent_and_a_killed_daemon(codex: Codex) -> None:
    before, held = codex.config.read_bytes(), []
    codex.byref("install", "codex", "--yes")

    def fetch(request: Any) -> list[Any]:
        return tool("fetch", "fetched", "mcp__byref", ref=ref_in(results(request)["log"]), at="L100-110")(request)

    def poll(request: Any) -> list[Any]:
        session = re.search(r"session ID (\d+)", results(request)["slow"])
        assert session
        return tool("write_stdin", "polled", session_id=int(session[1]), yield_time_ms=5000)(request)

    def kill(request: Any) -> list[Any]:
        codex.kill()
        held.append(os.open(codex.data / "daemon.lock", os.O_RDWR))
        fcntl.flock(held[0], fcntl.LOCK_EX)  # no hook can start another one
        return shell("alone", LOG)(request)

    steps = [
        shell("log", LOG), shell("again", LOG + " | cat"), shell("fails", TESTS), shell("read", "cat harbour.py"),
        tool("records", "records", "mcp__t"), tool("records", "broken", "mcp__t", broken=True), fetch,
        tool("search", "searched", "mcp__byref", query="cannot link beacon"), shell("off", "BYREF=off seq 1 500"),
        shell("long", LONG), shell("longer", LONGER), shell("slow", f"echo start; sleep 2; {LOG}; exit 4", yield_time_ms=300), poll,
        tool("spawn_agent", "agent", "multi_agent_v1", message=f"{SUB}: read the file"), shell("wait", "sleep 4"),
        shell("full", "echo almost full"), shell("fresh", LOG), kill]
    scripted = Responses(steps, [shell("sub", "cat harbour.py"), lambda request: [text("It is a harbour.")]], full=15)
    try:
        said = codex.run(scripted, f"{MAIN}: mend garden_id in harbour.py")
    finally:
        scripted.close()
        for fd in held:
            os.close(fd)
    check(scripted, said)
    resumed = Responses([shell("resumed", LOG)], [], full=-1)
    try:
        codex.run(resumed, "resume", "--last", f"{MAIN}: build once more")
    finally:
        resumed.close()
    later = results(resumed.requests[-1])["resumed"]
    assert len(rows(later)) > 200, "a command that is repeated shows what its first view left out"
    report = json.loads(codex.byref("report", "--json"))
    assert report["net"] > 5_000 and report["tools"]["Bash"]["net"] > 0 and report["tools"]["Bash"]["fetched"] > 0
    answers = scripted.answers + resumed.answers
    assert report["messages"] == answers and report["billed"]["read"] == 300 * answers, "each answer is counted once"
    codex.byref("uninstall", "codex", "--yes")
    assert codex.config.read_bytes() == before and not (codex.settings / "hooks.json").exists()
    assert not (codex.settings / "skills" / "byref").exists()


def check(scripted: Responses, said: list[Any]) -> None:
    """What the model was sent."""
    assert len(scripted.summaries) == 1 and len(scripted.requests) >= 12
    sent = results(scripted.requests[scripted.summaries[0] - 1]) | results(scripted.requests[-1])
    log = subprocess.run(["bash", "-c", LOG], capture_output=True, text=True, check=True).stdout
    assert len(sent["log"]) < len(log) // 2 and "ERROR: cannot link beacon" in sent["log"] and sent["log"].startswith("«r")
    assert rows(sent["log"]) < set(log.splitlines()) and len(rows(sent["again"]) & rows(sent["log"])) < 3, "they were shown before"
    assert "exit 3" in sent["fails"].splitlines()[0] and "AssertionError: 3 != 4" in sent["fails"], "an event does not tell how it ended"
    assert "1 failed, 300 passed in 2.0s" in sent["fails"] and len(sent["fails"]) < 3000
    codes = {one["item"]["command"]: one["item"]["exit_code"] for one in said
             if one["type"] == "item.completed" and one["item"]["type"] == "command_execution"}
    assert any(code == 3 for command, code in codes.items() if "test_harbour" in command), "the program knows it as it was"
    assert HEAD.search(sent["read"]) and len(sent["read"]) < len(CODE)
    assert HEAD.search(sent["records"]) and len(sent["records"]) < 12_000
    assert "no connection to the records\n" * 40 in sent["broken"]
    assert "".join(log.splitlines(True)[99:110]) in sent["fetched"] and "«" not in sent["fetched"].replace("«r", "", 1)
    assert "ERROR: cannot link beacon" in sent["searched"] and "of Bash" in sent["searched"]
    assert sent["off"].endswith("".join(f"{n}\n" for n in range(1, 501))) and "exited with code 0" in sent["off"]
    assert re.search(r" of 2200 lines", sent["long"]) and "truncated" not in sent["long"], "the whole stands in the conversation's file"
    assert HEAD.search(sent["longer"]) and "Warning: truncated output" in sent["longer"], "past 64 KiB Codex itself has lost the middle"
    assert "session ID" in sent["slow"] and "exit 4" in sent["polled"].splitlines()[0]
    sub = results(scripted.subs[-1])["sub"]
    assert rows(sub) & rows(sent["read"]), "a subagent was shown nothing before"
    assert rows(sent["fresh"]) == rows(sent["log"]), "a compaction forgets what was shown"
    assert sent["alone"].endswith(log) and "exited with code 0" in sent["alone"], "without the daemon the raw output stands"
    for part in (scripted.requests[:scripted.summaries[0]], scripted.requests[scripted.summaries[0]:], scripted.subs):
        for earlier, later in pairwise(part):
            assert later["input"][:len(earlier["input"])] == earlier["input"], "what was sent is never rewritten"
    kinds = list(dict.fromkeys(json.dumps(request["tools"]) for request in scripted.requests))
    assert len(kinds) <= 2, "the program does not wait for MCP servers: on a slow machine they come after the first requests"


def test_hooks_run_once_they_are_trusted_and_doctor_says_so(codex: Codex) -> None:
    codex.byref("install", "codex", "--yes")
    assert "/hooks" in codex.byref("doctor", code=1)
    for trusted in (False, True):
        if trusted:
            codex.trust()
            assert "by the hooks in" in codex.byref("doctor")
        scripted = Responses([shell("log", LOG)], [], full=-1)
        try:
            codex.run(scripted, f"{MAIN}: build", trust=True)
        finally:
            scripted.close()
        assert bool(HEAD.search(results(scripted.requests[-1])["log"])) == trusted
    with_trust = codex.config.read_text()
    codex.byref("uninstall", "codex", "--yes")
    left = codex.config.read_text()
    assert "byref" not in left and left.count("trusted_hash") == with_trust.count("trusted_hash") and left.startswith(SETTINGS)
