"""A Messages API server on loopback that plays a script, and an MCP server for it to call. Nothing here knows byref.

The script is a list of steps. A step gets the request and returns the content blocks of the answer; the next request of the
main conversation goes to the next step. Subagents and summaries are told by what stands in their prompts.
"""
from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = Any
Step = Callable[[Json], list[Json]]
MAIN, SUB = "MAINTASK", "SUBTASK"
SUMMARY = "<analysis>all of it</analysis><summary>Half of the work is done; go on.</summary>"
FULL = 990_000  # input tokens that make the program compact: its window is a million

RECORDS = "import sys, json\n" + r'''
def reply(message):
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}
    if method == "tools/list":
        return {"tools": [{"name": "records", "description": "records", "inputSchema": {"type": "object", "properties": {
            "broken": {"type": "boolean"}}}}]}
    if method == "tools/call":
        if (params.get("arguments") or {}).get("broken"):
            return {"content": [{"type": "text", "text": "no connection to the records\n" * 40}], "isError": True}
        rows = [{"id": i, "title": "Record %d" % i, "state": "open" if i % 7 else "closed", "url": "https://example.org/r/%d" % i,
                 "notes": None, "labels": ["alpha", "beta"]} for i in range(120)]
        return {"content": [{"type": "text", "text": json.dumps(rows)}]}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        found = reply(message)
        answer = {"result": found} if found else {"error": {"code": -32601, "message": "no"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
'''


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def tool(name: str, call: str, **arguments: Json) -> Step:
    """A step that calls one tool, after a word on it."""
    return lambda request: [text(f"Now {name}, {call}."), {"type": "tool_use", "id": f"toolu_{call}", "name": name, "input": arguments}]


def results(request: Json) -> dict[str, tuple[str, bool]]:
    """What the server was sent of each tool call: text and error flag."""
    found = {}
    for message in request["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result":
                content = block["content"]
                words = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
                found[block["tool_use_id"].removeprefix("toolu_")] = words, bool(block.get("is_error"))
    return found


class Scripted:
    """The server. requests: of the main conversation in order, with what was answered; others: of subagents and summaries."""

    def __init__(self, steps: list[Step], sub: list[Step], full: int) -> None:
        self.steps, self.sub, self.full = steps, sub, full  # full: the step whose answer reports a full window
        self.requests: list[Json] = []
        self.summaries: list[int] = []  # how many main requests had come when the conversation was summed up
        self.subs: list[Json] = []
        self.faults: list[str] = []
        self._answers = 0
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"scripted": self}))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def name(self) -> str:
        """An id for the next answer."""
        with self._lock:
            self._answers += 1
            return f"msg_{id(self):x}_{self._answers}"

    def answer(self, request: Json) -> tuple[list[Json], int]:
        with self._lock:
            first, last = json.dumps(request["messages"][0]), json.dumps(request["messages"][-1])
            if "an <analysis> block followed by a <summary> block" in last:
                self.summaries.append(len(self.requests))
                return [text(SUMMARY)], 100
            if SUB in first and MAIN not in first:
                self.subs.append(request)
                return self.sub[min(len(self.subs), len(self.sub)) - 1](request), 100
            if not request.get("tools"):
                return [text("yes")], 10
            number = len(self.requests)
            self.requests.append(request)
            if number >= len(self.steps):
                return [text("All is done.")], 100
            return self.steps[number](request), FULL if number == self.full else 1000

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    scripted: Scripted
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._send(b"", "text/plain")

    def do_GET(self) -> None:
        self._send(b"{}", "application/json", 404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if "count_tokens" in self.path or "/v1/messages" not in self.path:
            return self._send(b'{"input_tokens": 100}', "application/json")
        request = json.loads(body)
        try:
            blocks, used = self.scripted.answer(request)
        except Exception as fault:  # a step that finds not what it needs ends the run, and the test says why
            self.scripted.faults.append(repr(fault))
            blocks, used = [text("I cannot go on.")], 10
        name = self.scripted.name()
        if request.get("stream"):
            return self._send("".join(events(name, request["model"], blocks, used)).encode(), "text/event-stream")
        message = {**start(name, request["model"], used), "content": blocks, "stop_reason": stop(blocks)}
        return self._send(json.dumps(message).encode(), "application/json")

    def _send(self, data: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def start(name: str, model: str, used: int) -> Json:
    usage = {"input_tokens": used, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300, "output_tokens": 1}
    return {"id": name, "type": "message", "role": "assistant", "model": model, "content": [], "stop_reason": None,
            "stop_sequence": None, "usage": usage}


def stop(blocks: list[Json]) -> str:
    return "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"


def events(name: str, model: str, blocks: list[Json], used: int) -> Iterator[str]:
    """An answer as server-sent events."""
    def event(kind: str, **data: Json) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"

    yield event("message_start", message=start(name, model, used))
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            yield event("content_block_start", index=index, content_block=text(""))
            yield event("content_block_delta", index=index, delta={"type": "text_delta", "text": block["text"]})
        else:
            yield event("content_block_start", index=index, content_block={**block, "input": {}})
            yield event("content_block_delta", index=index,
                        delta={"type": "input_json_delta", "partial_json": json.dumps(block["input"])})
        yield event("content_block_stop", index=index)
    yield event("message_delta", delta={"stop_reason": stop(blocks), "stop_sequence": None}, usage={"output_tokens": 30})
    yield event("message_stop")
