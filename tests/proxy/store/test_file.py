"""The `file:` store keeps every promise of a store, over restarts, forks and many processes."""
from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from byref.proxy.contracts import Store
from byref.proxy.errors import ConfigError, Corrupt, Evicted, Expired
from byref.proxy.intake import INLINE
from byref.proxy.store import file, open_store
from conformance.captures import SCOPE, Clock, Factory, capture, keep, log, noise, put, shell, stored
from conformance.ledger import LedgerSuite
from conformance.processes import finish, in_child, start
from conformance.retention import RetentionSuite
from conformance.store import StoreSuite


def at(folder: Path, *, max_bytes: int = 1 << 30, max_age: float = 1e9, clock: Callable[[], float] = time.time) -> Store:
    return open_store(f"file:{folder}", max_bytes=max_bytes, max_age=max_age, clock=clock)


def disk_use(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def all_of(store: Store, ref: str) -> list[object]:
    window = "window"
    return [store.resolve(SCOPE, ref), store.first(window, "1"), store.shown(window), store.tick(window), list(store.events()),
            store.verify()]


class TestFile(StoreSuite, RetentionSuite, LedgerSuite):
    @pytest.fixture
    def factory(self, tmp_path: Path) -> Factory:
        def make(*, max_bytes: int = 1 << 30, max_age: float = 1e9, clock: Callable[[], float] = time.time) -> Store:
            return at(tmp_path / "store", max_bytes=max_bytes, max_age=max_age, clock=clock)
        return make


def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    clock = Clock()
    store = at(tmp_path / "s", clock=clock)
    given = store.commit(capture(store, log(6000), b"err\n", call_id="1"))
    before = all_of(store, given.ref)
    store.close()
    store = at(tmp_path / "s", clock=clock)
    assert all_of(store, given.ref) == before
    assert stored(store, SCOPE, given.ref) == [log(6000), b"err\n"]
    store.close()


@pytest.mark.parametrize("umask", [0, 0o022, 0o777])
def test_only_the_owner_can_read_a_store_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    def work() -> dict[str, int]:
        os.umask(umask)
        store = at(tmp_path / "made" / "store")
        keep(store, log(6000), b"small\n")
        put(store, log(7000))
        modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "made").rglob("*")}
        store.close()
        return modes

    (tmp_path / "made").mkdir()
    modes = in_child(work)
    assert {"store", "catalog.db", "catalog.db-wal", "catalog.db-shm", "lock", "blobs", "tmp"} <= modes.keys()
    assert len(modes) == 12, "two blobs in folders of their own, and one of them in tmp/ still"
    for name, mode in modes.items():
        assert mode == (0o600 if "." in name or name == "lock" else 0o700), name


def test_processes_see_one_anothers_outputs(tmp_path: Path) -> None:
    store = at(tmp_path / "s")

    def work(number: int) -> list[str]:
        other = at(tmp_path / "s")
        refs = [keep(other, log(10 + 900 * (step % 2), seed=100 * number + step)) for step in range(10)]
        other.close()
        return refs

    running = [start(lambda number=number: work(number)) for number in range(4)]  # type: ignore[misc]
    for number, process in enumerate(running):
        refs = finish(*process)
        assert isinstance(refs, list)
        for step, ref in enumerate(refs):
            assert stored(store, SCOPE, ref) == [log(10 + 900 * (step % 2), seed=100 * number + step)]
    assert store.usage().outputs == 40 and store.verify().damaged == () and len(list(store.events(SCOPE))) == 40
    assert [tick for tick, _, _ in store.shown("window")] == list(range(1, 41))
    store.close()


