"""The file of events: what stands in it, that none is lost to a rotation, that a purge reaches it, and that it can be off."""
from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path

import pytest

import byref
from byref.proxy.contracts import Event
from byref.proxy.errors import StoreError
from byref.proxy.ledger import events
from byref.proxy.ledger.log import EventLog

LOG = "".join(f"step {i} of the installation copied file_{i * 7919 % 1000}.dat\n" for i in range(300))


def rows(*paths: Path) -> list[dict[str, object]]:
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def search(n: int) -> Event:
    return events.searched(at=1.0, session="s", tokens=n, hits=0, query="größe")


def test_every_event_of_a_session_stands_in_it_as_in_the_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYREF_LOG", str(tmp_path / "deep" / "events.jsonl"))
    with byref.open() as gateway:
        session = gateway.session("a", scope="s")
        view = session.capture(tool="shell", args={"command": "./install --token=hush"}, output=LOG)
        session.fetch(view.ref, "L1-2")
        with pytest.raises(byref.ByrefError):
            session.fetch("rzzzzzzzzzz")
        session.search("installation")
        held = list(gateway.store.events("s"))
    found = rows(tmp_path / "deep" / "events.jsonl")
    assert [row["kind"] for row in found] == ["captured", "viewed", "fetched", "missed", "searched"]
    assert [(row["kind"], row["ref"], row["numbers"], row["note"]) for row in found] == [
        (event.kind, event.ref, dict(event.numbers), event.note) for event in held]
    assert all(row["scope"] == "s" and row["session"] == "a" for row in found)
    text = (tmp_path / "deep" / "events.jsonl").read_text()
    assert "hush" not in text and "copied" not in text
    assert (tmp_path / "deep" / "events.jsonl").stat().st_mode & 0o777 == 0o600


def test_it_is_off_without_a_path_by_the_word_and_for_a_store_in_memory(
        own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = own_home / "byref"
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text('[log]\npath = "events.jsonl"\n')
    place = home / "events.jsonl"
    with byref.open("memory:") as gateway:
        gateway.session("a").capture(tool="t", output="x")
    monkeypatch.setenv("BYREF_LOG", "off")
    with byref.open() as gateway:
        gateway.session("a").capture(tool="t", output="x")
    assert not place.exists()
    monkeypatch.delenv("BYREF_LOG")
    with byref.open() as gateway:
        gateway.session("b").capture(tool="t", output="x")
    assert len(rows(place)) == 2


def test_a_full_file_becomes_the_first_of_those_that_are_kept(tmp_path: Path) -> None:
    log = EventLog(str(tmp_path / "e"), 500, 2)
    for n in range(20):
        log.write("s", [search(n)])
    kept = [tmp_path / name for name in ("e.2", "e.1", "e")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e", "e.1", "e.2", "e.lock"]
    assert all(0 < path.stat().st_size <= 500 for path in kept)
    numbers = [row["numbers"]["tokens"] for row in rows(*kept)]  # type: ignore[index]
    assert numbers == list(range(20 - len(numbers), 20)) and len(numbers) >= 6
    alone = EventLog(str(tmp_path / "alone"), 500, 0)
    for n in range(20):
        alone.write("s", [search(n)])
    assert not (tmp_path / "alone.1").exists() and rows(tmp_path / "alone")[-1]["numbers"] == {"tokens": 19, "hits": 0}


def _many(path: str, who: int) -> None:
    log = EventLog(path, 2000, 1000)
    for n in range(100):
        log.write("s", [search(1000 * who + n)])


def test_processes_that_write_at_once_lose_no_line_to_a_rotation(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.starmap(_many, [(str(tmp_path / "e"), who) for who in range(2)])
    found = [row["numbers"]["tokens"] for row in rows(*(path for path in tmp_path.iterdir() if path.suffix != ".lock"))]  # type: ignore[index]
    assert sorted(found) == [1000 * who + n for who in range(2) for n in range(100)]


def test_a_purge_reaches_it_in_its_scope_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "e"
    monkeypatch.setenv("BYREF_LOG", str(path))
    with byref.open() as gateway:
        ref, _ = (gateway.session("a", scope=scope).capture(tool="shell", args={"command": "x"}, output=LOG).ref for scope in "st")
        for scope in "st":
            gateway.session("a", scope=scope).fetch(ref, "L1-2")
            gateway.session("a", scope=scope).search("secret words")
        os.replace(path, tmp_path / "e.1")
        gateway.session("a", scope="s").capture(tool="t", output="y")
        gateway.purge(ref, scope="s")
        mine = [row for row in rows(tmp_path / "e.1", path) if row["scope"] == "s"]
        assert ref not in json.dumps(mine) and "secret" not in json.dumps(mine) and not any(row["note"] for row in mine)
        assert [row["kind"] for row in mine] == ["captured", "viewed", "fetched", "searched", "captured", "viewed"] and mine[-1]["ref"]
        assert (tmp_path / "e.1").read_text().count(ref) == 3 and "secret" in (tmp_path / "e.1").read_text()
        gateway.purge(ref, scope="t", everywhere=True)
    assert ref not in (tmp_path / "e.1").read_text()


def test_a_file_that_cannot_be_written_stops_no_call_and_a_purge_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "e").mkdir()
    monkeypatch.setenv("BYREF_LOG", str(tmp_path / "e"))
    with byref.open() as gateway:
        session = gateway.session("a", scope="s")
        view = session.capture(tool="shell", args={"command": "x"}, output=LOG)
        assert view.ref and not view.warning and session.fetch(view.ref, "L1-1").text and "event log" in gateway.faults.recent[-1]
        with pytest.raises(StoreError, match=r"is removed from the store, but .* may still name it"):
            session.purge(view.ref)
        with pytest.raises(byref.ByrefError, match="was removed"):
            session.fetch(view.ref)
