"""Usage: what was called and searched, and whether hits of meaning alone were worth it."""
from __future__ import annotations

import byref
from byref.proxy.contracts import Event
from byref.proxy.ledger import events
from byref.proxy.ledger.tables import plain
from byref.proxy.ledger.usage import TOP, tables, usage
from byref.proxy.reader import Found, Hit


def searched(query: str, at: float = 0.0, hits: int = 1, session: str = "s", meant: tuple[str, ...] = ()) -> Event:
    return events.searched(at=at, session=session, tokens=10, hits=hits, query=query, meant=meant)


def fetched(ref: str, session: str = "s") -> Event:
    return events.fetched(at=9.0, session=session, ref=ref, tool="Bash", shape="log", tokens=5, size=9)


def test_calls_are_counted_by_tool_with_ours_among_them() -> None:
    ledger = [*events.captured(at=1.0, session="s", ref="r1", tool="Bash", shape="log", size=9, raw=3, view=3, parts=1, gaps=0),
              searched("a"), searched("b"), fetched("r1")]
    assert usage(ledger).calls == {"Bash": 1, "byref search": 2, "byref fetch": 1}
    other = events.captured(at=1.0, session="s", ref="r2", tool="fetch", shape="text", size=9, raw=3, view=3, parts=1, gaps=0)
    assert usage([*ledger, *other]).calls["fetch"] == 1, "a server's own is no fetch of ours"


def test_a_search_is_repeated_within_a_minute_in_its_session() -> None:
    found = usage([searched("a"), searched("a", 60.0), searched("a", 121.0), searched("a", 122.0, session="other"), searched("b", 1.0, 0)])
    assert (found.searches, found.again, found.empty) == (5, 1, 1)
    back = usage([searched("a", 9000.0), searched("a", 1.0)])
    assert back.again == 0, "a clock that went back says nothing of a minute"
    assert found.as_dict()["again_within_60_s"] == 0.2 and found.as_dict()["empty"] == 0.2


def test_hits_of_meaning_alone_are_followed_to_their_fetch() -> None:
    ledger = [fetched("r1"), searched("how", meant=("r1", "r2")), searched("why", meant=("r1",)), fetched("r2", "other"), fetched("r1"),
              fetched("r1")]
    found = usage(ledger)
    assert (found.meant, found.fetched) == (3, 2), "r1 was brought by two searches and then fetched; r2 by another session"


def test_the_queries_asked_most_come_first() -> None:
    found = usage([searched(f"q{n % 30}") for n in range(40)] + [searched("top")] * 5)
    queries = list(found.as_dict()["queries"])  # type: ignore[call-overload]
    assert queries[0] == "top" and len(queries) == TOP


def test_nothing_has_no_shares() -> None:
    found = usage([])
    assert found.as_dict()["empty"] is None and "unknown" in plain(tables(found))


def test_searches_of_an_older_ledger_have_no_query() -> None:
    found = usage([Event("searched", 1.0, "s", "", "", "", {"tokens": 5, "hits": 0})] * 2)
    assert (found.searches, found.again, found.empty, found.queries) == (2, 0, 2, {})


def test_a_sessions_searches_are_followed_through_the_ledger() -> None:
    with byref.open("memory:") as gateway:
        session = gateway.session("a")
        refs = [session.capture(tool="shell", args={"command": f"c{n}"}, output=f"renew_lease {n}\n" * 100).ref for n in range(3)]
        session.search("renew_lease 2")
        signals = (("static",), ("static", "words"), ("late-mini", "shown"))
        hits = tuple(Hit(ref, "L1", "stdout", "", by, (), "shell", 0, 9, rank=1) for ref, by in zip(refs, signals, strict=True))
        gateway.searched(session, Found("how long is a lease held", hits, (), (), 3, 3, {}, "text"))
        session.fetch(refs[2])
        found = usage(gateway.store.events("a"))
    assert found.queries == {"renew_lease 2": 1, "how long is a lease held": 1} and (found.meant, found.fetched) == (2, 1)
