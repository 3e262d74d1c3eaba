"""Files are told apart by what is in them; what cannot be read is named with file and line, and never ends a run."""
from __future__ import annotations

import json
import os
import random
import resource
import threading
from pathlib import Path

import pytest

from byref.proxy import discover
from byref.proxy.ledger import reading
from byref.proxy.ledger.reading import MOST, files, formats, read_file

ROW = {"id": "1", "source": "s", "task": "t", "turns": [{"tool": "Bash", "args": {}, "output": "x", "next_action": "y"}]}


def read(path: Path, data: bytes | str) -> tuple[list[str], list[str]]:
    """The ids of what was found, and what was told, without the file's name."""
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    told: list[str] = []
    return [one.id for one in read_file(str(path), told.append)], [text.replace(str(path), "") for text in told]


def test_each_format_of_the_folder_is_one() -> None:
    assert set(formats()) == set(discover.names("recordings")) >= {"byref", "claude_code", "codex", "openai", "anthropic", "swe_agent",
                                                                    "mini_swe_agent", "opencode", "langchain", "pydantic_ai"}


@pytest.mark.parametrize(("data", "told"), [
    ("", ": empty"), ("\n \n", ": empty"), ("not JSON at all", ":1: no JSON"), ('{"a": 1}\n', ": no format that is known"),
    ("[1, 2]", ": an object is to stand here"), (b"\x1f\x8b\x08rest", ": its packed data is damaged or cut"),
    ("{}".encode("utf-16"), ": UTF-16"),
    ("[" * 100_000, ": no JSON, or half of one: maximum recursion"), ("[\n" * 100_000, ": no JSON, or half of one: maximum recursion"),
    ("9" * 5000 + "\n", ":1: no JSON"), (b"\xef\xbb\xbf", ": empty"),
    ('{\n "messages": [\n', ": no JSON, or half of one"), (b"\x00\xff\xfe", ":1: no JSON"), ('"text"\n', ":1: an object")])
def test_what_is_no_recording_is_told_and_nothing_is_made_of_it(tmp_path: Path, data: bytes | str, told: str) -> None:
    found, faults = read(tmp_path / "a.jsonl", data)
    assert found == []
    assert all(told in fault for fault in faults) and bool(faults) == bool(told)


def test_a_bad_line_and_half_a_file_cost_their_own_lines_alone(tmp_path: Path) -> None:
    row = json.dumps(ROW)
    found, told = read(tmp_path / "a.jsonl", f"{row}\nbroken\n\n{row}\n{row[:30]}")
    assert found == ["1", "1"]
    assert [text.partition(": ")[0] for text in told] == [":2", ":5"]
    assert told[1].endswith("the file ends in the middle of this line")


def test_a_bad_first_line_does_not_hide_those_after_it(tmp_path: Path) -> None:
    found, told = read(tmp_path / "a.jsonl", "{ half\n" + json.dumps(ROW) + "\n" + json.dumps(ROW) + "\n")
    assert (found, len(told)) == (["1", "1"], 1)


def test_a_mark_of_the_byte_order_and_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    lines = "".join(json.dumps(ROW) + "\r\n" for _ in range(2))
    assert read(tmp_path / "a.jsonl", "\ufeff" + lines) == (["1", "1"], [])
    assert read(tmp_path / "a.json", "\ufeff" + json.dumps(ROW, indent=1).replace("\n", "\r\n")) == (["1"], [])


def test_documents_that_stand_one_after_another_are_read_to_the_one_that_is_cut(tmp_path: Path) -> None:
    document = json.dumps(ROW, indent=2)
    assert read(tmp_path / "a.json", f"{document}\n{document}\n") == (["1", "1"], [])
    found, told = read(tmp_path / "a.json", f"{document}\n\n{document}{document[:60]}")
    assert found == ["1", "1"]
    assert len(told) == 1 and told[0].startswith(f":{2 * document.count(chr(10)) + 3}: no JSON, or half of one")


def test_a_thousand_faults_are_counted_after_the_first_of_them(tmp_path: Path) -> None:
    found, told = read(tmp_path / "a.jsonl", "broken\n" * 1000 + json.dumps(ROW))
    assert found == ["1"] and len(told) == MOST + 1 and told[-1] == f": {1000 - MOST} more faults in this file"


def test_a_line_and_a_document_that_are_too_large_are_told_and_the_rest_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LARGEST", 1000)
    row = json.dumps(ROW)
    long = json.dumps({**ROW, "task": "x" * 5000})
    assert read(tmp_path / "a.jsonl", f"{row}\n{long}\n{row}\n") == (
        ["1", "1"], [":2: a line of more than 1000 bytes is more than is held at once"])
    assert read(tmp_path / "a.jsonl", f"{long}\n{row}\n")[0] == ["1"]
    found, told = read(tmp_path / "a.json", json.dumps({**ROW, "task": "x" * 5000}, indent=1))
    assert found == [] and "is more than is held at once" in told[0]


