"""Who may ask for an upstream, and that nobody reaches anything else through it."""
from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from byref.proxy.frontends.reverse import addresses
from byref.proxy.frontends.tools import engine
from byref.proxy.gates import Limits
from byref.proxy.operations import Request
from case_harness.load import read

TOKEN = "t" * 40  # as in conftest.py


async def told(request: web.Request) -> web.Response:
    headers = request.headers
    return web.json_response({"path": request.raw_path, "key": headers.get("X-Api-Key"), "auth": headers.get("Authorization")})


async def raw(front: Any, first: bytes, *headers: bytes) -> bytes:
    """The answer to a request whose first line and headers are these bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", front.service.port)
    host = b"Host: 127.0.0.1:%d" % front.service.port
    given = headers if any(one.lower().startswith(b"host:") for one in headers) else (host, *headers)
    writer.write(b"\r\n".join((first + b" HTTP/1.1", *given, b"Connection: close", b"", b"")))
    answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize(("first", "status"), [
    (b"GET /api/x", 200), (b"GET http://evil.example/api/x", 400), (b"GET /api/../healthz", 400), (b"GET /api/%2e%2e/x", 400),
    (b"GET //api/x", 404), (b"GET /other/x", 404), (b"GET /%61pi/x", 404), (b"CONNECT evil.example:443", 404), (b"TRACE /api/x", 405),
    (b"GET /api/..%2f..%2fv1/status", 400)])
def test_nothing_but_the_upstream_can_be_reached(behind, first: bytes, status: int) -> None:
    reached = []

    async def handler(request: web.Request) -> web.Response:
        reached.append(request.raw_path)
        return await told(request)

    async def test(front) -> None:
        answer = await raw(front, first, b"Authorization: Bearer " + TOKEN.encode())
        assert answer.split(b" ")[1] == str(status).encode(), answer[:300]
    behind.talking(handler, test, path="/v1")
    assert reached == (["/v1/x"] if status == 200 else [])


@pytest.mark.parametrize("header", [b"Host: evil.example", b"Host: 127.0.0.1", b"Origin: https://evil.example", b"Origin: null"])
def test_pages_of_a_browser_elsewhere_may_not_ask(behind, header: bytes) -> None:
    async def test(front) -> None:
        assert b" 403 " in await raw(front, b"GET /api/x", header)
    behind.talking(told, test)


def test_who_asks_the_daemon_for_anything_else_needs_its_token_as_ever(behind) -> None:
    async def test(front) -> None:
        assert (await front.ask("/x")).status == 200
        async with front.http.get(front.url.removesuffix("/api") + "/v1/status") as answer:
            assert answer.status == 401
    behind.talking(told, test)


def test_an_upstream_that_gets_headers_of_ours_is_for_who_has_the_token(behind) -> None:
    async def test(front) -> None:
        assert (await front.ask("/x")).status == 401
        for name, value in (("Byref-Token", TOKEN), ("Authorization", f"Bearer {TOKEN}")):
            heard = json.loads((await front.ask("/x", headers={name: value})).body)
            assert (heard["key"], heard["auth"]) == ("ours", None), "our token goes to nobody else"
        heard = json.loads((await front.ask("/x", headers={"Byref-Token": TOKEN, "Authorization": "Bearer theirs"})).body)
        assert heard["auth"] == "Bearer theirs"
    behind.talking(told, test, headers={"X-Api-Key": "ours"})


def test_with_a_token_of_the_users_own_everybody_has_to_bring_it(behind) -> None:
    async def test(front) -> None:
        assert [(await front.ask("/x", headers=headers)).status for headers in ({}, {"Byref-Token": "guess"}, {"Byref-Token": "mine"})] == [
            401, 401, 200]
    behind.talking(told, test, token="mine")


def test_a_name_that_leads_into_this_machine_is_not_followed(behind, monkeypatch) -> None:
    class Names:
        async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[dict[str, Any]]:
            return [{"hostname": host, "host": "127.0.0.1", "port": port, "family": socket.AF_INET, "proto": 0, "flags": 0}]

        async def close(self) -> None:
            pass
    monkeypatch.setattr(addresses, "DefaultResolver", Names)
    reached = []

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.append(await reader.readline())
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(handler, "127.0.0.1", 0)
        async with server, behind.at(f"http://api.example.com:{server.sockets[0].getsockname()[1]}") as front:
            found = await front.ask()
            assert found.status == 502 and "--allow-private api" in json.loads(found.body)["error"]["message"]
    asyncio.run(run())
    assert reached == []


def test_an_api_with_a_lower_rate_of_its_own_is_asked_no_faster(behind) -> None:
    async def run() -> None:
        for name, given, found in (("openalex", 100.0, 10.0), ("openalex", 5.0, 5.0), ("api", 100.0, 100.0)):
            async with behind.at("http://127.0.0.1:9", name=name, limits=Limits(rate=given)) as front:
                assert front.site.gates[name].limits.rate == found
    asyncio.run(run())


def test_what_is_still_to_be_stored_is_stored_before_the_end(behind) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.Response(body=b"line of it\n" * 200_000)
        response.enable_chunked_encoding()
        return response
    names = []

    async def test(front) -> None:
        names.append((front.site.calls, (await front.ask()).headers["Byref-Call"]))
    behind.talking(handler, test)
    calls, name = names[0]
    assert calls.about(name)["state"] == "stored"


def test_a_call_that_nobody_made_is_unknown(behind) -> None:
    async def test(front) -> None:
        assert (await front.about("c0"))["error"]["reason"] == "unknown"
    behind.talking(told, test)


def test_the_page_of_case_06_is_the_view_and_the_ref_of_the_tool(behind, shared: Path) -> None:
    """What case 06 asks of that view is checked by test_cases.py, for the tool."""
    body = read(shared / "cases" / "06-openalex-works-page", "input.json")

    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=body, content_type="application/json")

    async def test(front) -> None:
        found = await front.ask("/works?search=cache&per-page=25&cursor=*", headers={"Byref-View": "auto"})
        asked = Request("/works", (("search", "cache"), ("per-page", "25"), ("cursor", "*")))
        called = await asyncio.to_thread(engine.capture, front.session, engine.adapter("openalex"), asked, 200, body, "application/json")
        assert found.ref == called.ref and found.body.decode() == engine.shown(called) and len(found.body) < len(body) * 0.15
        assert all(f"W44000000{n:02d}" in found.body.decode() for n in range(25))
        assert b"".join(front.session.blocks(found.ref)) == body
    behind.talking(handler, test, name="openalex")
