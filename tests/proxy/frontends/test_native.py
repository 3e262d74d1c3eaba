"""An upstream's own search: asked within the timebox where it is named, its answer an output like others."""
from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

import byref
from byref.proxy.errors import Invalid
from byref.proxy.frontends.native import ask
from recorded import Recorded, recorded


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorded]:
    with recorded() as found:
        monkeypatch.setenv("BYREF_UPSTREAMS", f"openalex={found.url},exa={found.url}")
        yield found


@pytest.fixture
def session() -> Iterator[byref.Session]:
    with byref.open("memory:") as gateway:
        yield gateway.session("s")


def test_what_it_answers_is_stored_and_can_be_fetched(server: Recorded, session: byref.Session) -> None:
    [found] = ask(session, ["native:openalex"], "late interaction retrieval", 30)
    assert (found.status, found.note, len(found.refs)) == ("ran", "", 1)
    assert session.fetch(found.refs[0], "results[0].id").text == '"https://openalex.org/W4400000000"'
    assert server.asked[0][1] == "/works?search=late+interaction+retrieval"


def test_one_that_cannot_answer_says_why_and_holds_up_nobody(server: Recorded, session: byref.Session) -> None:
    server.fail[:] = [(400, {})]
    broken, keyless = ask(session, ["native:openalex", "native:exa"], "a", 30)
    assert broken.status == "aborted" and "400" in broken.note
    assert keyless.status == "aborted" and "EXA_API_KEY" in keyless.note


def test_what_comes_too_late_is_told_and_stored_for_the_next(server: Recorded, session: byref.Session) -> None:
    [found] = ask(session, ["native:openalex"], "a", 0.0)
    assert (found.status, found.note, found.refs) == ("aborted", "still running", [])
    until = time.monotonic() + 30
    while session.status().outputs == 0 and time.monotonic() < until:
        time.sleep(0.02)
    assert session.status().outputs == 1


def test_only_what_has_a_search_of_its_own_can_be_named(session: byref.Session) -> None:
    for name in ("native:grep", "native:nothing", "native:"):
        with pytest.raises(Invalid, match="no layer"):
            ask(session, [name], "a", 1)


def test_a_search_that_names_it_finds_what_it_answered_and_says_so(server: Recorded, session: byref.Session) -> None:
    session.capture(tool="shell", output="late interaction retrieval stood here before\n")
    alone = session.search("late interaction retrieval", layers=["native:openalex"], timebox_ms=60_000)
    assert {hit.tool for hit in alone.hits} == {"openalex"} and (alone.layers[0].name, alone.layers[0].status) == ("native:openalex", "ran")
    assert "native:openalex r" in alone.text
    beside = session.search("late interaction retrieval", layers=["native:openalex", "text"], timebox_ms=60_000)
    assert {hit.tool for hit in beside.hits} == {"openalex", "shell"}
    server.fail[:] = [(500, {})] * 3
    broken = session.search("late interaction retrieval", layers=["native:openalex", "text"], timebox_ms=20_000)
    assert broken.hits and "native:openalex aborted" in broken.text
    with pytest.raises(Invalid, match="no layer"):
        session.search("a", layers=["native:nothing"])
