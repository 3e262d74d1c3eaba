"""Lines as a terminal would show them, long ones in pieces, each of which can be fetched."""
from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import byref
from byref.filters.lines import clean, split

SGR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize(("raw", "seen"), [
    ("\x1b[1;31mFAILED\x1b[0m tests", "FAILED tests"), ("\x1b]0;title\x07done", "done"),
    ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
    (" 10%\r 50%\r100%", "100%"), ("windows\r", "windows"), ("\x1b[2K\rnext", "next"), ("plain", "plain"), ("", ""), ("a\r\r", "a"),
    ("lone \x1b stays", "lone \x1b stays"), ("\x1b[?25l\x1b[1Gx\x1b[?25h", "x"),
])
def test_escape_codes_and_overwritten_text_are_gone(raw: str, seen: str) -> None:
    assert clean(raw) == seen
    assert split(raw + "\n").texts == [seen]


def test_lines_are_addressed_by_their_numbers() -> None:
    lines = split("a\nb\n\nd")
    assert lines.texts == ["a", "b", "", "d"]
    assert (lines.address(0, 0), lines.address(1, 3)) == ("L1", "L2-4")
    assert split("").texts == [] and split("\n").texts == [""]


def pieces(text: str) -> list[tuple[str, bytes]]:
    """Each piece with the bytes that its address names."""
    raw, lines = text.encode("utf-8", "surrogateescape"), split(text)
    starts = [0, *(m.end() for m in re.finditer(b"\n", raw)), len(raw)]
    out = []
    for i, piece in enumerate(lines.texts):
        address = lines.address(i, i)
        first, _, last = address[1:].partition("-")
        span = (int(first), int(last)) if address[0] == "b" else (starts[int(first) - 1], starts[int(last or first)])
        out.append((piece, raw[slice(*span)]))
    return out


LONG = st.sampled_from(["word ", "a, ", "x" * 90, "日本", "é", "\\n", "}, {", "\x1b[31m", "\x1b[0m", "\x1b", "\udcff", "1: ", "«L5»", "; "])
ROWS = st.lists(st.lists(LONG, max_size=120).map("".join) | st.sampled_from(["", "short"]), max_size=6)


@given(ROWS, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_pieces_put_together_are_the_text_and_their_addresses_its_bytes(rows: list[str], end: str, last: bool) -> None:
    text = end.join(rows) + (end if last else "")
    found = pieces(text)
    assert b"".join(raw for _, raw in found) == text.encode("utf-8", "surrogateescape"), "nothing falls between two pieces"
    for piece, raw in found:
        assert piece == clean(raw.decode("utf-8", "surrogateescape").removesuffix("\n"))
        assert len(piece) <= 300 or "\x1b" in raw.decode("utf-8", "surrogateescape")


def test_a_cut_goes_through_no_escape_code() -> None:
    text = "".join(f"\x1b[{30 + i % 8};1mword{i % 97}\x1b[0m" for i in range(400)) + "\n"
    assert "".join(split(text).texts) == SGR.sub("", text).rstrip("\n")


def test_a_long_line_is_cut_where_it_reads_best() -> None:
    code = "\\n".join(f"def function_{i}(argument): return argument" for i in range(40))
    assert all(piece.startswith("def ") for piece in split(code).texts)
    records = ",".join(f'{{"id":{i},"name":"record number {i}","state":"open"}}' for i in range(60))
    assert all(piece.startswith('{"id"') for piece in split(records).texts)


def test_names_that_end_in_nuls_stay_whole() -> None:
    names = [f"src/package_{i}/module_{i * 7}.py" for i in range(200)]
    assert [name for piece in split("\0".join(names)).texts for name in piece.split("\0") if name] == names


def test_what_a_long_line_overwrote_is_gone_and_still_addressed() -> None:
    line = "progress " * 50 + "\r" + ", ".join(f"item {i}" for i in range(100))
    found = pieces(line + "\n")
    assert found[0][1].startswith(b"progress ") and "progress" not in "".join(piece for piece, _ in found)


def test_a_failure_that_was_overwritten_stands_on_a_line_of_its_own() -> None:
    raw = "start\nPulling 79%\rERROR: needle checksum mismatch\rPulling 81%\ndone\n"
    lines = split(raw)
    assert lines.texts == ["start", "ERROR: needle checksum mismatch", "Pulling 81%", "done"] and lines.numbers == [1, 2, 2, 3]
    assert lines.address(0, 0) == "L1" and lines.address(1, 2) == "L2" and lines.address(0, 3) == "L1-3"
    begin, end = map(int, lines.address(1, 1)[1:].split("-"))
    assert "ERROR: needle checksum mismatch" in raw[begin:end]
    output = "Pulling 1%\rPulling 2%\n" * 900 + raw
    view = byref.open("memory:").session("s").capture(tool="shell", args={"command": "pull"}, output=output, exit_code=0)
    assert "\nERROR: needle checksum mismatch\nPulling 81%\n" in view.text


def test_progress_that_was_overwritten_is_gone() -> None:
    assert split("1%\r50%\r100%\nnext\r\n").texts == ["100%", "next"]


@pytest.mark.parametrize("code", ["\x1b[1G", "\x1b[G", "\x1b[0G"])
def test_a_code_that_brings_the_cursor_to_the_first_column_is_a_carriage_return(code: str) -> None:
    spinner = "".join(f"{code}\x1b[0K{sign}" for sign in "⠙⠹⠸⠼" * 100)
    assert clean(f"{spinner}{code}\x1b[0Knpm error ERESOLVE") == "npm error ERESOLVE"
    lines = split(f"first\n{spinner}{code}\x1b[0Knpm error ERESOLVE\nlast\n")
    assert [text for text in lines.texts if text.strip()] == ["first", "npm error ERESOLVE", "last"]
    assert lines.address(0, len(lines.texts) - 1) == "L1-3"


@pytest.mark.parametrize("end", ["\r", "\r   ", "\r\x1b[K", "\r \r"])
def test_what_only_blanks_were_written_over_stands(end: str) -> None:
    assert clean("Downloading numpy" + end) == "Downloading numpy"
    assert split("x" * 400 + "\nDownloading\rnumpy" + end + "\n").texts[-1] == "numpy"


def test_a_failure_that_was_written_over_itself_is_said_once() -> None:
    text = "ERROR x\rERROR x\rERROR y\rERROR x\nERROR z\rfine\n" + "filler\n" * 3
    assert split(text).texts[:4] == ["ERROR y", "ERROR x", "ERROR z", "fine"]
