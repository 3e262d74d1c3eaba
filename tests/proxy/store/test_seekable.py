"""Blob files are plain zstd to others, and to us give any range verified, or say that they are damaged."""
from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from byref.proxy.errors import Corrupt
from byref.proxy.store.seekable import FRAME, FrameWriter, SeekableSource
from byref.proxy.text import digest
from conformance.captures import log, noise


def seekable(data: bytes, step: int = 70_000) -> bytes:
    pieces: list[bytes] = []
    writer = FrameWriter(pieces.append)
    for start in range(0, len(data), step):
        writer.write(data[start:start + step])
    assert writer.finish() == (digest(data), data.count(b"\n"))
    return b"".join(pieces)


@pytest.fixture
def source(tmp_path: Path) -> Callable[[bytes, str], SeekableSource]:
    """Opens the bytes of a blob file under a digest."""
    def make(stored: bytes, name: str) -> SeekableSource:
        (tmp_path / "blob").write_bytes(stored)
        return SeekableSource(os.open(tmp_path / "blob", os.O_RDONLY), name)
    return make


@pytest.mark.parametrize("data", [b"", b"x", log(10), log(40_000), noise(FRAME, 1), noise(FRAME + 1, 2), b"\n" * (3 * FRAME)], ids=len)
def test_a_blob_file_is_plain_zstd(data: bytes) -> None:
    stored = seekable(data)
    with zstandard.ZstdDecompressor().stream_reader(stored, read_across_frames=True) as reader:
        assert reader.read() == data
    if zstd := shutil.which("zstd"):
        assert subprocess.run([zstd, "-dc"], input=stored, capture_output=True, check=True).stdout == data


def test_the_seek_table_is_that_of_the_seekable_format() -> None:
    data = log(40_000)
    stored = seekable(data)
    entries, flags, magic = struct.unpack("<IBI", stored[-9:])
    assert (flags, magic) == (0, 0x8F92EAB1)
    table = stored[-9 - 8 * entries:-9]
    assert struct.unpack("<II", stored[-17 - 8 * entries:-9 - 8 * entries]) == (0x184D2A5E, 8 * entries + 9)
    at, raw = 0, b""
    for number in range(entries):
        size, expected = struct.unpack_from("<II", table, 8 * number)
        if expected:
            frame = zstandard.ZstdDecompressor().decompress(stored[at:at + size])
            assert len(frame) == expected
            raw += frame
        at += size
    assert raw == data and at == len(stored) - 17 - 8 * entries


def test_the_pieces_in_which_bytes_come_do_not_matter() -> None:
    data = log(9000)
    assert len({seekable(data, step) for step in (1000, 70_000, FRAME, FRAME - 1, 10_000_000)}) == 1


@given(st.binary(max_size=300), st.integers(1, 3000), st.data())
@example(b"\n", 2999, None)
def test_any_range_and_any_lines_are_the_slice(tmp_path_factory: pytest.TempPathFactory, piece: bytes, times: int,
                                               draw: st.DataObject | None) -> None:
    data = piece * times
    path = tmp_path_factory.mktemp("blob") / "blob"
    path.write_bytes(seekable(data))
    source = SeekableSource(os.open(path, os.O_RDONLY), digest(data))
    total = data.count(b"\n")
    start = draw.draw(st.integers(0, len(data))) if draw else 0
    end = draw.draw(st.integers(start, len(data) + 5)) if draw else len(data)
    assert source.read(start, end) == data[start:end]
    first = draw.draw(st.integers(1, total + 3)) if draw else total
    last = draw.draw(st.integers(first, total + 5)) if draw else total
    low, high = source.lines(first, last)
    assert data[low:high] == slice_of(data, first, last)
    source.close()


def slice_of(data: bytes, first: int, last: int) -> bytes:
    lines = data.split(b"\n")
    lines = [line + b"\n" for line in lines[:-1]] + [lines[-1]]
    return b"".join(lines[first - 1:last])


