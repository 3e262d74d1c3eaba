"""A recording that is packed is read as the same one unpacked; one that is cut is read to there, and that is told."""
from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import resource
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from byref.proxy.ledger.packed import SUFFIXES
from byref.proxy.ledger.reading import files, read_file

ROW = {"id": "1", "source": "s", "task": "t", "turns": [{"tool": "Bash", "args": {}, "output": "x", "next_action": "y"}]}
SKIPPED = b"\x5e\x2a\x4d\x18\x04\x00\x00\x00byre"  # a frame that zstd's readers pass over


def zstd(data: bytes) -> bytes:
    """In two frames and one to skip, as programs that append write it."""
    half = len(data) // 2
    return b"".join([zstandard.compress(data[:half]), SKIPPED, zstandard.compress(data[half:])])


PACKERS: list[Callable[[bytes], bytes]] = [gzip.compress, bz2.compress, lzma.compress, zstd,
                                            lambda data: SKIPPED + zstandard.compress(data)]
packers = pytest.mark.parametrize("pack", PACKERS, ids=["gzip", "bzip2", "xz", "zstd", "zstd after a frame to skip"])


def read(path: Path, data: bytes) -> tuple[list[str], list[str]]:
    """The ids of what was found, and what was told, without the file's name."""
    path.write_bytes(data)
    told: list[str] = []
    return [one.id for one in read_file(str(path), told.append)], [text.replace(str(path), "") for text in told]


@packers
@pytest.mark.parametrize("text", [
    "".join(json.dumps({**ROW, "id": str(n)}) + "\n" for n in range(300)),
    json.dumps([{**ROW, "id": str(n)} for n in range(300)], indent=1),
    "{ half\n" + "".join(json.dumps({**ROW, "id": str(n)}) + "\n" for n in range(300))], ids=["lines", "a list", "a bad first line"])
def test_what_is_packed_is_read_as_what_is_not(tmp_path: Path, pack: Callable[[bytes], bytes], text: str) -> None:
    plain = read(tmp_path / "a.jsonl", text.encode())
    assert len(plain[0]) == 300
    assert read(tmp_path / "a", pack(text.encode())) == plain, "told by what is in it, whatever its name"


@packers
def test_what_is_cut_is_read_to_there_and_told(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    lines = [json.dumps({**ROW, "id": str(n), "task": os.urandom(2000).hex()}) + "\n" for n in range(300)]
    packed = pack("".join(lines).encode())
    found, told = read(tmp_path / "a.jsonl.gz", packed[:len(packed) * 9 // 10])
    assert 30 < len(found) < 300 and found == [str(n) for n in range(len(found))]
    assert "its packed data is damaged or cut" in told[-1] and len(told) <= 2


def test_a_session_in_a_list_that_is_cut_is_read_to_there(tmp_path: Path) -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "sh", "arguments": "{}"}}]}
    messages = [call, {"role": "tool", "tool_call_id": "c", "content": os.urandom(3000).hex()}] * 200
    data = gzip.compress(json.dumps(messages).encode())
    (tmp_path / "a.json.gz").write_bytes(data[:-40])
    told: list[str] = []
    (found,) = read_file(str(tmp_path / "a.json.gz"), told.append)
    assert len(found.turns) > 100 and "damaged or cut" in told[-1]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_packed_files_of_a_folder_are_meant(tmp_path: Path, suffix: str) -> None:
    for name in (f"a.jsonl{suffix}", f"notes.txt{suffix}", "b.traj"):
        (tmp_path / name).touch()
    assert {Path(name).name for name in files([str(tmp_path)])} == {f"a.jsonl{suffix}", "b.traj"}


@packers
def test_it_streams_and_its_own_bytes_are_what_is_done(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    line = json.dumps({**ROW, "task": "x" * 100_000}) + "\n"
    data = pack((line * 500).encode())
    (tmp_path / "a.jsonl.gz").write_bytes(data)
    sizes: list[int] = []
    stream = read_file(str(tmp_path / "a.jsonl.gz"), print, None, sizes.append)
    next(stream)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert sum(1 for _ in stream) == 499 and sum(sizes) == len(data)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000, "50 MB passed, and none of it stayed (KiB)"


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_files_of_an_archive_are_read_one_by_one(tmp_path: Path, method: int) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as archive:
        for day, name in ((3, "new.json"), (1, "folder/old.jsonl"), (2, "notes.txt"), (2, "packed.jsonl.gz")):
            text = (json.dumps({**ROW, "id": name}) + "\n").encode()
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, day, 0, 0, 0)), gzip.compress(text) if name.endswith(".gz") else text, method)
        archive.writestr(zipfile.ZipInfo("bad.jsonl", (2026, 1, 4, 0, 0, 0)), "broken\n")
    told: list[str] = []
    assert [one.id for one in read_file(str(tmp_path / "a.zip"), told.append)] == ["folder/old.jsonl", "new.json"]
    assert told[0] == f"{tmp_path / 'a.zip'}:packed.jsonl.gz: packed twice: unpack the archive first"
    assert told[1].startswith(f"{tmp_path / 'a.zip'}:bad.jsonl:1: no JSON") and len(told) == 2


def test_files_that_an_archive_holds_by_zstd_are_read(tmp_path: Path) -> None:
    lines = [json.dumps({**ROW, "id": str(n)}) + "\n" for n in range(100)]
    with zipfile.ZipFile(tmp_path / "a.eval", "w") as archive:
        for name in ("samples/1.jsonl", "samples/2.jsonl"):
            archive.writestr(name, zstd("".join(lines).encode()))
            archive.infolist()[-1].compress_type = 93
    data = bytearray((tmp_path / "a.eval").read_bytes())
    assert read(tmp_path / "a.eval", bytes(data)) == ([str(n) for n in range(100)] * 2, [])
    at = data.index(b"(\xb5/\xfd")
    data[at + 20:at + 40] = bytes(20)
    found, told = read(tmp_path / "a.eval", bytes(data))
    assert len(found) >= 100 and ":samples/1.jsonl: its packed data is damaged or cut" in told[-1]


@pytest.mark.parametrize(("data", "told"), [
    (b"PK\x03\x04 and no more", ": a zip archive that is damaged or cut: File is not a zip file"),
    (gzip.compress(b"SQLite format 3\0" + bytes(100)), ": a database that is packed: unpack it first"),
    (gzip.compress(b"a.jsonl".ljust(257, b"\0") + b"ustar  \0"), ": a tar archive: unpack it first"),
    (b"a.jsonl".ljust(257, b"\0") + b"ustar  \0", ": a tar archive: unpack it first"),
    (gzip.compress(gzip.compress(b"{}")), ": packed twice: unpack it first"), (gzip.compress(b""), ": empty")],
    ids=["a damaged zip", "a packed database", "a packed tar", "a tar", "packed twice", "empty"])  # gzip writes what time it is
def test_what_cannot_be_unpacked_here_is_told(tmp_path: Path, data: bytes, told: str) -> None:
    assert read(tmp_path / "a.jsonl", data) == ([], [told])


def test_an_archive_without_a_recording_and_one_with_a_password_are_told(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("notes.txt", "x")
    told: list[str] = []
    assert list(read_file(str(tmp_path / "a.zip"), told.append)) == [] and "a zip archive without a recording" in told[0]
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("a.jsonl", "x")
    data = bytearray((tmp_path / "b.zip").read_bytes())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    found, faults = read(tmp_path / "b.zip", bytes(data))
    assert found == [] and "password required" in faults[0] and faults[0].endswith("unpack it first")
