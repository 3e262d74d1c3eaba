"""Google ADK: a `BasePlugin` for `App(plugins=[…])`, of google-adk 2.13. https://google.github.io/adk-docs/plugins

`after_tool_callback` puts a view where a tool's response has its text; `before_model_callback` offers our tools and has the contents
that are about to be sent, after ADK compacted or filtered them. A conversation is a session, and an agent and branch of it.

| response                       | the text that is captured   | what carries the view       |
|--------------------------------|-----------------------------|-----------------------------|
| a str                          | itself                      | `{"result": view}`          |
| a dict of one text             | the text                    | the same key                |
| `{"content": [blocks]}` of MCP | its text blocks             | the same blocks             |
| any other dict, list           | its JSON                    | `{"result": view}`          |
| what is no JSON, such as media | none, it passes             |                             |
"""
from __future__ import annotations

import json
import time
from asyncio import CancelledError, to_thread
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from byref.proxy.contracts import Json
from byref.proxy.framework import Offered, Sessions

PACKAGE = "google-adk>=2.0"
STARTED = 10_000

_MCP = {"content", "isError", "_meta", "meta"}


class FunctionResponse(Protocol):
    response: Mapping[str, Json] | None


class FunctionCall(Protocol):
    id: str | None


class Part(Protocol):
    """A part of a content; one of these stands, the others are None."""

    text: str | None
    function_call: FunctionCall | None
    function_response: FunctionResponse | None


class Content(Protocol):
    parts: Sequence[Part] | None


class Event(Protocol):
    content: Content | None


class Session(Protocol):
    app_name: str
    user_id: str
    id: str
    events: Sequence[Event]


class Context(Protocol):
    """Where a callback is called."""

    session: Session
    agent_name: str
    branch: str | None
    user_content: Content | None
    function_call_id: str | None


class Tool(Protocol):
    name: str
    description: str


class Request(Protocol):
    """A request that is about to be sent."""

    contents: Sequence[Content]
    tools_dict: Mapping[str, Tool]

    def append_tools(self, tools: list[Tool]) -> None: ...


def middleware(sessions: Sessions) -> object:
    """A BasePlugin. Raises ImportError where ADK is not installed."""
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.tools.base_tool import BaseTool
    from google.genai.types import FunctionDeclaration

    started: dict[tuple[str, str | None], float] = {}

    class Ours(BaseTool):  # type: ignore[misc]
        """A tool of ours."""

        def __init__(self, offered: Offered) -> None:
            super().__init__(name=offered.name, description=offered.description)
            self._schema = dict(offered.schema)

        def _get_declaration(self) -> FunctionDeclaration:
            return FunctionDeclaration(name=self.name, description=self.description, parameters_json_schema=self._schema)

        async def run_async(self, *, args: Mapping[str, Json], tool_context: Context) -> Mapping[str, Json]:
            return {"result": await to_thread(sessions.answer, _conversation(tool_context), self.name, args)}

    tools: list[Tool] = [Ours(offered) for offered in sessions.tools]

    def turn(context: Context, request: Request) -> None:
        try:
            sessions.turn(_conversation(context), _results(request.contents), _joined(context.user_content))
            if request.tools_dict and tools[0].name not in request.tools_dict:
                request.append_tools(tools)
        except Exception as fault:
            sessions.fault("turn", fault)

    def viewed(tool: Tool, args: Mapping[str, Json], context: Context, result: Json, elapsed: float | None) -> Mapping[str, Json] | None:
        try:
            texts = _texts(result)
            if texts is None:
                return None
            failed = isinstance(result, Mapping) and bool(result.get("isError") or result.get("error"))
            views = sessions.capture(
                _conversation(context), tool.name, texts, args=args, call_id=context.function_call_id or "", is_error=failed,
                said=_said(context), task=_joined(context.user_content), elapsed=elapsed)
            return None if views is None else _put(result, views)
        except Exception as fault:
            sessions.fault("view", fault)
            return None

    class Byref(BasePlugin):  # type: ignore[misc]
        """Views in the place of long tool outputs, and the tools that bring what they leave out."""

        async def before_model_callback(self, *, callback_context: Context, llm_request: Request) -> None:
            await to_thread(turn, callback_context, llm_request)

        async def before_tool_callback(self, *, tool: Tool, tool_args: Mapping[str, Json], tool_context: Context) -> None:
            if len(started) > STARTED:
                started.clear()
            started[_conversation(tool_context), tool_context.function_call_id] = time.monotonic()

        async def after_tool_callback(self, *, tool: Tool, tool_args: Mapping[str, Json], tool_context: Context,
                                      result: Json) -> Mapping[str, Json] | None:
            start = started.pop((_conversation(tool_context), tool_context.function_call_id), None)
            if sessions.own(tool.name, tool.description):
                return None
            return await to_thread(viewed, tool, tool_args, tool_context, result, None if start is None else time.monotonic() - start)

        async def on_tool_error_callback(self, *, tool: Tool, tool_args: Mapping[str, Json], tool_context: Context,
                                         error: BaseException) -> None:
            started.pop((_conversation(tool_context), tool_context.function_call_id), None)
            if not isinstance(error, CancelledError):
                await to_thread(sessions.failed, _conversation(tool_context), tool.name, error, args=tool_args)

    return Byref(name="byref")


def _texts(result: Json) -> list[str] | None:
    """What is captured of a response, as the table says; None for what passes."""
    if isinstance(result, str):
        return [result]
    if not result:
        return None
    if isinstance(result, Mapping):
        if len(result) == 1 and isinstance(one := next(iter(result.values())), str):
            return [one]
        if (blocks := _blocks(result)) is not None:
            return [str(block["text"]) for block in blocks if block.get("type") == "text"] or None
    try:
        return [json.dumps(result, ensure_ascii=False, allow_nan=False)]
    except (TypeError, ValueError, RecursionError):
        return None


def _put(result: Json, views: Sequence[str]) -> Mapping[str, Json]:
    """The response with views in the places of its texts."""
    if isinstance(result, Mapping):
        if len(result) == 1 and isinstance(next(iter(result.values())), str):
            return {next(iter(result)): views[0]}
        if (blocks := _blocks(result)) is not None:
            left = iter(views)
            return {**result, "content": [{**block, "text": next(left)} if block.get("type") == "text" else block for block in blocks]}
    return {"result": views[0]}


def _blocks(result: Mapping[str, Json]) -> list[Mapping[str, Json]] | None:
    """The content of an MCP result that holds nothing beside it."""
    content = result.get("content")
    if not isinstance(content, list) or not result.keys() <= _MCP:
        return None
    return content if all(isinstance(block, Mapping) and isinstance(block.get("text", ""), str) for block in content) else None


def _results(contents: Iterable[Content]) -> list[str]:
    """The texts of all responses in a request."""
    return [text for content in contents for part in content.parts or () if part.function_response is not None
            for text in _texts(part.function_response.response) or ()]


def _conversation(context: Context) -> str:
    session = context.session
    return " ".join([session.app_name, session.user_id, session.id, context.branch or "", context.agent_name])


def _joined(content: Content | None) -> str:
    return "\n".join(part.text for part in (content.parts if content is not None else None) or () if part.text)


def _said(context: Context) -> str:
    """What the model wrote beside a call."""
    for event in reversed(context.session.events):
        parts = (event.content.parts if event.content is not None else None) or ()
        if any(part.function_call is not None and part.function_call.id == context.function_call_id for part in parts):
            return _joined(event.content)
    return ""
