"""Events: what they count, and what they never hold."""
from __future__ import annotations

from byref.proxy.ledger import events


def test_a_capture_is_taken_in_and_viewed_and_a_repeat_is_noted_before_its_view() -> None:
    about = {"at": 1.0, "session": "s", "tool": "Bash", "shape": "log", "size": 10, "raw": 3, "view": 2, "parts": 1, "gaps": 1}
    once = events.captured(ref="r2", **about)  # type: ignore[arg-type]
    assert [(e.kind, e.ref, dict(e.numbers)) for e in once] == [
        ("captured", "r2", {"bytes": 10, "raw": 3, "parts": 1}), ("viewed", "r2", {"raw": 3, "view": 2, "gaps": 1})]
    again = events.captured(ref="r2", repeats="r1", **about)  # type: ignore[arg-type]
    assert [(e.kind, e.ref) for e in again] == [("captured", "r2"), ("repeated", "r1"), ("viewed", "r2")]


def test_second_calls_are_counted_in_tokens() -> None:
    page = events.fetched(at=1.0, session="s", ref="r1", tool="Bash", shape="log", tokens=7, size=20)
    assert (page.kind, dict(page.numbers)) == ("fetched", {"tokens": 7, "bytes": 20})
    assert events.searched(at=1.0, session="s", tokens=5, hits=2).numbers["hits"] == 2
    assert events.searched(at=1.0, session="s", tokens=5, hits=2, query="how long is a lease held").note == "how long is a lease held"
    meant = events.searched(at=1.0, session="s", tokens=5, hits=3, meant=["r1", "r2", "r1"]).numbers
    assert [meant.get(f"meant{n}") for n in (1, 2, 3)] == [events.key("r1"), events.key("r2"), None]
    assert len(events.searched(at=1.0, session="s", tokens=5, hits=2, query="w" * 5000).note) == events.NOTE


def test_an_address_that_is_cut_would_name_another_place_so_it_is_left_out() -> None:
    about = {"at": 1.0, "session": "s", "ref": "r1", "tool": "", "shape": "", "tokens": 1, "size": 2}
    assert events.fetched(address="L3-9", **about).note == "L3-9"  # type: ignore[arg-type]
    assert events.fetched(address="$" + ".a" * 500, **about).note == ""  # type: ignore[arg-type]


def test_what_a_recount_needs_is_noted_only_where_it_is_not_the_raw_output() -> None:
    about = {"at": 1.0, "session": "s", "ref": "r", "tool": "", "shape": "", "size": 10, "raw": 3, "view": 2, "parts": 2, "gaps": 1}
    assert set(events.captured(**about)[-1].numbers) == {"raw", "view", "gaps"}  # type: ignore[arg-type]
    numbers = events.captured(text="a view", native=0, aside=2, **about)[-1].numbers  # type: ignore[arg-type]
    assert (numbers["text"], numbers["native"], numbers["aside"]) == (events.key("a view"), 0, 2)


def test_a_hit_of_meaning_alone_has_no_other_signal() -> None:
    assert events.meant(["static"]) and events.meant(["late-answerai", "dense:x", "shown"])
    assert not events.meant(["static", "words"]) and not events.meant(["shown"]) and not events.meant([])


def test_a_refusal_is_told_by_its_kind_and_not_by_what_was_asked_for() -> None:
    missed = events.missed(at=1.0, session="s", tokens=30, reason="unknown")
    assert (missed.kind, missed.ref, missed.note, dict(missed.numbers)) == ("missed", "", "unknown", {"tokens": 30})
    assert events.compacted(at=1.0, session="s").kind == "compacted"


def test_what_no_bill_can_hold_is_unknown_and_not_counted() -> None:
    numbers: dict[str, int] = {"input": -5, "read": 10**30, "written": True, "output": 70, "ours": 1}
    held = events.usage(at=1.0, session="s", ref="", tool="", message="m", numbers=numbers).numbers
    assert {name: value for name, value in held.items() if name != "message"} == {"output": 70, "ours": 1}
