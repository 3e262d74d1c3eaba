"""A Responses API server on loopback that plays a script, as scripted.py does for Messages. Nothing here knows byref."""
from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from e2e.scripted import MAIN, SUB

Json = Any
Step = Callable[[Json], list[Json]]
FULL = 250_000  # input tokens that make the program compact
SUMMARY = "Half of the work is done; go on."


def text(words: str) -> Json:
    return {"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": words}]}


def tool(name: str, call: str, space: str = "", **arguments: Json) -> Step:
    """A step that calls one tool, after a word on it. space: of the names of an MCP server's tools."""
    made = {"type": "function_call", "call_id": f"call_{call}", "name": name, "arguments": json.dumps(arguments)}
    return lambda request: [text(f"Now {name}, {call}."), made | ({"namespace": space} if space else {})]


def shell(call: str, command: str, **more: Json) -> Step:
    """A step that runs a command."""
    return tool("exec_command", call, cmd=command, **more)


class Responses:
    """The server. requests: of the main conversation in order; summaries: how many had come before each; subs: of subagents."""

    def __init__(self, steps: list[Step], sub: list[Step], full: int) -> None:
        self.steps, self.sub, self.full = steps, sub, full  # full: the step whose answer reports a full window
        self.requests: list[Json] = []
        self.summaries: list[int] = []
        self.subs: list[Json] = []
        self.faults: list[str] = []
        self.answers = 0
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"scripted": self}))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def answer(self, request: Json) -> tuple[str, list[Json], int]:
        with self._lock:
            self.answers += 1
            name, asked = f"resp_{id(self):x}_{self.answers}", json.dumps([one for one in request["input"] if one.get("role") == "user"])
            if "CONTEXT CHECKPOINT COMPACTION" in json.dumps(request["input"][-1]):
                self.summaries.append(len(self.requests))
                return name, [text(SUMMARY)], 1000
            if SUB in asked and MAIN not in asked:
                self.subs.append(request)
                return name, self.sub[min(len(self.subs), len(self.sub)) - 1](request), 1000
            number = len(self.requests)
            self.requests.append(request)
            items = self.steps[number](request) if number < len(self.steps) else [text("All is done.")]
            return name, items, FULL if number == self.full else 1000

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    scripted: Responses
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._send(b'{"data": [], "models": []}', "application/json")

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        try:
            name, items, used = self.scripted.answer(request)
        except Exception as fault:  # a step that finds not what it needs ends the run, and the test says why
            self.scripted.faults.append(repr(fault))
            name, items, used = "resp_none", [text("I cannot go on.")], 10
        self._send("".join(events(name, items, used)).encode(), "text/event-stream")

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def events(name: str, items: list[Json], used: int) -> Iterator[str]:
    """An answer as server-sent events. Of the input tokens 300 come from a cache."""
    def event(kind: str, **data: Json) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"

    yield event("response.created", response={"id": name})
    for index, item in enumerate(items):
        yield event("response.output_item.added", output_index=index, item=item)
        yield event("response.output_item.done", output_index=index, item=item)
    usage = {"input_tokens": used, "input_tokens_details": {"cached_tokens": 300}, "output_tokens": 30,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": used + 30}
    yield event("response.completed", response={"id": name, "usage": usage})
