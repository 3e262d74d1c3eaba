"""The ledger's numbers are, to the token, what one counts by hand from the texts an agent got."""
from __future__ import annotations

import pytest

import byref
from byref.proxy.contracts import Event
from byref.proxy.gateway import Gateway
from byref.proxy.ledger.counter import TokenCounter, token_counter
from byref.proxy.ledger.events import WHOLE
from byref.proxy.ledger.report import HARNESS, SOON
from byref.proxy.text import estimate

LOG = "".join(f"step {i} of the installation copied file_{i * 7919 % 1000}.dat\n" for i in range(3000))
DEFINITION = 345


@pytest.fixture
def counter() -> TokenCounter:
    found = token_counter()
    if not found.exact:
        pytest.skip("no tokenizer: the extra `count` is not installed")
    return found


@pytest.fixture(params=["memory:", "file:"])
def gateway(request: pytest.FixtureRequest, tmp_path: object) -> object:
    with byref.open(request.param if request.param == "memory:" else f"file:{tmp_path}") as opened:
        yield opened


def test_a_scripted_session_is_counted_as_by_hand(gateway: Gateway, counter: TokenCounter) -> None:
    def tokens(text: str) -> int:
        return counter.count([text])[0]

    session = gateway.session("a")
    first = session.capture(tool="shell", args={"command": "./install"}, output=LOG, native=WHOLE)
    small = session.capture(tool="Read", args={"path": "a"}, output="größe: 12 µm\n")
    both = {"stdout": LOG, "stderr": "warning: slow"}
    cut = session.capture(tool="Bash", args={"command": "cat it"}, output=both, native=2000, budget=300)
    pictured = session.capture(tool="shot", output={"text": "one\n" * 20, "image": b"\0\1\2" * 5000}, aside=["image"])
    page = session.fetch(first.ref, "L100-120")
    whole = session.fetch(small.ref)
    answer = session.search("installation")
    again = session.capture(tool="shell", args={"command": "cat it"}, output=both, budget=2000)
    assert first.gaps and cut.gaps and again.gaps and small.passed and pictured.passed

    found = gateway.report(scope="a", recount=True, definition=DEFINITION)
    raws = [tokens(LOG), tokens("größe: 12 µm\n"), tokens(LOG[:2000]), tokens("one\n" * 20),
            tokens(LOG + "warning: slow") * HARNESS // len(LOG + "warning: slow")]
    views = [tokens(view.text) for view in (first, small, cut)] + [tokens("one\n" * 20), tokens(again.text)]
    assert (found.total.calls, found.total.counted) == (5, 5)
    assert found.total.raw == sum(raws) and found.total.view == sum(views)
    assert found.total.fetched == tokens(page.text) + tokens(whole.text) and found.searched == estimate(answer.text)
    assert (found.total.repeats, found.total.repeated) == (1, raws[-1]), "it was made again, and shows what was hidden"
    assert found.net == sum(raws) - sum(views) - found.total.fetched - found.total.repeated - found.searched - DEFINITION
    assert counter.name in found.method and "searches by the estimate" in found.method

    # Of 5 calls and 6 requests, the output of the nth has 5 - n requests after it; the second calls were made after the fourth.
    later = [4, 3, 2, 1, 0]
    carried = sum((raw - view) * t for raw, view, t in zip(raws, views, later, strict=True))
    assert round(found.carried, 6) == carried - found.total.fetched - found.searched - DEFINITION * 5
    assert round(found.total.turns, 6) == sum(later) and found.conversations["a"].requests == 6


def test_a_view_of_parts_of_which_some_were_put_aside_is_counted_as_it_was_shown(gateway: Gateway, counter: TokenCounter) -> None:
    parts = {"text": LOG, "image": b"\0\1\2" * 5000, "text2": "and that is all\n"}
    view = gateway.session("a").capture(tool="shot", output=parts, aside=["image"], native=WHOLE)
    found = gateway.report(recount=True)
    assert view.gaps and found.total.counted == 1
    shown = view.head + view.texts["text"] + view.texts["text2"]
    assert [found.total.view, found.total.raw] == counter.count([shown, LOG + "and that is all\n"])


def test_counts_are_kept_and_made_once(gateway: Gateway, counter: TokenCounter, monkeypatch: pytest.MonkeyPatch) -> None:
    session = gateway.session("a")
    for name in ("./install", "./install ", "other"):
        session.capture(tool="shell", args={"command": name}, output=LOG)
    before = gateway.report(scope="a")
    assert before.total.counted == 0 and "estimate" in before.method
    first = gateway.report(scope="a", recount=True)
    made = [event for event in gateway.store.events("") if event.kind == "counted"]
    monkeypatch.setattr(TokenCounter, "count", lambda *_: pytest.fail("counted again"))
    assert gateway.report(scope="a", recount=True).as_dict() == gateway.report(scope="a").as_dict() == first.as_dict()
    assert len([event for event in gateway.store.events("") if event.kind == "counted"]) == len(made)


def test_a_count_outlives_its_output(gateway: Gateway, counter: TokenCounter) -> None:
    session = gateway.session("a")
    ref = session.capture(tool="shell", args={"command": "./install"}, output=LOG, native=WHOLE).ref
    gone = session.capture(tool="shell", args={"command": "./remove"}, output=LOG + "x\n", native=WHOLE).ref
    session.purge(gone)
    found = gateway.report(scope="a", recount=True)
    assert (found.total.calls, found.total.counted) == (2, 1) and "1 by the built-in estimate" in found.method
    raw = found.total.raw
    store = gateway.store
    assert raw == counter.count([LOG])[0] + estimate(LOG + "x\n") and [call.ref for call in store.views(ref)] == [ref]


@pytest.mark.parametrize(("between", "more", "charged"), [(0, "", True), (SOON - 1, "", True), (SOON, "", False), (0, "same", False)])
def test_a_repeat_counts_soon_after_and_where_it_shows_what_was_hidden(between: int, more: str, charged: bool) -> None:
    with byref.open("memory:", profile="lean") as gateway:
        session = gateway.session("a")
        first = session.capture(tool="shell", args={"command": "./install"}, output=LOG, budget=200)
        for number in range(between):
            session.capture(tool="shell", args={"command": f"echo {number}"}, output="ok\n")
        # In a context that is told nothing was shown, the same budget gives the same view: nothing new comes to light.
        again = gateway.session("a", context="other") if more else session
        second = again.capture(tool="shell", args={"command": "./install"}, output=LOG, budget=200 if more else 3000)
        assert first.gaps and (second.text == first.text) == bool(more)
        assert gateway.report(recount=True).total.repeats == charged


def test_an_older_ledger_is_read_as_the_estimate_that_it_is(gateway: Gateway) -> None:
    for kind, numbers in (("captured", {"bytes": 4000, "raw": 1200, "parts": 1}), ("viewed", {"raw": 1200, "view": 100, "gaps": 1})):
        gateway.store.log("a", Event(kind, 1.0, "s", "rk7f3qmab2x", "Bash", "log", numbers))
    found = gateway.report(recount=True)
    assert (found.total.raw, found.total.view, found.total.counted) == (1200, 100, 0)
