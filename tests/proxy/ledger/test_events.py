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
