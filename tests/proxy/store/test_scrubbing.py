"""What SQLite leaves of deleted rows is zeroed, and nothing else is touched, whoever works with the catalog meanwhile."""
from __future__ import annotations

import os
import random
import sqlite3
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from byref.proxy.errors import StoreDamaged
from byref.proxy.store import open_store, scrubbing
from byref.proxy.store.catalog import Catalog
from byref.proxy.store.file import FileStore
from byref.proxy.store.scrubbing import Pages, scrub
from conformance.captures import SCOPE, keep, noise, shell, stored
from conformance.processes import finish, in_child, start

SECRET = b"AKIAIOSFODNN7EXAMPLE"


def at(folder: Path) -> FileStore:
    store = open_store(f"file:{folder}", max_bytes=1 << 30, max_age=1e9, clock=time.time)
    assert isinstance(store, FileStore)
    return store


def planted(folder: Path, rows: int = 300) -> int:
    """Makes a store with rows of all sizes, and puts the secret where SQLite would leave it. In how many pages."""
    draw = random.Random(7)
    store = at(folder)
    with store._catalog.write() as write:
        for number in draw.sample(range(rows), rows):
            data = draw.randbytes(draw.choice((5, 100, 700, 1500, 3000, 9000)))
            write.run("INSERT INTO blobs VALUES (?, ?, 0, 0, 0, ?)", (number, f"b2:{draw.random()}", data))
        for number in range(0, rows, 3):
            write.run("DELETE FROM blobs WHERE id = ?", (number,))
    store.close()
    data, done = bytearray((folder / "catalog.db").read_bytes()), 0
    for page in range(4096, len(data), 4096):
        cells, content = struct.unpack_from(">HH", data, page + 3)
        if data[page] in (10, 13) and content - 8 - 2 * cells > 100:
            data[page + content - len(SECRET):page + content] = SECRET
            done += 1
    (folder / "catalog.db").write_bytes(data)
    return done


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return list(db.iterdump())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[FileStore]:
    assert planted(tmp_path / "s") > 20
    made = at(tmp_path / "s")
    yield made
    made.close()


def test_copies_of_deleted_rows_are_zeroed_and_all_other_rows_stay(store: FileStore, tmp_path: Path) -> None:
    path = tmp_path / "s" / "catalog.db"
    before = dump(path)
    assert SECRET.decode() not in "\n".join(before) and SECRET in path.read_bytes(), "what the scrub is for"
    assert scrub(store._catalog, 1)
    assert SECRET not in path.read_bytes() and SECRET not in path.with_name("catalog.db-wal").read_bytes()
    assert dump(path) == before
    clean = path.read_bytes()
    assert scrub(store._catalog, 1) and path.read_bytes() == clean


