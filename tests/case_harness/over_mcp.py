"""Scenarios over MCP: each session is a `byref wrap` of its own, in a scope of its own, over one store."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import byref
from byref import errors
from case_harness.scenario import Scenario
from wrapped import HELLO, unruly

MISSES = {kind.reason: kind for kind in (errors.Unknown, errors.Expired, errors.Evicted, errors.Invalid, errors.Corrupt)}


class Client:
    """A client of a few lines that waits for each answer. scope: what `byref wrap` is told of it."""

    def __init__(self, scope: str, home: str, *server: str) -> None:
        code = "from byref.proxy.frontends.cli import main; main()"
        self.process = subprocess.Popen([sys.executable, "-c", code, "wrap", "--", *unruly(*server)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env={**os.environ, "BYREF_SCOPE": scope, "BYREF_HOME": home})
        self.ask(1, "initialize", HELLO)
        self.send({"method": "notifications/initialized"})

    def send(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, number: Any, method: str, params: Any) -> dict[str, Any]:
        """The whole answer."""
        assert self.process.stdout is not None
        self.send({"id": number, "method": method, "params": params})
        for line in self.process.stdout:
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == number and "method" not in answer:
                return answer
        raise AssertionError("it ended without an answer")

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return self.ask(2, "tools/call", {"name": name, "arguments": arguments})["result"]

    def capture(self, *, tool: str, args: Any, output: bytes) -> Any:
        """The tool `echo` returns the text of its argument."""
        text = self.call("echo", {"text": output.decode()})["content"][0]["text"]
        head = byref.MARKER.match(text)
        return SimpleNamespace(ref=text[1:12] if head else "", text=text, warning="")

    def fetch(self, ref: str, *, cursor: str | None = None, part: str | None = None, max_tokens: int = 8000) -> Any:
        result = self.call("fetch", {"ref": ref, "cursor": cursor, "part": part, "max_tokens": max_tokens})
        first, *notes = [block["text"] for block in result["content"]]
        if result["isError"]:
            raised = MISSES[first.partition(":")[0]]("")
            raised.args = (first,)
            raise raised
        more = [note.rpartition("cursor ")[2].rstrip("]") for note in notes if "more follows" in note]
        return SimpleNamespace(data=first.encode(), cursor=more[0] if more else None)

    def search(self, query: str) -> Any:
        return SimpleNamespace(text=self.call("search", {"query": query})["content"][0]["text"])

    def close(self) -> None:
        self.process.communicate()


class OverMcp(Scenario):
    """A scenario in which every session talks to a `byref wrap` of its own."""

    def __init__(self, folder: Any, store: Any) -> None:
        super().__init__(folder, store)
        self.clients: dict[str, Client] = {}

    def session(self, step: Mapping[str, Any]) -> Any:
        name = step.get("session", "S")
        if name not in self.clients:
            self.clients[name] = Client(name, str(self.store))
        return self.clients[name]

    def close(self) -> None:
        for client in self.clients.values():
            client.close()
