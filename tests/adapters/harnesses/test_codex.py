"""Codex's events and its conversation's file, as version 0.171.0 wrote them, and its lists of MCP servers, in TOML."""
from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from byref.adapters.harnesses import codex
from byref.proxy.harness import Hook, Returned
from conformance.lists import ListsSuite, User

# Recorded from the program with a hook that logs.
EVENTS = [json.loads(line) for line in Path(__file__).with_name("codex_events.jsonl").read_text().splitlines()]
ROLLOUT = Path(__file__).with_name("codex_rollout.jsonl").read_bytes()
VIEW = "«rk7f3qmab2x exit 3: 2 of 90 lines»\n", "first\n«L2-89»\nlast\n"


def hook(event: dict[str, Any]) -> Hook:
    return codex.parse(json.dumps(event).encode())


def of(call: str, kind: str = "PostToolUse") -> Hook:
    return next(hook(event) for event in EVENTS if event["hook_event_name"] == kind and event.get("tool_use_id") == f"call_{call}")


def taken(call: str) -> Returned:
    found = codex.returned(of(call))
    assert found is not None
    return found


def test_every_recorded_event_is_understood() -> None:
    kinds = {event["hook_event_name"]: hook(event).kind for event in EVENTS}
    assert kinds["PreCompact"] == "forgot" and kinds["SubagentStop"] == "stopped" and kinds["SessionEnd"] == "closed"
    assert {"opened", "asked", "began", "returned", "stopped"} <= {hook(event).kind for event in EVENTS}
    assert {hook(event).session for event in EVENTS} == {EVENTS[0]["session_id"]}
    started = {event["source"]: hook(event).kind for event in EVENTS if event["hook_event_name"] == "SessionStart"}
    assert started == {"startup": "opened", "compact": "forgot"} and codex.parse(b"{}").kind == "other"
    for event in (b"", b"[]", b"no", b"\xff"):
        with pytest.raises(ValueError):
            codex.parse(event)


def test_a_subagents_calls_name_it_and_its_own_file() -> None:
    sub, main = of("x2"), of("x1")
    assert sub.agent and not main.agent and sub.agent in codex.conversation(sub) and sub.agent not in codex.conversation(main)
    stop = next(hook(event) for event in EVENTS if event["hook_event_name"] == "SubagentStop")
    assert stop.agent == sub.agent and codex.conversation(stop) == codex.conversation(sub)


def test_a_command_s_exit_code_comes_from_the_conversation_s_file() -> None:
    assert taken("fails").parts == {"stdout": "".join(f"{n}\n" for n in range(1, 101)) + "bad\n"} and taken("fails").exit_code is None
    found = codex.ended(of("fails"), taken("fails"), ROLLOUT)
    assert found is not None and found.exit_code == 3 and found.parts == taken("fails").parts
    short = codex.ended(of("short"), taken("short"), ROLLOUT[100:])
    assert short is not None and short.exit_code == 0


def test_what_the_file_does_not_say_yet_stands_raw() -> None:
    before = ROLLOUT[:ROLLOUT.index(b'"CommandExecution","id":"call_fails"')]
    assert codex.ended(of("fails"), taken("fails"), before) is None and codex.ended(of("fails"), taken("fails"), b"") is None
    running = ROLLOUT.replace(b'"exit_code":3', b'"exit_code":null')
    assert codex.ended(of("fails"), taken("fails"), running) is None
    assert codex.ended(of("rec"), taken("rec"), b"") == taken("rec"), "only a command's end stands there"


def test_an_output_that_was_cut_is_whole_in_the_file_up_to_its_limit() -> None:
    cut = taken("cut")
    assert list(cut.parts) == ["shown"] and cut.native == len(cut.parts["shown"])
    whole = codex.ended(of("cut"), cut, ROLLOUT)
    assert whole is not None and whole.parts == {"stdout": "".join(f"{n}\n" for n in range(1, 401))} and whole.native == cut.native
    item = {"type": "CommandExecution", "id": "call_lost", "exit_code": 0, "aggregated_output": "x" * codex.WHOLE}
    line = json.dumps({"type": "event_msg", "payload": {"type": "item_completed", "item": item}}).encode()
    assert len(line) < codex.TAIL // 6
    lost = codex.ended(of("lost"), taken("lost"), line)
    assert lost is not None and list(lost.parts) == ["shown"] and lost.exit_code == 0, "of a longer one the middle is lost"
    said = json.loads(codex.rewritten(of("lost"), VIEW[0], {"shown": VIEW[1]}))["reason"]
    assert said.startswith(codex.CUT) and said.endswith("".join(VIEW)), "and the view says so"


