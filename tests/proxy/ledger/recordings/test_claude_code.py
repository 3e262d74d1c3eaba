"""What Claude Code writes into its projects' folder is read as it was seen and billed."""
from __future__ import annotations

import json
from pathlib import Path

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import read_file
from byref.proxy.ledger.trajectories import Trajectory, Usage


def line(kind: str, content: Json, uuid: str, **more: Json) -> str:
    message: dict[str, Json] = {"role": kind, "content": content}
    message.update({name: more.pop(name) for name in ("id", "model", "usage") if name in more})
    return json.dumps({"parentUuid": None, "isSidechain": False, "userType": "external", "cwd": "/home/dev/x", "sessionId": "s1",
                       "version": "2.1.332", "type": kind, "message": message, "uuid": uuid, **more})


def usage(output: int) -> Json:
    return {"input_tokens": 4, "cache_creation_input_tokens": 1000, "cache_read_input_tokens": 20000, "output_tokens": output,
            "service_tier": "standard"}


def use(key: str, name: str, **given: Json) -> Json:
    return [{"type": "tool_use", "id": key, "name": name, "input": given}]


def result(key: str, content: Json, **more: Json) -> Json:
    return [{"tool_use_id": key, "type": "tool_result", "content": content, **more}]


SESSION = [
    json.dumps({"type": "summary", "summary": "A title", "leafUuid": "x"}),
    json.dumps({"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}}),
    line("user", "Caveat: made by the harness", "u0", isMeta=True),
    line("user", "mend the parser", "u1"),
    line("assistant", [{"type": "thinking", "thinking": "where is it", "signature": "x"}], "u2", id="m1", model="claude-sonnet-4-5",
         usage=usage(1)),
    line("assistant", use("t1", "Grep", pattern="parse"), "u3", id="m1", model="claude-sonnet-4-5", usage=usage(40)),
    line("assistant", use("t2", "Read", file_path="a.py"), "u4", id="m1", model="claude-sonnet-4-5", usage=usage(40)),
    line("user", result("t1", "a.py:1:def parse_header():"), "u5"),
    line("user", result("t2", [{"type": "text", "text": "no such file"}, {"type": "image", "source": {}}], is_error=True), "u6"),
    line("assistant", [{"type": "text", "text": "parse_header it is"}], "u7", id="m2", model="claude-sonnet-4-5", usage=usage(9)),
]


def read(path: Path, lines: list[str], seen: set[int] | None = None) -> list[Trajectory]:
    told: list[str] = []
    path.write_text("\n".join(lines) + "\n")
    found = list(read_file(str(path), told.append, seen))
    assert told == []
    return found


def test_calls_results_and_what_the_agent_wrote_come_as_they_were(tmp_path: Path) -> None:
    (found,) = read(tmp_path / "a.jsonl", SESSION)
    assert (found.id, found.source, found.task, found.model) == ("s1", "Claude Code", "mend the parser", "claude-sonnet-4-5")
    assert [(t.tool, t.output, t.is_error, t.next_action) for t in found.turns] == [
        ("Grep", "a.py:1:def parse_header():", False, "parse_header it is"), ("Read", "no such file", True, "parse_header it is")]
    assert found.requests() == [1, 1], "both were called at once"


def test_an_answer_of_many_lines_is_billed_once(tmp_path: Path) -> None:
    (found,) = read(tmp_path / "a.jsonl", SESSION)
    assert found.usage == Usage(2, 8, 40000, 2000, 49)
    assert found.context == 21004


def test_a_sub_agent_has_a_context_of_its_own(tmp_path: Path) -> None:
    inner = [line("user", "look around", "v1", isSidechain=True, agentId="a7"),
             line("assistant", use("t9", "Bash", command="ls"), "v2", id="m9", isSidechain=True, agentId="a7"),
             line("user", result("t9", "x"), "v3", isSidechain=True, agentId="a7")]
    found = read(tmp_path / "a.jsonl", SESSION[:5] + inner + SESSION[5:])
    assert [(one.id, one.task, len(one.turns)) for one in found] == [("s1", "mend the parser", 2), ("s1/a7", "look around", 1)]


def test_what_follows_a_compaction_starts_anew(tmp_path: Path) -> None:
    after = [line("user", "This session continues: parse_header is mended", "w1", isCompactSummary=True),
             line("assistant", use("t3", "Bash", command="make"), "w2", id="m3"), line("user", result("t3", "ok"), "w3")]
    found = read(tmp_path / "a.jsonl", SESSION + after)
    assert [(one.id, len(one.turns)) for one in found] == [("s1", 2), ("s1#2", 1)]
    assert found[1].task.startswith("This session continues")


def test_what_a_resumed_session_copied_counts_once(tmp_path: Path) -> None:
    seen: set[int] = set()
    read(tmp_path / "a.jsonl", SESSION, seen)
    more = [line("assistant", use("t3", "Bash", command="make"), "w2", id="m3"), line("user", result("t3", "ok"), "w3")]
    assert [[turn.tool for turn in one.turns] for one in read(tmp_path / "b.jsonl", SESSION + more, seen)] == [["Bash"]]


def test_what_the_program_itself_wrote_is_read() -> None:
    """claude_code.jsonl: lines of a session of Claude Code 2.1.332 with byref's hooks and a scripted model, its folders renamed."""
    told: list[str] = []
    before, after = read_file(str(Path(__file__).with_name("claude_code.jsonl")), told.append)
    assert told == []
    assert [(turn.tool, turn.is_error) for turn in before.turns] == [
        ("Bash", False), ("Bash", True), ("Read", False), ("Edit", False), ("Bash", False)]
    assert before.turns[0].output.startswith("«rrjg4zkcueb 5 of 451 lines") and before.turns[0].next_action.startswith("Now Bash, fails.")
    assert before.usage == Usage(5, 994_000, 1500, 100, 150) and before.context == 1320
    assert after.task.startswith("This session is being continued") and [turn.tool for turn in after.turns] == ["Bash"]


def test_sub_agents_of_older_versions_are_told_apart_by_their_chains(tmp_path: Path) -> None:
    """Both stand in the main file, without a name: each message names the one before it."""
    def at(parent: str, text: str) -> str:
        return text.replace('"parentUuid": null', f'"parentUuid": "{parent}"')
    inner = [line("user", "look here", "v1", isSidechain=True), line("user", "look there", "w1", isSidechain=True)]
    for key, parent in (("v", "v1"), ("w", "w1")):
        inner += [at(parent, line("assistant", use(f"t{key}", "Bash", command=key), f"{key}2", id=f"m{key}", isSidechain=True)),
                  at(f"{key}2", line("user", result(f"t{key}", key), f"{key}3", isSidechain=True))]
    found = read(tmp_path / "a.jsonl", [*inner[:2], inner[2], inner[4], inner[5], inner[3]])
    assert [(one.id, one.task, [turn.output for turn in one.turns]) for one in found] == [
        ("s1/sub-agent 1", "look here", ["v"]), ("s1/sub-agent 2", "look there", ["w"])]


def test_the_programs_own_lines_are_quiet_and_what_is_wrong_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [*SESSION, json.dumps({"type": "queue-operation", "operation": "enqueue", "sessionId": "s1"}),
            json.dumps({"type": "assistant", "sessionId": "s1", "uuid": "x1", "message": "text"}),
            line("user", 5, "x2"), line("user", [{"type": "hologram"}], "x3"), json.dumps({"role": "user", "content": "hi"})]
    path.write_text("\n".join(rows))
    told: list[str] = []
    (found,) = read_file(str(path), told.append)
    assert len(found.turns) == 2
    assert [fault.replace(str(path), "") for fault in told] == [
        ":12: `message` is to be an object", ":13: content is to be a text or an array, not a number",
        ":14: a block of the type 'hologram' is not known here, and not read",
        ":15: a line of openai in a file of another format is not read: give it a file of its own"]


def test_what_it_prints_as_a_stream_is_read(tmp_path: Path) -> None:
    def row(kind: str, content: Json, uuid: str, **more: Json) -> str:
        return json.dumps({"type": kind, "message": {"role": kind, "content": content, "id": more.pop("id", None)}, "session_id": "s1",
                           "parent_tool_use_id": None, "uuid": uuid, **more})
    rows = [json.dumps({"type": "system", "subtype": "init", "session_id": "s1", "tools": ["Bash"], "uuid": "a"}),
            row("assistant", use("t1", "Bash", command="ls"), "b", id="m1"), row("user", result("t1", "x"), "c"),
            row("assistant", use("t9", "Bash", command="pwd"), "d", id="m2", parent_tool_use_id="t5", agent_id="a7"),
            row("user", result("t9", "y"), "e", parent_tool_use_id="t5", agent_id="a7"),
            json.dumps({"type": "system", "subtype": "compact_boundary", "session_id": "s1", "uuid": "f"}),
            row("user", [{"type": "text", "text": "This session continues"}], "g", isSynthetic=True),
            row("assistant", use("t2", "Bash", command="make"), "h", id="m3"), row("user", result("t2", "z"), "i"),
            json.dumps({"type": "result", "subtype": "success", "session_id": "s1", "uuid": "j", "usage": {}})]
    found = read(tmp_path / "a.jsonl", rows)
    assert [(one.id, one.task, [turn.output for turn in one.turns]) for one in found] == [
        ("s1", "", ["x"]), ("s1/a7", "", ["y"]), ("s1#2", "This session continues", ["z"])]


def test_what_the_program_wrote_for_the_user_is_no_task(tmp_path: Path) -> None:
    (found,) = read(tmp_path / "a.jsonl", [line("user", "<local-command-stdout>ok</local-command-stdout>", "y1"), *SESSION])
    assert found.task == "mend the parser"


def test_what_the_program_answered_itself_was_not_billed_and_is_no_answer_of_the_model(tmp_path: Path) -> None:
    own = line("assistant", [{"type": "text", "text": "API Error: overloaded"}], "z1", id="m9", model="<synthetic>", usage=usage(0))
    (found,) = read(tmp_path / "a.jsonl", [*SESSION, own])
    (plain,) = read(tmp_path / "b.jsonl", SESSION)
    assert (found.usage, found.model, found.turns) == (plain.usage, plain.model, plain.turns)


def test_a_prompt_in_another_ones_place_begins_a_branch(tmp_path: Path) -> None:
    """What the branch that was left had shown is in no context of what follows."""
    def at(parent: str, text: str) -> str:
        return text.replace('"parentUuid": null', f'"parentUuid": "{parent}"')
    def turn(key: str) -> list[str]:
        return [at(f"{key}0", line("assistant", use(f"t{key}", "Bash", command=key), f"{key}1", id=f"m{key}")),
                at(f"{key}1", line("user", result(f"t{key}", key), f"{key}2"))]
    rows = [*SESSION, at("u7", line("user", "now this", "a0")), *turn("a"), at("a2", line("user", "and on", "b0")), *turn("b"),
            at("u7", line("user", "now that instead", "c0")), *turn("c"), at("c2", line("user", "and on", "d0")), *turn("d"),
            at("d2", line("user", "<local-command-stdout>ok</local-command-stdout>", "e0")),
            at("d2", line("user", "more", "f0", isMeta=True))]
    found = read(tmp_path / "a.jsonl", rows)
    assert [(one.id, one.task, [turn.output for turn in one.turns][-2:]) for one in found] == [
        ("s1", "mend the parser", ["a", "b"]), ("s1#2", "now that instead", ["c", "d"])]


def test_of_a_result_that_the_program_cut_later_what_the_model_saw_counts(tmp_path: Path) -> None:
    def cut(key: str, **more: Json) -> str:
        return json.dumps({"type": "content-replacement", "sessionId": "s1", "replacements": [
            {"kind": "tool-result", "toolUseId": key, "replacement": "<persisted-output>1.2 MB</persisted-output>"}], **more})
    inner = [line("assistant", use("t9", "Bash", command="ls"), "v2", id="m9", isSidechain=True, agentId="a7"),
             line("user", result("t9", "x" * 100), "v3", isSidechain=True, agentId="a7"), cut("t1", agentId="a7"), cut("t9", agentId="a7")]
    one, other = read(tmp_path / "a.jsonl", [*SESSION[:9], cut("t2"), cut("none"), *SESSION[9:], *inner])
    assert [turn.output for turn in one.turns] == ["a.py:1:def parse_header():", "<persisted-output>1.2 MB</persisted-output>"]
    assert one.turns[1].is_error and [turn.output for turn in other.turns] == ["<persisted-output>1.2 MB</persisted-output>"]


def test_a_file_of_notes_alone_holds_no_session_and_nothing_is_wrong_with_it(tmp_path: Path) -> None:
    for row in ({"type": "summary", "summary": "A title", "leafUuid": "x"}, {"type": "custom-title", "customTitle": "x", "sessionId": "s1"},
                {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}, "isSnapshotUpdate": False},
                {"type": "queue-operation", "operation": "enqueue", "timestamp": "t", "sessionId": "s1", "content": "go"},
                {"type": "started", "key": "v2:1", "agentId": "a1"}, {"agentType": "general-purpose", "description": "look"},
                {"version": 1, "entries": []}):
        assert read(tmp_path / "a.jsonl", [json.dumps(row)]) == []
