"""One call is the same whatever way it comes: stored whole, viewed by its adapter, found again, never with what signs it."""
from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import byref
from byref.proxy.contracts import Json
from byref.proxy.errors import ConfigError, Invalid
from byref.proxy.frontends.tools.engine import BODY, Called, Tools, adapter, operation
from byref.proxy.gateway import Gateway
from byref.proxy.operations import Adapter, Operation
from byref.proxy.session import Session
from recorded import Recorded, recorded, work

SECRET = "k-4711-secret"


@pytest.fixture
def server() -> Iterator[Recorded]:
    with recorded() as found:
        yield found


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with byref.open("memory:") as made:
        yield made


@pytest.fixture
def tools(server: Recorded) -> Iterator[Tools]:
    made = Tools({"OPENALEX_MAILTO": "me@example.org", "OPENALEX_API_KEY": SECRET, "EXA_API_KEY": SECRET},
                 {name: server.url for name in ("openalex", "exa", "context7")})
    yield made
    made.close()


@pytest.fixture
def session(gateway: Gateway) -> Session:
    return gateway.session("agent", scope="here", proven=False)


def call(tools: Tools, session: Session, tool: str, name: str = "", pages: int = 1, max_age: float = 0.0, **given: Json) -> list[Called]:
    of = adapter(tool)
    return list(tools.call(session, of, operation(of, name), given, pages=pages, max_age=max_age))


def test_an_answer_is_stored_whole_and_shown_by_the_adapters_layout(server: Recorded, tools: Tools, session: Session) -> None:
    [found] = call(tools, session, "openalex", "works", search="late interaction retrieval")
    whole = b"".join(session.blocks(found.captured.ref, BODY))
    assert len(json.loads(whole)["results"]) == 25
    assert session.fetch(found.captured.ref, max_tokens=None).data == whole, "what was derived is no part of the answer itself"
    for i in range(25):
        assert f"W{4400000000 + i}|On " in found.text
    assert "|retracted|" in found.text and "(7+) is_authors_truncated" in found.text
    assert len(found.text) < 0.15 * len(whole)
    assert session.fetch(found.captured.ref, "results[4].primary_location").data == b"null"


def test_every_word_of_an_abstract_is_in_its_place_and_one_search_finds_it(tools: Tools, session: Session) -> None:
    [found] = call(tools, session, "openalex", "works", search="late interaction retrieval")
    for i in (0, 12, 19):
        hits = session.search(f"method number {i} needs no index and the method needs no training", max_tokens=600)
        assert f"The method number {i} needs no index and the method needs no training." in hits.text
    assert "abstracts" in found.captured.names


def test_pages_follow_one_another_each_an_output_of_its_own(server: Recorded, tools: Tools, session: Session) -> None:
    found = call(tools, session, "openalex", "works", pages=10, search="a", cursor="*", per_page=25)
    assert [one.more for one in found] == [True, True, False] and len({one.captured.ref for one in found}) == 3
    assert [asked[1].split("cursor=")[1].split("&")[0] for asked in server.asked] == ["%2A", "c25", "c50"]
    assert len(call(tools, session, "openalex", "works", pages=2, search="a", cursor="*")) == 2


def test_what_signs_a_request_reaches_the_api_and_nothing_else(server: Recorded, tools: Tools, tmp_path: Path) -> None:
    with byref.open(f"file:{tmp_path}") as gateway:
        session = gateway.session("agent", scope="here")
        call(tools, session, "openalex", "works", search="a")
        [found] = call(tools, session, "exa", "search", search="is the cache cold")
        assert SECRET in server.asked[0][1] and server.asked[1][2]["x-api-key"] == SECRET
        assert SECRET not in found.text and SECRET not in str(gateway.store.resolve("here", found.captured.ref))
    for file in tmp_path.rglob("*"):
        assert file.is_dir() or SECRET.encode() not in file.read_bytes()


def test_cost_and_request_stand_and_of_long_texts_what_was_asked(tools: Tools, session: Session) -> None:
    [found] = call(tools, session, "exa", "search", search="is the cache cold", limit=10, text=True)
    assert "requestId=req-0001|costDollars.total=0.007" in found.text
    assert all(f"The cache number {i} is cold." in found.text for i in range(10))
    [found] = call(tools, session, "exa", "answer", search="is the cache cold")
    assert 'answer:"The cache is cold [1]."' in found.text


