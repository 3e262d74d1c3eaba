"""Outputs too large to weigh line by line: what holds for views holds for theirs, wherever a block or a line is cut."""
from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from byref.filters.sieve import HUGE, sieve
from byref.filters.units import HIDDEN
from byref.proxy.store.source import BytesSource
from conformance.outputs import KINDS, MARKS, made
from conformance.views import check, look

LOG = "".join(KINDS["log"](random.Random(7), i) + "\n" for i in range(24_000))
WIDE = "日本語のログ、"
BIG = {
    "log": LOG,
    "no newline at the end": LOG[:-1],
    "CRLF": LOG.replace("\n", "\r\n"),
    "one line": "word " * 400_000,
    "one line of wide characters": "x" + WIDE * 90_000,
    "one line of all widths": ("x" * 17 + "é日🙂") * 70_000,
    "one line overwritten again and again": "".join(f"{i}%\r" for i in range(300_000)),
    "long lines among short ones": LOG[:500_000] + "w " * 300_000 + "\n" + LOG[:400_000] + WIDE * 20_000,
    "failures within long lines": ("a" * 5000 + " ERROR: disk " + "b" * 3000 + " fatal: x ") * 150 + "\n" + LOG[:500_000],
    "failures close together in a long line": "".join(
        f"\x1b[31mERROR\x1b[0m {i} \r fatal: no\x1b[1m space {i % 7} left, " for i in range(20_000)),
    "failures in colours close together": "".join(f"\x1b[31mERROR\x1b[0m {i} fatal: no\x1b[1m space {i % 7} left, " for i in range(20_000)),
    "a line over some blocks": LOG[:500_000] + "".join(f"{i} ERROR {i} of \x1b[1mdisk {WIDE}" for i in range(9000)) + "\n" + LOG[:300_000],
    "failures everywhere": "".join(f"\x1b[31mERROR\x1b[0m step {i} broken\n" for i in range(40_000)),
    "binary": random.Random(3).randbytes(1_600_000),
    "zeros": b"\0" * 1_600_000,
    "no UTF-8": b"\xff" * 1_600_000,
    "newlines": "\n" * 1_600_000,
    "a listing": "".join(f"-rw-r--r-- 1 root root {i * 37 % 99999} Nov 1 10:{i % 60:02} file_{i}.txt\n" for i in range(22_000)),
    "look-alikes of markers": "".join(f"{MARKS[i % len(MARKS)]} {i}\n" for i in range(70_000)),
}


@pytest.mark.parametrize("name", BIG)
def test_nothing_falls_between_and_nothing_is_made_up(name: str) -> None:
    for profile, budget in (("auto", None), ("lean", 60), ("safe", None)):
        shown = check(look(BIG[name], "cat big", profile=profile, budget=budget))
        assert not shown.view.passed and len(shown.text) < 400_000


@pytest.mark.parametrize("size", [HUGE - 1, HUGE, HUGE + 1, 4 * HUGE - 3, 4 * HUGE, 8 * HUGE + 2])
@pytest.mark.parametrize("text", [LOG * 2, (WIDE + "\n") * 110_000, WIDE * 110_000, "x" + "\r\n" * 1_100_000,
                                  "\x1b[31mred\x1b[0m, " * 170_000],
                         ids=["log", "wide", "one wide line", "line ends", "colours"])
def test_any_size_around_a_block(text: str, size: int) -> None:
    check(look(text.encode()[:size], "cat big"))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10**6), st.sampled_from([None, 60, 400]), st.sampled_from(["safe", "auto", "lean"]), st.integers(0, 3))