def test_a_range_touches_only_its_frames(source: Callable[[bytes, str], SeekableSource]) -> None:
    data = log(40_000)
    stored = bytearray(seekable(data))
    stored[10] ^= 1
    blob = source(bytes(stored), digest(data))
    assert blob.read(3 * FRAME + 5, 3 * FRAME + 500) == data[3 * FRAME + 5:3 * FRAME + 500]
    first, last = blob.lines(30_000, 30_099)
    assert blob.read(first, last) == slice_of(data, 30_000, 30_099)
    for damaged in (lambda: blob.read(FRAME - 1, FRAME + 1), blob.read, lambda: list(blob.blocks())):
        with pytest.raises(Corrupt, match="bytes 0 to 131072"):
            damaged()


def test_wrong_bytes_that_decompress_well_are_corrupt_in_a_range_too(source: Callable[[bytes, str], SeekableSource]) -> None:
    data = noise(3 * FRAME, 1)
    stored = bytearray(seekable(data))
    stored[stored.index(data[FRAME + 500:FRAME + 540])] ^= 1
    blob = source(bytes(stored), digest(data))
    assert blob.read(0, FRAME) == data[:FRAME]
    with pytest.raises(Corrupt, match="bytes 131072 to 262144"):
        blob.read(FRAME + 490, FRAME + 600)


@given(st.integers(0, 1 << 62), st.integers(1, 255))
@example(0, 255)
def test_any_changed_byte_is_corrupt_or_harmless(tmp_path_factory: pytest.TempPathFactory, at: int, change: int) -> None:
    data = log(14_000)
    stored = bytearray(seekable(data))
    stored[at % len(stored)] ^= change
    path = tmp_path_factory.mktemp("blob") / "blob"
    path.write_bytes(stored)
    with pytest.raises(Corrupt):
        blob = SeekableSource(os.open(path, os.O_RDONLY), digest(data))
        assert b"".join(blob.blocks()) == data and blob.read(5, 500) == data[5:500] and blob.lines(1, 3)[1] == len(slice_of(data, 1, 3))
        blob.check_newlines()
        blob.close()
        raise Corrupt("harmless", "the byte is read by nobody")


@pytest.mark.parametrize("cut", [0, 1, 8, 9, 40, 100, 5000])
def test_a_file_cut_short_or_grown_is_corrupt(source: Callable[[bytes, str], SeekableSource], cut: int) -> None:
    data = log(14_000)
    stored = seekable(data)
    for damaged in (stored[:cut], stored[cut + 1:], stored + bytes(cut + 1), stored[:-cut - 1]):
        with pytest.raises(Corrupt):
            source(damaged, digest(data)).read()


def test_the_right_file_under_another_name_is_corrupt(source: Callable[[bytes, str], SeekableSource]) -> None:
    with pytest.raises(Corrupt, match="other bytes"):
        source(seekable(log(14_000)), digest(log(14_001)))


def test_frames_that_are_each_right_and_together_wrong_are_corrupt(source: Callable[[bytes, str], SeekableSource]) -> None:
    """Only the whole hash can tell: an index that was made for other bytes and given this name."""
    good, evil = log(14_000), log(14_000, seed=1)
    stored = seekable(evil)
    name = bytes.fromhex(digest(evil)[3:])
    at = stored.index(name)
    from _blake2 import blake2b
    start = at - 8
    end = len(stored) - 17 - 8 * struct.unpack("<IBI", stored[-9:])[0]
    body = stored[start:at] + bytes.fromhex(digest(good)[3:]) + stored[at + 32:end - 16]
    blob = source(stored[:start] + body + blake2b(body, digest_size=16).digest() + stored[end:], digest(good))
    assert blob.read(0, 10) == evil[:10]
    for whole in (blob.read, lambda: list(blob.blocks())):
        with pytest.raises(Corrupt, match="do not match"):
            whole()


def test_bytes_stay_readable_when_the_file_is_removed(tmp_path: Path, source: Callable[[bytes, str], SeekableSource]) -> None:
    blob = source(seekable(log(14_000)), digest(log(14_000)))
    (tmp_path / "blob").unlink()
    assert blob.read() == log(14_000)