def test_a_view_takes_the_place_of_all_that_the_model_would_see() -> None:
    assert json.loads(codex.rewritten(of("fails"), VIEW[0], {"stdout": VIEW[1]})) == {"decision": "block", "reason": "".join(VIEW)}
    assert codex.rewritten(of("fails", "PreToolUse"), VIEW[0], {"stdout": VIEW[1]}) == b""
    patch = hook({"hook_event_name": "PostToolUse", "tool_name": "apply_patch", "tool_response": "Success. Updated:\nA a.txt\n"})
    found = codex.returned(patch)
    assert found is not None and codex.rewritten(patch, "", found.parts) == b"", "an edit is noted, and stands"


def test_mcp_results_are_their_texts_or_their_structured_content() -> None:
    assert list(taken("rec").parts) == ["text"] and json.loads(taken("rec").parts["text"])[0]["id"] == 0
    assert taken("struct").parts == {"structuredContent": '{"z":1,"a":[' + ",".join(['"é"'] * 40) + "]}"}
    assert codex.returned(of("pic")) is None, "a picture has no place in a text"
    blocks = [{"type": "text", "text": "one\n"}, {"type": "text", "text": "two\n"}]
    two = hook({"hook_event_name": "PostToolUse", "tool_name": "mcp__a__b", "tool_response": {"content": blocks}})
    found = codex.returned(two)
    assert found is not None and found.parts == {"text": "one\n", "text2": "two\n"}
    assert json.loads(codex.rewritten(two, "", found.parts))["reason"] == "one\ntwo\n"
    assert codex.returned(of("spawn")) is None and codex.returned(Hook("returned", tool="Bash", response="")) is None


def test_our_own_tools_are_known_by_their_server() -> None:
    named = {name: hook({"hook_event_name": "PostToolUse", "tool_name": name}).own
             for name in ("mcp__byref__fetch", "mcp__byrefx__fetch", "Bash")}
    assert [name for name, own in named.items() if own] == ["mcp__byref__fetch"]


def test_the_conversation_s_file_tells_the_task_what_was_said_and_what_it_cost() -> None:
    assert codex.task(ROLLOUT) == ("MAINTASK: look", "/home/dev/project") and codex.task(b"") == ("", "")
    assert codex.said(ROLLOUT, "call_fails") == "Now exec_command fails." and codex.said(ROLLOUT, "call_none") is None
    first, second, *_ = codex.spent(ROLLOUT)
    assert first.call_ids == ("call_short",) and second.call_ids == ("call_fails",) and first.message != second.message
    assert first.numbers == {"input": 700, "read": 300, "output": 30}, "cached tokens are not counted twice"


def test_a_part_of_the_file_is_no_fault() -> None:
    for cut in (ROLLOUT[50:-50], ROLLOUT[:300], b"\xff\n{}\n[]\nnull\n", b'{"payload": 3}\n{"payload": {"item": 4, "usage": []}}'):
        assert codex.task(cut)[0] in ("", "MAINTASK: look")
        codex.said(cut, "call_fails")
        codex.spent(cut)
        codex.ended(of("fails"), taken("fails"), cut)


def test_hooks_run_only_once_their_user_has_trusted_them() -> None:
    key = "/h/.codex/hooks.json:post_tool_use:0:0"
    trusted = tomllib.loads(f'[hooks.state."{key}"]\ntrusted_hash = "sha256:0"\n')
    assert "/hooks" in codex.waiting("/h/.codex", {}) and "/hooks" in codex.waiting("/other/.codex", trusted)
    assert codex.waiting("/h/.codex", trusted) == "" and "[features]" in codex.waiting("/h/.codex", {"features": {"hooks": False}})


