"""One stream over several servers: one acknowledgement, before all else, for what any of them honors."""
from __future__ import annotations

from byref.proxy.frontends.wrap.eras import ACKNOWLEDGED, SUBSCRIPTION_KEY
from byref.proxy.frontends.wrap.listening import Listening
from byref.proxy.frontends.wrap.messages import Body, Message


def test_the_client_hears_one_acknowledgement_and_then_what_was_held() -> None:
    listening = Listening()
    listening.open(7, ["a", "b"])
    early = Message(None, "notifications/tools/list_changed", Body.of({"_meta": {SUBSCRIPTION_KEY: 7}}))
    assert listening.acknowledged(7, "a", {"toolsListChanged": True, "resourceSubscriptions": ["x"]}) == []
    assert listening.acknowledged(7, "a", {}) == [] and listening.hold(early)
    said = listening.acknowledged(7, "b", {"resourceSubscriptions": ["y"]})
    assert [message.method for message in said] == [ACKNOWLEDGED, early.method]
    assert said[0].params == {"notifications": {"toolsListChanged": True, "resourceSubscriptions": ["x", "y"]},
                              "_meta": {SUBSCRIPTION_KEY: 7}}
    assert not listening.hold(early) and listening.acknowledged(7, "b", {}) == []


def test_a_refusal_counts_and_a_stream_that_is_closed_is_forgotten() -> None:
    listening = Listening()
    listening.open("s", ["a", "b"])
    listening.acknowledged("s", "a", {})
    assert listening.acknowledged("s", "b", {"toolsListChanged": True})[0].params["notifications"] == {"toolsListChanged": True}
    listening.open("t", ["a"])
    listening.close("t")
    assert listening.acknowledged("t", "a", {}) == [] and listening.acknowledged(None, "a", {}) == []
