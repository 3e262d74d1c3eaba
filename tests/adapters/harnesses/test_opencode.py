"""OpenCode's outputs, as 1.18.33 gave them to a plugin, the plugin itself, and lists of MCP servers as versions 2 and 1 write them."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from byref.adapters.harnesses import opencode
from byref.proxy.frontends import install
from byref.proxy.harness import Hook, Returned
from conformance.lists import ListsSuite, User

# Recorded from the program with a plugin that logs; long outputs are shortened in the middle.
EVENTS = [json.loads(line) for line in Path(__file__).with_name("opencode_events.jsonl").read_text().splitlines()]
VIEW = "«rk7f3qmab2x exit 3: 2 of 90 lines»\n", "first\n«L2-89»\nlast\n"
LOG = "".join(f"step {n} of the build, object {n * 37 % 500}\n" for n in range(900)) + "ERROR: cannot link beacon\n"


def event(call: str) -> dict[str, Any]:
    return next(dict(one) for one in EVENTS if one["call"] == f"toolu_{call}")


def hook(given: dict[str, Any]) -> Hook:
    return opencode.parse(json.dumps(given).encode())


def taken(call: str) -> Returned:
    found = opencode.returned(hook(event(call)))
    assert found is not None
    return found


def put_back(call: str, **views: str) -> Any:
    return json.loads(opencode.rewritten(hook(event(call)), VIEW[0], views))


def test_a_command_has_the_exit_code_that_the_program_keeps_to_itself() -> None:
    assert taken("fails").exit_code == 3 and taken("fails").parts["stdout"].endswith("300\nbad\n")
    assert put_back("fails", stdout=VIEW[1]) == {"output": "".join(VIEW)}
    assert taken("slow").exit_code is None and taken("slow").parts == {"stdout": "start\n"}
    assert put_back("slow", stdout=VIEW[1])["output"].startswith("".join(VIEW) + "\n\n<shell_metadata>"), "what ended it stands"


def test_an_output_that_the_program_cut_lies_whole_in_a_file() -> None:
    part, path, size = taken("huge").spilled
    assert part == "stdout" and path.startswith("/home/dev/.local/share/opencode/tool-output/") and size == 231000
    assert taken("huge").native == len(event("huge")["output"])


def test_what_stands_round_a_file_stays() -> None:
    text = taken("read").parts["text"]
    assert text.startswith("1: def f0(a):\n2: ") and "<" not in text and "Showing" not in text
    output = put_back("read", text=VIEW[1])["output"]
    assert output.startswith("<path>/home/dev/project/big.py</path>\n<type>file</type>\n<content>\n" + "".join(VIEW))
    assert output.endswith("\n\n(Showing lines 1-2000 of 2700. Use offset=2001 to continue.)\n</content>")


def test_texts_that_are_put_back_unchanged_change_nothing() -> None:
    for given in EVENTS:
        found = opencode.returned(hook(given))
        if found is None:
            assert given["tool"] in ("todowrite",)
        elif given["tool"] == "edit":
            assert opencode.rewritten(hook(given), "", found.parts) == b"", "an edit's one line stands"
        else:
            said = json.loads(opencode.rewritten(hook(given), "", found.parts))
            assert said == ({"texts": [block["text"] for block in given["content"]]} if "content" in given else {"output": given["output"]})


def test_mcp_results_stay_blocks() -> None:
    texts = [{"type": "text", "text": "x" * 900}, {"type": "text", "text": "y"}]
    given = event("rec") | {"content": [{"type": "image", "data": "AA"}, *texts]}
    found = opencode.returned(hook(given))
    assert found is not None and found.parts == {"text": "x" * 900, "text2": "y"}
    assert json.loads(opencode.rewritten(hook(given), VIEW[0], {"text": VIEW[1]})) == {"texts": ["".join(VIEW), "y"]}


def test_instructions_pass_and_our_own_tools_are_known() -> None:
    for tool in ("skill", "todowrite", "question"):
        assert opencode.returned(hook({"type": "returned", "tool": tool, "output": "x" * 900})) is None
    assert hook({"type": "began", "tool": "byref_fetch"}).own and not hook({"type": "began", "tool": "bash"}).own


def test_failures_are_stored_and_never_rewritten() -> None:
    failed = hook({"type": "failed", "tool": "read", "error": "File not found: x", "call": "c"})
    assert failed.kind == "failed" and opencode.returned(failed) == Returned({"text": "File not found: x"}, is_error=True)
    assert opencode.rewritten(failed, VIEW[0], {"text": VIEW[1]}) == b""


def test_what_a_message_cost_comes_with_an_event() -> None:
    tokens = {"input": 700, "output": 30, "reasoning": 0, "cache": {"read": 300, "write": 0}}
    billed = hook({"type": "billed", "session": "s", "info": {"id": "msg_1", "tokens": tokens}, "calls": ["toolu_a"]})
    (spent,) = opencode.spent(billed.text.encode())
    assert billed.kind == "billed" and spent.message == "msg_1" and spent.call_ids == ("toolu_a",)
    assert spent.numbers == {"input": 700, "read": 300, "output": 30}
    assert opencode.spent(b'{"info": {"id": "x", "tokens": {"input": 0}}}') == [] and opencode.spent(b"{}") == []


def test_what_is_no_event_is_a_value_error() -> None:
    for given in (b"", b"[]", b"no", b"\xff"):
        with pytest.raises(ValueError):
            opencode.parse(given)
    assert opencode.parse(b"{}").kind == "other"


PLAYED = """
const { Byref } = await import(process.argv[2])
const plugin = await Byref({ directory: process.argv[3] }), session = { sessionID: "ses_1" }, config = {}
const output = { output: process.argv[4], metadata: { exit: 0 } }
await plugin.config?.(config)
await plugin["chat.message"]?.(session, { parts: [{ type: "text", text: "build it" }] })
const call = { ...session, callID: "call_1", tool: "bash" }, args = { command: "make" }
await plugin["tool.execute.before"]?.(call, { args })
await plugin["tool.execute.after"]?.({ ...call, args }, output)
console.log(JSON.stringify({ output: output.output, config }))
"""


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Callable[..., Any]]:
    """Installs the plugin for a user, and runs it as the program would: in Node, which speaks what the program's Bun speaks."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("the plugin is run with Node, which is not here")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BYREF_HOME", str(tmp_path / "byref"))
    for name in ("XDG_CONFIG_HOME", "OPENCODE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    User(tmp_path, capfd)("install", "opencode", "--yes")
    script, plugin = tmp_path / "play.mjs", tmp_path / "byref.mjs"
    script.write_text(PLAYED)

    def run(change: Callable[[str], str] = str, **env: str) -> Any:
        plugin.write_text(change((tmp_path / ".config" / "opencode" / "plugins" / "byref.js").read_text()))
        done = subprocess.run([node, str(script), str(plugin), str(tmp_path), LOG], env=os.environ | env, capture_output=True, text=True,
                              timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    yield run
    subprocess.run([sys.executable, "-m", "byref.proxy.frontends.serve", "--stop"], env=os.environ, capture_output=True, check=False)


def test_the_plugin_starts_the_daemon_and_shows_its_views(play: Callable[..., Any], tmp_path: Path) -> None:
    first = play(BYREF_HOOK_WAIT="30")
    assert first["output"].startswith("«r") and "ERROR: cannot link beacon" in first["output"] and len(first["output"]) < len(LOG) // 4
    assert first["config"] == {"mcp": {"byref": {"type": "local", "command": install.SERVER}}}
    assert play(BYREF_HOOK_WAIT="30")["output"] == first["output"], "of one call the first bytes stay"
    assert not (tmp_path / "byref" / "byref.log").read_text()


def test_the_raw_output_stands_where_it_is_off_or_no_daemon_comes(play: Callable[..., Any], tmp_path: Path) -> None:
    off = play(BYREF="off")
    assert (off["output"], off["config"]) == (LOG, {})
    assert play(lambda text: text.replace(json.dumps(sys.executable)[1:-1], "/gone"))["output"] == LOG
    (tmp_path / "byref").mkdir(exist_ok=True)
    deaf = ("import socket, sys, time; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(9); print(flush=True); "
            "time.sleep(60)")
    with subprocess.Popen([sys.executable, "-c", deaf, str(tmp_path / "byref" / "daemon.sock")], stdout=subprocess.PIPE) as server:
        assert server.stdout and server.stdout.readline()
        assert play()["output"] == LOG, "one that gives no answer holds up nothing"
        server.kill()
    assert "no answer in time" in (tmp_path / "byref" / "byref.log").read_text()


def test_the_plugin_is_all_that_is_installed_and_goes_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                            capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BYREF_HOME", str(tmp_path / "byref"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("OPENCODE_CONFIG_DIR", raising=False)
    user, folder = User(tmp_path, capfd), tmp_path / "xdg" / "opencode"
    assert "+export const Byref" in user("install", "opencode", "--yes")
    assert "already" in user("install", "opencode", "--yes")
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert files == ["plugins/byref.js", "skills/byref/SKILL.md"]
    assert not any(sign in (folder / opencode.PLUGIN).read_text() for sign in ("@CLIENT@", "@HOOK@", "@PATIENT@", "@SERVER@"))
    text = (folder / opencode.PLUGIN).read_text()
    (folder / opencode.PLUGIN).write_text(text.replace("TICK = ", "TICK = 1"))
    assert "not that of this byref" in user("doctor", code=1)
    (folder / opencode.PLUGIN).unlink()
    assert "there no more" in user("doctor", code=1)
    user("install", "opencode", "--yes")
    user("uninstall", "opencode", "--yes")
    assert not (tmp_path / "xdg").exists()
    assert opencode.user_folder("/u", {"OPENCODE_CONFIG_DIR": "/d"}.get) == "/d"  # type: ignore[arg-type]


class TestOpenCode(ListsSuite):
    NAME, PATH, PROJECT = "opencode", ".config/opencode/opencode.jsonc", "opencode.jsonc"
    FLAGS = ("--mcp",)
    TEXT = '''{
  "$schema": "https://opencode.ai/config.json",
  "model": "provider/model",
  "mcp": {
    "timeout": 5000,
    "servers": {
      // started by OpenCode
      "everything": {
        "type": "local",
        "command": ["npx", "-y", "@modelcontextprotocol/server-everything"],
        "environment": { "LOG_LEVEL": "{env:LEVEL}" },
        "disabled": true,
      },
      "remote": {
        "type": "remote",
        "url": "https://mcp.example.com/mcp", // the team's
        "headers": { "Authorization": "Bearer {env:TOKEN}" },
        "oauth": false,
      },
      "context7": { "type": "remote", "url": "https://mcp.example.org/mcp" },
      "registered": { "type": "remote", "url": "https://mcp.example.net/mcp", "oauth": { "clientId": "c" } },
    },
  },
}
'''
    WRAPPED, LEFT = ("everything", "remote"), ("context7", "registered")
    THEIRS = ('"provider/model"', '"provider/other"')


class TestOpenCode1(TestOpenCode):
    PATH, PROJECT = ".config/opencode/opencode.json", "opencode.json"
    TEXT = '''{
  "model": "provider/model",
  "mcp": {
    "everything": { "type": "local", "command": ["npx", "-y", "server"], "enabled": true },
    "remote": { "type": "remote", "url": "http://127.0.0.1:8000/mcp", "enabled": false },
    "jira": { "enabled": true } // the organisation's own
  }
}
'''
    WRAPPED, LEFT = ("everything", "remote"), ("jira",)


def test_further_files_are_named_by_the_environment() -> None:
    told = {"XDG_CONFIG_HOME": "/x", "OPENCODE_CONFIG": "/one.json", "OPENCODE_CONFIG_DIR": "/d"}.get
    found = opencode.user_files("/u", "/s", "linux", lambda name: told(name) or "")
    assert found == ("/x/opencode/opencode.json", "/x/opencode/opencode.jsonc", "/d/opencode.json", "/d/opencode.jsonc", "/one.json")
    assert opencode.user_files("/u", "/s", "darwin", lambda name: "")[0] == "/u/.config/opencode/opencode.json"


def test_a_server_of_version_1_that_is_called_servers_is_one() -> None:
    for server in ({"type": "local", "command": ["x"]}, {"type": "remote", "url": "http://localhost/mcp"}):
        assert list(opencode.lists({"mcp": {"servers": server}})) == [("mcp",)]