def test_hooks_come_and_go_beside_the_servers_that_are_wrapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                               capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.setenv("BYREF_HOME", str(tmp_path / "byref"))
    user, file = User(tmp_path, capfd), tmp_path / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text(TestCodex.TEXT)
    user("install", "codex", "--yes")
    hooked, hooks = file.read_text(), json.loads((file.parent / "hooks.json").read_text())["hooks"]
    assert hooked.startswith(TestCodex.TEXT) and tomllib.loads(hooked)["mcp_servers"]["byref"]["args"][-1] == "mcp"
    assert set(hooks) == set(codex.EVENTS) and "hook.py codex" in hooks["PostToolUse"][0]["hooks"][0]["command"]
    user("install", "codex", "--mcp", "--yes")
    assert file.read_text().count('"wrap"') == len(TestCodex.WRAPPED)
    user("uninstall", "codex", "--mcp", "--yes")
    assert file.read_text() == hooked
    file.write_text(hooked.replace('"on-request"', '"never"') + '\n[hooks.state."x"]\ntrusted_hash = "sha256:0"\n')
    user("uninstall", "codex", "--yes")
    assert file.read_text() == TestCodex.TEXT.replace('"on-request"', '"never"') + '\n[hooks.state."x"]\ntrusted_hash = "sha256:0"\n'
    assert sorted(path.name for path in file.parent.iterdir()) == ["config.toml"]


class TestCodex(ListsSuite):
    NAME, PATH, PROJECT = "codex", ".codex/config.toml", ".codex/config.toml"
    FLAGS = ("--mcp",)
    TEXT = '''# my settings
model = "gpt-5-codex"   # the large one
approval_policy = "on-request"

[mcp_servers.context7]  # documentation
command = "npx"
args = [
  "-y",                 # no questions
  "@upstash/context7-mcp",
]
env_vars = ["LOCAL_TOKEN"]
startup_timeout_sec = 20

[mcp_servers.context7.env]
MY_ENV_VAR = "MY_ENV_VALUE"  # theirs

[mcp_servers.bare]
command = 'mcp-time'

[mcp_servers."figma files"]
url = "https://mcp.example.com/mcp"   # production
bearer_token_env_var = "FIGMA_OAUTH_TOKEN"
http_headers = { "X-Figma-Region" = "us-east-1" }
env_http_headers = { X-Team = "TEAM" }
enabled = false
tool_timeout_sec = 45.5

[mcp_servers.login]
url = "https://mcp.example.org/mcp"

[mcp_servers.registered]
url = "https://mcp.example.net/mcp"
scopes = ["read"]

[mcp_servers.elsewhere]
command = "x"
env_vars = [{ name = "TOKEN", source = "remote" }]

[profiles.fast]
model = "gpt-5-mini"
'''
    WRAPPED = ("context7", "bare", "figma files")
    LEFT = ("login", "registered", "elsewhere")
    THEIRS = ('approval_policy = "on-request"', 'approval_policy = "never"')

    def test_headers_of_variables_reach_the_server_by_name(self, user: User, file: Path) -> None:
        user("install", "codex", "--mcp", "--yes")
        entry = self.entries(file.read_text())["figma files"]
        assert entry["env_vars"] == ["FIGMA_OAUTH_TOKEN", "TEAM"] and entry["env"] == {"BYREF_HEADER_1": "us-east-1"}
        assert entry["args"][3:] == [
            "wrap", "--url", "https://mcp.example.com/mcp", "--header-env", "X-Figma-Region: BYREF_HEADER_1",
            "--header-env", "Authorization: Bearer FIGMA_OAUTH_TOKEN", "--header-env", "X-Team: TEAM"]
        assert not {"url", "bearer_token_env_var", "http_headers", "env_http_headers"} & set(entry)


def test_another_folder_is_honoured() -> None:
    assert codex.user_files("/u", "/x", "linux", {"CODEX_HOME": "/c"}.__getitem__) == ("/c/config.toml",)
    assert codex.user_files("/u", "/x", "darwin", lambda name: "") == ("/u/.codex/config.toml",)


def test_variables_that_are_no_texts_are_told() -> None:
    assert codex.listed({"url": "http://localhost/", "env_http_headers": {"A": 1}}).why
    assert codex.listed({"url": "http://localhost/", "bearer_token_env_var": 3}).why
