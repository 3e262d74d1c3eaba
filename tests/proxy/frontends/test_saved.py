"""What a replay says first is what a user asks first; figures without a value are a dash, and the rest is told as JSON and CSV."""
from __future__ import annotations

import csv
import io
import json
import math

from byref.proxy.frontends.saved import COLUMNS, Found, as_dict, rows, text
from byref.proxy.ledger.economics import REGIMES
from byref.proxy.ledger.prices import OURS, Priced
from byref.proxy.ledger.savings import Savings
from byref.proxy.ledger.summary import Charge, Summary, Sums
from byref.proxy.ledger.tally import Count


def session(number: int) -> Summary:
    count = Count(outputs=3, raw=2000, view=500 + 10 * number, used=2)
    sums = Sums(count, Charge(20_000, 2000), Charge(10 * count.view, count.view), Charge(), Charge(), 0)
    return Summary(f"s{number}", "Claude Code", "", None, 11, 500, {"Bash": sums}, Charge(40_000, 4000, 500), Charge(70, 7), {1: (10, 10)})


def found(*numbers: int) -> Found:
    savings = {"auto": Savings(), "safe": Savings()}
    for number in numbers:
        for one in savings.values():
            one.add(session(number))
    prices = [Priced(one, None, OURS) for one in REGIMES]
    return Found(["a.jsonl"], ["a.jsonl:3: no JSON"], "a tokenizer", savings, 7, prices, {"Llama-3.1-8B": 131072})


def test_the_first_lines_answer_what_would_have_been_saved() -> None:
    told = text(found(1, 2, 3)).splitlines()
    assert told[0] == "3 sessions (3 Claude Code), 33 requests, 9 tool outputs."
    assert "profile `auto` 74.0 % (" in told[2] and told[2].endswith("of the 6,000 tokens of tool outputs would have been left out.")
    assert sum(any(regime.name in line for line in told) for regime in REGIMES) == len(REGIMES)
    assert max(map(len, told)) <= 126, "as wide as its widest table"
    assert "What this cannot know:" in told and any(line.startswith("Llama-3.1-8B") for line in told)


def test_what_views_keep_is_said_of_what_there_was_and_of_nothing_that_it_is_not_known() -> None:
    told = " ".join(text(found(1)).split())
    assert "What views keep: of the paths" in told and "of the lines that edits replaced" not in told and " – " not in told
    nothing = found(1)
    for savings in nothing.savings.values():
        savings.total.count.used = 0
    assert "What views keep is not known" in text(nothing)


def test_of_few_sessions_it_says_that_intervals_are_too_narrow() -> None:
    assert [sum("too narrow" in line for line in text(found(*range(n))).splitlines()) for n in (1, 2, 49, 50)] == [0, 1, 1, 0]


def test_without_a_session_it_says_so() -> None:
    assert text(found()) == "no session with a tool call or a bill was found\n"


def test_json_holds_each_figure_with_its_interval_and_null_for_none() -> None:
    told = json.loads(json.dumps(as_dict(found(1, 2)), allow_nan=False))
    auto = told["profiles"]["auto"]
    assert auto["evidence"]["edit"] == [None, None, None], "nothing was edited"
    assert len(auto["evidence"]["saved"]) == 3 and auto["raw_tokens"] == 4000
    assert len(auto["regimes"]) == len(REGIMES) >= 3 and told["faults"] == ["a.jsonl:3: no JSON"]


def test_csv_has_a_line_for_each_tool() -> None:
    (row,) = csv.DictReader(io.StringIO(",".join(COLUMNS) + "\r\n" + rows("auto", session(4))))
    assert (row["session"], row["tool"], row["raw"], row["view"], row["profile"]) == ("s4", "Bash", "2000", "540", "auto")
    assert not math.isnan(float(row["again_read"]))
