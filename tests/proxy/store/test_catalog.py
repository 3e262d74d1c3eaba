"""The catalog says what is wrong with its folder, and waits for other writers, but not for ever."""
from __future__ import annotations

import errno
import fcntl
import os
import resource
import signal
import sqlite3
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.contracts import Store
from byref.proxy.errors import ByrefError, StoreBusy, StoreDamaged, StoreError, StoreFull, StoreNewer, StoreReadOnly
from byref.proxy.store import catalog, open_store
from byref.proxy.store.migrations import MIGRATIONS
from conformance.captures import SCOPE, keep, log, noise, put, stored
from conformance.processes import finish, in_child, open_folder, start

__all__ = ["open_folder"]


def at(folder: Path) -> Store:
    return open_store(f"file:{folder}", max_bytes=1 << 30, max_age=1e9, clock=time.time)


def made(folder: Path) -> str:
    """A closed store with one output of a file and a row; its ref."""
    store = at(folder)
    ref = keep(store, log(6000), b"small\n")
    store.close()
    return ref


# what the folder may be

def test_a_newer_catalog_is_left_alone(tmp_path: Path) -> None:
    made(tmp_path / "s")
    with sqlite3.connect(tmp_path / "s" / "catalog.db") as db:
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.close()
    with pytest.raises(StoreNewer, match="update byref"):
        at(tmp_path / "s")


@pytest.mark.parametrize("content", [b"no database\n" * 500, b"SQLite format 3\0" + bytes(5000), b"x"])
def test_what_is_no_database_is_damaged(tmp_path: Path, content: bytes) -> None:
    made(tmp_path / "s")
    (tmp_path / "s" / "catalog.db").write_bytes(content)
    with pytest.raises(StoreDamaged):
        at(tmp_path / "s")


def test_a_catalog_cut_short_loses_nothing_in_silence(tmp_path: Path) -> None:
    ref = made(tmp_path / "s")
    path = tmp_path / "s" / "catalog.db"
    whole = path.read_bytes()
    for size in range(0, len(whole), 4096):
        path.write_bytes(whole[:size])
        try:
            store = at(tmp_path / "s")
            assert stored(store, SCOPE, ref) == [log(6000), b"small\n"]
        except ByrefError as fault:
            assert isinstance(fault, StoreError), "a catalog that is damaged does not say that a ref was never issued"
        else:
            assert store.verify().damaged
            store.close()


@pytest.mark.parametrize("setup", ["CREATE TABLE notes (text)", "CREATE TABLE notes (text); PRAGMA user_version = 1"])
def test_a_database_of_something_else_is_not_touched(tmp_path: Path, setup: str) -> None:
    (tmp_path / "s").mkdir()
    db = sqlite3.connect(tmp_path / "s" / "catalog.db")
    db.executescript(setup)
    db.close()
    before = (tmp_path / "s" / "catalog.db").read_bytes()
    with pytest.raises(StoreDamaged, match="something else"):
        at(tmp_path / "s")
    assert (tmp_path / "s" / "catalog.db").read_bytes() == before


def test_a_lost_catalog_is_not_replaced_by_an_empty_one(tmp_path: Path) -> None:
    made(tmp_path / "s")
    (tmp_path / "s" / "catalog.db").unlink()
    with pytest.raises(StoreDamaged, match="missing"):
        at(tmp_path / "s")


def test_a_row_whose_bytes_were_changed_is_corrupt(tmp_path: Path) -> None:
    ref = made(tmp_path / "s")
    db = sqlite3.connect(tmp_path / "s" / "catalog.db")
    db.execute("UPDATE blobs SET data = x'6576696c' WHERE data IS NOT NULL")
    db.commit()
    db.close()
    store = at(tmp_path / "s")
    with pytest.raises(ByrefError, match="corrupt"):
        stored(store, SCOPE, ref)
    assert len(store.verify().damaged) == 1
    store.close()


def test_a_folder_that_cannot_be_made_or_used_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="file"):
        at(tmp_path / "file")
    with pytest.raises(StoreError, match="file"):
        at(tmp_path / "file" / "store")


# read only

def test_a_read_only_store_still_gives_what_it_holds(open_folder: Path) -> None:
    def write() -> str:
        return made(open_folder / "s")

    def read() -> list[str]:
        store = at(open_folder / "s")
        said = [str(stored(store, SCOPE, ref) == [log(6000), b"small\n"])]
        for action in (lambda: keep(store, b"more\n"), lambda: put(store, log(6001)), lambda: store.forget("window"), store.gc,
                       lambda: store.purge(SCOPE, ref)):
            try:
                action()
            except ByrefError as fault:
                said.append(type(fault).__name__)
        store.close()
        return said

    ref = in_child(write, ordinary=True)
    for path in [*(open_folder / "s").rglob("*"), open_folder / "s"]:
        path.chmod(0o500 if path.is_dir() else 0o400)
    assert in_child(read, ordinary=True) == ["True"] + 5 * ["StoreReadOnly"]