def test_a_store_can_be_used_on_both_sides_of_a_fork(tmp_path: Path) -> None:
    store = at(tmp_path / "s")
    before, half = keep(store, log(6000)), put(store, log(9000))

    def work() -> tuple[list[bytes], str]:
        mine = stored(store, SCOPE, before), keep(store, b"of the child\n")
        store.close()
        return mine

    held, ref = in_child(work)
    assert held == [log(6000)] and stored(store, SCOPE, ref) == [b"of the child\n"]
    assert store.open(half.digest).read() == log(9000), "closing the child's copy leaves the parent's unfinished work alone"
    after = capture(store, log(9000))
    store.gc()
    assert stored(store, SCOPE, store.commit(after).ref) == [log(9000)]
    store.close()


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    for number in range(6):
        acknowledged, writing = os.pipe()

        def work(number: int = number, writing: int = writing) -> None:
            store = at(tmp_path / "s")
            for step in range(1000):
                ref = keep(store, log(400 * (step % 3), seed=1000 * number + step))
                os.write(writing, f"{step} {ref}\n".encode())

        pid, reading = start(work)
        os.close(writing)
        time.sleep(0.02 * number)
        lines = os.read(acknowledged, 1 << 16).decode()
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(RuntimeError):
            finish(pid, reading)
        os.close(acknowledged)
        store = at(tmp_path / "s")
        for line in lines.splitlines():
            step, ref = line.split()
            assert stored(store, SCOPE, ref) == [log(400 * (int(step) % 3), seed=1000 * number + int(step))]
        store.gc()
        assert store.verify().damaged == () and list((tmp_path / "s" / "tmp").glob("*")) == []
        store.close()


# the shared case of a store that expires, evicts and is full, on the disk itself

def test_the_folder_stays_within_its_quota_on_disk(tmp_path: Path) -> None:
    clock = Clock()
    store = at(tmp_path / "s", max_bytes=2_000_000, max_age=600, clock=clock)
    first = keep(store, log(8000))
    clock.now += 599
    store.close()
    store = at(tmp_path / "s", max_bytes=2_000_000, max_age=600, clock=clock)
    assert stored(store, SCOPE, first) == [log(8000)]
    clock.now += 100_000
    with pytest.raises(Expired, match="run it again"):
        store.resolve(SCOPE, first)
    assert keep(store, log(8000)) == first and stored(store, SCOPE, first) == [log(8000)]
    refs, most = [], 0
    for seed in range(30):
        refs.append(keep(store, noise(200_000, seed), arguments=shell(f"cat {seed}")))
        most = max(most, disk_use(tmp_path / "s"))
    assert stored(store, SCOPE, refs[-1]) == [noise(200_000, 29)] and most <= 2_200_000
    with pytest.raises(Evicted, match="cat 0"):
        store.resolve(SCOPE, refs[0])
    store.close()
    assert disk_use(tmp_path / "s") <= 2_200_000


def test_the_folder_stays_within_its_quota_under_small_outputs_and_views(tmp_path: Path) -> None:
    store, most = at(tmp_path / "s", max_bytes=1_000_000), 0
    for seed in range(150):
        keep(store, noise(7000 if seed % 7 else 60_000, seed), b"warning\n", arguments=shell(f"make {seed} " + "x" * 300))
        most = max(most, disk_use(tmp_path / "s"))
    assert 900_000 < most <= 1_100_000
    assert store.usage().bytes_held <= most and store.verify().damaged == ()
    store.close()


def test_pages_that_small_outputs_leave_make_room_for_files(tmp_path: Path) -> None:
    store, most = at(tmp_path / "s", max_bytes=2_000_000), 0
    for seed in range(220):
        keep(store, noise(7000, seed))
    for seed in range(12):
        keep(store, noise(200_000, seed))
        most = max(most, disk_use(tmp_path / "s"))
    assert most <= 2_200_000
    store.close()


def test_the_wal_stays_small(tmp_path: Path) -> None:
    store, most = at(tmp_path / "s"), 0
    for seed in range(300):
        keep(store, noise(8000, seed))
        most = max(most, (tmp_path / "s" / "catalog.db-wal").stat().st_size)
    assert 1_000_000 < most < 8_000_000
    store.close()


# damage

def blob_file(folder: Path) -> Path:
    return next((folder / "blobs").rglob("*.zst"))


