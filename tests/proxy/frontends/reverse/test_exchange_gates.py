"""An upstream is asked no more than it takes, and not at all where a stored answer will do."""
from __future__ import annotations

import asyncio
import json

from aiohttp import web

from byref.proxy.gates import Limits

JSON = json.dumps({"results": [{"id": f"W{n}", "note": "lorem ipsum dolor " * 20} for n in range(200)]}).encode()


async def echo(request: web.Request) -> web.Response:
    body = await request.read()
    return web.json_response({"method": request.method, "path": request.raw_path, "body": body.decode("latin-1"),
                              "headers": [list(pair) for pair in request.headers.items()]}, status=201, headers={"X-Kept": "yes"})


def test_a_failing_upstream_is_left_alone_and_the_caller_is_told_until_when(behind) -> None:
    asked = 0

    async def handler(request: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        return web.Response(status=500, text="oops")

    async def test(front) -> None:
        assert [(await front.ask()).status for _ in range(7)] == [500] * 5 + [503] * 2 and asked == 5
        found = await front.ask()
        said = json.loads(found.body)["error"]
        assert (said["reason"], found.headers["Retry-After"], said["retry_after"]) == ("circuit", "30", 30)
        assert "try again in 30 s" in said["message"]
    behind.talking(handler, test)


def test_a_get_is_made_again_where_the_upstream_will_have_it_later_and_a_post_is_not(behind) -> None:
    asked = []

    async def handler(request: web.Request) -> web.Response:
        asked.append(request.method)
        return web.Response(text="ok") if asked.count(request.method) > 1 else web.Response(status=503, headers={"Retry-After": "0"})

    async def test(front) -> None:
        assert [(await front.ask()).status, (await front.ask(method="POST")).status] == [200, 503] and asked == ["GET", "GET", "POST"]
    behind.talking(handler, test, limits=Limits(rate=1e6))


def test_too_many_requests_are_told_when_to_come_back(behind) -> None:
    async def test(front) -> None:
        assert [(await front.ask()).status for _ in range(3)] == [201, 429, 429]
        found = await front.ask()
        assert found.headers["Retry-After"] == "100" and json.loads(found.body)["error"]["reason"] == "rate"
    behind.talking(echo, test, limits=Limits(rate=0.01))


def test_a_stored_answer_is_given_again_while_it_is_young_enough(behind) -> None:
    asked, now = 0, 1000.0

    async def handler(request: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        response = web.Response(body=JSON, content_type="application/json", headers={"ETag": '"x"', "X-Number": str(asked)})
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            response.enable_compression()
        return response

    async def test(front) -> None:
        nonlocal now
        mine = {"Authorization": "Bearer mine", "Accept-Encoding": "gzip"}
        first = await front.ask("/works?q=1", headers=mine)
        now += 60
        for headers in ({"Byref-Max-Age": "2m"}, {"Cache-Control": "max-age=60"}, {"Cache-Control": "max-age=99, only-if-cached"}):
            again = await front.ask("/works?q=1", headers=mine | headers)
            assert again.body == JSON and again.ref == first.ref and again.headers["X-Number"] == "1", "decoded, as it is stored"
            assert (again.headers["Age"], again.headers["Byref-From"]) == ("60", "store") and "Content-Encoding" not in again.headers
        view = await front.ask("/works?q=1", headers=mine | {"Byref-Max-Age": "2m", "Byref-View": "auto"})
        assert view.body.startswith(f"«{first.ref} ".encode()) and view.headers["Byref-From"] == "store"
        assert asked == 1
        for headers in ({"Byref-Max-Age": "59"}, {"Authorization": "Bearer other", "Byref-Max-Age": "2m"}, {}):
            assert "Byref-From" not in (await front.ask("/works?q=1", headers=mine | headers)).headers
        assert asked == 4
        assert (await front.ask("/other", headers={"Cache-Control": "only-if-cached, max-age=9"})).status == 504 and asked == 4
        front.session.purge(first.ref)
        assert "Byref-From" not in (await front.ask("/works?q=1", headers=mine | {"Byref-Max-Age": "2m"})).headers and asked == 5
    behind.talking(handler, test, clock=lambda: now)


def test_the_server_can_say_how_old_answers_may_be(behind) -> None:
    asked = 0

    async def handler(request: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        return web.Response(status=int(request.query.get("status", "200")), body=JSON * 20)

    async def test(front) -> None:
        first = await front.ask("/x")
        await front.about(first.headers["Byref-Call"])
        for _ in range(2):
            again = await front.ask("/x")
            assert again.body == JSON * 20 == first.body and again.headers["Content-Length"] == str(len(JSON) * 20)
        assert asked == 1
        for _ in range(2):
            await front.ask("/x", method="POST")
            await front.ask("/x?status=404")
            await front.ask("/x", headers={"Cache-Control": "no-cache"})
        assert asked == 7, "only what is asked for and went well"
    behind.talking(handler, test, max_age=60.0)


def test_equal_requests_at_once_ask_once_where_the_answer_may_be_given_again(behind) -> None:
    asked = []

    async def handler(request: web.Request) -> web.Response:
        asked.append(request.path)
        await asyncio.sleep(0.2)
        return web.Response(status=404 if request.path == "/none" else 200, body=JSON)

    async def test(front) -> None:
        fresh = {"Byref-Max-Age": "1m"}
        found = await asyncio.gather(*(front.ask("/x", headers=fresh) for _ in range(8)))
        assert {one.body for one in found} == {JSON} and len({one.ref for one in found}) == 1 and asked == ["/x"]
        await asyncio.gather(*(front.ask("/y") for _ in range(3)))
        await asyncio.gather(*(front.ask("/x", headers=fresh | {"Authorization": f"Bearer {n}"}) for n in range(3)))
        assert len(asked) == 7, "not those that want it from the upstream, nor those of somebody else"
        assert {one.status for one in await asyncio.gather(*(front.ask("/none", headers=fresh) for _ in range(4)))} == {404}
        assert asked.count("/none") == 4, "what cannot be given again is asked for by each, at once"
    behind.talking(handler, test)


def test_whoever_waits_for_another_that_goes_away_asks(behind) -> None:
    asked = 0

    async def handler(request: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0.3)
        return web.Response(body=JSON)

    async def test(front) -> None:
        first = asyncio.ensure_future(front.ask("/x", headers={"Byref-Max-Age": "1m"}))
        await asyncio.sleep(0.1)
        second = asyncio.ensure_future(front.ask("/x", headers={"Byref-Max-Age": "1m"}))
        await asyncio.sleep(0.1)
        first.cancel()
        assert (await second).body == JSON and asked in (1, 2)
    behind.talking(handler, test)


def test_nobody_waits_for_a_stream(behind) -> None:
    begun = 0

    async def handler(request: web.Request) -> web.StreamResponse:
        nonlocal begun
        begun += 1
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"data: 1\n\n")
        while begun < 2:  # the first goes on until the second has come
            await asyncio.sleep(0.05)
        await response.write_eof()
        return response

    async def test(front) -> None:
        both = asyncio.gather(*(front.ask("/x", headers={"Byref-Max-Age": "1m"}) for _ in range(2)))
        assert [one.body for one in await asyncio.wait_for(both, 20)] == [b"data: 1\n\n"] * 2
    behind.talking(handler, test)
