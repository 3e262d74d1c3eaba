"""Hook events in, answers out: what a harness is told to show, and when it is left alone."""
from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import byref
from byref.proxy import config
from byref.proxy.contracts import Store
from byref.proxy.errors import ConfigError
from byref.proxy.frontends import hooks
from byref.proxy.frontends.wrapping import open_session
from byref.proxy.ledger.report import report
from byref.proxy.text import estimate

LOG = "".join(f"2026-01-01 step {i} of the build: object file {i * 37 % 500}.o written\n" for i in range(600))
LOG += "ERROR: cannot link beacon\n"
CODE = "".join(f"def handler_{i}(request, account):\n    total = account.ledger_{i}.sum()\n    return total + request.amount * {i}\n\n"
               for i in range(90))


class Talk:
    """One conversation of the harness with a gateway."""

    def __init__(self, gateway: byref.Gateway, folder: Path, session: str = "s1", agent: str = "") -> None:
        self.gateway, self.calls = gateway, 0
        self.transcript = folder / f"{session}.jsonl"
        self.base = {"session_id": session, "cwd": str(folder), "transcript_path": str(self.transcript)}
        self.base |= {"agent_id": agent} if agent else {}

    def tell(self, name: str, **fields: object) -> bytes:
        return hooks.answer(self.gateway, "claude-code", json.dumps({**self.base, "hook_event_name": name, **fields}).encode())

    def call(self, tool: str, arguments: object, response: object, call_id: str = "", begin: bool = True) -> Any:
        """What the model is shown instead of the response; None where the raw output stands."""
        self.calls += 1
        event = {"tool_name": tool, "tool_input": arguments,
                 "tool_use_id": call_id or f"t{self.calls}{self.base.get('agent_id', '')}"}
        if begin:
            assert self.tell("PreToolUse", **event) == b"", "nothing is said before a call"
        said = self.tell("PostToolUse", **event, tool_response=response)
        return json.loads(said)["hookSpecificOutput"]["updatedToolOutput"] if said else None

    def bash(self, command: str, output: str, **named: Any) -> str | None:
        found = self.call("Bash", {"command": command}, {"stdout": output, "stderr": "", "interrupted": False}, **named)
        return None if found is None else found["stdout"]

    def read(self, content: str = CODE, **named: Any) -> str | None:
        file = {"filePath": "handlers.py", "content": content, "numLines": content.count("\n") + 1, "startLine": 1, "totalLines": 9}
        found = self.call("Read", {"file_path": "handlers.py"}, {"type": "text", "file": file}, **named)
        return None if found is None else found["file"]["cells"][0]["source"]


@pytest.fixture
def gateway() -> Iterator[byref.Gateway]:
    with byref.open() as made:
        yield made


@pytest.fixture
def talk(gateway: byref.Gateway, tmp_path: Path) -> Talk:
    return Talk(gateway, tmp_path)


def asked(prompt: str, folder: Path) -> str:
    return json.dumps({"type": "user", "message": {"content": prompt}, "cwd": str(folder)}) + "\n"


def outputs(gateway: byref.Gateway, folder: Path) -> int:
    return len(gateway.store.recent(config.scope_here(str(folder))))


def test_a_long_output_becomes_a_view_that_can_be_fetched_from_the_projects_scope(talk: Talk, tmp_path: Path) -> None:
    shown = talk.bash("make", LOG)
    assert shown and len(shown) < len(LOG) / 2 and "ERROR: cannot link beacon" in shown
    with byref.open() as other:
        page = other.session("x", scope=config.scope_here(str(tmp_path))).fetch(shown[1:12], max_tokens=None)
    assert page.data == LOG.encode(), "every byte, from another process too"


def test_a_small_output_passes_and_is_kept(talk: Talk, gateway: byref.Gateway, tmp_path: Path) -> None:
    assert talk.bash("date", "Mon\n") is None
    assert outputs(gateway, tmp_path) == 1


def test_the_same_call_gets_the_same_bytes_for_ever(talk: Talk, gateway: byref.Gateway, tmp_path: Path) -> None:
    first = talk.bash("make", LOG, call_id="t")
    assert talk.bash("make", LOG, call_id="t") == first
    with byref.open() as other:
        assert Talk(other, tmp_path).bash("make", LOG, call_id="t") == first, "also after the daemon was started again"


