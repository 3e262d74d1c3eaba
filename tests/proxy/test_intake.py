"""Outputs on their way in: every kind that a tool returns, and the way back to the raw bytes when the store gives up."""
from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import byref
from byref.proxy import intake
from byref.proxy.contracts import Store
from byref.proxy.errors import Invalid, StoreFull
from byref.proxy.intake import Raw, parts, to_bytes, to_text
from byref.proxy.store import open_store
from byref.proxy.store.source import BytesSource
from byref.proxy.text import estimate


@pytest.fixture
def store() -> Store:
    return open_store("memory:", max_bytes=1 << 30, max_age=1e9, clock=lambda: 0.0)


class Full:
    """A store whose writer gives up after so many bytes."""

    def __init__(self, room: int) -> None:
        self.room = room

    def writer(self) -> Full:
        return self

    def write(self, data: bytes) -> None:
        self.room -= len(data)
        if self.room < 0:
            raise StoreFull("full")

    def finish(self) -> None:
        raise StoreFull("full")

    def abort(self) -> None:
        pass


def chunks(data: bytes, size: int = 70_000) -> Iterator[bytes]:
    return (data[at:at + size] for at in range(0, len(data), size))


@contextmanager
def kinds(data: bytes, tmp_path: Path) -> Iterator[dict[str, Any]]:
    (tmp_path / "f").write_bytes(b"skipped" + data)
    with (tmp_path / "f").open("rb") as file, subprocess.Popen(["tail", "-c", "+8", tmp_path / "f"], stdout=subprocess.PIPE) as tail:
        file.seek(7)
        yield {"bytes": data, "bytearray": bytearray(data), "memoryview": memoryview(data), "BytesIO": io.BytesIO(data), "file": file,
               "iterator": chunks(data), "list": list(chunks(data)), "pipe": tail.stdout}


@pytest.mark.parametrize("size", [0, 10, 50_000, 3_000_000])
def test_every_kind_of_output_is_stored_to_the_byte(size: int, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "HOLD", 1 << 20)
    data = os.urandom(size)
    with kinds(data, tmp_path) as contents:
        for kind, content in contents.items():
            raw = Raw("text", content)
            blob = raw.store(store)
            assert (blob.size, raw.size) == (size, size), kind
            assert store.open(blob.digest).read() == data, kind
            assert raw.read() == raw.source(store, BytesSource).read() == data, kind
            raw.settle(store)
            assert raw.read() == data, kind


@pytest.mark.parametrize("room", [0, 100_000, 2_500_000, 2_999_999, 3_000_000])
def test_when_the_store_gives_up_every_byte_can_still_pass(room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "HOLD", 1 << 20)
    data = os.urandom(3_000_000)
    with kinds(data, tmp_path) as contents:
        for kind, content in contents.items():
            raw = Raw("text", content)
            with pytest.raises(StoreFull):
                raw.store(Full(room))  # type: ignore[arg-type]
            if kind == "file":
                content.close()
            assert raw.read() == data, kind
            assert raw.read() == data, f"{kind}, a second time"


def test_that_holds_without_any_place_for_a_spool_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "HOLD", 1 << 20)
    monkeypatch.setattr(intake, "_nameless_file", lambda: -1)
    data = os.urandom(3_000_000)
    raw = Raw("text", chunks(data))
    with pytest.raises(StoreFull):
        raw.store(Full(2_000_000))  # type: ignore[arg-type]
    assert raw.read() == data


def test_a_stream_that_breaks_leaves_what_came() -> None:
    def broken() -> Iterator[bytes]:
        yield b"what came"
        raise OSError("the other side hung up")

    raw = Raw("text", broken())
    with pytest.raises(OSError, match="hung up"):
        raw.store(Full(1000))  # type: ignore[arg-type]
    assert raw.read() == b"what came"


def test_a_text_stream_is_its_utf8() -> None:
    assert Raw("text", iter(["grüße ", "東京\n"])).read() == "grüße 東京\n".encode()
    assert Raw("text", io.StringIO("é")).read() == "é".encode()


@given(st.text() | st.text(alphabet="a\udc80\udcff\ud800\udfff"))
def test_any_text_has_bytes_and_any_bytes_come_back_through_text(text: str) -> None:
    data = to_bytes(text)
    assert to_bytes(to_text(data)) == data
    if text.isprintable():
        assert to_text(data) == text


@given(st.binary(max_size=200))
def test_bytes_survive_as_text(data: bytes) -> None:
    assert to_bytes(to_text(data)) == data


@given(st.text(max_size=200))
def test_tokens_are_counted_from_the_bytes_as_the_estimate_counts_the_text(text: str) -> None:
    raw = Raw("text", text)
    raw.store(open_store("memory:", max_bytes=1 << 20, max_age=1e9, clock=lambda: 0.0))
    assert raw.tokens == estimate(text)


def test_one_output_is_one_part_and_a_mapping_is_its_parts_in_order() -> None:
    assert [(p.name, p.media) for p in parts("x", "stdout")] == [("stdout", "text/plain")]
    named = parts({"text": "x", "structuredContent": "{}", "image": b"\x89"}, "stdout", {"image": "image/png"})
    assert [(p.name, p.media) for p in named] == [("text", "text/plain"), ("structuredContent", "application/json"), ("image", "image/png")]


@pytest.mark.parametrize("name", ["", "a:b", "a b", "x" * 65, "«x»", "a/b", 3, "a\n"])
def test_a_name_that_no_address_can_carry_is_refused(name: object) -> None:
    with pytest.raises(Invalid, match="part's name"):
        parts({name: "x"}, "text")  # type: ignore[dict-item]


def test_what_is_no_output_is_refused() -> None:
    for value in (None, 3, 4.5, object(), [1, 2], {"json": {"a": 1}}, {"set": {"a"}}, [b"x", None]):
        with pytest.raises(TypeError, match="an output is"):
            parts(value, "text")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Raw("text", iter([3])).read()  # type: ignore[arg-type]


@pytest.mark.parametrize("data", [b"a\n" * 40_000, "é\n".encode() * 9000, bytes(range(256)) * 99, b"small\n", b""])
def test_bytes_written_beside_are_the_same_blob_of_the_same_size(store: Store, data: bytes) -> None:
    plain, beside = Raw("text", data), Raw("text", data)
    plain.store(store)
    beside.begin(store, beside=True)
    beside.written()
    assert (beside.blob, beside.size, beside.tokens) == (plain.blob, plain.size, plain.tokens)
    assert b"".join(store.open(beside.stored.digest).blocks()) == data


def test_what_the_store_refuses_beside_is_told_once_it_is_waited_for(store: Store) -> None:
    part = Raw("text", b"x" * 100_000)
    part.begin(Full(1000), beside=True)  # type: ignore[arg-type]
    with pytest.raises(StoreFull):
        part.written()
    assert part.read() == b"x" * 100_000


def test_a_view_whose_bytes_could_not_be_written_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No ref of bytes that are not durable: the fault comes while the view is made, and the raw output passes."""
    text = "".join(f"line {n}: {n * 7919 % 1009}\n" for n in range(9000))
    with byref.open(f"file:{tmp_path}/s") as gateway:
        session = gateway.session("s")
        assert session.capture(tool="shell", args={"command": "a"}, output=text).ref

        def broken(descriptor: int) -> None:
            raise OSError(28, "No space left on device")
        monkeypatch.setattr(os, "fsync", broken)
        shown = session.capture(tool="shell", args={"command": "b"}, output=text + "another\n")
        assert not shown.ref and shown.text == text + "another\n" and "not stored" in shown.warning
