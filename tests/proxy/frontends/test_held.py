"""What streams brought stays whole, whatever its size, and goes out exactly."""
from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.frontends import held
from byref.proxy.frontends.held import Held, complain, write_all


@pytest.fixture
def two():
    """A held pair of streams whose targets are files, and what the files hold."""
    files = [os.memfd_create("out"), os.memfd_create("err")]
    yield Held(("stdout", files[0]), ("stderr", files[1])), lambda: [os.pread(fd, 1 << 24, 0) for fd in files]
    for fd in files:
        os.close(fd)


@given(st.lists(st.tuples(st.integers(0, 1), st.binary(max_size=40)), max_size=40), st.integers(0, 200), st.integers(0, 900))
def test_bytes_come_back_in_order_from_memory_and_file_alike(pieces, memory, limit):
    targets = [os.memfd_create("out"), os.memfd_create("err")]
    both = Held(("stdout", targets[0]), ("stderr", targets[1]))
    both.limit, before, held.MEMORY = limit, held.MEMORY, memory
    silent = os.dup(2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        for which, data in pieces:
            assert both.take(both.streams[which], data)
        expected = [b"".join(data for which, data in pieces if which == one) for one in (0, 1)]
        assert both.released == (sum(map(len, expected)) > limit)
        if not both.released:
            for stream, data in zip(both.streams, expected, strict=True):
                content = stream.content()
                assert (content if isinstance(content, bytes) else content.read()) == data
                assert b"".join(stream.pieces()) == data
        both.release()
        assert [os.pread(fd, 1 << 20, 0) for fd in targets] == expected
    finally:
        held.MEMORY = before
        os.dup2(silent, 2)
        for fd in (*targets, silent, *(stream.file for stream in both.streams if stream.file >= 0)):
            os.close(fd)


def test_large_outputs_do_not_stay_in_memory(two):
    both, _ = two
    for _ in range(160):
        both.take(both.streams[0], b"x" * 65536)
    assert len(both.streams[0].held) <= held.MEMORY and both.streams[0].spilled > 0
    os.close(both.streams[0].file)


def test_what_cannot_be_held_goes_out_and_the_rest_streams(two, monkeypatch, capfd):
    both, written = two

    def full():
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(held, "nameless_file", full)
    monkeypatch.setattr(held, "MEMORY", 10)
    for piece in (b"12345", b"67890", b"abc", b"def"):
        assert both.take(both.streams[1], piece)
    assert both.released and written() == [b"", b"1234567890abcdef"]
    assert capfd.readouterr().err == ("byref: there is no room to hold the output: No space left on device; "
                                      "the output goes through raw and is not stored\n")


def test_a_file_is_seen_by_nobody_else():
    fd = held.nameless_file()
    assert os.fstat(fd).st_nlink == 0 and os.fstat(fd).st_mode & 0o077 == 0
    os.close(fd)


def test_writing_waits_for_a_slow_reader_and_stops_without_one():
    source, end = os.pipe()
    os.set_blocking(end, False)
    child = os.fork()
    if not child:
        os.close(end)
        total = 0
        while data := os.read(source, 100000):
            total += len(data)
        os._exit(total != 1 << 20)
    os.close(source)
    assert write_all(end, b"x" * (1 << 20))
    os.close(end)
    assert os.waitpid(child, 0)[1] == 0
    source, end = os.pipe()
    os.close(source)
    assert not write_all(end, b"x")
    os.close(end)


def test_a_complaint_is_one_line(capfd):
    complain("two\nlines")
    assert capfd.readouterr().err == "byref: two lines\n"
