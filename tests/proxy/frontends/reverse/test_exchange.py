"""What an upstream says reaches the caller as it was said, and the store whole or not at all."""
from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import subprocess
import zlib
from functools import partial
from pathlib import Path

import brotli
import pytest
import zstandard
from aiohttp import web

from case_harness.load import generator

TEXT = "".join(f"{n:04d} | résumé | 東京 | {'FAILED checksum' if n == 777 else 'ok'} 🚀\n" for n in range(1500)).encode()
RECORDS = [{"id": f"W{n}", "title": f"Title {n} of résumé", "year": 1990 + n % 30, "note": "lorem ipsum dolor " * 20} for n in range(200)]
JSON = json.dumps({"results": RECORDS}, ensure_ascii=False).encode()
ENCODERS = {"gzip": gzip.compress, "br": partial(brotli.compress, quality=4), "zstd": zstandard.compress, "deflate": zlib.compress,
            "": bytes}


async def echo(request: web.Request) -> web.Response:
    body = await request.read()
    return web.json_response({"method": request.method, "path": request.raw_path, "body": body.decode("latin-1"),
                              "headers": [list(pair) for pair in request.headers.items()]}, status=201, headers={"X-Kept": "yes"})


# what passes ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"])
def test_methods_queries_bodies_headers_and_status_pass(behind, method: str) -> None:
    async def test(front) -> None:
        from yarl import URL
        data = None if method in ("GET", "OPTIONS") else b'{"q": "\xc3\xa9"}'
        url = URL(f"{front.url}/a%2Fb/c;d?x=%2f+%20&&y=1&x=\u003d", encoded=True)
        async with front.http.request(method, url, data=data, headers={"X-Mine": "1", "Authorization": "Bearer theirs"}) as answer:
            heard = await answer.json()
        assert (answer.status, answer.headers["X-Kept"], heard["method"]) == (201, "yes", method)
        assert heard["path"] == "/v1/a%2Fb/c;d?x=%2f+%20&&y=1&x==" and heard["body"] == (data or b"").decode("latin-1")
        headers = dict(heard["headers"])
        assert headers["X-Mine"] == "1" and headers["Authorization"] == "Bearer theirs" and headers["Host"] == front.direct[7:-3]
        assert "Accept-Encoding" not in headers and not [name for name in headers if name.lower().startswith("byref")]
    behind.talking(echo, test, path="/v1")


@pytest.mark.parametrize("chunked", [False, True])
def test_a_large_body_streams_up_whole(behind, chunked: bool) -> None:
    async def test(front) -> None:
        async def pieces():
            for at in range(0, len(TEXT) * 10, 50_000):
                yield (TEXT * 10)[at:at + 50_000]
        answer = await front.ask("/up", "POST", data=pieces() if chunked else TEXT * 10)
        assert answer.body.decode() == hashlib.sha256(TEXT * 10).hexdigest()
        kept = json.loads(front.service.own.store.resolve(front.session.scope, answer.ref).manifest.arguments)
        assert kept["path"] == "/up" and kept["body"]["size"] == len(TEXT) * 10 and kept["body"]["digest"].startswith("b2:")

    async def handler(request: web.Request) -> web.Response:
        return web.Response(text=hashlib.sha256(await request.read()).hexdigest())
    behind.talking(handler, test)


@pytest.mark.parametrize("encoding", ENCODERS)
@pytest.mark.parametrize("known", [True, False])
def test_every_encoding_passes_byte_for_byte_and_is_stored_as_text(behind, encoding: str, known: bool) -> None:
    body = ENCODERS[encoding](TEXT)

    async def handler(request: web.Request) -> web.StreamResponse:
        headers = {"Content-Type": "text/plain; charset=utf-8", "ETag": '"x"'} | ({"Content-Encoding": encoding} if encoding else {})
        if known:
            return web.Response(body=body, headers=headers)
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        for at in range(0, len(body), 37):
            await response.write(body[at:at + 37])
        return response

    async def test(front) -> None:
        answer = await front.ask(headers={"Accept-Encoding": "gzip, br, zstd, deflate"})
        assert answer.body == body and answer.headers.get("Content-Encoding", "") == encoding and answer.headers["ETag"] == '"x"'
        if known:
            assert answer.headers["Content-Length"] == str(len(body)) and "Byref-Call" not in answer.headers
            ref = answer.ref
        else:
            assert answer.headers["Transfer-Encoding"] == "chunked" and "Byref-Ref" not in answer.headers
            ref = (await front.about(answer.headers["Byref-Call"]))["ref"]
        assert front.stored(ref) == TEXT
    behind.talking(handler, test)


