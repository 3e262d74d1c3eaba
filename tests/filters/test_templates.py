"""Which lines of a log are like each other: those that differ in numbers and ids alone."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.filters.lines import split
from byref.filters.templates import group, templates


@pytest.mark.parametrize(("one", "other"), [
    ("2026-04-02T09:00:01.013Z INFO paid order=70001 in 21ms", "2026-04-02T10:10:59Z INFO paid order=7 in 1.5ms"),
    ("req-38101a0b-2096-447d-96ea-a692162415ae done", "req-9bc36dd9-91c5-4314-898a-47625eb93b09 done"),
    ("Received block blk_-1608999687919862906 of size 91178 from 10.250.10.6", "Received block blk_38865049 of size 3 from 10.9.1.1"),
    ("fetch   9 %", "fetch 100 %"), ("host=gw-0 up", "host=gw-12 up"), ("é 1", "é 2"),
])
def test_numbers_and_ids_make_no_difference(one: str, other: str) -> None:
    assert len(set(templates([one, other]))) == 1


@pytest.mark.parametrize(("one", "other"), [
    ("INFO worker started", "WARN worker started"), ("paid order=1", "paid invoice=1"), ("host=gw up", "host=db up"), ("日 1", "本 1")])
def test_words_do(one: str, other: str) -> None:
    assert len(set(templates([one, other]))) == 2


@given(st.lists(st.text(st.characters(exclude_characters="\n"))))
def test_each_line_has_one(lines: list[str]) -> None:
    assert len(templates(lines)) == len(lines)
    assert [templates([line])[0] for line in lines] == templates(lines)


def test_what_holds_no_word_is_not_told_by_its_number() -> None:
    units = split("".join(f"{i} steps of a job\n   |\n" for i in range(40))).units()
    group(units)
    assert units.repeats == {0: (40, "L79")} and units.worth[3] == units.worth[2] < 0, "both are like many"