def test_lines_of_two_formats_in_one_file_are_told(tmp_path: Path) -> None:
    call = {"type": "function_call", "call_id": "c", "name": "shell", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c", "output": "out"}
    codex = [{"timestamp": "t", "type": "session_meta", "payload": {"id": "x"}},
             *({"timestamp": "t", "type": "response_item", "payload": item} for item in (call, result))]
    claude = [{"type": "user", "sessionId": "s", "uuid": "u", "message": {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t", "content": "out"}]}}]
    for rows, other in (([*codex, *claude], "codex"), ([*claude, *codex], "codex"), ([*claude, ROW], "claude_code"),
                        ([ROW, *codex], "codex")):
        found, told = read(tmp_path / "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        assert len(found) == 1 and any(f"a line of {other} in a file of another format is not read" in fault for fault in told)


@pytest.mark.parametrize("row", [
    {"messages": [{"type": "human", "content": "x"}, 7]}, {"messages": [{"role": "user", "content": "x"}, 7]},
    {"info": {"mini_version": "2.4.6"}, "messages": [{"role": "user", "content": "x"}, 7]},
    {"kind": "request", "parts": [{"part_kind": "text"}, 7]}, {"info": {}, "messages": [{"info": {}, "parts": []}, 7]},
    {"info": {}, "messages": [{"info": {}, "parts": [7]}]}, {"history": [{"role": "user", "agent": "main"}, 7]}])
def test_what_stands_among_messages_and_is_none_is_told(tmp_path: Path, row: object) -> None:
    found, told = read(tmp_path / "a.json", json.dumps(row, indent=1))
    assert found == [] and len(told) == 1 and told[0].endswith("is not read")


@pytest.mark.parametrize("number", range(30))
def test_damage_anywhere_raises_nothing_and_costs_at_most_its_own_lines(tmp_path: Path, number: int) -> None:
    """Lines of a real session, one value of each third line replaced by one of another type, some lines cut."""
    chosen = random.Random(number)
    lines = Path(__file__).with_name("recordings").joinpath("claude_code.jsonl").read_text().splitlines()
    hurt = [damaged(chosen, json.loads(line)) if chosen.random() < 0.3 else json.loads(line) for line in lines]
    text = "\n".join(json.dumps(row) if chosen.random() < 0.9 else json.dumps(row)[:chosen.randrange(40)] for row in hurt)
    for name in ("a.jsonl", "a.json"):
        (tmp_path / name).write_text(text if name == "a.jsonl" else json.dumps(hurt))
        for one in read_file(str(tmp_path / name), lambda fault: None):
            assert all(isinstance(turn.output, str) and isinstance(turn.tool, str) for turn in one.turns)


def damaged(chosen: random.Random, value: object) -> object:
    """The same with one value in it replaced."""
    if isinstance(value, dict) and value and chosen.random() < 0.8:
        key = chosen.choice(sorted(value))
        return {**value, key: damaged(chosen, value[key])}
    if isinstance(value, list) and value and chosen.random() < 0.8:
        at = chosen.randrange(len(value))
        return [*value[:at], damaged(chosen, value[at]), *value[at + 1:]]
    return chosen.choice([None, 7, -1.5, True, "text", [], [None], {}, {"type": 5}, [{"type": "text", "text": 3}], "\ud800"])


def test_a_file_without_a_tool_output_is_told(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    assert read(tmp_path / "a.jsonl", json.dumps({"messages": chat})) == ([], [": it is read as openai, and no tool output is in it"])
    assert read(tmp_path / "a.jsonl", json.dumps({"title": "x", "mapping": {}}))[1][0].startswith(
        ": no format that is known here: its first object holds 'title', 'mapping'. There are anthropic, ")


def test_text_that_is_not_utf_8_is_read(tmp_path: Path) -> None:
    found, told = read(tmp_path / "a.jsonl", json.dumps(ROW).encode().replace(b'"x"', b'"\xff"') + b"\n")
    assert (found, told) == (["1"], [])


def test_a_file_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    assert list(read_file(str(tmp_path / "none.jsonl"), told.append)) == []
    assert told == [f"{tmp_path / 'none.jsonl'}: No such file or directory"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_comes_out_of_a_pipe_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(json.dumps(ROW) + "\n",))
    writer.start()
    told: list[str] = []
    assert ([one.id for one in read_file(str(tmp_path / "pipe"), told.append)], told) == (["1"], [])
    writer.join()


def test_of_a_folder_all_that_could_be_recordings_are_meant(tmp_path: Path) -> None:
    for age, name in enumerate(("b/2.jsonl", "a/1.traj", "a/x.txt", "c.json")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (age, age))
    found = [Path(name).name for name in files([str(tmp_path), "other.log"])]
    assert found == ["2.jsonl", "1.traj", "c.json", "other.log"], "the oldest first: what was copied counts where it stood"
    (tmp_path / "z.json").symlink_to(tmp_path / "c.json")
    assert len(files([str(tmp_path), str(tmp_path / "c.json"), str(tmp_path)])) == 3, "each file once"


@pytest.mark.parametrize("indent", [None, 1])
def test_a_list_of_sessions_streams_and_is_read_to_the_one_that_is_broken(tmp_path: Path, indent: int | None) -> None:
    row = {**ROW, "turns": [{"tool": "Bash", "args": {}, "output": "x" * 200_000}]}
    text = json.dumps([row] * 400, indent=indent)
    (tmp_path / "a.json").write_text(text)
    sizes: list[int] = []
    stream = read_file(str(tmp_path / "a.json"), print, None, sizes.append)
    next(stream)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert sum(1 for _ in stream) == 399 and sum(sizes) == len(text)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000, "80 MB passed, and none of it stayed (KiB)"
    found, told = read(tmp_path / "a.json", text[:60_000_000])
    assert len(found) == 60_000_000 * 400 // len(text) and len(told) == 1 and "no JSON, or half of one: Unterminated string" in told[0]


def test_a_list_of_messages_is_one_session_as_far_as_it_can_be_read(tmp_path: Path) -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "sh", "arguments": "{}"}}]}
    messages = [{"role": "user", "content": "look"}, *[call, {"role": "tool", "tool_call_id": "c", "content": "out"}] * 200]
    whole = json.dumps(messages, indent=1)
    assert read(tmp_path / "a.json", whole) == ([str(tmp_path / "a.json")], [])
    (tmp_path / "b.json").write_text(whole[:-40])
    told: list[str] = []
    (found,) = read_file(str(tmp_path / "b.json"), told.append)
    assert len(found.turns) == 199 and "no JSON, or half of one" in told[0]


def test_a_folder_of_all_formats_is_read_and_what_is_none_is_told(tmp_path: Path) -> None:
    samples = Path(__file__).with_name("recordings")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "claude.jsonl").write_bytes((samples / "claude_code.jsonl").read_bytes())
    (tmp_path / "own.jsonl").write_text(json.dumps(ROW) + "\n")
    (tmp_path / "settings.json").write_text('{"model": "opus"}')
    (tmp_path / "notes.jsonl").write_text("I wrote this by hand\n")
    (tmp_path / "cut.traj").write_text('{"trajectory": [{"action": "ls", "observ')
    told: list[str] = []
    seen: set[int] = set()
    found = [one.source for path in files([str(tmp_path)]) for one in read_file(path, told.append, seen)]
    assert sorted(found) == ["Claude Code", "Claude Code", "s"]
    assert sorted(Path(fault.partition(": ")[0]).name for fault in told) == ["cut.traj", "notes.jsonl:1", "settings.json"]


@pytest.mark.parametrize("name", ["claude_code.jsonl", "codex.jsonl", "chat.json", "own.jsonl"])
def test_a_session_under_two_names_counts_once(tmp_path: Path, name: str) -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "sh", "arguments": "{}"}}]}
    chat = [{"role": "user", "content": "look"}, call, {"role": "tool", "tool_call_id": "c", "content": "out"}]
    made = {"chat.json": json.dumps(chat), "own.jsonl": (json.dumps(ROW) + "\n") * 3}
    data = made[name] if name in made else Path(__file__).with_name("recordings").joinpath(name).read_text()
    for copy in ("a", "b"):
        (tmp_path / copy).mkdir()
        (tmp_path / copy / name).write_text(data)
    told: list[str] = []
    seen: set[int] = set()
    first, second = ([len(one.turns) for one in read_file(str(tmp_path / copy / name), told.append, seen)] for copy in ("a", "b"))
    assert sum(first) and not sum(second), "and sessions of one file that are alike are no copies"
    assert [fault.partition(": ")[2] for fault in told] in ([], ["1 session that stands in another file, too: counted there"],
                                                            ["3 sessions that stand in another file, too: counted there"])


def test_a_file_of_lines_streams(tmp_path: Path) -> None:
    row = json.dumps({**ROW, "turns": [{"tool": "Bash", "args": {}, "output": "x" * 100_000}]}) + "\n"
    (tmp_path / "a.jsonl").write_text(row * 800)
    sizes: list[int] = []
    stream = read_file(str(tmp_path / "a.jsonl"), print, None, sizes.append)
    next(stream)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert sum(1 for _ in stream) == 799
    assert sum(sizes) == len(row) * 800
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000, "80 MB passed, and none of it stayed (KiB)"
