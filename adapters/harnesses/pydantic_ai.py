"""pydantic-ai: an `AbstractCapability` for `Agent(capabilities=[…])`, of pydantic-ai 2.68. https://ai.pydantic.dev/capabilities

`after_tool_execute` puts a view where a tool returned text or something that the model would be sent as JSON; files and images, whose
text holds no room for them, pass. `before_model_request` has the messages that are about to be sent, after what processes the history.
A conversation is what pydantic-ai calls one: an agent that a tool runs has one of its own.
"""
from __future__ import annotations

import time
from asyncio import to_thread
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from byref.proxy.contracts import Json
from byref.proxy.framework import Offered, Sessions

PACKAGE = "pydantic-ai-slim>=2.60"
STARTED = 10_000

Asked = TypeVar("Asked", bound="Asking")


class Part(Protocol):
    """A part of a message."""

    part_kind: str


class Message(Protocol):
    """A request to the model or its response."""

    kind: str
    parts: Sequence[Part]


class Context(Protocol):
    """The run that a hook is called in."""

    conversation_id: str | None
    messages: Sequence[Message]


class Asking(Protocol):
    """A request that is about to be sent."""

    messages: Sequence[Message]


class Calling(Protocol):
    """A call as the model made it."""

    tool_name: str
    tool_call_id: str


class Definition(Protocol):
    """A tool as it is offered."""

    description: str | None


def middleware(sessions: Sessions) -> object:
    """An AbstractCapability. Raises ImportError where pydantic-ai is not installed."""
    from pydantic_ai import Tool
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ToolReturn, ToolReturnPart
    from pydantic_ai.toolsets import FunctionToolset

    started: dict[tuple[str | None, str], float] = {}

    def text(value: object) -> str | None:
        """What the model would be sent of a value; None where it holds more than text."""
        if isinstance(value, str):
            return value
        part = ToolReturnPart("", value, "")
        return None if part.files else part.model_response_str()

    def returned(messages: Iterable[Message]) -> list[str]:
        return [part.model_response_str(wrap_if_error=False) for message in messages for part in message.parts
                if isinstance(part, ToolReturnPart) and not part.files]

    def viewed(ctx: Context, call: Calling, args: Json, result: object, elapsed: float | None) -> object:
        """What a tool returned, as a view. Blocks."""
        try:
            told = text(result.return_value if isinstance(result, ToolReturn) else result)
            if told is None:
                return result
            views = sessions.capture(
                ctx.conversation_id or "", call.tool_name, [told], args=_plain(args), call_id=call.tool_call_id, said=_said(ctx.messages),
                task=_task(ctx.messages), elapsed=elapsed)
            if views is None:
                return result
            return replace(result, return_value=views[0]) if isinstance(result, ToolReturn) else views[0]
        except Exception as fault:
            sessions.fault("view", fault)
            return result

    def turn(ctx: Context, messages: Sequence[Message]) -> None:
        try:
            sessions.turn(ctx.conversation_id or "", returned(messages), _task(messages))
        except Exception as fault:
            sessions.fault("turn", fault)

    def offered(tool: Offered) -> Tool:
        async def answer(ctx: Context, **arguments: Json) -> str:
            return await to_thread(sessions.answer, ctx.conversation_id or "", tool.name, arguments)
        return Tool.from_schema(answer, tool.name, tool.description, dict(tool.schema), takes_ctx=True)

    class Byref(AbstractCapability):  # type: ignore[misc]
        """Views in the place of long tool outputs, and the tools that bring what they leave out."""

        def get_toolset(self) -> object:
            return FunctionToolset([offered(tool) for tool in sessions.tools])

        async def before_model_request(self, ctx: Context, request_context: Asked) -> Asked:
            await to_thread(turn, ctx, request_context.messages)
            return request_context

        async def before_tool_execute(self, ctx: Context, *, call: Calling, tool_def: Definition, args: Json) -> Json:
            if len(started) > STARTED:  # calls that were put off never return
                started.clear()
            started[ctx.conversation_id, call.tool_call_id] = time.monotonic()
            return args

        async def after_tool_execute(self, ctx: Context, *, call: Calling, tool_def: Definition, args: Json, result: object) -> object:
            start = started.pop((ctx.conversation_id, call.tool_call_id), None)
            if sessions.own(call.tool_name, tool_def.description or ""):
                return result
            return await to_thread(viewed, ctx, call, args, result, None if start is None else time.monotonic() - start)

        async def on_tool_execute_error(self, ctx: Context, *, call: Calling, tool_def: Definition, args: Json, error: Exception) -> object:
            started.pop((ctx.conversation_id, call.tool_call_id), None)
            if not sessions.own(call.tool_name, tool_def.description or ""):
                await to_thread(sessions.failed, ctx.conversation_id or "", call.tool_name, error, args=_plain(args))
            raise error

    return Byref()


def _plain(args: Json) -> Json:
    """Arguments as JSON: pydantic-ai made dates, models and the like of them where the tool asked for these."""
    import json
    try:
        found: Json = json.loads(json.dumps(args, default=lambda value: f"<{type(value).__name__}>"))
        return found
    except (TypeError, ValueError, RecursionError):
        return None


def _said(messages: Sequence[Message]) -> str:
    """The text of the last response: the calls at hand are its own."""
    for message in reversed(messages):
        if message.kind == "response":
            return "\n".join(str(getattr(part, "content", "")) for part in message.parts if part.part_kind == "text")
    return ""


def _task(messages: Sequence[Message]) -> str:
    """The first prompt of a user."""
    for message in messages:
        for part in message.parts:
            if part.part_kind == "user-prompt":
                content: str | Iterable[object] | Mapping[str, Json] = getattr(part, "content", "")
                return content if isinstance(content, str) else "\n".join(one for one in content if isinstance(one, str))
    return ""
