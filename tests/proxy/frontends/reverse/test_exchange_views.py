"""A view is made where the caller asks for one, and its headers fit it."""
from __future__ import annotations

import gzip
import json
from functools import partial

import brotli
import pytest
import zstandard
from aiohttp import web

TEXT = "".join(f"{n:04d} | résumé | 東京 | {'FAILED checksum' if n == 777 else 'ok'} 🚀\n" for n in range(1500)).encode()
RECORDS = [{"id": f"W{n}", "title": f"Title {n} of résumé", "year": 1990 + n % 30, "note": "lorem ipsum dolor " * 20} for n in range(200)]
JSON = json.dumps({"results": RECORDS}, ensure_ascii=False).encode()
ENCODERS = {"gzip": gzip.compress, "br": partial(brotli.compress, quality=4), "zstd": zstandard.compress, "": bytes}


KINDS = {
    "application/json": JSON,
    "application/x-ndjson": b"".join(json.dumps(one).encode() + b"\n" for one in RECORDS),
    "text/html": b"<html><body>" + b"".join(b"<h2>Part %d</h2><p>%s</p>" % (n, b"words " * 80) for n in range(80)) + b"</body></html>",
    "application/xml": b"<all>" + b"".join(b"<item id='%d'><name>n%d</name><text>%s</text></item>\n" % (n, n, b"words " * 40)
                                           for n in range(200)) + b"</all>",
    "text/csv": b"id,title,note\n" + b"".join(b"%d,Title %d,%s\n" % (n, n, b"lorem ipsum " * 9) for n in range(500)),
    "text/markdown": b"".join(b"# Part %d\n\n%s\n\n" % (n, b"plain words " * 60) for n in range(80)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("encoding", ["", "gzip", "br", "zstd"])
def test_who_asks_for_a_view_gets_one_with_headers_that_fit_it(behind, kind: str, encoding: str) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=ENCODERS[encoding](KINDS[kind]), headers={
            "Content-Type": kind, "ETag": '"x"', "Last-Modified": "Mon, 30 Nov 2026 00:00:00 GMT", "X-Kept": "yes", "Vary": "Origin"} | (
                {"Content-Encoding": encoding} if encoding else {}))

    async def test(front) -> None:
        raw = await front.ask("/works")
        found = await front.ask("/works", headers={"Byref-View": "auto"})
        assert found.status == 200 and found.body.startswith(f"«{found.ref} ".encode()) and len(found.body) < len(KINDS[kind]) / 2
        assert found.ref == raw.ref and front.stored(found.ref) == KINDS[kind]
        assert {name: found.headers.get(name) for name in ("Content-Type", "Content-Length", "Content-Encoding", "ETag", "Vary", "X-Kept",
                                                           "Byref-View")} == {
            "Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(found.body)), "Content-Encoding": None, "ETag": None,
            "Vary": "Origin, Accept, Byref-View", "X-Kept": "yes", "Byref-View": "auto"}
        asked = await front.ask("/works", headers={"Accept": "text/vnd.byref, */*"})
        assert asked.body == found.body, "the same answer to the same request is the same view"
    behind.talking(handler, test)


def test_a_view_looks_for_what_the_caller_looks_for_within_its_budget(behind) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=TEXT, content_type="text/plain")

    async def test(front) -> None:
        sizes = {}
        for view in ("safe", "auto", "lean"):
            sizes[view] = len((await front.ask(headers={"Byref-View": view})).body)
        assert sizes["lean"] <= sizes["auto"] <= sizes["safe"] <= len(TEXT)
        narrow = await front.ask(headers={"Byref-View": "auto", "Byref-Budget": "200", "Byref-Intent": "0042"})
        assert len(narrow.body) < 2000 and b"0042 | r" in narrow.body and b"FAILED checksum" in narrow.body
    behind.talking(handler, test)


@pytest.mark.parametrize(("kind", "body"), [
    ("image/png", bytes(range(256)) * 50), ("application/json", b'{"a": 1}'),
    ("text/html; charset=iso-8859-1", "é".encode("latin-1") * 9000),
    ("text/event-stream", b"data: 1\n\n" * 500)])
def test_what_has_no_view_passes_byte_for_byte_even_where_one_is_asked_for(behind, kind: str, body: bytes) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=body, headers={"Content-Type": kind, "ETag": '"x"'})

    async def test(front) -> None:
        found = await front.ask(headers={"Byref-View": "auto"})
        assert found.body == body and found.headers["Content-Type"] == kind and found.headers["ETag"] == '"x"'
    behind.talking(handler, test)


def test_raw_waits_for_the_end_and_brings_the_ref(behind) -> None:
    packed = gzip.compress(JSON)  # once: it holds the time

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Encoding": "gzip"})
        await response.prepare(request)
        await response.write(packed)
        return response

    async def test(front) -> None:
        found = await front.ask(headers={"Byref-View": "raw"})
        assert found.body == packed and found.headers["Content-Encoding"] == "gzip" and front.stored(found.ref) == JSON
    behind.talking(handler, test)


@pytest.mark.parametrize("headers", [{"Byref-View": "tiny"}, {"Accept": "text/vnd.byref;profile=tiny"}, {"Byref-Budget": "x"},
                                     {"Byref-Max-Age": "soon"}])
def test_a_wish_that_cannot_be_met_is_told(behind, headers: dict[str, str]) -> None:
    async def test(front) -> None:
        found = await front.ask(headers=headers)
        assert found.status == 400 and json.loads(found.body)["error"]["message"] and front.outputs == 0
    async def handler(request: web.Request) -> web.Response:
        raise AssertionError("nobody is asked")
    behind.talking(handler, test)
