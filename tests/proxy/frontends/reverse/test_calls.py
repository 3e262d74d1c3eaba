"""What became of a streamed answer can be asked for while it is remembered."""
from __future__ import annotations

from byref.proxy.frontends.reverse import calls
from byref.proxy.frontends.reverse.calls import Calls


def test_a_call_goes_from_running_to_stored_or_lost() -> None:
    known = Calls()
    one, other = known.begun(), known.begun()
    assert one != other and known.about(one) == {"call": one, "state": "running"}
    known.ended(one)
    assert known.about(one) == {"call": one, "state": "storing"}
    known.stored(one, "rk7f3qmab2x")
    assert known.about(one) == {"call": one, "state": "stored", "ref": "rk7f3qmab2x"}
    known.lost(other, "it broke off")
    assert known.about(other) == {"call": other, "state": "lost", "reason": "it broke off"}


def test_a_call_that_nobody_began_is_unknown_and_the_oldest_are_forgotten(monkeypatch) -> None:
    monkeypatch.setattr(calls, "MOST", 2)
    known = Calls()
    first, second, third = known.begun(), known.begun(), known.begun()
    known.stored(first, "rx")
    assert [known.about(name) is None for name in (first, second, third, "c0")] == [True, False, False, True]
