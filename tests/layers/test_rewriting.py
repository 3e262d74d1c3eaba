"""Rewrites by a model: what is sent and kept, cached, never waited for beyond the timebox; a fault costs its note.

The endpoint is a stand-in: a server on loopback that answers in the documented format of chat completions.
"""
from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from byref.layers.rewriting import AGAIN, KEPT, Endpoint, Rewriter, kept

QUERY = "how does the server close idle connections"
ANSWER = "1. how does the server close inactive connections\n- \"how does the server drop idle connections\"\nsomething else altogether\n"


class StandIn(ThreadingHTTPServer):
    """Answers with `content`, or with `status`; what came in is in `asked`. Holds answers back while `held` is not set."""

    daemon_threads = True

    def __init__(self) -> None:
        self.content: str | None = ANSWER
        self.status = 200
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self.held = threading.Event()
        self.held.set()
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1/"


class Handler(BaseHTTPRequestHandler):
    server: StandIn

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, dict(self.headers), body))
        self.server.held.wait(60)
        answer = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": self.server.content}}]}
        data = json.dumps(answer).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[StandIn]:
    server = StandIn()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.held.set()
    server.shutdown()
    thread.join()
    server.server_close()


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_two_rewrites_are_asked_for_and_cached_for_ten_minutes(endpoint: StandIn) -> None:
    clock = Clock()
    rewriter = Rewriter(Endpoint(endpoint.url, "some-model", "secret"), clock)
    forms = ("how does the server close inactive connections", "how does the server drop idle connections")
    assert rewriter.start(QUERY)(20) == (forms, "")
    (path, headers, body), = endpoint.asked
    assert path == "/v1/chat/completions" and headers["Authorization"] == "Bearer secret" and body["model"] == "some-model"
    assert body["messages"][-1] == {"role": "user", "content": QUERY} and body["temperature"] == 0
    clock.now = KEPT - 1
    assert rewriter.start(QUERY.replace(" ", "  "))(0) == (forms, "") and len(endpoint.asked) == 1
    clock.now = KEPT
    assert rewriter.start(QUERY)(20) == (forms, "") and len(endpoint.asked) == 2


def test_who_searches_does_not_wait_and_finds_it_the_next_time(endpoint: StandIn) -> None:
    endpoint.held.clear()
    rewriter = Rewriter(Endpoint(endpoint.url, "m"))
    wait = rewriter.start(QUERY)
    forms, note = wait(0.01)
    assert not forms and "in time" in note
    assert "earlier query" in rewriter.start("why is it slow")(0)[1], "nobody else waits for it"
    endpoint.held.set()
    assert len(wait(20)[0]) == 2 and len(rewriter.start(QUERY)(0)[0]) == 2 and len(endpoint.asked) == 1
    assert "Authorization" not in endpoint.asked[0][1]


@pytest.mark.parametrize("fault", ["status", "content", "nobody", "address"])
def test_a_fault_is_noted_and_not_tried_again_at_once(endpoint: StandIn, fault: str) -> None:
    clock, url = Clock(), endpoint.url
    if fault == "status":
        endpoint.status = 503
    elif fault == "content":
        endpoint.content = None
    else:
        url = "http://127.0.0.1:1/v1" if fault == "nobody" else "localhost/v1"
    rewriter = Rewriter(Endpoint(url, "m"), clock)
    forms, note = rewriter.start(QUERY)(20)
    assert not forms and note.startswith("no rewrite by a model") and ("503" in note) == (fault == "status")
    asked = len(endpoint.asked)
    assert rewriter.start(QUERY)(0) == rewriter.start("why is it slow")(0) == ((), note) and len(endpoint.asked) == asked
    endpoint.status, endpoint.content, clock.now = 200, ANSWER, AGAIN
    assert (len(rewriter.start(QUERY)(20)[0]) == 2) == (fault in ("status", "content"))


def test_only_what_keeps_most_words_is_kept() -> None:
    asked = "a1 a2 a3 a4"
    assert kept(asked, ["a1 a2 a3"]) == ("a1 a2 a3",)  # 3 of 4
    assert kept(asked, ["a1 a2 a3 b4"]) == ("a1 a2 a3 b4",)  # 3 of 5, the bound
    assert kept(asked, ["a1 a2 a3 b4 b5"]) == ()  # 3 of 6
    assert kept(asked, ["A1 a2  a3 A4", "", "/a1 a2 a3 a4/", "a4 a3 a2 a1", "a1 a2 a4", "a2 a3 a4"]) == ("a4 a3 a2 a1", "a1 a2 a4")
