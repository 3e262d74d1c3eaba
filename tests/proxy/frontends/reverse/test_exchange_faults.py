"""What breaks on the way is an error to the caller, and is not stored as whole."""
from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
from functools import partial
from typing import Any

import aiohttp
import brotli
import pytest
import zstandard
from aiohttp import web

from byref.proxy.errors import StoreFull
from byref.proxy.frontends.reverse import exchange
from byref.proxy.gates import Limits

TEXT = "".join(f"{n:04d} | résumé | 東京 | {'FAILED checksum' if n == 777 else 'ok'} 🚀\n" for n in range(1500)).encode()
RECORDS = [{"id": f"W{n}", "title": f"Title {n} of résumé", "year": 1990 + n % 30, "note": "lorem ipsum dolor " * 20} for n in range(200)]
JSON = json.dumps({"results": RECORDS}, ensure_ascii=False).encode()
ENCODERS = {"gzip": gzip.compress, "br": partial(brotli.compress, quality=4), "zstd": zstandard.compress, "": bytes}


@pytest.mark.parametrize("headers", [b"Content-Length: 2000000\r\n", b"Transfer-Encoding: chunked\r\n",
                                     b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"])
@pytest.mark.parametrize("flags", [[], ["--http1.0"]])
def test_a_body_cut_in_the_middle_is_an_error_to_the_caller_and_is_not_stored(behind, headers: bytes, flags: list[str]) -> None:
    async def test(front) -> None:
        if not flags:
            async with front.http.get(front.url + "/x") as answer:
                with pytest.raises(aiohttp.ClientPayloadError):
                    await answer.read()
            found = await front.about(answer.headers["Byref-Call"])
            assert found["state"] == "lost" and "broke off in the middle" in found["reason"]
        curl = await asyncio.to_thread(subprocess.run, ["curl", "-sS", *flags, front.url + "/x"], capture_output=True, check=False)
        assert curl.returncode in (18, 56), "partial file, or receive failure"
        assert front.outputs == 0
    behind.speaking(b"HTTP/1.1 200 OK\r\n" + headers + b"\r\n" + b"5\r\nhello\r\n" * 3, test=test)


def test_a_small_body_cut_in_the_middle_is_an_error_with_the_reason_and_a_get_is_asked_again(behind) -> None:
    cut, whole = (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + body for body in (b"hello", b"hello hell"))

    async def test(front) -> None:
        found = await front.ask(method="POST", data=b"x")
        assert found.status == 502 and "broke off" in json.loads(found.body)["error"]["message"] and front.outputs == 0
        assert (await front.ask()).body == b"hello hell" and front.outputs == 1
    behind.speaking(cut, cut, whole, test=test, limits=Limits(rate=1e6))


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd"])
@pytest.mark.parametrize("known", [True, False])
def test_a_body_whose_encoding_breaks_off_passes_and_is_not_stored_as_whole(behind, encoding: str, known: bool) -> None:
    body = ENCODERS[encoding](TEXT)[:-5]

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.Response(body=body, headers={"Content-Encoding": encoding})
        if not known:
            response.enable_chunked_encoding()
        return response

    async def test(front) -> None:
        found = await front.ask()
        assert found.body == body and "Byref-Ref" not in found.headers and front.outputs == 0
        why = found.headers["Byref-Warning"] if known else (await front.about(found.headers["Byref-Call"]))["reason"]
        assert "breaks off" in why
    behind.talking(handler, test)


def test_who_goes_away_takes_the_request_along_and_nothing_is_stored_as_whole(behind, monkeypatch) -> None:
    monkeypatch.setattr(exchange, "WATCH", 0.02)
    left = asyncio.Event()

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            await response.write(b"data: 1\n\n")
            await asyncio.Event().wait()  # silent from now on
        finally:
            left.set()
        return response

    async def test(front) -> None:
        async with front.http.get(front.url + "/events") as answer:
            assert await answer.content.readany() == b"data: 1\n\n"
            answer.close()
        await left.wait()
        assert "went away" in (await front.about(answer.headers["Byref-Call"]))["reason"] and front.outputs == 0
    behind.talking(handler, test)


def test_an_upstream_that_is_not_there_or_says_nothing_is_told_apart(behind) -> None:
    async def silent(request: web.Request) -> web.Response:
        await asyncio.sleep(30)
        return web.Response()

    async def test(front) -> None:
        found = await front.ask()
        assert found.status == 504 and "said nothing for 0.5 s" in json.loads(found.body)["error"]["message"]
    behind.talking(silent, test, limits=Limits(timeout=0.5, rate=1e6, attempts=1))

    async def run() -> None:
        async with behind.at("http://127.0.0.1:9") as front:
            found = await front.ask()
            assert found.status == 502 and "could not be reached" in json.loads(found.body)["error"]["message"]
    asyncio.run(run())


def test_where_the_store_takes_nothing_answers_pass_with_a_warning(behind, monkeypatch) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=JSON, content_type="application/json")

    async def test(front) -> None:
        def full(*_: Any) -> None:
            raise StoreFull("no room\nat all")
        monkeypatch.setattr(front.service.own.store, "commit", full)
        for headers in ({}, {"Byref-View": "auto"}):
            found = await front.ask(headers=headers)
            assert found.body == JSON and "Byref-Ref" not in found.headers and "no room at all" in found.headers["Byref-Warning"]
    behind.talking(handler, test)
