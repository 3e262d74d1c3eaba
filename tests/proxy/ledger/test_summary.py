"""The sums of a session are priced as `bill` prices it, at every regime, and its tools add up to the whole."""
from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from byref.proxy.contracts import Call
from byref.proxy.ledger.bill import bill
from byref.proxy.ledger.counter import token_counter
from byref.proxy.ledger.economics import OWN, REGIMES
from byref.proxy.ledger.replay import Replayed, Shown, replay
from byref.proxy.ledger.summary import PIECE, Charge, Summary, summary
from byref.proxy.ledger.trajectories import Trajectory, Turn, read


class Cut:
    """Shows the first characters of an output."""

    marker = re.compile(r"(?!)")

    def __init__(self, length: int) -> None:
        self.length = length

    def start(self, trajectory: Trajectory) -> Callable[[Call, str], Shown]:
        return lambda call, output: Shown(output[:self.length])


def replayed(trajectory: Trajectory, length: int) -> Replayed:
    (found,) = replay([trajectory], Cut(length), token_counter("estimate"))
    return found


EDIT = {"old_string": "    return self.renewed_leases", "new_string": "x"}
SESSION = Trajectory("i", "s", "the task", (
    Turn("Read", {"p": 1}, "def renew_lease(self):\n    return self.renewed_leases\n" + "x = 1\n" * 200, "renew_lease renewed_leases"),
    Turn("Edit", EDIT, "done", "now test"), Turn("Bash", {"command": "make"}, "expire_lease failed\n" * 40, "expire_lease")), "first", 100)


def test_it_costs_what_the_bill_says_at_every_regime() -> None:
    each = replayed(SESSION, 20)
    found = summary(each)
    total = found.total
    assert total.forced == 2, "a string that Read lost, and the line that the edit replaces"
    for prices in (*REGIMES, OWN):
        again, fetched = bill([each], prices), bill([each], prices, PIECE)
        assert total.raw.at(prices) == pytest.approx(again.raw)
        assert total.view.at(prices) == pytest.approx(again.view)
        assert total.again.at(prices) == pytest.approx(again.extra)
        assert total.fetched.at(prices) == pytest.approx(fetched.extra)
        assert found.rest.at(prices) == pytest.approx(again.rest)


def test_real_sessions_cost_what_the_bill_says(shared: Path) -> None:
    for trajectory in read(shared / "corpus" / "trajectories-local.jsonl", limit=3):
        each = replayed(trajectory, 400)
        total, expected = summary(each).total, bill([each], REGIMES[0])
        assert [total.raw.at(REGIMES[0]), total.view.at(REGIMES[0]), total.again.at(REGIMES[0])] == pytest.approx(
            [expected.raw, expected.view, expected.extra])
        assert total.count.raw == sum(outcome.raw for outcome in each.outcomes) == total.raw.write


def test_what_an_edit_missed_is_put_to_the_tool_whose_output_held_it() -> None:
    found = summary(replayed(SESSION, 40))
    assert (found.tools["Read"].count.unseen, found.tools["Edit"].count.unseen) == (1, 0)
    assert found.tools["Read"].forced >= 1


def test_definitions_are_sent_once_and_read_by_every_later_request() -> None:
    found = summary(replayed(SESSION, 40), 100)
    assert found.definitions == Charge(100 * (found.requests - 1), 100, 0)


def test_the_context_grows_by_what_was_said_and_put_out() -> None:
    found: Summary = summary(replayed(SESSION, 40))
    assert sorted(found.contexts) == [1, 2]
    raw, view = found.contexts[2]
    assert found.contexts[1][0] == found.contexts[1][1] < view < raw


def test_names_that_no_terminal_can_show_are_made_to() -> None:
    odd = Trajectory("a\ud83d", "s\n", "t", (Turn("Ba\ud83dsh", {}, "renew_lease", "renew_lease"),), model="m\x1b")
    found = summary(replayed(odd, 3))
    assert (found.id, found.source, found.model, list(found.tools)) == ("a?", "s?", "m?", ["Ba?sh"])
