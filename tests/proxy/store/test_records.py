"""Rows give back the records they were made from."""
from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.contracts import Blob, Capture, Event, Gap, Manifest, Part, View
from byref.proxy.store import records
from byref.proxy.store.catalog import text
from byref.proxy.store.migrations import MIGRATIONS

if TYPE_CHECKING:
    from byref.proxy.store.catalog import Row, Value

strings = st.text(st.characters(codec=None, exclude_categories=()), max_size=12)
blobs = st.builds(Blob, strings, st.integers(0, 1 << 60), st.integers(0, 99))
parts = st.lists(st.builds(Part, strings, strings, blobs), max_size=3).map(tuple)
manifests = st.builds(Manifest, strings, strings, parts, st.none() | st.integers(-255, 255), st.booleans())
gaps = st.lists(st.builds(Gap, strings, strings, st.integers(0, 1 << 50), strings), max_size=3).map(tuple)


@given(manifests)
def test_a_manifest_comes_back(manifest: Manifest) -> None:
    assert records.read_manifest(records.write_manifest(manifest)) == manifest


class Memory:
    """The catalog's layout in memory."""

    def __init__(self) -> None:
        self.db = sqlite3.connect(":memory:")
        self.db.executescript("".join(MIGRATIONS))

    def run(self, query: str, values: tuple[Value, ...]) -> int:
        return self.db.execute(query, values).lastrowid or 0

    def row(self, query: str, values: tuple[Value, ...] = ()) -> Row:
        row: Row = self.db.execute(query, values).fetchone()
        return row

    def rows(self, query: str) -> list[Row]:
        return self.db.execute(query).fetchall()


@given(strings, strings, st.lists(strings, max_size=3).map(tuple), gaps, st.booleans(), st.binary(max_size=16),
       st.none() | st.floats(0, 1e6))
def test_a_call_comes_back(name: str, head: str, texts: tuple[str, ...], gaps: tuple[Gap, ...], passed: bool, shown: bytes,
                           elapsed: float | None) -> None:
    catalog, manifest = Memory(), Manifest("shell", "{}", ())

    def made(texts: tuple[str, ...]) -> Capture:
        view = View(head, texts, gaps, name, passed)
        return Capture(name, name, name, name, "r1", manifest, name, view, shown, shown[::-1], elapsed)

    records.insert_call(catalog.run, records.call_values(made(texts)), 1, 2.0)
    row = catalog.row(f"SELECT {records.CALL} FROM calls WHERE context = ?", (text(name),))
    assert records.call_of(row, manifest) == (made(()), None if passed and not texts else texts)
    catalog.db.close()


@given(st.lists(st.tuples(strings, st.dictionaries(strings, st.integers(-(1 << 60), 1 << 60), max_size=4)), max_size=3))
def test_events_come_back(made: list[tuple[str, dict[str, int]]]) -> None:
    catalog, events = Memory(), [Event(name, 1.5, name, "r1", name, name, numbers, name) for name, numbers in made]
    for event in events:
        catalog.run(records.INSERT_EVENT, records.event_values("scope", event))
    assert list(records.events_of(catalog.rows(f"SELECT {records.EVENT} FROM events ORDER BY id"))) == events
    catalog.db.close()