def test_what_other_connections_hold_in_memory_is_not_written_back(
        store: FileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other, clean = at(tmp_path / "s"), Pages.scrub

    def read_first(self: Pages, number: int) -> int:
        for catalog in (store._catalog, other._catalog):
            assert len(catalog.read("SELECT id, digest, length(data) FROM blobs ORDER BY id")) == 200
        return clean(self, number)
    monkeypatch.setattr(Pages, "scrub", read_first)
    assert scrub(store._catalog, 1)
    for catalog in (other._catalog, store._catalog):
        with catalog.write() as write:
            write.run("UPDATE blobs SET lines = lines + 1, stored = stored + 1")
    other.close()
    for name in ("catalog.db", "catalog.db-wal"):
        assert SECRET not in (tmp_path / "s" / name).read_bytes()


def test_what_a_program_that_knows_no_lock_of_ours_writes_is_scrubbed_too(
        store: FileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = sqlite3.connect(tmp_path / "s" / "catalog.db", isolation_level=None)
    found, written = scrubbing._descriptor, [0]

    def written_first(path: str) -> int:
        if not written[0]:
            foreign.execute("UPDATE blobs SET lines = lines + 1")
            assert SECRET in (tmp_path / "s" / "catalog.db-wal").read_bytes()
        written[0] += 1
        return found(path)
    monkeypatch.setattr(scrubbing, "_descriptor", written_first)
    assert scrub(store._catalog, 1) and written[0] == 2
    foreign.close()
    for name in ("catalog.db", "catalog.db-wal"):
        assert SECRET not in (tmp_path / "s" / name).read_bytes()
    assert store._catalog.read("SELECT min(lines), max(lines) FROM blobs") == [(1, 1)]


def test_a_scrub_that_is_killed_leaves_a_whole_catalog_and_the_next_one_ends_it(store: FileStore, tmp_path: Path) -> None:
    path = tmp_path / "s" / "catalog.db"
    before = dump(path)

    def work() -> None:
        write, written = Pages._write, [0]

        def dies(self: Pages, data: bytes, where: int) -> None:
            written[0] += 1
            if written[0] == 3:
                os.pwrite(self._descriptor, data[:len(data) // 2], where)
                os._exit(1)
            write(self, data, where)
        Pages._write = dies  # type: ignore[method-assign]
        scrub(at(tmp_path / "s")._catalog, 1)

    with pytest.raises(RuntimeError, match="died"):
        in_child(work)
    assert dump(path) == before and SECRET in path.read_bytes()
    assert scrub(store._catalog, 1) and SECRET not in path.read_bytes() and dump(path) == before


def test_others_write_and_read_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrubbing, "SLICE", 1)
    planted(tmp_path / "s", 3000)
    store, slices = at(tmp_path / "s"), [0]
    one = scrubbing._slice

    def counted(catalog: Catalog, left: int) -> int:
        slices[0] += 1
        return one(catalog, left)
    monkeypatch.setattr(scrubbing, "_slice", counted)

    def work() -> list[str]:
        other, refs = at(tmp_path / "s"), []
        while not (tmp_path / "enough").exists() or len(refs) < 20:
            refs.append(keep(other, noise(2500, len(refs)), arguments=shell(f"echo {len(refs)}")))
            assert stored(other, SCOPE, refs[-1]) == [noise(2500, len(refs) - 1)]
        other.close()
        return refs

    running = start(work)
    while not store.recent(SCOPE):
        time.sleep(0.001)
    assert scrub(store._catalog, 60.0) and slices[0] > 2
    (tmp_path / "enough").touch()
    refs = finish(*running)
    assert isinstance(refs, list)
    for number, ref in enumerate(refs):
        assert stored(store, SCOPE, ref) == [noise(2500, number)]
    assert store._catalog.truncate_wal(1) and SECRET not in (tmp_path / "s" / "catalog.db").read_bytes()
    dump(tmp_path / "s" / "catalog.db")
    store.close()


def test_what_sqlite_locks_in_this_process_stays_locked(store: FileStore, tmp_path: Path) -> None:
    """Else another process that closes the store takes itself for the last one, and removes the WAL that this one writes to."""
    ref = keep(store, b"kept\n")
    store.purge(SCOPE, keep(store, b"gone\n", arguments=shell("other")))

    opened = f"import time; from byref.proxy.store import open_store as o; o('file:{tmp_path}/s', max_bytes=9, max_age=9, clock=time.time)"
    subprocess.run([sys.executable, "-c", f"{opened}.close()"], check=True)  # not a fork, which would know of our locks
    assert (tmp_path / "s" / "catalog.db-wal").exists() and stored(store, SCOPE, ref) == [b"kept\n"]


@pytest.mark.parametrize("size", [512, 1024, 4096, 65536])
def test_pages_of_all_kinds_are_told_apart(tmp_path: Path, size: int) -> None:
    path, draw = tmp_path / "any.db", random.Random(size)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for pragma in (f"page_size = {size}", "auto_vacuum = INCREMENTAL", "secure_delete = ON"):
            db.execute(f"PRAGMA {pragma}")
        db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE, data BLOB)")
        db.execute("BEGIN")
        for number in range(300):
            data = draw.choice((b"\2", b"\5", b"\n", b"\r")) + draw.randbytes(draw.choice((10, size // 3, size // 2, 3 * size)))
            db.execute("INSERT INTO t VALUES (?, ?, ?)", (number, SECRET.decode() + draw.randbytes(9).hex(), data))
        for number in draw.sample(range(300), 200):
            db.execute("DELETE FROM t WHERE id = ?", (number,))
        db.execute("COMMIT")
    before = dump(path)
    descriptor = os.open(path, os.O_RDWR)
    pages = Pages(descriptor, str(path))
    maps = range(-(-(pages.count - 1) // pages.group))
    assert pages.count == path.stat().st_size // size and (size > 1024 or len(maps) > 1)
    assert sum(map(pages.scrub, maps)) and not sum(map(pages.scrub, maps)), "all of it the first time"
    os.close(descriptor)
    assert dump(path) == before
    assert path.read_bytes().count(SECRET) == 200, "each row, and its index"


@pytest.mark.parametrize("content", [b"", b"x" * 5000, b"SQLite format 3\0" + bytes(5000)])
def test_what_is_not_as_sqlite_writes_it_is_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    descriptor = os.open(tmp_path / "file", os.O_RDWR)
    with pytest.raises(StoreDamaged):
        pages = Pages(descriptor, str(tmp_path / "file"))
        for number in range(3):
            pages.scrub(number)
    os.close(descriptor)
    assert (tmp_path / "file").read_bytes() == content


def test_a_damaged_page_is_told_and_left_alone(store: FileStore, tmp_path: Path) -> None:
    path = tmp_path / "s" / "catalog.db"
    data = bytearray(path.read_bytes())
    data[2 * 4096:2 * 4096 + 8] = b"\xff" * 8
    path.write_bytes(data)
    with pytest.raises(StoreDamaged, match="page 3"):
        scrub(store._catalog, 1)
    assert path.read_bytes()[2 * 4096:3 * 4096] == data[2 * 4096:3 * 4096]
