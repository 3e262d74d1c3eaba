"""Lines over pipes: whole, in order, and no more of them held than is bearable."""
from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from byref.proxy.frontends.wrap import lines
from byref.proxy.frontends.wrap.messages import Body, Message


def piped(test: Callable[[lines.Reader, int], Awaitable[None]]) -> None:
    async def run() -> None:
        there, here = os.pipe()
        reader = await lines.reading(os.fdopen(there, "rb", 0))
        await asyncio.wait_for(test(reader, here), 60)
        reader.close()
        await asyncio.sleep(0)
    asyncio.run(run())


def test_lines_come_whole_and_in_order_however_they_are_cut() -> None:
    async def test(reader: lines.Reader, here: int) -> None:
        for piece in (b'{"a', b'":1}\n{"b":', b"2}\n", b"\n  \n", b"{}\nlast"):
            os.write(here, piece)
            await asyncio.sleep(0.001)
        os.close(here)
        assert [await reader.line() for _ in range(5)] == [b'{"a":1}', b'{"b":2}', b"{}", b"last", None]
        assert reader.ended == "closed its output"
    piped(test)


def test_who_floods_has_to_wait_and_loses_nothing() -> None:
    async def test(reader: lines.Reader, here: int) -> None:
        sent = [b"%d " % i + b"x" * 5000 + b"\n" for i in range(5000)]
        written = []

        def write() -> None:
            for line in sent:
                os.write(here, line)
                written.append(1)
            os.close(here)
        writer = threading.Thread(target=write)
        writer.start()
        await asyncio.sleep(0.3)
        assert len(written) < 4000, "all was taken in although nobody reads"
        assert [await reader.line() for _ in sent] == [line.rstrip(b"\n") for line in sent]
        assert await reader.line() is None
        writer.join()
    piped(test)


def test_a_line_without_end_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST", 100_000)

    async def test(reader: lines.Reader, here: int) -> None:
        def write() -> None:
            try:
                while True:
                    os.write(here, b"x" * 65_536)
            except OSError:
                os.close(here)
        threading.Thread(target=write, daemon=True).start()
        while await reader.line() is not None:
            pass
        assert "a line of more than" in reader.ended
    piped(test)


def test_messages_go_out_whole_to_a_reader_that_takes_its_time() -> None:
    async def run() -> None:
        there, here = os.pipe()
        writer = await lines.writing(os.fdopen(here, "wb", 0))
        text = "x" * 3_000_000
        got: list[bytes] = []

        def read() -> None:
            with os.fdopen(there, "rb") as file:
                got.extend(file)
        reading = threading.Thread(target=read)
        sending = asyncio.gather(*(writer.send(Message(i, "", Body.of({"text": text}))) for i in range(3)))
        reading.start()
        await sending
        await writer.flushed()
        writer.close()
        await asyncio.to_thread(reading.join, 60)
        assert [line[:24] for line in got] == [b'{"jsonrpc":"2.0","id":%d,' % i for i in range(3)] and len(got[0]) > 3_000_000
    asyncio.run(run())


def test_who_is_gone_is_noticed() -> None:
    async def run() -> None:
        there, here = os.pipe()
        writer = await lines.writing(os.fdopen(here, "wb", 0))
        os.close(there)
        with pytest.raises(lines.Gone):
            for _ in range(100):
                await writer.send(Message(None, "notifications/x", None))
                await asyncio.sleep(0.001)
    asyncio.run(run())


def test_a_regular_file_is_read_too(tmp_path: Path) -> None:
    async def run() -> None:
        (tmp_path / "f").write_bytes(b"{}\n[]")
        reader = await lines.reading(os.fdopen(os.open(tmp_path / "f", os.O_RDONLY), "rb"))
        assert [await reader.line(), await reader.line(), await reader.line()] == [b"{}", b"[]", None]
    asyncio.run(run())


def test_no_input_at_all_is_an_end() -> None:
    async def run() -> None:
        reader = await lines.reading(os.fdopen(os.open(os.devnull, os.O_RDONLY), "rb"))
        assert await asyncio.wait_for(reader.line(), 60) is None
    asyncio.run(run())