def test_what_was_shown_collapses_until_a_compaction_and_an_agent_was_shown_nothing(talk: Talk, tmp_path: Path) -> None:
    first = talk.read()
    content = CODE.replace("amount * 40\n", "amount * 4040\n")
    second = talk.read(content)
    assert second is not None and "amount * 4040" in second and (first is None or len(second) < len(first) / 2)
    agent = Talk(talk.gateway, tmp_path, agent="a1").read(content)
    talk.tell("PreCompact", trigger="auto")
    talk.tell("SessionStart", source="compact")
    third = talk.read(content)
    for anew in (agent, third):
        assert anew is None or "handler_1(" in anew, "it has to be told all of it"
    assert "handler_1(" not in second


def test_a_resumed_conversation_goes_on_where_it_was(talk: Talk, tmp_path: Path) -> None:
    talk.read()
    with byref.open() as other:
        later = Talk(other, tmp_path)
        later.calls = 10
        later.tell("SessionStart", source="resume")
        second = later.read()
    assert second is not None and "handler_1(" not in second


def test_a_file_that_is_read_again_names_what_changed_since(talk: Talk) -> None:
    talk.read()
    second = talk.read(CODE.replace("amount * 40\n", "amount * 4040\n"))
    assert second is not None
    data = [line for line in second.splitlines() if line and not line.startswith("«")]
    assert [line for line in data if "4040" in line] == ["163\t    return total + request.amount * 4040"]
    assert len(data) < 90, "the rest stands in the first view, or did not fit into it"


def test_calls_of_one_turn_hide_nothing_from_one_another(talk: Talk) -> None:
    for name in ("t1", "t2"):
        talk.tell("PreToolUse", tool_name="Bash", tool_input={"command": "make"}, tool_use_id=name)
    first = talk.bash("make", LOG, call_id="t1", begin=False)
    assert talk.bash("make", LOG, call_id="t2", begin=False) == first


def test_a_call_that_nobody_saw_begin_is_shown_all(talk: Talk) -> None:
    first, second = talk.bash("make", LOG), talk.bash("make ", LOG, begin=False)
    assert first is not None and second is not None and second[12:] == first[12:]


def test_second_calls_pass_untouched_and_unstored(talk: Talk, gateway: byref.Gateway, tmp_path: Path) -> None:
    for command in ("byref fetch rk7f3qmab2x L1-900", "cd /x && byref run -- make", "BYREF=off make", "cd a && BYREF=0 make"):
        assert talk.bash(command, LOG) is None
    assert talk.call("mcp__byref__fetch", {"ref": "r"}, [{"type": "text", "text": LOG}]) is None
    assert outputs(gateway, tmp_path) == 0
    assert talk.bash("echo BYREF=off; echo byref", LOG) is not None, "the way it came decides, never its text"


def test_the_table_off_leaves_tools_commands_and_projects_alone_at_once(talk: Talk, gateway: byref.Gateway, tmp_path: Path) -> None:
    home = Path(gateway.settings.home)
    for off in ('commands = ["make*"]', 'tools = ["Ba*"]', f'projects = ["{tmp_path}"]'):
        (home / "config.toml").write_text(f"[off]\n{off}\n")
        assert talk.bash("make", LOG) is None, off
    assert outputs(gateway, tmp_path) == 0
    (home / "config.toml").write_text('[off]\ncommands = ["cmake*"]\n')
    assert talk.bash("make", LOG) is not None
    (home / "config.toml").write_text("[off]\nnonsense = 1\n")
    assert talk.bash("make all", LOG) is not None, "a table that cannot be used switches off nothing"


def test_failures_are_kept_and_never_rewritten(talk: Talk, gateway: byref.Gateway, tmp_path: Path) -> None:
    said = talk.tell("PostToolUseFailure", tool_name="Bash", tool_input={"command": "make"}, tool_use_id="f", error=f"Exit code 2\n{LOG}")
    assert said == b""
    held = gateway.store.recent(config.scope_here(str(tmp_path)))[0].manifest
    assert held.exit_code == 2 and held.is_error and gateway.report().total.gross == 0