def test_a_blob_that_is_lost_or_damaged_is_corrupt_and_comes_back_with_its_output(tmp_path: Path) -> None:
    store = at(tmp_path / "s")
    ref = keep(store, log(20_000))
    digest = store.resolve(SCOPE, ref).manifest.parts[0].blob.digest
    whole = blob_file(tmp_path / "s").read_bytes()
    for damaged in (None, b"", whole[:-1], whole[:100], whole[:5000] + b"\xff" + whole[5001:]):
        if damaged is None:
            blob_file(tmp_path / "s").unlink()
        else:
            blob_file(tmp_path / "s").write_bytes(damaged)
        with pytest.raises(Corrupt):
            stored(store, SCOPE, ref)
        assert [name for name, _ in store.verify().damaged] == [digest]
        assert keep(store, log(20_000)) == ref
        assert stored(store, SCOPE, ref) == [log(20_000)]
        assert store.verify().damaged == ()
    store.close()


@pytest.mark.parametrize("lost", [False, True])
def test_a_file_of_a_store_that_kept_less_in_its_catalog_gives_way_to_bytes_that_come_again(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: bool) -> None:
    monkeypatch.setattr(file, "SMALL", 1000)
    store = at(tmp_path / "s")
    ref = keep(store, log(300))
    assert blob_file(tmp_path / "s").exists()
    monkeypatch.undo()
    assert stored(store, SCOPE, ref) == [log(300)]
    held = store.open(store.resolve(SCOPE, ref).manifest.parts[0].blob.digest)
    if lost:
        blob_file(tmp_path / "s").unlink()
    assert keep(store, log(300), arguments=shell("another call")) != ref
    assert list((tmp_path / "s" / "blobs").rglob("*.zst")) == [] and stored(store, SCOPE, ref) == [log(300)] == [held.read()]
    assert store.verify().damaged == () and store.gc().blobs == 1
    store.close()
    with sqlite3.connect(tmp_path / "s" / "catalog.db") as db:
        assert db.execute("SELECT files, stored = length(data) FROM totals, blobs").fetchall() == [(0, 1)]
    db.close()


def test_what_lies_in_the_catalog_is_handed_to_no_thread() -> None:
    assert INLINE == file.SMALL, "bytes; the gateway knows no backend, and must know which parts are written at once"


def test_the_file_of_another_blob_is_corrupt(tmp_path: Path) -> None:
    store = at(tmp_path / "s")
    ref, other = keep(store, log(6000)), keep(store, log(6001))
    paths = sorted((tmp_path / "s" / "blobs").rglob("*.zst"))
    first, second = (path.read_bytes() for path in paths)
    paths[0].write_bytes(second)
    paths[1].write_bytes(first)
    for name in (ref, other):
        with pytest.raises(Corrupt):
            stored(store, SCOPE, name)
    store.close()


def test_a_link_in_place_of_a_blob_reveals_nothing(tmp_path: Path) -> None:
    store = at(tmp_path / "s")
    ref = keep(store, log(6000))
    (tmp_path / "secret").write_bytes(b"not yours\n" * 2000)
    path = blob_file(tmp_path / "s")
    path.unlink()
    path.symlink_to(tmp_path / "secret")
    with pytest.raises(Corrupt):
        stored(store, SCOPE, ref)
    store.close()


# opening

@pytest.mark.parametrize("url", ["file:", "file:relative/path", "file:~/store"])
def test_a_url_without_a_full_path_is_a_setting_to_correct(url: str) -> None:
    with pytest.raises(ConfigError, match="full path"):
        open_store(url, max_bytes=1, max_age=1, clock=time.time)


def test_a_url_may_have_an_empty_host(tmp_path: Path) -> None:
    store = open_store(f"file://{tmp_path}/s", max_bytes=1 << 30, max_age=1e9, clock=time.time)
    assert (tmp_path / "s" / "catalog.db").is_file() and store.url == f"file://{tmp_path}/s"
    store.close()
