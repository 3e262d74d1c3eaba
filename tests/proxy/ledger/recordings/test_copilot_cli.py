"""Events of Copilot CLI."""
from __future__ import annotations

import json
from pathlib import Path

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import read_file
from byref.proxy.ledger.trajectories import Trajectory


def event(kind: str, **data: Json) -> Json:
    return {"type": kind, "data": data, "timestamp": "2026-03-01T10:00:00Z", "id": "e1", "parentId": None}


def asked(text: str, *calls: str) -> Json:
    return event("assistant.message", messageId=text, content=text, reasoningText="hm", outputTokens=42, toolRequests=[
        {"toolCallId": key, "name": "bash", "type": "function", "arguments": {"command": key}} for key in calls])


ROWS: list[Json] = [
    event("session.start", sessionId="s1", version=1), event("session.tools_updated", model="claude-sonnet-4.6", tools=[]),
    event("user.message", content="mend the parser", transformedContent="<now/>mend the parser"), event("assistant.turn_start", turnId="0"),
    asked("I look.", "c1", "c2"), event("tool.execution_start", toolCallId="c1", toolName="bash", arguments={"command": "c1"}),
    event("tool.execution_complete", toolCallId="c2", success=False, error={"message": "denied", "code": "denied"}),
    event("tool.execution_complete", toolCallId="c1", success=True, result={"content": "error in parse_header", "detailedContent": "long"}),
    asked("parse_header it is"), event("assistant.turn_end", turnId="0")]


def read(path: Path, rows: list[Json]) -> tuple[list[Trajectory], list[str]]:
    told: list[str] = []
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return list(read_file(str(path), told.append)), [fault.replace(str(path), "") for fault in told]


def test_calls_have_the_results_that_the_model_saw(tmp_path: Path) -> None:
    (found,), told = read(tmp_path / "events.jsonl", ROWS)
    assert told == [] and (found.id, found.source, found.task, found.model) == ("s1", "Copilot CLI", "mend the parser", "claude-sonnet-4.6")
    assert [(t.tool, t.arguments, t.output, t.is_error) for t in found.turns] == [
        ("bash", {"command": "c2"}, "denied", True), ("bash", {"command": "c1"}, "error in parse_header", False)]
    assert found.requests() == [1, 1] and found.turns[0].next_action == "parse_header it is" and "I look." in found.first_action


def test_what_follows_a_compaction_is_another_context(tmp_path: Path) -> None:
    after = [event("session.compaction_complete", success=True), asked("On.", "c3"),
             event("tool.execution_complete", toolCallId="c3", success=True, result={"content": "ok"})]
    found, told = read(tmp_path / "events.jsonl", [*ROWS, *after])
    assert told == [] and [(one.id, len(one.turns)) for one in found] == [("s1", 2), ("s1#2", 1)]


def test_what_is_no_event_is_told_and_an_empty_session_is_not(tmp_path: Path) -> None:
    assert read(tmp_path / "events.jsonl", ROWS[:2]) == ([], [])
    assert read(tmp_path / "events.jsonl", [*ROWS, {"a": 1}])[1] == [":11: an object that is no part of the file's format"]
