"""OpenAI Agents: a `call_model_input_filter` for `RunConfig`, and our tools, of openai-agents 0.24. https://openai.github.io/openai-agents-python

The filter has the whole input of a request, whatever made a result of it: function tools, MCP servers, an agent as a tool. What the
application keeps (`new_items`, a session) stays raw; the same bytes stand for it in every request. An agent that was not given our
tools is shown no views (a marker is of no use to it).
"""
from __future__ import annotations

import json
from asyncio import to_thread
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from byref.proxy.contracts import Json
from byref.proxy.framework import Offered, Sessions

PACKAGE = "openai-agents>=0.20"

Item = Mapping[str, Json]
Input = TypeVar("Input", bound="ModelInput")


class ModelInput(Protocol):
    """What is about to be sent. A dataclass."""

    input: Sequence[Item]
    instructions: str | None


class Tool(Protocol):
    name: str


class Agent(Protocol):
    name: str
    tools: Sequence[Tool]


class Data(Protocol[Input]):
    """What a filter is given."""

    model_data: Input
    agent: Agent


class Context(Protocol):
    """The context of a call."""

    tool_name: str


def middleware(sessions: Sessions) -> object:
    """An object with `tools` for each agent and `filter` for the RunConfig. Raises ImportError where the SDK is not installed."""
    from agents import FunctionTool

    def offered(tool: Offered) -> FunctionTool:
        async def answer(context: Context, arguments: str) -> str:
            try:
                given = json.loads(arguments or "{}")
            except ValueError:
                return f"invalid: the arguments of {tool.name} are a JSON object"
            return await to_thread(sessions.answer, "", tool.name, given if isinstance(given, dict) else {})
        return FunctionTool(name=tool.name, description=tool.description, params_json_schema=dict(tool.schema), on_invoke_tool=answer,
                            strict_json_schema=False)

    class Byref:
        """Views in the place of long tool outputs, and the tools that bring what they leave out."""

        tools = [offered(tool) for tool in sessions.tools]

        async def filter(self, data: Data[Input]) -> Input:
            """A RunConfig's call_model_input_filter."""
            return await to_thread(_filtered, sessions, data)

    return Byref()


def _filtered(sessions: Sessions, data: Data[Input]) -> Input:
    """The input with views. Items that stay are the same objects: the SDK knows them by that."""
    given = data.model_data
    try:
        tools: list[Json] = [{"type": "function", "name": tool.name, "description": getattr(tool, "description", "")}
                             for tool in data.agent.tools]
        # A run goes over several agents: each is a context of its own, by its name and instructions.
        request = {"instructions": f"{data.agent.name}\n{given.instructions or ''}", "tools": tools, "input": list(given.input)}
        body = json.dumps(request, ensure_ascii=False).encode()
        made = sessions.request("/v1/responses", body)
        if made == body:
            return given
        items = json.loads(made)["input"]
        return replace(given, input=[  # type: ignore[type-var]
            old if old == new else {**old, "output": new["output"]} for old, new in zip(given.input, items, strict=True)])
    except Exception as fault:
        sessions.fault("filter", fault)
        return given