def test_any_mixture(seed: int, budget: int | None, profile: str, cut: int) -> None:
    text = "".join(made(seed + k) + "\n" * (k % 3) for k in range(9)).encode("utf-8", "surrogateescape")
    raw = (text * (1_300_000 // len(text) + 1))[cut:1_300_000 + cut * 7]
    check(look(raw, "make", budget=budget, profile=profile, exit_code=2))


class Pieces(BytesSource):
    """A source that gives its bytes in small blocks, as a store may."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data)
        self.step = size

    def blocks(self) -> Iterator[bytes]:
        for start in range(0, self.size, self.step):
            yield self.read(start, start + self.step)


@pytest.mark.parametrize("name", ["long lines among short ones", "failures within long lines", "CRLF", "one line of all widths", "binary",
                                  "a line over some blocks"])
def test_the_size_of_blocks_makes_no_difference(name: str) -> None:
    body = BIG[name]
    raw = body if isinstance(body, bytes) else body.encode()
    whole = sieve(BytesSource(raw))
    for step in (65_536, 99_991, 1 << 20):
        units = sieve(Pieces(raw, step))
        assert units.texts == whole.texts and units.rank == whole.rank and units.total == whole.total
        assert all(units.address(i, i) == whole.address(i, i) for i in range(len(units.texts)))


def test_first_and_last_lines_news_and_failures_are_kept_and_the_rest_is_addressed() -> None:
    rows = LOG.splitlines()
    rows[9000] = "a line of a kind that stands nowhere else"
    rows[12000] = "ERROR: no space left on device"
    rows[20000] = "ERROR: no space left on device"
    units = sieve(BytesSource(("\n".join(rows) + "\n").encode()))
    kept = [text for text, rank in zip(units.texts, units.rank, strict=True) if rank != HIDDEN]
    assert rows[:60] == kept[:60] and rows[-60:] == kept[-60:]
    assert rows[9000] in kept and kept.count(rows[12000]) == 1
    assert sorted(units.repeats.values()) == [(2, "L20001"), (23_997, "L24000")], "failures, and lines of one template"
    assert units.total == len(rows)


def test_what_failed_stands_in_the_view_with_its_context_of_a_long_line() -> None:
    line = "x" * 30_000 + " ERROR: cannot bind port 8081 " + "y" * 30_000
    shown = check(look(LOG + line + "\n" + LOG[:9000], "cat big", exit_code=1))
    assert "ERROR: cannot bind port 8081" in "\n".join(shown.lines)
    assert "exit 1" in shown.view.head


def test_two_failures_near_each_other_in_a_long_line_both_stand() -> None:
    line = "x" * 9000 + " ERROR: cannot bind port 8081 " + "y" * 500 + " fatal: no space left on sda1 " + "z" * 9000
    shown = check(look(LOG + line + "\n" + LOG[:9000], "cat big"))
    assert all(fault in "\n".join(shown.lines) for fault in ("ERROR: cannot bind port 8081", "fatal: no space left on sda1"))


def test_no_escape_code_is_cut_where_a_chunk_ends() -> None:
    for offset in range(0, 48, 2):
        raw = "x" * offset + "".join(f"\x1b[31;1mERROR\x1b[0;39m {i:5} fatal: no\x1b[1;33m space, " for i in range(5_600))
        check(look(raw, "cat big", budget=40_000))


def test_the_summary_stands_under_any_number_of_failures() -> None:
    raw = "".join(f"ERROR: order={i} was refused by the bank because of rule {i % 9}\n" for i in range(20_000))
    assert "=== 7 failed, 2 passed ===" in check(look(raw + "=== 7 failed, 2 passed ===\n\n\n", "make", exit_code=1)).lines


def test_failures_of_one_text_at_places_that_stand_beside_them_are_as_many() -> None:
    log = "".join(f"10:00:{i % 60:02} INFO took job {i} from the queue\n" + (
        f'Traceback (most recent call last):\n  File "/app/jobs/j{i % 9}.py", line {10 + i % 9}, in run\n    d["x"]\nKeyError: \'x\'\n'
        if i % 40 == 0 else "") for i in range(24_000))
    shown = check(look(log, "journalctl -u jobs"))
    assert [k for k in range(9) if f'jobs/j{k}.py", line {10 + k}, in run' not in shown.text] == []
