"""Reports: net of what the reductions cost, and labelled as estimates."""
from __future__ import annotations

import gc
import json

import pytest

import byref
from byref.proxy.contracts import Event
from byref.proxy.ledger import events
from byref.proxy.ledger.economics import ASKING, Prices
from byref.proxy.ledger.report import report, uncollected

PRICES = Prices("made", read=0.1, write=1.25, output=5)

LOG = "".join(f"step {i} of the installation copied file_{i * 7919 % 1000}.dat\n" for i in range(3000))


def viewed(ref: str, raw: int, view: int, *, tool: str = "Bash", gaps: int = 1, repeats: str = "") -> tuple[Event, ...]:
    return events.captured(at=1.0, session="s", ref=ref, tool=tool, shape="log", size=raw * 3, raw=raw, view=view, parts=1, gaps=gaps,
                           repeats=repeats)


def fetched(ref: str, tokens: int) -> Event:
    return events.fetched(at=1.0, session="s", ref=ref, tool="Bash", shape="log", tokens=tokens, size=tokens * 3)


def test_what_was_fetched_is_taken_off() -> None:
    found = report([*viewed("r1", 1000, 100), fetched("r1", 250)])
    assert (found.total.gross, found.total.net, found.total.saved, found.asked) == (900, 650, 0.65, 1.0)


def test_a_ref_was_asked_for_once_however_often_it_was_shown_and_fetched_from() -> None:
    found = report([*viewed("r1", 1000, 100), *viewed("r1", 1000, 100), *viewed("r2", 1000, 100), *viewed("r3", 50, 50, gaps=0),
                    fetched("r1", 50), fetched("r1", 50), fetched("r3", 5)])
    assert (found.total.hid, found.total.asked, found.asked, found.total.fetches) == (2, 1, 0.5, 3)


def test_a_repeat_counts_against_us_only_where_the_view_before_hid_something() -> None:
    assert report([*viewed("r1", 1000, 100), *viewed("r1", 1000, 100, repeats="r1")]).net == 1800 - 1000
    assert report([*viewed("r1", 500, 500, gaps=0), *viewed("r1", 500, 20, repeats="r1")]).net == 480


def test_a_fetch_in_between_makes_it_no_repeat() -> None:
    found = report([*viewed("r1", 1000, 100), fetched("r1", 50), *viewed("r2", 1000, 100, repeats="r1")])
    assert found.total.repeats == 0 and found.net == 1750


def test_a_fetch_by_who_does_not_know_the_conversation_counts_in_the_one_that_saw_the_output() -> None:
    tool = events.fetched(at=1.0, session="mcp", ref="r1", tool="Bash", shape="log", tokens=250, size=750)
    found = report([*viewed("r1", 1000, 100), tool, *viewed("r2", 1000, 100, repeats="r1")])
    assert (found.asked, found.total.repeats, found.sessions["s"].fetched) == (0.5, 0, 250) and "mcp" not in found.sessions
    other = events.captured(at=1.0, session="t", ref="r1", tool="Bash", shape="log", size=9, raw=1000, view=100, parts=1, gaps=1)
    assert report([*viewed("r1", 1000, 100), *other, fetched("r1", 250)]).sessions["s"].fetched == 250, "it was shown it itself"


def test_searches_are_taken_off_the_whole() -> None:
    found = report([*viewed("r1", 1000, 100), events.searched(at=1.0, session="s", tokens=60, hits=1)])
    assert (found.total.net, found.net, found.searches) == (900, 840, 1)


def test_a_view_that_nobody_waited_for_saved_nothing_and_hid_nothing() -> None:
    late = events.unheard(at=1.0, session="s", ref="r1")
    found = report([*viewed("r1", 1000, 100), late, *viewed("r1", 1000, 100, repeats="r1"), *viewed("r2", 1000, 100)])
    assert (found.total.raw, found.total.view, found.total.reduced, found.total.hid) == (3000, 1200, 2, 2)
    assert found.total.repeats == 0, "the raw output stood, so nothing was missing"
    assert report([*viewed("r1", 1000, 100), *viewed("r1", 1000, 100), late]).net == 900, "of the last of its views alone"


def test_a_second_call_that_found_nothing_is_a_request_all_the_same() -> None:
    calls = [*viewed("r1", 1000, 100), *viewed("r2", 1000, 100)]
    missed = events.missed(at=1.0, session="s", tokens=30, reason="unknown")
    found, without = report([*calls, missed]), report(calls)
    assert (found.net, found.misses, found.searches) == (1770, 1, 0)
    assert "less 30 that 0 searches and 1 second call that found nothing took" in found.text
    asking = PRICES.read * 200 + ASKING * (PRICES.output + PRICES.write)
    assert without.saving(PRICES) - found.saving(PRICES) == pytest.approx(30 * PRICES.write + asking)


