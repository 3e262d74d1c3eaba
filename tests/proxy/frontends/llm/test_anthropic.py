"""Anthropic Messages: results, their calls, and the session that Claude Code names."""
from __future__ import annotations

import json

import pytest

from byref.proxy.contracts import Json
from byref.proxy.frontends.llm import anthropic
from byref.proxy.frontends.llm.reading import parse
from llm_requests import Dialog


def test_each_result_is_joined_with_its_call_and_what_was_said_before_it() -> None:
    dialog = Dialog("anthropic", "Build it.", session="0a1b2c3d-0000")
    dialog.turn([("c1", "Bash", {"command": "ls"}, "one"), ("c2", "Read", {"path": "x"}, "two")], "Look first.", failed=True)
    dialog.turn([("c3", "Bash", {"command": "make"}, "three")])
    found = anthropic.read(*parse(dialog.body(stream=True), anthropic.INTO))
    assert [(r.call_id, r.calling.tool, r.calling.said, r.is_error, r.new, [t.text for t in r.texts]) for r in found.results] == [
        ("c1", "Bash", "Look first.", True, False, ["one"]), ("c2", "Read", "Look first.", True, False, ["two"]),
        ("c3", "Bash", "", False, True, ["three"])]
    assert found.results[0].calling.arguments == {"command": "ls"}
    assert (found.task, found.system, found.session, found.stream, found.model) == (
        "Build it.", "You are an agent.", "0a1b2c3d-0000", True, "claude-sonnet-5")
    assert set(found.tools) == {"Bash", "mcp__byref__fetch"}


def test_the_tools_end_where_their_array_ends() -> None:
    body = Dialog("anthropic").body()
    text, request = parse(body, anthropic.INTO)
    ends = anthropic.read(text, request).ends
    assert json.loads(text[:ends] + ', {"name": "x"}' + text[ends:])["tools"][-1] == {"name": "x"}


@pytest.mark.parametrize(("user", "session"), [
    ("user_0a_account_1b_session_2c3d4e5f-aaaa", "2c3d4e5f-aaaa"),
    ('{"device_id":"x","session_id":"2c3d"}', "2c3d"), ("me", ""), ("[1]", ""), (None, "")])
def test_the_session_of_claude_code(user: Json, session: str) -> None:
    assert anthropic.session({"user_id": user}) == session and anthropic.session(None) == ""


def test_a_result_without_content_or_a_string_for_a_message_is_no_fault() -> None:
    body = {"messages": [{"role": "user", "content": "x"}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]}]}
    found = anthropic.read(*parse(json.dumps(body).encode(), anthropic.INTO))
    assert found.results[0].texts == () and found.results[0].calling.tool == ""
