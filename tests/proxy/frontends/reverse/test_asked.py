"""What a caller wants is read from its headers, and what is kept of a request tells it from others and gives nobody away."""
from __future__ import annotations

import asyncio
from hashlib import blake2b

import pytest
from aiohttp.test_utils import make_mocked_request
from aiohttp.web import Request

from byref.adapters.tools.openalex import ADAPTER
from byref.proxy.frontends.reverse.asked import KEPT, Upload, Wanted, described, wanted
from byref.proxy.frontends.reverse.paths import Outside
from byref.proxy.operations import Request as Kept


@pytest.mark.parametrize(("headers", "found"), [
    ({}, Wanted()), ({"Byref-View": "Lean"}, Wanted("lean")), ({"Byref-View": "raw"}, Wanted("raw")),
    ({"Accept": "text/vnd.byref"}, Wanted("auto")), ({"Accept": "application/json, Text/vnd.byref; q=1; profile=\"safe\""}, Wanted("safe")),
    ({"Accept": "text/vnd.byref", "Byref-View": "lean"}, Wanted("lean")), ({"Accept": "text/vnd.byref2, */*"}, Wanted()),
    ({"Byref-Intent": "cache", "Byref-Budget": "500", "Byref-Session": "s"}, Wanted("", "cache", 500, "s"))])
def test_headers_say_what_is_wanted(headers: dict[str, str], found: Wanted) -> None:
    assert wanted(headers) == found


@pytest.mark.parametrize("headers", [{"Byref-View": "all"}, {"Accept": "text/vnd.byref;profile=all"}, {"Byref-Budget": "0"},
                                     {"Byref-Budget": "-5"}, {"Byref-Budget": "many"}, {"Byref-Budget": "²"}])
def test_what_nobody_could_want_is_told(headers: dict[str, str]) -> None:
    with pytest.raises(Outside) as caught:
        wanted(headers)
    assert caught.value.status == 400


def sent(body: bytes, media: str, known: bool = True) -> Request:
    class Content:
        async def iter_any(self):
            for at in range(0, len(body), 1000):
                yield body[at:at + 1000]
    headers = {"Content-Type": media} | ({"Content-Length": str(len(body))} if known else {"Transfer-Encoding": "chunked"})
    request = make_mocked_request("POST", "/api/x", headers=headers)
    request._payload = Content()  # type: ignore[assignment]
    request._cache.clear()
    return request


def uploaded(body: bytes, media: str, known: bool = True) -> Upload:
    class Told(Upload):
        def __init__(self) -> None:
            super().__init__(sent(body, media, known))
            self.there = True
            self._ended = False

    async def run() -> Upload:
        upload = Told()
        data = await upload.data()
        assert (data if isinstance(data, bytes) else b"".join([piece async for piece in data or ()])) == body
        return upload
    return asyncio.run(run())


@pytest.mark.parametrize("known", [True, False])
def test_json_is_kept_as_it_is_and_anything_else_by_its_hash(known: bool) -> None:
    assert uploaded(b'{"query": "caches"}', "application/json", known).kept() == {"query": "caches"}
    for body, media in ((b"client_secret=x", "application/x-www-form-urlencoded"), (b"{", "application/json"),
                        (b'"' + b"x" * KEPT + b'"', "application/json")):
        assert uploaded(body, media, known).kept() == {"digest": f"b2:{blake2b(body, digest_size=32).hexdigest()}", "size": len(body)}


def test_a_request_is_kept_as_a_tools_adapter_makes_it() -> None:
    works = next(one for one in ADAPTER.operations if one.name == "works")
    assert works.request is not None
    made = works.request({"search": "late interaction", "filter": "is_oa:true,type:article"})
    nothing = Upload(make_mocked_request("GET", "/"))
    rest = "/works?search=late+interaction&filter=is_oa%3Atrue,type:article&mailto=me@example.com&api_key=s3cret"
    assert described("GET", rest, nothing, ("mailto", "api_key")) == made
    assert described("GET", "?q=&q=2&token=s3cret", nothing) == Kept("/", (("q", ""), ("q", "2"), ("token", "*")))
    assert described("DELETE", "/a%2Fb", nothing) == Kept("/a%2Fb", (), "DELETE", None, False)