def test_an_output_that_the_harness_cut_is_stored_whole_and_its_view_is_no_longer_than_the_cut(talk: Talk, tmp_path: Path) -> None:
    spill = tmp_path / "spill.txt"
    whole = LOG * 3
    spill.write_text(whole)
    shown = talk.call("Bash", {"command": "make"}, {
        "stdout": whole[:30_000], "stderr": "", "interrupted": False, "persistedOutputPath": str(spill), "persistedOutputSize": len(whole)})
    assert "persistedOutputPath" not in shown and len(shown["stdout"]) <= 2_500
    page = talk.gateway.session("x", scope=config.scope_here(str(tmp_path))).fetch(shown["stdout"][1:12], max_tokens=None)
    assert page.data == whole.encode()
    found = talk.gateway.report()
    assert found.total.raw <= 700, "no more can be saved than the harness would have shown"


def test_a_file_that_is_not_what_was_said_of_it_is_not_taken(gateway: byref.Gateway, tmp_path: Path) -> None:
    (tmp_path / "short").write_text("x")
    for path in (tmp_path / "short", tmp_path / "none", Path("/dev/zero"), tmp_path):
        shown = Talk(gateway, tmp_path, path.name).call("Bash", {"command": f"make {path}"}, {
            "stdout": LOG, "stderr": "", "interrupted": False, "persistedOutputPath": str(path), "persistedOutputSize": 99_999})
        assert shown is None or "ERROR: cannot link beacon" in shown["stdout"]


