"""Cursors: kept from process to process, and in doubt none."""
from __future__ import annotations

from pathlib import Path

import pytest

from byref.proxy.cursors import NAME, Cursors


@pytest.fixture(params=["folder", "memory"])
def cursors(request: pytest.FixtureRequest, tmp_path: Path) -> Cursors:
    return Cursors(str(tmp_path) if request.param == "folder" else None)


def test_a_cursor_holds_for_its_version_and_for_an_index_that_lost_nothing(cursors: Cursors) -> None:
    assert cursors.at("bm25", "1", 0) == 0
    cursors.put("bm25", "1", 7, 40)
    cursors.put("static", "1-ab", 6, 39)
    assert (cursors.at("bm25", "1", 7), cursors.at("bm25", "1", 9), cursors.at("static", "1-ab", 6)) == (40, 40, 39)
    assert cursors.at("bm25", "2", 7) == cursors.at("bm25", "1", 6) == cursors.at("names", "1", 9) == 0
    cursors.drop("bm25")
    assert cursors.at("bm25", "1", 7) == 0 and cursors.at("static", "1-ab", 6) == 39
    cursors.drop()
    assert cursors.at("static", "1-ab", 6) == 0


def test_another_process_goes_on_from_there_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    Cursors(str(tmp_path)).put("bm25", "1", 7, 40)
    assert Cursors(str(tmp_path)).at("bm25", "1", 7) == 40 and [path.name for path in tmp_path.iterdir()] == [NAME]
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff", b'{"bm25": 3}', b'{"bm25": ["1", "x", 1]}', b'{"bm25": ["1"]}', b"null"])
def test_a_damaged_file_is_as_if_there_were_none(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / NAME).write_bytes(damage)
    cursors = Cursors(str(tmp_path))
    assert cursors.at("bm25", "1", 7) == 0
    cursors.put("bm25", "1", 7, 40)
    assert cursors.at("bm25", "1", 7) == 40


def test_where_nothing_is_indexed_nothing_is_written(tmp_path: Path) -> None:
    cursors = Cursors(str(tmp_path / "none"))
    cursors.put("bm25", "1", 0, 3)
    cursors.drop()
    assert not list(tmp_path.iterdir())
