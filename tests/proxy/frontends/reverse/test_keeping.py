"""An answer becomes an output of the same ref on whatever way it came."""
from __future__ import annotations

import asyncio
import gzip
import json

import pytest

import byref
from byref.adapters.tools import openalex
from byref.proxy.frontends.reverse.asked import Wanted
from byref.proxy.frontends.reverse.keeping import UNREAD, Answered, Kept, keep
from byref.proxy.frontends.reverse.spool import Spool
from byref.proxy.frontends.tools import engine
from byref.proxy.operations import Adapter, Request

BODY = json.dumps({"meta": {"count": 50}, "results": [
    {"id": f"https://openalex.org/W{n}", "display_name": f"Title {n}", "publication_year": 2000 + n % 20,
     "abstract_inverted_index": {"The": [0], "cache": [1], "is": [2], f"cold{n}": [3]}, "awards": ["x" * 300]}
    for n in range(50)]}).encode()
ASKED = Request("/works", (("search", "cache"),))


@pytest.fixture
def session():
    with byref.open("memory:") as gateway:
        yield gateway.session("s", proven=False)


def spooled(body: bytes) -> Spool:
    async def run() -> Spool:
        spool = Spool(None, lambda work: asyncio.to_thread(work))
        await spool.add(body)
        await spool.done()
        return spool
    return asyncio.run(run())


def said(adapter: Adapter | None = None, status: int = 200, encoding: str = "", part: str = "", tool: str = "openalex") -> Answered:
    return Answered(tool, adapter, ASKED, status, "application/json", encoding, part, 0.1)


def test_an_api_with_an_adapter_gives_the_tools_own_view_and_ref(session: byref.Session) -> None:
    called = engine.capture(session, openalex.ADAPTER, ASKED, 200, BODY, "application/json")
    for encoding, body in (("", BODY), ("gzip", gzip.compress(BODY))):
        kept = keep(session, said(openalex.ADAPTER, encoding=encoding), spooled(body), Wanted("auto"), True)
        assert (kept.ref, kept.view) == (called.ref, engine.shown(called)) != ("", None)
    assert session.search("cold7").hits, "what the adapter derives of it is found, too"


def test_without_a_wish_nothing_is_reduced_and_the_ref_is_the_same(session: byref.Session) -> None:
    refs = {keep(session, said(), spooled(BODY), Wanted(view), possible).ref for view, possible in (
        ("", True), ("raw", True), ("auto", True), ("auto", False))}
    assert len(refs) == 1
    assert keep(session, said(), spooled(BODY), Wanted(""), True).view is None
    assert keep(session, said(), spooled(BODY), Wanted("auto"), True).view is not None


def test_another_status_a_range_and_another_upstream_are_other_outputs(session: byref.Session) -> None:
    answers = [said(), said(status=500), said(part="bytes 0-9/99"), said(tool="other")]
    assert len({keep(session, answer, spooled(BODY), Wanted(), True).ref for answer in answers}) == 4


def test_what_cannot_be_read_is_kept_as_it_came_or_not_at_all(session: byref.Session) -> None:
    unknown = keep(session, said(encoding="compress"), spooled(b"\x1f\x9d\x90" * 99), Wanted(), True)
    output = session.gateway.store.resolve(session.scope, unknown.ref)
    assert output.manifest.parts[0].media == UNREAD and b"".join(session.blocks(unknown.ref)) == b"\x1f\x9d\x90" * 99
    broken = keep(session, said(encoding="gzip"), spooled(gzip.compress(BODY)[:-4]), Wanted("auto"), True)
    assert broken == Kept(None, "not stored: its encoding breaks off in the middle") and (broken.ref, broken.view) == ("", None)
    lost = spooled(BODY)
    lost.lost = "it is more than 1024 MiB"
    assert keep(session, said(), lost, Wanted(), True).why == "not stored: it is more than 1024 MiB"
