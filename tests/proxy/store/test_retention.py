"""What the file store lets go is gone: from its files, from its journal, and from what others still hold open."""
from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from byref.proxy.contracts import Event, Gap, Store, View
from byref.proxy.errors import Evicted, StoreBusy
from byref.proxy.store import file, open_store
from conformance.captures import SCOPE, Clock, capture, keep, log, noise, put, shell, stored
from conformance.processes import finish, in_child, start

SECRET = "AKIAIOSFODNN7EXAMPLE"


def at(folder: Path, *, max_bytes: int = 1 << 30, max_age: float = 1e9, clock: Clock | None = None) -> Store:
    return open_store(f"file:{folder}", max_bytes=max_bytes, max_age=max_age, clock=clock or time.time)


def frames(data: bytes) -> Iterator[bytes]:
    """Every zstd frame found anywhere in some bytes, decompressed."""
    start = data.find(b"\x28\xb5\x2f\xfd")
    while start >= 0:
        try:
            yield zstandard.ZstdDecompressor().decompressobj().decompress(data[start:])
        except zstandard.ZstdError:
            pass
        start = data.find(b"\x28\xb5\x2f\xfd", start + 1)


def places(folder: Path, secret: str) -> list[str]:
    """The files under a folder that yield a secret, by name, bytes or compressed bytes."""
    found = []
    for path in folder.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        if secret in path.name or any(secret.encode() in text for text in (data, *frames(data))):
            found.append(path.name)
    return found


def secretive(store: Store, *contents: bytes, call_id: str) -> str:
    """Captures an output whose secret stands in every field that may hold one."""
    gaps = (Gap("stdout", f"$.{SECRET}", 1, "lines"),)
    view = View(f"head {SECRET}", tuple(f"view {SECRET}" for _ in contents), gaps, "log", False)
    arguments = shell(f"echo {SECRET} {call_id}")
    given = capture(store, *contents, call_id=call_id, arguments=arguments, signature=f"operation/v1|shell|{SECRET}", view=view)
    return store.commit(given).ref


@pytest.mark.parametrize("seed", range(4))
def test_a_purge_leaves_no_byte_behind(tmp_path: Path, seed: int) -> None:
    store, draw = at(tmp_path / "s"), random.Random(seed)
    other = at(tmp_path / "s")
    refs = []
    for number in range(12):
        keep(store, noise(draw.randrange(9000), number + 1), arguments=shell("x" * draw.randrange(3000)))
        size = draw.choice((10, 100, 4000, 16_000, 17_000, 300_000))
        secret = f"{number} password={SECRET}\n".encode()
        refs.append(secretive(store, noise(size, number) + secret * draw.randrange(1, 9), secret, call_id=str(number)))
    other.resolve(SCOPE, refs[0])
    assert len(places(tmp_path / "s", SECRET)) >= 3, "the search finds what is there: the catalog, its WAL, blob files"
    for ref in refs:
        store.purge(SCOPE, ref)
    assert places(tmp_path / "s", SECRET) == []
    assert store.verify().damaged == () and store.usage().outputs == 12
    other.close()
    store.close()
    assert places(tmp_path / "s", SECRET) == []


@pytest.mark.parametrize("seed", [2, 5, 18, 21])  # of those, a third of all, where SQLite leaves a copy of a row that it moved
def test_a_purge_reaches_copies_that_sqlite_left(tmp_path: Path, seed: int) -> None:
    store, draw = at(tmp_path / "s"), random.Random(seed)
    refs, plain = [], []
    for number in range(20):
        for more in range(2):
            arguments = shell("x" * draw.randrange(600) + str(draw.random()))
            plain.append(keep(store, noise(draw.randrange(1200), 99 * number + more), arguments=arguments))
        secret = f"{number} password={SECRET}\n".encode()
        refs.append(secretive(store, noise(draw.choice((10, 300, 700)), number) + secret, secret, call_id=str(number)))
    for ref in draw.sample(plain, 30) + draw.sample(refs, 20):
        store.purge(SCOPE, ref)
    assert places(tmp_path / "s", SECRET) == [] and store.usage().outputs == 10
    store.close()


def test_a_purge_reaches_what_dead_writers_left(tmp_path: Path) -> None:
    def work() -> None:
        store = at(tmp_path / "s")
        put(store, f"token {SECRET}\n".encode() * 2000)
        writer = store.writer()
        writer.write(f"token {SECRET}\n".encode() * 20_000)
        os._exit(1)

    store = at(tmp_path / "s")
    ref = keep(store, f"token {SECRET}\n".encode() * 2000)
    with pytest.raises(RuntimeError, match="died"):
        in_child(work)
    assert len(list((tmp_path / "s" / "tmp").iterdir())) == 2
    store.purge(SCOPE, ref)
    assert places(tmp_path / "s", SECRET) == []
    store.close()


def test_a_purge_reaches_tombstones_and_memo_of_an_evicted_output(tmp_path: Path) -> None:
    store = at(tmp_path / "s", max_bytes=2_000_000)
    ref = secretive(store, b"small\n", call_id="1")
    for seed in range(9):
        keep(store, noise(300_000, seed))
    with pytest.raises(Evicted, match=SECRET):
        store.resolve(SCOPE, ref)
    store.purge(SCOPE, ref)
    assert places(tmp_path / "s", SECRET) == []
    store.close()


