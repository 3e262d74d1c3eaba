"""Requests to the three LLM APIs, as a harness makes them: a conversation that grows by turns."""
from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from byref.proxy.frontends.llm import anthropic, chat, responses
from byref.proxy.frontends.llm.rewriting import Family
from byref.proxy.ledger.trajectories import Trajectory

FAMILIES: dict[str, Any] = {"anthropic": anthropic, "chat": chat, "responses": responses}
PATHS = {"anthropic": "/v1/messages", "chat": "/v1/chat/completions", "responses": "/v1/responses"}
LOG = "".join(f"2026-01-01 step {n} of the build: object file {n * 37 % 500}.o written\n" for n in range(450))
LOG += "ERROR: cannot link beacon\n"
OURS, SHELL = "mcp__byref__fetch", "Bash"
Returned = tuple[str, str, Any, str]  # id of a call, tool, arguments, output


class Dialog:
    """A conversation in the form of one API. tools: the names offered, after the shell."""

    def __init__(self, api: str, task: str = "Build it.", system: str = "You are an agent.", tools: Sequence[str] = (OURS,),
                 session: str = "") -> None:
        self.api, self.task = api, task
        self.family: Family = FAMILIES[api]
        self.items: list[Any] = [{"role": "user", "content": task}]
        about = [{"name": name, "description": name} for name in (SHELL, *tools)]
        schema: Any = {"type": "object", "properties": {}}
        if api == "anthropic":
            self.head: dict[str, Any] = {"model": "claude-sonnet-5", "max_tokens": 999, "system": [{"type": "text", "text": system}],
                                         "tools": [{**one, "input_schema": schema} for one in about]}
            if session:
                self.head["metadata"] = {"user_id": f"user_0a_account__session_{session}"}
        elif api == "chat":
            self.head = {"model": "gpt-6", "tools": [{"type": "function", "function": {**one, "parameters": schema}} for one in about]}
            self.items.insert(0, {"role": "system", "content": system})
        else:
            self.head = {"model": "gpt-6", "instructions": system,
                         "tools": [{"type": "function", **one, "parameters": schema} for one in about]}
        if session and api != "anthropic":
            self.head["prompt_cache_key"] = session

    def answers(self, text: str) -> None:
        """The model says something."""
        self.items.append({"role": "assistant", "content": text})

    def asks(self, text: str) -> None:
        """The user says something."""
        self.items.append({"role": "user", "content": text})

    def turn(self, returned: Sequence[Returned], said: str = "", failed: bool = False) -> None:
        """The model says something and makes calls, which return."""
        if self.api == "anthropic":
            uses = [{"type": "tool_use", "id": call, "name": tool, "input": arguments} for call, tool, arguments, _ in returned]
            self.items.append({"role": "assistant", "content": ([{"type": "text", "text": said}] if said else []) + uses})
            flag = {"is_error": True} if failed else {}
            self.items.append({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": call, "content": output, **flag} for call, _, _, output in returned]})
        elif self.api == "chat":
            uses = [{"id": call, "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
                    for call, tool, arguments, _ in returned]
            self.items.append({"role": "assistant", "content": said or None, "tool_calls": uses})
            self.items += [{"role": "tool", "tool_call_id": call, "content": output} for call, _, _, output in returned]
        else:
            if said:
                self.items.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]})
            self.items += [{"type": "function_call", "call_id": call, "name": tool, "arguments": json.dumps(arguments)}
                           for call, tool, arguments, _ in returned]
            self.items += [{"type": "function_call_output", "call_id": call, "output": output} for call, _, _, output in returned]

    def body(self, **more: Any) -> bytes:
        """The request that is sent now."""
        messages = "input" if self.api == "responses" else "messages"
        return json.dumps({**self.head, messages: self.items, **more}, ensure_ascii=False).encode("utf-8", "backslashreplace")


class Seen(NamedTuple):
    """A result as it stands in a request."""

    call: str
    text: str


def results(api: str, body: bytes) -> dict[str, str]:
    """The text of each result in a request, by its call."""
    request = json.loads(body)
    return dict(_results(api, request))


def _results(api: str, request: Any) -> Iterator[Seen]:
    for item in request["input" if api == "responses" else "messages"]:
        if api == "anthropic" and isinstance(item["content"], list):
            for block in item["content"]:
                if block["type"] == "tool_result":
                    yield Seen(block["tool_use_id"], _text(block["content"]))
        elif item.get("role") == "tool":
            yield Seen(item["tool_call_id"], _text(item["content"]))
        elif item.get("type") == "function_call_output":
            yield Seen(item["call_id"], _text(item["output"]))


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def replayed(trajectory: Trajectory, api: str, number: int) -> Iterator[tuple[Dialog, bytes]]:
    """The requests of a recorded task, in order; number: of the task, for its calls' ids. Calls made at once come at once."""
    dialog = Dialog(api, trajectory.task or "Go on.")
    turns, requests = trajectory.turns, trajectory.requests()
    start = 0
    while start < len(turns):
        end = next((i for i in range(start, len(turns)) if requests[i] != requests[start]), len(turns))
        together = [(f"call_{number}_{i}", turns[i].tool, turns[i].arguments, turns[i].output) for i in range(start, end)]
        dialog.turn(together, trajectory.before(start).strip("\n"))
        yield dialog, dialog.body()
        start = end


def recordings(root: Path) -> list[Path]:
    """The recorded trajectories that lie beside the checkout where this project is developed; none elsewhere."""
    found = [root.parent / "shared" / "corpus" / f"trajectories-{name}.jsonl" for name in ("local", "open")]
    return [path for path in found if path.is_file()]
