"""Tables say what the report does: what is unknown as such, multipliers before money, shares in percent."""
from __future__ import annotations

import csv
import io
import re

import pytest

from byref.proxy.contracts import Event
from byref.proxy.ledger import events
from byref.proxy.ledger.economics import Prices
from byref.proxy.ledger.kv import MODELS
from byref.proxy.ledger.prices import Priced
from byref.proxy.ledger.report import Report, report
from byref.proxy.ledger.tables import comma, kv, plain, rich, said, tables

MADE = Priced(Prices("made", read=0.1, write=1.25, output=5), 2.0, "a table of 2026-11-30")


def reported(*more: Event, sessions: int = 1) -> Report:
    ledger = [event for n in range(sessions) for event in events.captured(
        at=n * 86400.0, session=f"s{n}", ref="r1", tool="Bash", shape="log", size=3000, raw=1000, view=100, parts=1, gaps=1)]
    return report([*ledger, *more])


def billed(**numbers: int) -> Event:
    return events.usage(at=1.0, session="s0", ref="", tool="", message="m", numbers=numbers)


def test_caches_are_spared_the_net_tokens_beyond_windows_and_the_same_in_each_turn() -> None:
    page = events.fetched(at=1.0, session="s0", ref="r1", tool="Bash", shape="log", tokens=300, size=900)
    small = events.captured(at=1.0, session="s0", ref="r2", tool="Bash", shape="log", size=9, raw=3, view=3, parts=1, gaps=0)
    found = reported(page, *small)
    assert (found.net, found.carried) == (600, 600)
    windowed = kv(found)["gpt-oss-120b"]
    assert windowed["kept"] < windowed["written"]
    assert (windowed["held"], windowed["carried"]) == (600 * windowed["kept"], 600 * windowed["kept"])
    assert windowed["prefill"] == 2 * 600 * next(model.active for model in MODELS if model.name == "gpt-oss-120b")


def test_money_stands_beside_the_share_of_the_bill_and_that_is_unknown_without_a_bill() -> None:
    money = next(table for table in tables(reported(), [MADE]) if table.title == "money")
    assert money.rows[0][:6] == ("made", "0.1", "1.25", "5", 1125, "0.00") and money.rows[0][6:] == (None, None, None)
    assert "unknown" in plain([money]) and "no bill was seen" in plain([money]) and "a table of 2026-11-30" in plain([money])
    seen = next(table for table in tables(reported(billed(input=100, written=2000, read=0, output=20)), [MADE]) if table.title == "money")
    bill = 100 + 2000 * 1.25 + 20 * 5
    assert seen.rows[0][6:] == (round(bill), pytest.approx(1000 * 1.25 / (bill + 1125)), pytest.approx(1125 / (bill + 1125)))


def test_shares_of_the_bill_are_of_sessions_whose_bill_was_seen() -> None:
    one, many = reported(billed(input=100, written=2000)), reported(billed(input=100, written=2000), sessions=9)
    assert many.of_bill(MADE.prices) == one.of_bill(MADE.prices)
    assert many.saving(MADE.prices) == 9 * one.saving(MADE.prices) and "of the 1 sessions of 9" in plain(tables(many, [MADE]))


def test_a_kind_of_token_that_was_not_billed_is_not_said_to_be_none() -> None:
    text = plain(tables(reported(billed(input=7)), [MADE]))
    assert "billed 1 messages: 7 input" in text and "read from the cache" not in text


def test_the_headline_says_how_it_comes_from_the_tables() -> None:
    searched = events.searched(at=5e6, session="s0", tokens=30, hits=1)
    found = reported(searched)
    assert f"net {found.net} of " in plain(tables(found))
    assert f": {found.total.net} as in the tables, less 30 that 1 search took" in plain(tables(found))
    assert "as in the tables" not in plain(tables(reported()))


def test_each_model_of_the_table_has_its_cache() -> None:
    found = reported()
    assert len(MODELS) >= 6 and set(kv(found)) == {model.name for model in MODELS}
    assert kv(found)["Llama-3.1-8B"]["held"] == 900 * 128 * 1024 and kv(found)["gpt-oss-120b"]["held"] == 900 * 36 * 1024