def test_a_purge_claims_nothing_while_a_reader_keeps_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "PURGE_PATIENCE", 0.1)
    store = at(tmp_path / "s")
    ref = secretive(store, b"small\n", call_id="1")

    def read() -> None:
        db = sqlite3.connect(tmp_path / "s" / "catalog.db", isolation_level=None)
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM outputs").fetchall()
        (tmp_path / "reading").touch()
        while not (tmp_path / "told").exists():
            time.sleep(0.01)
        db.close()

    process = start(read)
    while not (tmp_path / "reading").exists():
        time.sleep(0.01)
    with pytest.raises(StoreBusy, match="purge it again"):
        store.purge(SCOPE, ref)
    with pytest.raises(Evicted):
        store.resolve(SCOPE, ref)
    (tmp_path / "told").touch()
    finish(*process)
    store.purge(SCOPE, ref)
    store.close()
    assert places(tmp_path / "s", SECRET) == []


def test_an_eviction_that_a_kill_cut_off_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    store = at(tmp_path / "s", max_age=600, clock=clock)
    ref = keep(store, log(6000))
    clock.now += 601

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("byref.proxy.store.blobs.BlobFolder.remove", killed)
    with pytest.raises(KeyboardInterrupt):
        keep(store, b"lets go of the old one\n")
    monkeypatch.undo()
    assert len(list((tmp_path / "s" / "blobs").rglob("*.zst"))) == 1
    keep(store, b"the next commit\n")
    assert list((tmp_path / "s" / "blobs").rglob("*.zst")) == []
    assert keep(store, log(6000)) == ref and stored(store, SCOPE, ref) == [log(6000)]
    store.close()


def test_gc_collects_what_a_killed_commit_left(tmp_path: Path) -> None:
    def work() -> None:
        store = at(tmp_path / "s")
        put(store, log(7000))
        os._exit(1)

    store = at(tmp_path / "s")
    ref = keep(store, log(6000))
    with pytest.raises(RuntimeError, match="died"):
        in_child(work)
    assert len(list((tmp_path / "s" / "blobs").rglob("*.zst"))) == 2 and len(list((tmp_path / "s" / "tmp").iterdir())) == 1
    store.gc()
    assert len(list((tmp_path / "s" / "blobs").rglob("*.zst"))) == 1 and list((tmp_path / "s" / "tmp").iterdir()) == []
    assert stored(store, SCOPE, ref) == [log(6000)]
    store.close()


def test_gc_leaves_alone_what_another_process_is_writing(tmp_path: Path) -> None:
    store, other = at(tmp_path / "s"), at(tmp_path / "s")
    writer = store.writer()
    writer.write(log(6000))
    given = capture(store, log(9000))
    other.gc()
    assert len(list((tmp_path / "s" / "tmp").iterdir())) == 2
    writer.write(log(6000, seed=1))
    assert store.open(writer.finish().digest).read() == log(6000) + log(6000, seed=1)
    assert stored(other, SCOPE, store.commit(given).ref) == [log(9000)]
    other.close()
    store.close()


def test_bytes_that_another_process_lets_go_before_the_commit_are_put_back(tmp_path: Path) -> None:
    clock = Clock()
    store, other = at(tmp_path / "s", max_age=600, clock=clock), at(tmp_path / "s", max_age=600, clock=clock)
    ref = keep(store, log(6000))
    again = capture(store, log(6000))
    clock.now += 601
    other.gc()
    assert list((tmp_path / "s" / "blobs").rglob("*.zst")) == []
    store.commit(again)
    assert stored(other, SCOPE, ref) == [log(6000)]
    other.close()
    store.close()


def test_the_totals_agree_with_what_is_there(tmp_path: Path) -> None:
    clock, draw = Clock(), random.Random(7)
    store = at(tmp_path / "s", max_bytes=1_000_000, max_age=50, clock=clock)
    refs = []
    for number in range(150):
        clock.now += 1
        data = noise(draw.choice((20, 5000, 20_000, 100_000)), draw.randrange(40))
        refs.append(store.commit(capture(store, data, call_id=str(number) if number % 2 else None, arguments=shell(f"{number % 9}"))).ref)
        store.log(SCOPE, Event("fetched", clock.now, "main", refs[-1], "shell", "log", {"fetched": 1}))
        if draw.random() < .1:
            store.purge(SCOPE, draw.choice(refs[-5:]))
        if draw.random() < .1:
            store.gc()
    store.close()
    db = sqlite3.connect(tmp_path / "s" / "catalog.db")
    files, calls, *counts = db.execute("SELECT files, calls, outputs, blobs, raw FROM totals").fetchone()
    assert counts == [db.execute(f"SELECT {of} FROM {table}").fetchone()[0] for of, table in (
        ("count(*)", "outputs"), ("count(*)", "blobs"), ("coalesce(sum(size), 0)", "blobs"))]
    assert files == db.execute("SELECT coalesce(sum(stored), 0) FROM blobs WHERE data IS NULL").fetchone()[0]
    assert calls == db.execute("SELECT coalesce(sum(bytes), 0) FROM calls").fetchone()[0]
    assert db.execute("SELECT count(*) FROM blobs WHERE id NOT IN (SELECT blob FROM parts)").fetchone()[0] == 0
    assert db.execute("SELECT count(*) FROM parts WHERE seq NOT IN (SELECT seq FROM outputs)").fetchone()[0] == 0
    names = {"b2:" + path.stem for path in (tmp_path / "s" / "blobs").rglob("*.zst")}
    assert names == {row[0] for row in db.execute("SELECT digest FROM blobs WHERE data IS NULL")}
    db.close()
