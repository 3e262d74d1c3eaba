"""A body is kept as it came, in little memory, and read back without its encodings."""
from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import brotli
import pytest
import zstandard

import byref
from byref.proxy.frontends.reverse import spool as module
from byref.proxy.frontends.reverse.spool import Spool

TEXT = "".join(f"{n}: résumé 東京 🚀\n" for n in range(60_000)).encode()


async def thread(work: Callable[[], None]) -> None:
    await asyncio.to_thread(work)


async def spooled(pieces: Iterable[bytes], folder: Path) -> Spool:
    spool = Spool(str(folder), thread)
    for piece in pieces:
        await spool.add(piece)
    await spool.done()
    return spool


def pieces(data: bytes, step: int) -> list[bytes]:
    return [data[at:at + step] for at in range(0, len(data), step)]


def stored(content: object, session: byref.Session) -> bytes:
    shown = session.capture(tool="api", output={"text": content}, raw=True)  # type: ignore[dict-item]
    assert shown.stored, shown.warning
    return b"".join(session.blocks(shown.ref))


@pytest.fixture
def session():
    with byref.open("memory:") as gateway:
        yield gateway.session("s")


@pytest.mark.parametrize("size", [0, 1, 1000, 1 << 20, (1 << 20) + 1, len(TEXT)])
def test_a_body_comes_back_as_it_came(tmp_path: Path, session: byref.Session, size: int) -> None:
    async def run() -> None:
        spool = await spooled(pieces(TEXT[:size], 65_537), tmp_path)
        assert (spool.size, spool.lost, b"".join(spool.blocks())) == (size, "", TEXT[:size])
        assert stored(spool.content(""), session) == TEXT[:size] == stored(spool.content("unheard-of"), session)
        spool.close()
    asyncio.run(run())
    assert list(tmp_path.iterdir()) == [], "the file has no name, and none is left"


@pytest.mark.parametrize(("name", "encode"), [
    ("gzip", partial(gzip.compress, mtime=0)), ("br", partial(brotli.compress, quality=4)), ("zstd", zstandard.compress)])
@pytest.mark.parametrize("size", [10, len(TEXT)])
def test_an_encoded_body_is_read_as_the_text_that_it_is(tmp_path, session, name, encode, size, monkeypatch) -> None:
    async def run() -> None:
        for held in (1 << 24, 4096):  # read whole, and in pieces
            monkeypatch.setattr(module, "HELD", held)
            monkeypatch.setattr(module, "MEMORY", held // 4)
            spool = await spooled(pieces(encode(TEXT[:size]), 100), tmp_path)
            assert stored(spool.content(name), session) == TEXT[:size]
            assert b"".join(spool.blocks()) == encode(TEXT[:size])
            spool.close()
    asyncio.run(run())


@pytest.mark.parametrize(("name", "body", "said"), [
    ("gzip", gzip.compress(TEXT)[:-9], "breaks off"), ("br", brotli.compress(TEXT, quality=4)[:9], "breaks off"),
    ("zstd", zstandard.compress(TEXT)[:-1], "breaks off"), ("gzip", b"no such thing", "incorrect header"), ("gzip", b"\x1f", "breaks off")])
def test_a_body_that_its_encoding_calls_broken_is_none(tmp_path: Path, name: str, body: bytes, said: str) -> None:
    async def run() -> None:
        spool = await spooled([body], tmp_path)
        with pytest.raises(ValueError, match=said):
            spool.content(name)
    asyncio.run(run())


def test_a_small_body_that_stands_for_too_much_is_not_unpacked_to_the_end(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(module, "LARGEST", 1 << 20)
    monkeypatch.setattr(module, "HELD", 1 << 18)

    async def run() -> None:
        spool = await spooled([zstandard.compress(bytes(50 << 20))], tmp_path)
        taken = 0
        with pytest.raises(ValueError, match="more than 1 MiB"):
            for piece in spool.content("zstd"):
                taken += len(piece)
        assert taken <= 1 << 20
    asyncio.run(run())


def test_what_is_too_large_or_finds_no_room_is_lost_to_the_store_alone(tmp_path: Path, monkeypatch) -> None:
    async def run() -> None:
        monkeypatch.setattr(module, "LARGEST", 1000)
        assert "more than" in (await spooled([bytes(500), bytes(501)], tmp_path)).lost
        monkeypatch.setattr(module, "LARGEST", 1 << 30)
        gone = await spooled(pieces(TEXT, 1 << 16), tmp_path / "no" / "folder")
        assert "could not be kept: No such file" in gone.lost
        gone.close()
    asyncio.run(run())


def test_a_body_that_is_called_off_leaves_nothing_behind(tmp_path: Path) -> None:
    async def run() -> None:
        spool = Spool(str(tmp_path), thread)
        for piece in pieces(TEXT, 1 << 16):
            await spool.add(piece)
        spool.close()  # while the last batch may still be written
        await asyncio.sleep(0.05)
    asyncio.run(run())
    assert list(tmp_path.iterdir()) == []