def test_a_long_table_is_cut_in_a_terminal_and_not_in_csv() -> None:
    found = tables(reported(sessions=50), [MADE])
    assert "(32 more)" in plain(found) and plain(found).count("\nall ") == 4
    rows = list(csv.reader(io.StringIO(comma(found))))
    assert sum(row[0] == "session" for row in rows) == 51 and ["day", "1970-02-19"] in [row[:2] for row in rows]
    assert ["money", "made", "0.1", "1.25", "5", "56250", "0.11", "", "", ""] in rows


def test_rich_draws_the_same_cells() -> None:
    pytest.importorskip("rich", reason="the extra `report` is not installed")
    drawn = rich(tables(reported(), [MADE]), width=200) or ""
    assert all(word in drawn for word in ("Bash", "90.0%", "GLM-4.7", "unknown"))


def test_without_rich_there_is_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "rich", None)
    assert rich(tables(reported(), [MADE])) is None


def test_what_a_harness_may_have_cut_by_itself_is_not_counted_and_that_is_said() -> None:
    about = {"at": 1.0, "session": "s", "ref": "r", "tool": "Bash", "shape": "log", "size": 99_000, "raw": 30_000, "view": 100,
             "parts": 1, "gaps": 1}
    unknown = report(events.captured(**about))  # type: ignore[arg-type]
    assert (unknown.total.raw, unknown.total.gross, unknown.uncapped) == (9090, 8990, 20910)
    assert "20910 tokens of outputs over 30000 bytes are not counted" in plain(tables(unknown, [MADE]))
    longer = report(events.captured(**{**about, "view": 9500}))  # type: ignore[arg-type]
    assert longer.total.gross == 0, "nor does it count against us that where it cuts it may show less than we do"
    whole = report(events.captured(native=events.WHOLE, **about))  # type: ignore[arg-type]
    assert (whole.total.raw, whole.uncapped) == (30_000, 0)
    known = report(events.captured(native=2000, **about))  # type: ignore[arg-type]
    assert known.uncapped == 0 and "by itself" not in plain(tables(known, [MADE]))


def test_eighty_columns_hold_a_table_with_its_numbers_whole() -> None:
    pytest.importorskip("rich", reason="the extra `report` is not installed")
    found = reported(sessions=3)
    for row in (found.total, *found.tools.values()):
        row.raw, row.view, row.repeated = 123_456, 12_345, 98_765
    drawn = rich(tables(found), width=80) or ""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", drawn).splitlines()
    assert max(map(len, lines)) <= 80
    assert next(line.split()[:4] for line in lines if "98765" in line) == ["Bash", "3", "123456", "12345"]
    assert next(line.split() for line in lines if line.startswith(" gpt-oss-120b"))[1:3] == ["72", "36"]


@pytest.mark.parametrize("width", [30, 60, 80])
def test_no_terminal_is_so_narrow_that_a_figure_loses_its_end(width: int) -> None:
    pytest.importorskip("rich", reason="the extra `report` is not installed")
    found = tables(reported(sessions=3), [MADE])
    lines = re.sub(r"\x1b\[[0-9;]*m", "", rich(found, width) or "").splitlines()
    row = next(line.split() for line in lines if line.startswith(" log"))
    assert row == [said(cell) for cell in found[1].rows[0]]
    if width == 80:
        assert any(line.startswith(" Qwen3.5-397B-A17B ") for line in lines), "a model's name stands on one line"


def test_whose_turns_are_not_counted_and_whose_days_they_are_is_said() -> None:
    shared = report(events.captured(at=1.0, session="cli", ref="r1", tool="Bash", shape="log", size=300, raw=100, view=10, parts=1, gaps=1))
    assert "cli, llm, mcp, warm: one session for all" in plain(tables(shared, [MADE]))
    assert "one session for all" not in plain(tables(reported(), [MADE])) and "days are those of UTC" in plain(tables(reported(), [MADE]))


def test_nothing_of_a_name_is_a_command_to_a_terminal() -> None:
    assert said("\x1b]0;owned\x07 a\nb") == "?]0;owned? a?b" and said("naïve ✓") == "naïve ✓"
    assert said(-0.0001) == "0.0%"