def test_a_conversation_belongs_to_the_folder_where_it_started(gateway: byref.Gateway, tmp_path: Path) -> None:
    inner = tmp_path / "vendor"
    (inner / ".git").mkdir(parents=True)
    talk = Talk(gateway, tmp_path)
    talk.tell("SessionStart", source="startup")
    talk.base["cwd"] = str(inner)
    assert talk.bash("make", LOG) is not None and outputs(gateway, tmp_path) == 1
    later = Talk(gateway, tmp_path, "s2")
    later.transcript.write_text(asked("mend it", tmp_path))
    later.base["cwd"] = str(inner)
    assert later.bash("make it", LOG) is not None
    assert outputs(gateway, tmp_path) == 2, "read from the conversation where the start was missed"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Task and words of each call that is captured."""
    seen: list[tuple[str, str]] = []
    real = byref.Session.capture
    monkeypatch.setattr(byref.Session, "capture", lambda self, **named: (seen.append((self.task, named["said"])), real(self, **named))[1])
    return seen


def talked(call: str, words: str) -> str:
    blocks = [{"type": "text", "text": words}, {"type": "tool_use", "id": call, "name": "Bash", "input": {}}]
    return json.dumps({"type": "assistant", "message": {"id": "m", "content": blocks}}) + "\n"


def test_what_the_agent_said_and_was_set_to_do_reaches_the_view(talk: Talk, told: list[tuple[str, str]]) -> None:
    talk.tell("UserPromptSubmit", prompt="mend the beacon")
    talk.transcript.write_text(talked("t1", "First the build."))
    talk.bash("make", LOG)
    assert told == [("mend the beacon", "First the build.")]


def test_what_the_harness_is_about_to_write_is_waited_for(
        gateway: byref.Gateway, told: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent, written, naps = Talk(gateway, tmp_path, agent="a1"), tmp_path / "s1" / "subagents" / "agent-a1.jsonl", []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            written.parent.mkdir(parents=True)
            written.write_text(asked("find what fails", tmp_path) + talked("late", "The beacon."))

    monkeypatch.setattr(hooks.time, "sleep", sleep)
    agent.bash("make", LOG, call_id="late")
    assert told == [("find what fails", "The beacon.")] and len(naps) == 3, "a subagent's file, too"
    agent.bash("make again", LOG, call_id="never")
    agent.bash("make more", LOG, call_id="nor this")
    assert len(naps) == 4 + len(hooks.FLUSHED), "what was waited for in vain is not waited for again"
    assert told[1:] == [("find what fails", "")] * 2


def message(name: str, call: str, tokens: int) -> str:
    usage = {"input_tokens": tokens, "output_tokens": 1}
    return json.dumps({"type": "assistant", "message": {"id": name, "usage": usage, "content": [{"type": "tool_use", "id": call}]}}) + "\n"


def test_usage_is_in_the_ledger_once_a_message_by_the_call_that_it_made(talk: Talk, gateway: byref.Gateway, tmp_path: Path) -> None:
    shown = talk.bash("make", LOG)
    assert shown is not None
    talk.transcript.write_text(message("m1", "t1", 100) * 2 + message("m2", "t2", 30)[:-20])
    talk.tell("Stop")
    talk.transcript.write_text(message("m1", "t1", 100) * 2 + message("m2", "t2", 30))
    talk.tell("Stop")
    talk.tell("SessionEnd", reason="other")
    with byref.open() as other:
        Talk(other, tmp_path).tell("SessionEnd", reason="other")
        events = [event for event in other.store.events() if event.kind == "usage"]
        assert [(event.ref, event.tool, event.numbers["input"]) for event in events] == [(shown[1:12], "Bash", 100), ("", "", 30)]
        found = report(other.store.events())
        assert found.messages == 2 and found.billed == {"input": 130, "output": 2} and "2 messages" in found.text


def test_a_view_that_came_too_late_is_none_in_the_ledger(talk: Talk, gateway: byref.Gateway) -> None:
    talk.bash("make", LOG, call_id="t1")
    event = {**talk.base, "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "t1"}
    hooks.unheard(gateway, "claude-code", json.dumps(event).encode())
    for other in (b"{", b"{}", json.dumps({**event, "tool_use_id": "t9"}).encode(), json.dumps({**event, "session_id": ""}).encode()):
        hooks.unheard(gateway, "claude-code", other)
    found = report(gateway.store.events())
    assert (found.total.calls, found.total.gross, found.total.reduced) == (1, 0, 0)
    assert [event.kind for event in gateway.store.events()][2:] == ["unheard"]


def test_a_compaction_and_our_tools_are_in_the_ledger(talk: Talk, gateway: byref.Gateway, tmp_path: Path) -> None:
    talk.bash("make", LOG)
    talk.tell("PreCompact", trigger="auto")
    talk.transcript.write_text(json.dumps({"type": "assistant", "message": {"id": "m1", "usage": {"input_tokens": 9}}}) + "\n")
    talk.tell("Stop")
    held = list(gateway.store.events(config.scope_here(str(tmp_path))))
    assert [(event.session, event.kind) for event in held[2:]] == [("s1", "compacted"), ("s1", "usage")]
    assert held[-1].numbers["ours"] == 1 and report(held, definition=50).definitions == 50


def test_a_command_that_is_made_again_past_byref_is_a_repeat(talk: Talk, gateway: byref.Gateway, tmp_path: Path) -> None:
    """The way to an output as it is, of which nothing is stored: it would not have been made, had the view been complete."""
    talk.bash("make all", LOG)
    talk.bash("BYREF=off make other", LOG)
    assert report(gateway.store.events()).total.calls == 1, "nothing of ours had to do with it"
    assert talk.bash("cd . && BYREF=off  make all", LOG) is None and talk.bash("BYREF=off make all", LOG) is None
    found = report(gateway.store.events())
    assert (found.total.calls, found.total.repeats, found.total.repeated) == (2, 1, estimate(LOG)) and outputs(gateway, tmp_path) == 1
    assert found.net == -found.total.view + estimate(LOG), "of two outputs it was shown one whole, and the view"
    talk.bash("make more", LOG)
    talk.gateway.session("mcp", scope=config.scope_here(str(tmp_path))).fetch(
        gateway.store.recent(config.scope_here(str(tmp_path)), limit=1)[0].ref, "L1-2")
    talk.bash("BYREF=off make more", LOG)
    assert report(gateway.store.events()).total.repeats == 1, "it was fetched from in between"


def test_what_a_wrapped_server_gave_as_a_view_is_neither_viewed_nor_counted_again(
        talk: Talk, gateway: byref.Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s1")
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(tmp_path))
    server = open_session()
    view = server.capture(tool="git log", args={}, output=LOG, call_id="t7").text
    server.gateway.close()
    assert "«" in view and talk.call("mcp__git__log", {}, [{"type": "text", "text": view}], call_id="t7") is None
    other = talk.call("mcp__git__log", {}, [{"type": "text", "text": LOG}], call_id="t8")
    assert other is not None, "a server that nothing of ours stands before"
    found = report(gateway.store.events())
    assert found.total.calls == 2 and set(found.sessions) == {"s1"}


def test_nothing_of_ours_fails_a_call(talk: Talk, gateway: byref.Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    for event in (b"", b"{", b"[]", b"null", b'{"session_id": 5}', b'{"session_id": "s", "hook_event_name": "PostToolUse"}', b"\xff\x00"):
        assert hooks.answer(gateway, "claude-code", event) == b""
    assert hooks.answer(gateway, "no-such-harness", b"{}") == b""
    assert talk.call("Bash", "not an object", {"stdout": 5}) is None
    assert talk.call("Read", {"file_path": "x"}, {"type": "text", "file": None}) is None

    def broken(self: Store, *args: object, **named: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(type(gateway.store), "commit", broken)
    assert talk.bash("make", LOG) is None and any("RuntimeError" in fault for fault in gateway.faults.recent)
    monkeypatch.setattr(type(gateway.store), "tick", broken)
    assert talk.bash("make", LOG) is None


def test_many_conversations_at_once_keep_apart(gateway: byref.Gateway, tmp_path: Path) -> None:
    def foreign(name: str) -> list[str]:
        talk, mine = Talk(gateway, tmp_path, name), LOG.replace("step", f"step of {name}")
        shown = [talk.bash(f"make {n}", mine + f"run {n}\n") or "" for n in range(4)]
        return [line for view in shown for line in view.splitlines() if line.startswith("2026") and f"step of {name}" not in line]

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(foreign, [f"s{n}" for n in range(6)])) == [[]] * 6
    assert len(gateway.store.recent(config.scope_here(str(tmp_path)), limit=100)) == 24


def test_a_harness_without_hooks_says_nothing(gateway: byref.Gateway) -> None:
    with pytest.raises(ConfigError, match="has no hooks"):
        hooks.load("cursor")
    assert hooks.answer(gateway, "cursor", b'{"hook_event_name": "PostToolUse"}') == b""


def test_how_a_command_ended_comes_from_a_file_that_may_be_written_a_moment_later(gateway: byref.Gateway, tmp_path: Path) -> None:
    file = tmp_path / "rollout.jsonl"
    event = {"session_id": "s1", "cwd": str(tmp_path), "transcript_path": str(file), "hook_event_name": "PostToolUse", "tool_name": "Bash",
             "tool_input": {"command": "make"}, "tool_response": LOG}
    item = {"type": "CommandExecution", "exit_code": 3, "aggregated_output": LOG}

    def told(call: str) -> bytes:
        return hooks.answer(gateway, "codex", json.dumps({**event, "tool_use_id": call}).encode())

    assert told("early") == b"", "raw, with its exit code, where nothing is known of it"
    line = {"type": "event_msg", "payload": {"type": "item_completed", "item": {**item, "id": "late"}}}
    writer = threading.Timer(0.01, lambda: file.write_text(json.dumps(line) + "\n"))
    writer.start()
    view = told("late") or told("late")  # on a machine that stands still meanwhile, the first one is raw
    writer.join()
    assert "exit 3" in json.loads(view)["reason"].splitlines()[0] and "ERROR: cannot link beacon" in json.loads(view)["reason"]


def test_what_the_harness_shows_whatever_we_say_is_kept_and_saves_nothing(gateway: byref.Gateway, tmp_path: Path) -> None:
    told = {"type": "returned", "session": "o1", "folder": str(tmp_path), "args": {"path": "a"}, "output": LOG}
    for tool, call, said in (("edit", "c1", False), ("list", "c2", True)):
        answer = hooks.answer(gateway, "opencode", json.dumps({**told, "tool": tool, "call": call}).encode())
        assert bool(answer) == said
    found = report(gateway.store.events())
    assert found.tools["edit"].raw == found.tools["edit"].view and found.tools["list"].view < found.tools["list"].raw


def test_usage_that_an_event_tells_is_counted_once(gateway: byref.Gateway, tmp_path: Path) -> None:
    def told(**fields: object) -> bytes:
        return hooks.answer(gateway, "opencode", json.dumps({"session": "s1", "folder": str(tmp_path), **fields}).encode())

    def ran(call: str) -> str:
        of = {"call": call, "tool": "bash", "args": {"command": "make"}}
        told(type="began", **of)
        said = told(type="returned", output=LOG, exit=3, **of)
        return str(json.loads(said)["output"]) if said else LOG

    first = ran("c1")
    assert "exit 3" in first.splitlines()[0]
    info = {"id": "m1", "tokens": {"input": 700, "output": 30, "cache": {"read": 300, "write": 0}}}
    for _ in range(2):
        assert told(type="billed", info=info, calls=["c1"]) == b""
    billed = [one for one in gateway.store.events(config.scope_here(str(tmp_path))) if one.kind == "usage"]
    assert len(billed) == 1 and billed[0].numbers["read"] == 300 and billed[0].tool == "bash"
    assert ran("c2") != first, "it was shown before"
    told(type="compacted")
    assert ran("c3") == first, "a compaction forgets"
