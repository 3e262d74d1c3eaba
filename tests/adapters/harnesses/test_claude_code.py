"""Claude Code's events, as version 2.1.332 wrote them, and the shapes in which it takes outputs back."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.adapters.harnesses import claude_code
from byref.proxy.harness import Hook
from conformance.lists import ListsSuite, User

# Recorded from the program with a hook that logs; one long stdout is shortened.
EVENTS = [json.loads(line) for line in Path(__file__).with_name("claude_code_events.jsonl").read_text().splitlines()]
VIEW = "«rk7f3qmab2x 2 of 90 lines»\n", "first\n«L2-89»\nlast\n"


def hook(event: dict[str, Any]) -> Hook:
    return claude_code.parse(json.dumps(event).encode())


def returned(tool: str) -> list[dict[str, Any]]:
    return [event for event in EVENTS if event["hook_event_name"] == "PostToolUse" and event["tool_name"] == tool]


def put_back(event: dict[str, Any]) -> Any:
    """The output that the answer carries, with a view in the place of the first part and nothing in the others."""
    found = hook(event)
    texts = claude_code.returned(found)
    assert texts is not None
    views = {name: VIEW[1] if not k else "" for k, name in enumerate(texts.parts)}
    said = json.loads(claude_code.rewritten(found, VIEW[0], views))["hookSpecificOutput"]
    assert said["hookEventName"] == "PostToolUse"
    return said["updatedToolOutput"]


def test_every_recorded_event_is_understood() -> None:
    kinds = [hook(event).kind for event in EVENTS]
    assert "other" not in kinds and {"opened", "asked", "began", "returned", "failed", "forgot", "stopped", "closed"} == set(kinds)
    assert all(hook(event).session == event["session_id"] for event in EVENTS)


def test_a_compaction_forgets_and_a_resumed_session_does_not() -> None:
    started = {event["source"]: hook(event).kind for event in EVENTS if event["hook_event_name"] == "SessionStart"}
    assert started == {"startup": "opened", "compact": "forgot"}
    assert hook({"hook_event_name": "SessionStart", "source": "resume"}).kind == "opened"
    assert hook({"hook_event_name": "SessionStart", "source": "clear"}).kind == "forgot"


def test_a_subagents_calls_are_told_from_the_main_ones() -> None:
    agents = {hook(event).agent for event in returned("Read")}
    assert "" in agents and len(agents) == 2
    of = next(hook(event) for event in returned("Read") if event.get("agent_id"))
    assert claude_code.conversation(of) == f"{of.transcript[:-6]}/subagents/agent-{of.agent}.jsonl"
    assert "/../" not in claude_code.conversation(Hook("began", "s", "../../x", transcript="/a/b.jsonl"))


def test_an_event_that_is_none_is_a_value_error() -> None:
    for event in (b"", b"[]", b"no", b"\xff"):
        with pytest.raises(ValueError):
            claude_code.parse(event)
    assert claude_code.parse(b"{}").kind == "other"


@pytest.mark.parametrize("event", [e for e in EVENTS if e["hook_event_name"] == "PostToolUse"], ids=lambda e: e["tool_use_id"])
def test_texts_that_are_put_back_unchanged_change_nothing_but_what_is_said_of_cells_and_spills(event: dict[str, Any]) -> None:
    found = hook(event)
    texts = claude_code.returned(found)
    if texts is None:
        return
    said = claude_code.rewritten(found, "", texts.parts)
    if event["tool_name"] in ("Edit", "Write", "Read"):
        assert said == b"", "an edit's one line stands, and a cell round a whole file would only be longer"
    else:
        spill = ("persistedOutputPath", "persistedOutputSize")
        response = event["tool_response"]
        kept = {k: v for k, v in response.items() if k not in spill} if isinstance(response, dict) else response
        assert json.loads(said)["hookSpecificOutput"]["updatedToolOutput"] == kept


def test_a_commands_streams_are_parts_of_their_own_and_its_other_fields_stay() -> None:
    event = next(e for e in returned("Bash") if e["tool_response"]["stderr"])
    found = claude_code.returned(hook(event))
    assert found is not None and list(found.parts) == ["stdout", "stderr"] and found.exit_code == 0
    output = put_back(event)
    assert output["stdout"] == "".join(VIEW) and output["stderr"] == "" and output["interrupted"] is False
    assert set(output) == set(event["tool_response"])


def test_an_output_that_the_program_would_cut_names_the_file_that_holds_it_whole() -> None:
    event = next(e for e in returned("Bash") if "persistedOutputPath" in e["tool_response"])
    found = claude_code.returned(hook(event))
    assert found is not None and found.spilled == ("stdout", event["tool_response"]["persistedOutputPath"], 38893)
    assert found.native == claude_code.PREVIEW
    assert "persistedOutputPath" not in put_back(event), "else the program shows its preview instead of the view"


def test_failures_keep_their_exit_code_and_are_never_rewritten() -> None:
    shell, tool = (hook(e) for e in EVENTS if e["hook_event_name"] == "PostToolUseFailure")
    found, other = claude_code.returned(shell), claude_code.returned(tool)
    assert found is not None and found.exit_code == 3 and found.is_error and found.parts == {"stdout": "1\n2\n3\n4\n5\nfailing"}
    assert other is not None and other.exit_code is None and other.parts["text"].startswith("boom: ")
    assert claude_code.rewritten(shell, *VIEW[:1], {"stdout": VIEW[1]}) == b""


def test_no_code_is_made_up_where_the_program_tells_none() -> None:
    found = claude_code.returned(Hook("returned", tool="Bash", response={"stdout": "x", "stderr": "", "interrupted": True}))
    assert found is not None and found.exit_code is None
    assert claude_code.returned(Hook("returned", tool="Bash", response={"stdout": "x", "stderr": "", "backgroundTaskId": "b1"})) is None


def test_a_file_is_numbered_as_the_program_numbers_it_and_its_view_keeps_its_own_numbers() -> None:
    whole, part = returned("Read")[:2]
    text, other = (claude_code.returned(hook(e)) for e in (whole, part))
    assert text is not None and text.parts["text"].startswith('1\tdef function_0(a, b):\n2\t    """Doc of 0."""\n')
    assert other is not None and other.parts["text"].splitlines()[0] == '10\t    """Doc of 2."""'
    output = put_back(whole)
    assert output["type"] == "notebook" and output["file"]["cells"][0]["source"] == "\n" + "".join(VIEW)
    assert output["file"]["filePath"] == whole["tool_response"]["file"]["filePath"]


def test_a_page_of_a_file_says_that_there_is_more() -> None:
    file = {"filePath": "f", "content": "x\n" * 900, "numLines": 900, "startLine": 1, "totalLines": 5000, "truncatedByTokenCap": True}
    output = put_back({"hook_event_name": "PostToolUse", "tool_name": "Read", "tool_response": {"type": "text", "file": file}})
    assert output["file"]["cells"][0]["source"].endswith("[lines 1 on, 900 of 5000: Read on with an offset]\n")


def test_pictures_and_other_files_pass() -> None:
    for response in ({"type": "image", "file": {"base64": "AA"}}, {"type": "notebook", "file": {"cells": []}}, None, 5, {}):
        assert claude_code.returned(Hook("returned", tool="Read", response=response)) is None
    assert claude_code.returned(Hook("returned", tool="TodoWrite", response={"newTodos": []})) is None


def test_matches_and_names_go_into_the_fields_that_held_them() -> None:
    content, files, count = returned("Grep")
    assert put_back(content)["content"] == "".join(VIEW) and put_back(content)["numLines"] == 60
    assert put_back(files)["filenames"] == "".join(VIEW).rstrip("\n").split("\n") and put_back(files)["numFiles"] == 1
    assert put_back(count)["content"] == "".join(VIEW)
    assert put_back(returned("Glob")[0])["filenames"][0] == VIEW[0].rstrip("\n")


def test_mcp_results_stay_text_or_blocks_and_what_is_no_text_stays() -> None:
    assert put_back(returned("mcp__t__structured")[0]) == "".join(VIEW)
    two = returned("mcp__t__records")[0]
    assert [block["text"] for block in put_back(two)] == ["".join(VIEW), ""]
    picture = {"type": "image", "source": {"data": "AA"}}
    event = {"hook_event_name": "PostToolUse", "tool_name": "mcp__a__b", "tool_response": [picture, {"type": "text", "text": "x" * 900}]}
    assert put_back(event) == [picture, {"type": "text", "text": "".join(VIEW)}]


def test_a_subagents_report_is_text_and_one_in_the_background_is_none() -> None:
    launched, done = sorted(returned("Agent"), key=lambda e: str(e["tool_response"]["status"]))
    assert claude_code.returned(hook(launched)) is None
    assert put_back(done)["content"][0]["text"] == "".join(VIEW) and put_back(done)["totalTokens"] == done["tool_response"]["totalTokens"]


def test_web_pages_are_their_result() -> None:
    response = {"bytes": 9, "code": 200, "codeText": "OK", "result": "x\n" * 500, "durationMs": 3, "url": "https://example.org"}
    event = {"hook_event_name": "PostToolUse", "tool_name": "WebFetch", "tool_response": response}
    assert put_back(event) == {**response, "result": "".join(VIEW)}


def test_our_own_tools_are_known_by_their_server() -> None:
    named = {name: hook({"hook_event_name": "PostToolUse", "tool_name": name}).own for name in (
        "mcp__byref__fetch", "mcp__plugin_byref_byref__status", "mcp__byrefx__fetch", "mcp__other__fetch", "Bash")}
    assert [name for name, own in named.items() if own] == ["mcp__byref__fetch", "mcp__plugin_byref_byref__status"]


@given(st.lists(st.text(st.characters(exclude_characters="\n")), min_size=1), st.integers(1, 10_000))
def test_the_numbers_of_any_file_come_off_again(lines: list[str], start: int) -> None:
    content = "\n".join(lines) or "x"
    file = {"content": content, "startLine": start}
    found = claude_code.returned(Hook("returned", tool="Read", response={"type": "text", "file": file}))
    assert found is not None
    rows = [row.partition("\t") for row in found.parts["text"].split("\n")]
    assert "\n".join(row for _, _, row in rows) == content
    assert [int(number) for number, _, _ in rows] == list(range(start, start + len(rows)))


def line(**row: object) -> bytes:
    return json.dumps(row).encode() + b"\n"


def said(name: str, *blocks: dict[str, Any], output: int = 1) -> bytes:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 70, "output_tokens": output, "service_tier": "standard"}
    return b"".join(line(type="assistant", message={"id": name, "content": [block], "usage": usage}) for block in blocks)


TALK = (line(type="queue-operation") + line(type="user", cwd="/home/dev/project", message={"content": [
    {"type": "text", "text": "<system-reminder>\nbe brief\n</system-reminder>"}, {"type": "text", "text": "mend the beacon"}]})
    + said("m1", {"type": "text", "text": "I look."}, {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}, output=9)
    + line(type="user", message={"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]})
    + said("m2", {"type": "text", "text": "Now the tests."}, {"type": "tool_use", "id": "t2"}, {"type": "tool_use", "id": "t3"}))


def test_the_first_prompt_and_the_words_before_a_call_are_read_from_the_conversation() -> None:
    assert claude_code.task(TALK) == ("mend the beacon", "/home/dev/project")
    assert claude_code.said(TALK, "t1") == "I look." and claude_code.said(TALK[200:], "t3") == "Now the tests."
    assert claude_code.said(TALK, "t9") is None and claude_code.said(b"", "t1") is None and claude_code.task(b"{\n") == ("", "")


def test_usage_is_counted_once_a_message_and_unknown_numbers_stay_unknown() -> None:
    first, second = claude_code.spent(TALK)
    assert (first.message, first.call_ids, second.call_ids) == ("m1", ("t1",), ("t2", "t3"))
    assert first.numbers == {"input": 5, "read": 70, "output": 9}, "no field for written tokens: unknown, not 0"


def test_what_is_installed_is_found_again_whatever_python_it_names() -> None:
    for command in ("/a/python -I -S /b/hook.py claude-code --start x", "'/c d/python' -I -S /e/hook.py claude-code --wait 4 --start x"):
        added = claude_code.additions(command, command, ["/a/python", "-c", "from byref.proxy.frontends.cli import main; main()", "mcp"],
                                      project=False)
        settings, servers = added["settings.json"], added["servers"]
        assert isinstance(settings, dict) and isinstance(servers, dict)
        hooks, allowed = settings["hooks"], settings["permissions"]
        assert isinstance(hooks, dict) and isinstance(allowed, dict)
        assert all(claude_code.ours(group) for groups in hooks.values() for group in groups)  # type: ignore[union-attr]
        assert all(claude_code.ours(rule) for rule in allowed["allow"])  # type: ignore[union-attr]
        assert all(claude_code.ours(server) for server in servers["mcpServers"].values())  # type: ignore[union-attr]
    for theirs in ({"hooks": [{"type": "command", "command": "prettier"}]}, "Bash(ls)", {"command": "npx", "args": ["mcp"]}, None, {}):
        assert not claude_code.ours(theirs)


def test_the_skill_is_short_and_says_when_to_fetch_and_when_to_repeat() -> None:
    assert claude_code.SKILL.startswith("---\nname: byref\n") and len(claude_code.SKILL) < 1500
    assert "fetch" in claude_code.SKILL and "BYREF=off" in claude_code.SKILL


def test_a_session_s_start_and_a_compaction_wait_for_the_daemon() -> None:
    added: Any = claude_code.additions("quick", "patient", ["byref"], project=False)
    hooks = added["settings.json"]["hooks"]
    waiting = {event for event, groups in hooks.items() for group in groups for hook in group["hooks"] if hook["command"] == "patient"}
    assert waiting == {"SessionStart", "PreCompact"}


class TestLists(ListsSuite):
    NAME, PATH, PROJECT, FLAGS = "claude-code", ".claude.json", ".mcp.json", ("--mcp",)
    TEXT = json.dumps({
        "numStartups": 7, "mcpServers": {
            "shared": {"type": "stdio", "command": "npx", "args": ["-y", "server"], "env": {}},
            "api": {"type": "http", "url": "${BASE:-https://api.example.com}/mcp", "headers": {"Authorization": "Bearer ${KEY}"}},
            "notion": {"type": "http", "url": "https://mcp.example.com/mcp"}, "asana": {"type": "sse", "url": "https://x.example.com/sse"},
            "helped": {"type": "http", "url": "https://y.example.com/mcp", "headersHelper": "get-headers"},
            "byref": {"type": "stdio", "command": "/p/python", "args": ["-P", "-c", "from byref.proxy.frontends.cli import main; main()",
                                                                        "mcp"]}},
        "projects": {"/home/dev/project": {"allowedTools": [], "mcpServers": {"local": {"command": "uvx", "args": ["git"]}}},
                     "/home/dev/other": {"mcpServers": {}, "history": [{"display": "wrap it"}]}}}, indent=2)
    WRAPPED, LEFT = ("shared", "api", "local"), ("notion", "asana", "helped", "byref")
    THEIRS = ('"numStartups": 7', '"numStartups": 8')

    def test_hooks_come_and_go_beside_it(self, user: User, file: Path) -> None:
        user("install", "claude-code", "--yes")
        hooked = file.read_text()
        user("install", "claude-code", "--mcp", "--yes")
        user("uninstall", "claude-code", "--mcp", "--yes")
        assert file.read_text() == hooked
        user("install", "claude-code", "--mcp", "--yes")
        user("uninstall", "claude-code", "--yes")
        assert '"wrap"' in file.read_text()
        user("uninstall", "claude-code", "--mcp", "--yes")
        assert json.loads(file.read_text()) == json.loads(self.TEXT) | {"mcpServers": {
            name: entry for name, entry in json.loads(self.TEXT)["mcpServers"].items() if name != "byref"}}


def test_a_moved_folder_holds_the_list() -> None:
    assert claude_code.user_files("/u", "/x", "linux", {"CLAUDE_CONFIG_DIR": "/c"}.__getitem__) == ("/c/.claude.json",)