def test_a_search_by_who_does_not_know_the_conversation_reads_the_context_of_the_one_that_was_shown_an_output_last() -> None:
    calls = [*viewed("r1", 1000, 100), *viewed("r2", 1000, 100)]
    ours, tool = (report([*calls, events.searched(at=1.0, session=name, tokens=60, hits=1)]) for name in ("s", "mcp"))
    assert ours.saving(PRICES) == tool.saving(PRICES) and "mcp" not in tool.conversations


def test_a_message_that_two_daemons_noted_is_billed_once() -> None:
    bill = [events.usage(at=1.0, session=name, ref="", tool="", message="m1", numbers={"input": 70, "output": 5}) for name in "sst"]
    found = report([*viewed("r1", 1000, 100), *bill])
    assert (found.messages, found.billed, found.conversations["s"].requests) == (1, {"input": 70, "output": 5}, 1)
    assert found.conversations["t"].billed == {}, "a conversation that was resumed under another name holds it again"


def test_definitions_are_charged_where_nothing_was_saved_too() -> None:
    """A session of which only the bill was seen: its agent called no tool of ours, and its requests carried them."""
    def bill(session: str, **numbers: int) -> list[Event]:
        return [events.usage(at=1.0, session=session, ref="", tool="", message=f"{session}{n}", numbers={"read": 9, **numbers})
                for n in range(3)]
    found = report([*viewed("r1", 1000, 100), *bill("talk", ours=1), *bill("proxied")], definition=50)
    assert found.definitions == 100 and found.net == 800 and "ours" not in found.billed
    assert found.carried == 900 * 0 - 50 * 1 - 50 * 2, "one call makes two requests, three messages are three"


def test_tools_and_shapes_add_up_to_the_whole() -> None:
    found = report([*viewed("r1", 1000, 100), *viewed("r2", 50, 50, tool="Read", gaps=0)])
    for rows in (found.tools, found.shapes):
        assert sum(row.raw for row in rows.values()) == found.total.raw == 1050
        assert sum(row.calls for row in rows.values()) == found.total.calls == 2
    assert set(found.tools) == {"Bash", "Read"} and found.total.reduced == 1


def test_an_empty_ledger_is_an_empty_report() -> None:
    found = report([])
    assert found.net == 0 and found.total.saved == 0.0 and "0 of 0 tokens" in found.text


def test_it_says_that_its_tokens_are_estimates_and_is_plain_data_too() -> None:
    found = report([*viewed("r1", 1000, 100)])
    assert "estimate" in found.text and "90.0%" in found.text
    plain = json.loads(json.dumps(found.as_dict()))
    assert plain["net"] == 900 and "estimate" in plain["unit"] and plain["tools"]["Bash"]["view"] == 100


def test_a_real_session_is_reported_from_what_its_views_and_fetches_were() -> None:
    from byref.proxy.text import estimate
    with byref.open("memory:") as gateway:
        session = gateway.session("a")
        view = session.capture(tool="shell", args={"command": "./install"}, output=LOG, native=events.WHOLE)
        page = session.fetch(view.ref, "L100-120")
        small = session.capture(tool="shell", args={"command": "true"}, output="ok\n")
        found = gateway.report(scope="a")
        assert found.total.raw == estimate(LOG) + estimate("ok\n") and found.total.view == estimate(view.text) + estimate(small.text)
        assert found.total.fetched == estimate(page.text) and gateway.report(scope="other").total.calls == 0
        session.capture(tool="shell", args={"command": "./install"}, output=LOG)
        assert gateway.report().total.repeats == 0, "it was fetched from since"
        session.capture(tool="shell", args={"command": "./install "}, output=LOG + "more\n")
        assert gateway.report().total.repeats == 1


def test_garbage_is_collected_again_after_a_report() -> None:
    with pytest.raises(KeyError), uncollected():
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled()


def test_events_of_two_writers_that_interleave_keep_their_tools() -> None:
    one, other = (events.captured(at=at, session=session, ref=ref, tool=tool, shape="log", size=100, raw=raw, view=10, parts=1, gaps=1)
                  for at, session, ref, tool, raw in ((1.0, "s", "r1", "Bash", 40), (1.0, "t", "r2", "Read", 70)))
    found = report([one[0], other[0], one[1], other[1]])
    assert {tool: (row.calls, row.raw, row.size) for tool, row in found.tools.items()} == {"Bash": (1, 40, 100), "Read": (1, 70, 100)}
    assert found.sessions["s"].net == 30 and found.sessions["t"].net == 60


def test_what_is_fetched_after_midnight_was_asked_for_of_the_day_that_hid_it() -> None:
    day = 86_400.0
    views = [event for n in (1, 2) for event in events.captured(
        at=n * day, session="s", ref=f"r{n}", tool="Bash", shape="log", size=900, raw=900, view=90, parts=1, gaps=1)]
    pages = [events.fetched(at=2 * day + 9, session="s", ref=ref, tool="Bash", shape="log", tokens=30, size=90) for ref in ("r1", "r2")]
    found = report([*views, *pages])
    assert [(row.hid, row.asked, row.fetched) for _, row in sorted(found.days.items())] == [(1, 1, 0), (1, 1, 60)]
    assert found.asked == 1.0
