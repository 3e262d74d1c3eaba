"""A catalog's layout changes by steps that are only added to."""
from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import byref
from byref.proxy.store import open_store
from byref.proxy.store.catalog import APPLICATION, LAYOUT
from byref.proxy.store.migrations import MIGRATIONS
from byref.proxy.text import digest

# A step never changes once stores have taken it; a change of the layout is a new step, and its digest is added here.
RELEASED = (
    "b2:3c36ae517d2f2123717c0dc17a89b2896fbf32de9dd263756193ed262053b233",
    "b2:57398d3b6c0fd9a639512598973f22100bb1978320651930224574bd4c24d1e6",
    "b2:2cef592676e622a0f3ca993d071986933827fe68831dd54f5b76a3708e9d51b4",
    "b2:52d95d58f2dde85df034f42095e19f90a7b48086713f4a1078f59d4eef7bed6a",
)


def test_the_known_layout_is_the_number_of_steps() -> None:
    assert len(MIGRATIONS) == LAYOUT


def test_released_steps_stay_as_they_were() -> None:
    assert tuple(digest(step.encode()) for step in MIGRATIONS[:len(RELEASED)]) == RELEASED


def test_a_new_catalog_has_the_layout_and_says_whose_it_is(tmp_path: Path) -> None:
    open_store(f"file:{tmp_path}/s", max_bytes=1 << 30, max_age=1e9, clock=time.time).close()
    db = sqlite3.connect(tmp_path / "s" / "catalog.db")
    names = ("user_version", "application_id", "journal_mode", "auto_vacuum")
    values = {name: db.execute(f"PRAGMA {name}").fetchone()[0] for name in names}
    db.close()
    assert values == {"user_version": LAYOUT, "application_id": APPLICATION, "journal_mode": "wal", "auto_vacuum": 2}


def test_a_creation_that_was_cut_off_is_completed(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "catalog.db").touch()
    store = open_store(f"file:{tmp_path}/s", max_bytes=1 << 30, max_age=1e9, clock=time.time)
    assert store.usage().outputs == 0
    store.close()


def test_a_catalog_of_the_first_layout_is_brought_up_to_date_with_all_that_it_holds(tmp_path: Path) -> None:
    with byref.open(f"file:{tmp_path}/s") as gateway:
        ref = gateway.session("a").capture(tool="shell", args={"command": "make"}, output="kept\n").ref
    db = sqlite3.connect(tmp_path / "s" / "catalog.db", isolation_level=None)
    db.execute("DROP INDEX outputs_signature")
    db.execute("DROP INDEX events_fetched")
    db.execute("DROP INDEX outputs_scope")
    db.execute("PRAGMA user_version = 1")
    db.close()
    with byref.open(f"file:{tmp_path}/s") as gateway:
        assert gateway.session("a").fetch(ref).text == "kept\n"
    db = sqlite3.connect(tmp_path / "s" / "catalog.db")
    assert db.execute("PRAGMA user_version").fetchone() == (LAYOUT,)
    assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'outputs_signature'").fetchone() == (1,)
    db.close()
