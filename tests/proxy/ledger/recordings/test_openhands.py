"""Events of OpenHands: those of its versions to 0.62 and of the agent SDK, in the forms that each writes."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import read_file
from byref.proxy.ledger.recordings.openhands import SHOWN
from byref.proxy.ledger.trajectories import Trajectory, Usage

USED: Json = {"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 60}}


def acted(number: int, action: str, answer: str, thought: str = "", **given: Json) -> dict[str, Json]:
    return {"id": number, "timestamp": "t", "source": "agent", "action": action, "args": {**given, "thought": thought},
            "tool_call_metadata": {"function_name": "execute_bash", "tool_call_id": f"c{number}", "total_calls_in_response": 1,
                                   "model_response": {"id": answer, "model": "gpt-5", "choices": [], "usage": USED}}}


def observed(number: int, cause: int, content: str, kind: str = "run", **metadata: Json) -> dict[str, Json]:
    return {"id": number, "timestamp": "t", "source": "agent", "message": "Command executed", "cause": cause, "observation": kind,
            "content": content, "extras": {"command": "make", "metadata": metadata}}


OLDER: list[dict[str, Json]] = [
    {"id": 0, "source": "agent", "action": "system", "args": {"content": "be brief", "tools": []}},
    {"id": 1, "source": "user", "action": "message", "args": {"content": "mend the parser", "image_urls": []}},
    {"id": 2, "source": "user", "action": "recall", "args": {"query": "mend"}},
    {"id": 3, "source": "environment", "observation": "recall", "content": "Added", "cause": 2, "extras": {}},
    acted(4, "run", "r1", "I look.", command="make"), acted(5, "read", "r1", path="a.py"),
    observed(6, 4, "error in parse_header", exit_code=2, prefix="", suffix="\n[exit code 2]"),
    observed(7, 5, "def parse_header():", "read"),
    {"id": 8, "source": "environment", "observation": "agent_state_changed", "content": "", "extras": {"agent_state": "running"}},
    {"id": 9, "source": "agent", "action": "message", "args": {"content": "parse_header it is"}}]
NEWER: list[dict[str, Json]] = [
    {"id": "e0", "source": "agent", "kind": "SystemPromptEvent", "system_prompt": {"type": "text", "text": "be brief"}, "tools": []},
    {"id": "e1", "source": "user", "kind": "MessageEvent", "llm_message": {"role": "user", "content": [
        {"type": "text", "text": "mend the parser"}]}},
    *({"id": f"a{key}", "source": "agent", "kind": "ActionEvent", "tool_name": tool, "tool_call_id": key, "llm_response_id": "r1",
       "thought": [{"type": "text", "text": thought}], "action": {"kind": "Action"},
       "tool_call": {"id": key, "name": tool, "arguments": json.dumps(given)}} for key, tool, thought, given in (
           ("c4", "terminal", "I look.", {"command": "make"}), ("c5", "read", "", {"path": "a.py"}))),
    {"id": "o4", "source": "environment", "kind": "ObservationEvent", "tool_name": "terminal", "tool_call_id": "c4", "action_id": "ac4",
     "observation": {"content": [{"type": "text", "text": "error in parse_header"}], "is_error": True, "kind": "TerminalObservation"}},
    {"id": "o5", "source": "agent", "kind": "AgentErrorEvent", "tool_name": "read", "tool_call_id": "c5", "error": "def parse_header():"},
    {"id": "s6", "source": "environment", "kind": "ConversationStateUpdateEvent", "key": "stats", "value": {}},
    {"id": "e7", "source": "agent", "kind": "MessageEvent", "llm_message": {"role": "assistant", "content": [
        {"type": "text", "text": "parse_header it is"}]}}]


def read(path: Path, text: str) -> tuple[list[Trajectory], list[str]]:
    told: list[str] = []
    path.write_text(text)
    return list(read_file(str(path), told.append)), [fault.replace(str(path), "") for fault in told]


def forms(events: list[dict[str, Json]]) -> list[str]:
    return [json.dumps(events, indent=1), "".join(json.dumps(one) + "\n" for one in events),
            json.dumps({"instance_id": "i", "history": events, "metrics": {}}) + "\n",
            json.dumps({"history": [[one, {}] for one in events]})]


@pytest.mark.parametrize("number", range(4), ids=["a list", "lines", "history", "pairs"])
def test_older_events_are_calls_and_what_the_model_saw(tmp_path: Path, number: int) -> None:
    (found,), told = read(tmp_path / "a.json", forms(OLDER)[number])
    assert told == [] and (found.source, found.task, found.model, found.system) == ("OpenHands", "mend the parser", "gpt-5", 8)
    assert [(t.tool, t.arguments, t.output, t.is_error) for t in found.turns] == [
        ("execute_bash", {"command": "make"}, "error in parse_header\n[exit code 2]", True),
        ("execute_bash", {"path": "a.py"}, "def parse_header():", False)]
    assert found.requests() == [1, 1] and found.turns[1].next_action == "parse_header it is" and found.usage == Usage(1, 40, 60, 0, 9)


@pytest.mark.parametrize("number", range(3), ids=["a list", "lines", "history"])
def test_newer_events_are_too(tmp_path: Path, number: int) -> None:
    (found,), told = read(tmp_path / "a.json", forms(NEWER)[number])
    assert told == [] and (found.source, found.task, found.system) == ("OpenHands", "mend the parser", 8)
    assert [(t.tool, t.arguments, t.output, t.is_error) for t in found.turns] == [
        ("terminal", {"command": "make"}, "error in parse_header", True), ("read", {"path": "a.py"}, "def parse_header():", True)]
    assert found.requests() == [1, 1] and found.turns[1].next_action == "parse_header it is" and "I look." in found.first_action


def test_of_a_long_text_the_model_saw_both_ends(tmp_path: Path) -> None:
    (found,), _ = read(tmp_path / "a.json", json.dumps([acted(1, "run", "r"), observed(2, 1, "a" * SHOWN + "b" * SHOWN)]))
    ends = found.turns[0].output.split("\n[... Observation truncated due to length ...]\n")
    assert ends == ["a" * (SHOWN // 2), "b" * (SHOWN // 2)]


def test_what_follows_a_condensation_is_another_context(tmp_path: Path) -> None:
    forgotten: list[dict[str, Json]] = [
        {"id": 3, "source": "agent", "action": "condensation", "args": {"forgotten_event_ids": [1]}},
        {"id": "x", "source": "environment", "kind": "Condensation", "forgotten_event_ids": ["1"]}]
    for one in forgotten:
        found, told = read(tmp_path / "a.json", json.dumps([acted(1, "run", "r"), observed(2, 1, "x"), one, acted(4, "run", "q"),
                                                            observed(5, 4, "y")]))
        assert told == [] and [[turn.output for turn in each.turns] for each in found] == [["x"], ["y"]]


def test_what_is_not_known_is_told(tmp_path: Path) -> None:
    (_,), told = read(tmp_path / "a.jsonl", "".join(json.dumps(row) + "\n" for row in [
        *NEWER, {"id": "h", "source": "agent", "kind": "HologramEvent"}, {"a": 1}]))
    assert told == [":9: an event of the kind 'HologramEvent' is not known here, and not read",
                    ":10: an object that is no part of the file's format"]
