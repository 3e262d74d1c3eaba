"""Files are told apart by what is in them; what cannot be read is named with file and line, and never ends a run."""
from __future__ import annotations

import json
import resource
from pathlib import Path

import pytest

from byref.proxy import discover
from byref.proxy.ledger.reading import files, formats, read_file

ROW = {"id": "1", "source": "s", "task": "t", "turns": [{"tool": "Bash", "args": {}, "output": "x", "next_action": "y"}]}


def read(path: Path, data: bytes | str) -> tuple[list[str], list[str]]:
    """The ids of what was found, and what was told, without the file's name."""
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    told: list[str] = []
    return [one.id for one in read_file(str(path), told.append)], [text.replace(str(path), "") for text in told]


def test_each_format_of_the_folder_is_one() -> None:
    assert set(formats()) == set(discover.names("recordings")) >= {"byref", "claude_code", "codex", "openai", "anthropic", "swe_agent"}


@pytest.mark.parametrize(("data", "told"), [
    ("", ": empty"), ("\n \n", ""), ("not JSON at all", ":1: no JSON"), ('{"a": 1}\n', ": no format that is known"), ("[1, 2]", ""),
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


def test_text_that_is_not_utf_8_is_read(tmp_path: Path) -> None:
    found, told = read(tmp_path / "a.jsonl", json.dumps(ROW).encode().replace(b'"x"', b'"\xff"') + b"\n")
    assert (found, told) == (["1"], [])


def test_a_file_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    assert list(read_file(str(tmp_path / "none.jsonl"), told.append)) == []
    assert told == [f"{tmp_path / 'none.jsonl'}: No such file or directory"]


def test_of_a_folder_all_that_could_be_recordings_are_meant(tmp_path: Path) -> None:
    for name in ("b/2.jsonl", "a/1.traj", "a/x.txt", "c.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [Path(name).name for name in files([str(tmp_path), "other.log"])] == ["c.json", "1.traj", "2.jsonl", "other.log"]


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