@pytest.mark.parametrize("flags", [[], ["--compressed"], ["--http1.0"], ["--compressed", "-X", "POST", "-d", "q=1"]])
def test_curl_gets_what_it_would_get_without_byref(behind, flags: list[str]) -> None:
    async def handler(request: web.Request) -> web.Response:
        response = web.Response(body=TEXT, content_type="text/csv")
        response.enable_compression()
        return response

    async def test(front) -> None:
        for path in ("/", "/?a=b%20c"):
            got, direct = [await asyncio.to_thread(
                subprocess.run, ["curl", "-sS", *flags, url + path], capture_output=True, check=True) for url in (front.url, front.direct)]
            assert got.stdout == direct.stdout == TEXT
    behind.talking(handler, test)


def test_events_pass_one_by_one_as_they_come(behind) -> None:
    heard = asyncio.Event()

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for piece in (b"data: r", "é".encode()[:1], "é".encode()[1:], b"gion\n\n"):
            await response.write(piece)
        await heard.wait()  # the caller has to have the first event before there is a second one
        await response.write("data: 東京\n\n".encode())
        return response

    async def test(front) -> None:
        async with front.http.get(front.url + "/events") as answer:
            first = b""
            while not first.endswith(b"\n\n"):
                first += await answer.content.readany()
            heard.set()
            rest = await answer.read()
        assert (first + rest).decode() == "data: région\n\ndata: 東京\n\n" and "Byref-Ref" not in answer.headers
        found = await front.about(answer.headers["Byref-Call"])
        assert front.stored(found["ref"]) == first + rest
    behind.talking(handler, test)


def test_the_stream_of_case_20_passes_byte_for_byte(behind, shared: Path) -> None:
    made = generator(shared / "cases" / "20-sse-gzip-split-utf8")
    chunks = list(made["chunks"]())

    async def handler(request: web.Request) -> web.StreamResponse:
        await request.read()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Content-Encoding": "gzip", "Mcp-Session-Id": "s-1"})
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        return response

    async def test(front) -> None:
        answer = await front.ask("/mcp", "POST", json={"a": 1}, headers={"Accept-Encoding": "gzip, deflate"})
        assert answer.body == b"".join(chunks)
        assert answer.headers["Content-Encoding"] == "gzip" and answer.headers["Mcp-Session-Id"] == "s-1"
        ref = (await front.about(answer.headers["Byref-Call"]))["ref"]
        assert front.stored(ref) == gzip.decompress(answer.body) == made["events"]().encode()
    behind.talking(handler, test)


