"""What one transaction takes in for several captures: all of them, but for those that are wrong, and the store's counts agree."""
from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from byref.proxy.contracts import Capture, Manifest, Part, View
from byref.proxy.errors import Collision, Unknown
from byref.proxy.store import blobs, open_store
from byref.proxy.store.catalog import Write
from byref.proxy.store.file import FileStore
from byref.proxy.store.grouping import Job
from byref.proxy.store.records import call_values, event_values
from byref.proxy.text import ref_of
from conformance.captures import OTHER, SCOPE, capture, keep, log, noise, shell, stored


@pytest.fixture
def store(tmp_path: Path) -> Iterator[FileStore]:
    made = open_store(f"file:{tmp_path / 's'}", max_bytes=1 << 30, max_age=1e9, clock=time.time)
    assert isinstance(made, FileStore)
    yield made
    made.close()


def jobs(*captures: Capture) -> list[Job]:
    return [Job(one, call_values(one), [event_values(one.scope, event) for event in one.events], time.time()) for one in captures]


def counts(store: FileStore, folder: Path) -> None:
    """What the totals say is what is there."""
    with sqlite3.connect(folder / "s" / "catalog.db") as db:
        outputs, number, raw, files, calls = db.execute("SELECT outputs, blobs, raw, files, calls FROM totals").fetchone()
        assert (outputs, number) == tuple(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("outputs", "blobs"))
        assert raw == db.execute("SELECT coalesce(sum(size), 0) FROM blobs").fetchone()[0]
        assert files == db.execute("SELECT coalesce(sum(stored), 0) FROM blobs WHERE data IS NULL").fetchone()[0]
        assert calls == db.execute("SELECT coalesce(sum(bytes), 0) FROM calls").fetchone()[0]
    db.close()
    assert store.verify().damaged == ()


def test_captures_of_one_transaction_see_one_another(store: FileStore, tmp_path: Path) -> None:
    taken = jobs(
        capture(store, b"one\n", arguments=shell("a"), call_id="1"), capture(store, b"one\n", arguments=shell("b")),
        capture(store, log(6000), session="other"), capture(store, b"two\n", arguments=shell("c"), call_id="1"),
        capture(store, b"one\n", arguments=shell("a")))
    store._commit_all(taken)
    assert [job.fault for job in taken] == [None] * 5
    refs = [job.result.ref for job in taken if job.result]
    assert refs[3] == refs[0] == refs[4], "the first answer of a call stands, and the same call with the same bytes is one output"
    assert stored(store, SCOPE, refs[2]) == [log(6000)] and store.usage().outputs == 3 and store.usage().blobs == 2
    assert [tick for tick, _, _ in store.shown("window")] == [1, 2, 3, 4]
    assert [name for _, name, _ in store.sessions()] == ["main", "other"]
    counts(store, tmp_path)


def test_one_that_is_wrong_costs_the_others_nothing(store: FileStore, tmp_path: Path) -> None:
    held = keep(store, b"held\n", arguments=shell("held"))
    good = [capture(store, noise(size, size), arguments=shell(f"{size}")) for size in (10, 9000, 40_000)]
    other = Manifest("shell", shell("made up"), good[0].manifest.parts)
    unwritten = Manifest("shell", shell("nothing"), (Part("stdout", "text/plain", blobs.Blob("b2:" + 64 * "0", 3, 0)),))
    wrong = [Capture(SCOPE, "main", "window", None, held, other, "", View("", ())),
             Capture(SCOPE, "main", "window", None, ref_of(unwritten), unwritten, "", View("", ()))]
    taken = jobs(good[0], wrong[0], good[1], wrong[1], good[2])
    store._commit_all(taken)
    assert [type(job.fault) for job in taken] == [type(None), Collision, type(None), Unknown, type(None)]
    assert [job.result for job in taken] == [good[0], None, good[1], None, good[2]]
    for one in good:
        assert store.resolve(SCOPE, one.ref).manifest == one.manifest
    assert store.usage().outputs == 4 and len(list(store.events())) == 4
    counts(store, tmp_path)


def test_what_is_committed_stands_though_a_file_could_not_be_removed(
        store: FileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave = Write.__exit__

    def fails(self: Write, *about: object) -> None:
        def after() -> None:
            raise OSError("no")
        self.after.append(after)
        leave(self, *about)  # type: ignore[arg-type]
    monkeypatch.setattr(Write, "__exit__", fails)
    ref = keep(store, b"out\n")
    monkeypatch.undo()
    assert stored(store, SCOPE, ref) == [b"out\n"]
    counts(store, tmp_path)


def test_an_interruption_commits_nothing_and_tells_nobody_a_result(
        store: FileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = jobs(capture(store, b"1\n"), capture(store, b"2\n", scope=OTHER))

    def stops(*_: object) -> None:
        raise KeyboardInterrupt
    monkeypatch.setattr("byref.proxy.store.taking.Taking.end", stops)
    with pytest.raises(KeyboardInterrupt):
        store._commit_all(taken)
    monkeypatch.undo()
    assert [(job.result, job.fault) for job in taken] == [(None, None), (None, None)] and store.usage().outputs == 0
    store._commit_all(taken)
    assert store.usage().outputs == 2
    counts(store, tmp_path)
