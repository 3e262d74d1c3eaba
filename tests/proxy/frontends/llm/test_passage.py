"""Over HTTP: views go on in a request, the answer comes back as it is, keys stay between client and provider, usage is noted."""
from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest
import zstandard

from llm_requests import FAMILIES, LOG, PATHS, Dialog, results

APIS = sorted(FAMILIES)
MAKE: Any = {"command": "make -j"}
Talk = Callable[..., None]
STREAMS: dict[str, list[Any]] = {
    "anthropic": [
        {"type": "message_start", "message": {
            "id": "msg_1", "usage": {"input_tokens": 9, "cache_read_input_tokens": 100, "output_tokens": 1}}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "about \"usage\""}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 30}}, {"type": "message_stop"}],
    "chat": [
        {"id": "msg_1", "choices": [{"delta": {"content": "x"}}], "usage": None},
        {"id": "msg_1", "choices": [], "usage": {
            "prompt_tokens": 109, "completion_tokens": 30, "prompt_tokens_details": {"cached_tokens": 100}}}],
    "responses": [
        {"type": "response.created", "response": {"id": "msg_1", "usage": None}},
        {"type": "response.completed", "response": {"id": "msg_1", "usage": {
            "input_tokens": 109, "input_tokens_details": {"cached_tokens": 100}, "output_tokens": 30}}}],
}


def built(api: str) -> Dialog:
    dialog = Dialog(api)
    dialog.turn([("c1", "Bash", MAKE, LOG)])
    return dialog


@pytest.mark.parametrize("api", APIS)
def test_a_request_goes_on_with_a_view_and_its_cost_is_noted(talk: Talk, provider: Any, api: str) -> None:
    dialog = built(api)
    provider.answers = [[f"data: {json.dumps(one)}\n\n".encode() for one in STREAMS[api]]]
    provider.kind = "text/event-stream"

    async def test(client: Any) -> None:
        status, headers, body = await client.ask(
            PATHS[api], dialog.body(stream=True), Authorization="Bearer sk-secret", x_api_key="sk-secret")
        assert status == 200 and body == b"".join(provider.answers[0]) and headers["Byref-Views"] == "1"
        method, path, sent, data = provider.requests[0]
        assert method == "POST" and path == PATHS[api] and len(data) == int(sent["Content-Length"])
        assert sent["Authorization"] == "Bearer sk-secret" and sent["x-api-key"] == "sk-secret"
        assert results(api, data)["c1"].startswith("«r")
        found, = await client.spent()
        assert found.pop("message")
        assert found == {"input": 9, "read": 100, "output": 30}
    talk(test, provider)


@pytest.mark.parametrize("api", APIS)
def test_no_key_is_ever_written_down(talk: Talk, provider: Any, api: str, tmp_path: Any) -> None:
    async def test(client: Any) -> None:
        await client.ask(PATHS[api], built(api).body(), Authorization="Bearer sk-secret-1", x_api_key="sk-secret-2")
    talk(test, provider)
    held = b"".join(path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file())
    assert held and b"sk-secret" not in held


@pytest.mark.parametrize("path", ["/v1/messages/count_tokens", "/v1/messages/batches", "/v1/files", "/v1/responses/compact"])
def test_other_routes_pass_byte_for_byte(talk: Talk, provider: Any, path: str) -> None:
    async def test(client: Any) -> None:
        body = b" " + built("anthropic").body() + b"\n"
        await client.ask(path + "?beta=true", body)
        assert provider.last == body and provider.requests[-1][1] == path + "?beta=true"
        await client.ask("/v1/models")
        assert provider.requests[-1][:2] == ("GET", "/v1/models")
    talk(test, provider)


@pytest.mark.parametrize("status", [400, 401, 429, 500, 529])
def test_errors_pass_as_they_come_however_many(talk: Talk, provider: Any, status: int) -> None:
    provider.status, provider.answers, provider.headers = status, [b'{"type":"error"}'], {"Retry-After": "20", "request-id": "req_1"}

    async def test(client: Any) -> None:
        for _ in range(8):
            found, headers, body = await client.ask("/v1/messages", built("anthropic").body())
            assert (found, body, headers["Retry-After"], headers["request-id"]) == (status, b'{"type":"error"}', "20", "req_1")
        assert len(provider.requests) == 8
    talk(test, provider)


def test_a_compressed_request_goes_on_plain_where_it_changes_and_as_it_came_where_not(talk: Talk, provider: Any) -> None:
    async def test(client: Any) -> None:
        await client.ask("/v1/responses", zstandard.compress(built("responses").body()), Content_Encoding="zstd")
        assert "Content-Encoding" not in provider.requests[0][2] and results("responses", provider.last)["c1"].startswith("«r")
        short = Dialog("responses").body()
        await client.ask("/v1/responses", gzip.compress(short), Content_Encoding="gzip")
        assert provider.requests[1][2]["Content-Encoding"] == "gzip" and provider.last == short
    talk(test, provider)


def test_it_says_when_views_make_a_prompt_too_short_for_the_cache(talk: Talk, provider: Any) -> None:
    async def test(client: Any) -> None:
        _, headers, _ = await client.ask("/v1/messages", built("anthropic").body())
        assert "1024 tokens" in headers["Byref-Warning"]
        await client.site.close()
        found, = [event.numbers for event in client.service.own.store.events() if event.kind == "uncached"]
        assert found["minimum"] == 1024 > found["tokens"]
        await client.site.open()
        long = Dialog("anthropic", "Build it. " * 2000)
        long.turn([("c1", "Bash", MAKE, LOG)])
        _, headers, _ = await client.ask("/v1/messages", long.body())
        assert headers["Byref-Views"] == "1" and "Byref-Warning" not in headers
    talk(test, provider)


def test_what_no_answer_says_of_its_cost_is_unknown(talk: Talk, provider: Any) -> None:
    provider.answers = [b'{"id": "c1", "choices": []}', b'{"id": "c2", "usage": {"prompt_tokens": 50, "completion_tokens": 2}}']

    async def test(client: Any) -> None:
        for _ in range(2):
            await client.ask("/v1/chat/completions", built("chat").body())
        found, = await client.spent()
        assert {"input": 50, "output": 2}.items() <= found.items() and "read" not in found
    talk(test, provider)


def test_a_stream_that_breaks_off_does_not_look_whole(talk: Talk, provider: Any) -> None:
    import aiohttp
    provider.headers, provider.kind, provider.answers = {"Content-Length": "500"}, "text/event-stream", [[b"data: {}\n\n"]]

    async def test(client: Any) -> None:
        with pytest.raises(aiohttp.ClientPayloadError):
            await client.ask("/v1/messages", built("anthropic").body())
    talk(test, provider)
