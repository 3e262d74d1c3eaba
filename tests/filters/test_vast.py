"""An array of many thousand records is scanned: its ends, the odd one and the failed ones stand, the rest is counted."""
from __future__ import annotations

import json

import pytest

from byref.filters import vast
from byref.filters.lexical import find
from byref.filters.shapes.json import SHAPE
from byref.filters.units import HIDDEN, MUST, Units
from byref.proxy.contracts import Call


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("byref.filters.shapes.json.SIZE", 20_000)
    monkeypatch.setattr(vast, "_PIECE", 5_000)


def page(n: int = 2000, **others: object) -> str:
    rows = [{"sku": f"S{i:05d}", "qty": i % 7, "note": ""} for i in range(n)]
    return json.dumps({"exported": "2026-05-01", "rows": rows, **others}, separators=(",", ":"))


def cut(raw: str) -> Units:
    units = SHAPE.units(raw, Call("shell"))
    assert units is not None and HIDDEN in units.rank
    return units


def test_both_ends_stand_and_the_rest_is_counted_under_one_address() -> None:
    raw = page(rowCount=2000)
    units = cut(raw)
    assert units.counts is not None and sum(units.counts) == 2000
    told = "\n".join(units.texts)
    assert "S00000" in told and "S01999" in told and '"rowCount":2000' in told and "S01000" not in told
    k = units.rank.index(HIDDEN)
    address = units.address(k, k)
    assert address.startswith("$.rows[")
    assert units.sizes is not None and sum(units.sizes) > len(raw) * 8 // 10
    [(a, b)] = find(raw.encode(), address)
    assert "S01000" in raw[a:b]


def test_a_record_that_is_much_longer_stands() -> None:
    raw = page().replace('"S01234","qty":2,"note":""', '"S01234","qty":-4,"note":"negative stock after merge, see ticket 5521"')
    assert any("S01234|-4" in text and "negative stock after merge" in text for text in cut(raw).texts)


def test_records_that_failed_stand_and_those_left_out_are_counted() -> None:
    rows = [{"id": i, "status": "failed" if i % 20 == 7 else "done", "pad": "x" * 20} for i in range(2000)]
    units = cut(json.dumps(rows))
    assert sum(rank == MUST for rank in units.rank) >= 40
    assert sum(units.failures.values()) + sum(rank == MUST for rank in units.rank) == 100


def test_lines_of_values_are_scanned_too() -> None:
    raw = "".join(f'{{"n":{i},"pad":"{"y" * 30}"}}\n' for i in range(1500))
    units = cut(raw)
    assert units.counts is not None and sum(units.counts) == 1500
    k = units.rank.index(HIDDEN)
    assert units.address(k, k).startswith("$[")


@pytest.mark.parametrize("end", [30_000, 45_001, -1, -3])
def test_a_cut_text_and_deep_or_broken_records_do_no_harm(end: int) -> None:
    raw = page().replace('"note":""}', '"note":[[[[[[[1]]]]]]]}', 3)[:end]
    units = cut(raw)
    assert units.address(0, len(units.texts) - 1) in ("$", f"b0-{len(raw)}")


def test_the_view_of_a_vast_text_is_the_view_of_its_kind() -> None:
    raw = json.dumps(["word"] * 9000)
    assert SHAPE.units(raw, Call("shell")) is not None