@pytest.mark.parametrize(("answer", "status", "body"), [
    (b"HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n", 204, b""), (b"HTTP/1.1 304 Not Modified\r\nX-A: 1\r\nETag: \"x\"\r\n\r\n", 304, b""),
    (b"HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 0\r\n\r\n", 200, b""),
    (b"HTTP/1.1 404 Nope\r\nX-A: 1\r\nContent-Length: 4\r\n\r\ngone", 404, b"gone"),
    (b"HTTP/1.1 500 Oops\r\nX-A: 1\r\nContent-Length: 4\r\n\r\noops", 500, b"oops"),
    (b"HTTP/1.1 301 Moved\r\nX-A: 1\r\nLocation: https://evil.example/x\r\nContent-Length: 0\r\n\r\n", 301, b""),
    (b"HTTP/1.1 206 Partial\r\nX-A: 1\r\nContent-Range: bytes 2-4/9\r\nContent-Length: 3\r\n\r\n234", 206, b"234"),
    (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nok", 200, b"ok"),
    (b"HTTP/1.1 200 OK\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n", 200, b"ok"),
    (b"HTTP/1.0 200 OK\r\nX-A: 1\r\n\r\nuntil the end", 200, b"until the end"),
])
def test_answers_of_every_kind_pass(behind, answer: bytes, status: int, body: bytes) -> None:
    async def test(front) -> None:
        found = await front.ask()
        assert (found.status, found.headers["X-A"], found.body) == (status, "1", body)
        assert "Content-Type" not in found.headers and "Server" not in found.headers, "nothing is said that the upstream did not say"
        assert found.headers.get("Location") == ("https://evil.example/x" if status == 301 else None)
    behind.speaking(answer, test=test)


def test_head_says_how_long_the_body_would_be(behind) -> None:
    async def test(front) -> None:
        found = await front.ask(method="HEAD")
        assert (found.status, found.headers["Content-Length"], found.body) == (200, "1234", b"") and front.outputs == 0
    behind.speaking(b"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\nContent-Type: text/html\r\n\r\n", test=test)


def test_a_redirect_within_the_upstream_leads_back_through_byref_and_none_is_followed(behind) -> None:
    async def test(front) -> None:
        found = await front.ask("/old")
        assert (found.status, found.headers["Location"]) == (302, "/api/new?x=1") and found.headers["Set-Cookie"] == "a=1; Path=/api/"
    behind.speaking(b"HTTP/1.1 302 Found\r\nLocation: /new?x=1\r\nSet-Cookie: a=1; Path=/\r\nContent-Length: 0\r\n\r\n", test=test)


def test_an_error_is_stored_as_one_and_a_range_as_no_whole(behind) -> None:
    async def handler(request: web.Request) -> web.Response:
        if "Range" in request.headers:
            return web.Response(status=206, body=TEXT[5:50], headers={"Content-Range": f"bytes 5-49/{len(TEXT)}"})
        return web.Response(status=404, text="no such thing")

    async def test(front) -> None:
        store, scope = front.service.own.store, front.session.scope
        assert store.resolve(scope, (await front.ask("/x")).ref).manifest.is_error
        ranged = await front.ask("/x", headers={"Range": "bytes=5-49", "Byref-View": "auto"})
        assert ranged.status == 206 and ranged.body == TEXT[5:50]
        assert json.loads(store.resolve(scope, ranged.ref).manifest.arguments)["range"] == f"bytes 5-49/{len(TEXT)}"
    behind.talking(handler, test)


def test_credentials_go_to_the_upstream_and_into_no_file(behind, tmp_path: Path) -> None:
    async def handler(request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == "Bearer s3cret-bearer" and request.cookies["sid"] == "s3cret-cookie"
        return web.Response(text="hello " * 3000)

    async def test(front) -> None:
        for more in ({}, {"method": "POST", "data": b"client_secret=s3cret-form"}):
            answer = await front.ask("/x?q=plain&api_key=s3cret-query", headers={"Authorization": "Bearer s3cret-bearer",
                                                                             "Cookie": "sid=s3cret-cookie"}, **more)
            assert front.stored(answer.ref)
    behind.talking(handler, test)
    written = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"s3cret" not in written and b"plain" in written


def test_much_is_passed_on_and_stored_whole(behind) -> None:
    size = 24 << 20
    block = TEXT[:1 << 16]

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": str(size), "Content-Type": "text/plain"})
        await response.prepare(request)
        for _ in range(size // len(block)):
            await response.write(block)
        return response
    count, block = size // len(block), block * 1

    async def test(front) -> None:
        nonlocal size
        size = count * len(block)
        answer = await front.ask()
        assert answer.headers["Content-Length"] == str(size) and answer.body == block * count
        ref = (await front.about(answer.headers["Byref-Call"]))["ref"]
        assert front.stored(ref) == block * count
        again = await front.ask(headers={"Byref-View": "raw"})
        assert again.ref == ref and again.body == block * count
    size = count * len(block)
    behind.talking(handler, test)