def test_a_place_where_no_store_can_be_made_is_read_only(open_folder: Path) -> None:
    open_folder.chmod(0o500)
    with pytest.raises(StoreReadOnly, match="BYREF_HOME"):
        in_child(lambda: at(open_folder / "s"), ordinary=True)


# a full disk

def test_a_full_disk_refuses_outputs_and_loses_none(tmp_path: Path) -> None:
    def work() -> list[str]:
        store, said = at(tmp_path / "s"), []
        refs = [keep(store, noise(100_000, 0), b"small\n")]
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limit = 4096 + max(path.stat().st_size for path in (tmp_path / "s").rglob("*"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        for data in (noise(1_000_000, 1), *(noise(7000, seed) for seed in range(2, 80))):
            try:
                refs.append(keep(store, data))
            except ByrefError as fault:
                said.append(type(fault).__name__)
        said.append(f"{[len(stored(store, SCOPE, ref)) for ref in refs].count(1) + 1 == len(refs)}")
        said.append(f"{list((tmp_path / 's' / 'tmp').iterdir())} {store.verify().damaged}")
        return said

    *refused, all_there, left = in_child(work)
    assert set(refused) == {"StoreFull"} and len(refused) > 10
    assert all_there == "True" and left == "[] ()"


def test_no_space_left_while_a_blob_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = at(tmp_path / "s")
    real = os.write

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("write", "fsync"):
        monkeypatch.setattr(os, name, full if name == "write" else lambda descriptor: full(descriptor, b""))
        with pytest.raises(StoreFull, match="No space left"):
            put(store, noise(100_000, 1))
        monkeypatch.setattr(os, "write", real)
    monkeypatch.undo()
    assert list((tmp_path / "s" / "tmp").iterdir()) == [] and store.usage().blobs == 0
    assert stored(store, SCOPE, keep(store, noise(100_000, 1))) == [noise(100_000, 1)]
    store.close()


# other writers

def test_a_writer_that_never_lets_go_makes_the_others_busy_and_no_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "PATIENCE", 0.1)
    store = at(tmp_path / "s")
    ref = keep(store, b"before\n")
    holder = os.open(tmp_path / "s" / "lock", os.O_RDWR)
    fcntl.flock(holder, fcntl.LOCK_EX)
    for _ in range(3):
        with pytest.raises(StoreBusy, match="try again"):
            keep(store, b"meanwhile\n")
    assert stored(store, SCOPE, ref) == [b"before\n"], "readers wait for nobody"
    os.close(holder)
    assert stored(store, SCOPE, keep(store, b"meanwhile\n")) == [b"meanwhile\n"]
    store.close()


def test_a_writer_that_takes_no_lock_is_waited_for_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "PATIENCE", 0.1)
    store = at(tmp_path / "s")

    def hold() -> None:
        db = sqlite3.connect(tmp_path / "s" / "catalog.db", isolation_level=None)
        db.execute("BEGIN IMMEDIATE")
        (tmp_path / "held").touch()
        while not (tmp_path / "told").exists():
            time.sleep(0.01)
        db.execute("ROLLBACK")
        db.close()

    process = start(hold)
    while not (tmp_path / "held").exists():
        time.sleep(0.01)
    with pytest.raises(StoreBusy):
        keep(store, b"x\n")
    (tmp_path / "told").touch()
    finish(*process)
    keep(store, b"x\n")
    store.close()


def test_a_fault_within_a_transaction_leaves_nothing_of_it(tmp_path: Path) -> None:
    cat = catalog.Catalog(str(tmp_path / "c"), 1 << 20, 2 << 20)
    with pytest.raises(StoreError), cat.write() as write:
        assert write.row("PRAGMA synchronous") == (2,), "a commit that shows a ref is durable (FULL)"
        write.run("INSERT INTO doomed VALUES ('b2:1')")
        write.run("INSERT INTO nowhere VALUES (1)")
    with pytest.raises(ZeroDivisionError), cat.write() as write:
        write.run("INSERT INTO doomed VALUES ('b2:1')")
        raise ZeroDivisionError
    assert cat.read("SELECT * FROM doomed") == []
    with cat.write(durable=False) as write:
        write.run("INSERT INTO doomed VALUES ('b2:1')")
    with cat.write() as write:
        assert write.row("PRAGMA synchronous") == (2,), "one that is not leaves no trace in those after it"
        assert write.row("PRAGMA secure_delete") == (1,)
    assert cat.read("SELECT * FROM doomed") == [("b2:1",)]
    cat.close()


def test_no_connection_is_used_on_both_sides_of_a_fork(tmp_path: Path) -> None:
    cat = catalog.Catalog(str(tmp_path / "c"), 1 << 20, 2 << 20)
    assert in_child(lambda: (cat.read("SELECT count(*) FROM outputs"), len(catalog._ABANDONED))) == ([(0,)], 1)
    assert cat.read("SELECT count(*) FROM outputs") == [(0,)] and catalog._ABANDONED == []
    cat.close()


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_any_string_comes_back_from_sqlite(value: str) -> None:
    db = sqlite3.connect(":memory:")
    try:
        assert catalog.string(db.execute("SELECT ?", (catalog.text(value),)).fetchone()[0]) == value
    finally:
        db.close()