def test_the_same_request_has_the_same_ref(tools: Tools, session: Session, gateway: Gateway) -> None:
    first = call(tools, session, "openalex", "works", search="a", per_page=5)[0]
    other = call(tools, gateway.session("other", scope="there", proven=False), "openalex", "works", per_page=5, search="a")[0]
    assert first.captured.ref == other.captured.ref and first.text == other.text


def test_an_answer_in_the_store_will_do_where_the_caller_says_so(server: Recorded, tools: Tools) -> None:
    now = [1000.0]
    with byref.open("memory:", clock=lambda: now[0]) as gateway:
        session = gateway.session("agent", scope="here", proven=False)
        first = call(tools, session, "openalex", "works", search="a")[0]
        now[0] += 60
        again = call(tools, session, "openalex", "works", search="a", max_age=120)[0]
        assert len(server.asked) == 1 and again.age == 60 and again.text == first.text and first.age is None
        for _ in range(3):  # to give an answer does not make it younger
            now[0] += 25
            held = call(tools, session, "openalex", "works", search="a", max_age=140)[0]
        assert held.age == 135 and len(server.asked) == 1
        now[0] += 600
        assert call(tools, session, "openalex", "works", search="a", max_age=120)[0].age is None and len(server.asked) == 2
        call(tools, gateway.session("other", scope="there"), "openalex", "works", search="a", max_age=10_000)
        assert len(server.asked) == 3, "another scope's answers are not ours"


def test_an_error_of_the_api_is_an_answer_that_failed_and_is_never_given_again(server: Recorded, tools: Tools, session: Session) -> None:
    server.fail[:] = [(400, {})]
    [found] = call(tools, session, "openalex", "works", search="a")
    assert found.status == 400 and found.captured.is_error and "status 400" in found.text
    assert call(tools, session, "openalex", "works", search="a", max_age=1000)[0].status == 200


def test_an_adapter_that_breaks_costs_what_it_derives_and_the_next_page_and_never_the_answer(tools: Tools, session: Session) -> None:
    def broken(*_: object) -> Any:
        raise RecursionError
    whole = adapter("openalex")
    works = operation(whole, "works")
    works = Operation(works.name, works.help, works.arguments, request=works.request, after=broken)
    of = Adapter(whole.name, whole.help, (works,), whole.base, derived=broken, layout=whole.layout)
    [found] = tools.call(session, of, works, {"search": "a", "cursor": "*"}, pages=3)
    assert found.captured.ref and found.captured.names == (BODY,) and not found.more and "|On " in found.text
    assert [line.partition(":")[0] for line in session.gateway.faults.recent] == ["derived openalex", "after works"]


def test_what_runs_here_is_stored_like_any_output(tools: Tools, session: Session, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {i} with a word\n" for i in range(2000)))
    of = adapter("grep")
    here = Tools({"PATH": "/usr/bin:/bin"}, {})
    [found] = here.call(session, of, operation(of, ""), {"pattern": "word"}, folder=str(tmp_path))
    assert found.captured.ref and found.captured.exit_code == 0 and "a.txt" in found.text
    assert session.fetch(found.captured.ref, "L1999").data == b"a.txt:1999:line 1998 with a word\n"


def test_what_is_asked_wrongly_is_told_before_anything_is_sent(server: Recorded, tools: Tools, session: Session) -> None:
    for tool, name, given in (("openalex", "works", {}), ("openalex", "works", {"color": "red"}), ("openalex", "works", {"search": 3}),
                              ("exa", "search", {"search": "a", "type": "psychic"})):
        with pytest.raises(Invalid):
            call(tools, session, tool, name, **given)  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="works, authors"):
        operation(adapter("openalex"), "papers")
    with pytest.raises(ConfigError, match="openalex"):
        adapter("openalexx")
    assert server.asked == []


def test_without_a_key_that_is_needed_nothing_is_sent(server: Recorded, session: Session) -> None:
    bare = Tools({}, {"exa": server.url})
    with pytest.raises(ConfigError, match="EXA_API_KEY"):
        call(bare, session, "exa", "search", search="a")
    assert server.asked == []


def test_recorded_works_are_as_the_layout_expects() -> None:
    assert {"id", "display_name", "publication_year", "is_authors_truncated", "abstract_inverted_index"} <= work(0).keys()
