"""LangChain: an `AgentMiddleware` for `create_agent`, of langchain 1.5. https://docs.langchain.com/oss/python/langchain/middleware

`wrap_tool_call` puts a view where a ToolMessage has its text; blocks of other kinds, artifact, status and ids stay. What
`wrap_model_call` is about to send tells what the conversation still holds: a summary, an edited or trimmed history and another branch
of a thread all show there. A conversation is a thread and its first message: an agent inside of a tool has a first message of its own.
"""
from __future__ import annotations

import time
from asyncio import to_thread
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Protocol

from byref.proxy.contracts import Json
from byref.proxy.framework import Offered, Sessions

PACKAGE = "langchain>=1.5"

Content = str | list[str | dict[str, Json]]


class Message(Protocol):
    """A message of langchain-core. tool_calls stand on an AIMessage alone, tool_call_id, name and status on a ToolMessage."""

    id: str | None
    type: str
    content: Content


class Request(Protocol):
    """A call of a tool."""

    tool_call: Mapping[str, Json]
    tool: object
    state: Mapping[str, Sequence[Message]]


class Asking(Protocol):
    """A call of the model. messages: what it is sent, state: what the thread holds."""

    messages: Sequence[Message]
    state: Mapping[str, Sequence[Message]]


def middleware(sessions: Sessions) -> object:
    """An AgentMiddleware. Raises ImportError where LangChain is not installed."""
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.messages import ToolMessage
    from langchain_core.tools import StructuredTool
    from langgraph.config import get_config
    from langgraph.errors import GraphBubbleUp
    from langgraph.types import Command

    asking: ContextVar[str] = ContextVar("conversation", default="")

    def conversation(messages: Sequence[Message]) -> str:
        first = messages[0].id if messages else None
        try:
            thread = get_config().get("configurable", {}).get("thread_id", "")
        except (RuntimeError, AttributeError):
            thread = ""
        return f"{thread} {first}" if first else ""

    def turn(request: Asking) -> None:
        try:
            held = request.state["messages"]
            sessions.turn(conversation(held), _results(request.messages), _task(held))
        except Exception as fault:
            sessions.fault("turn", fault)

    def viewed(request: Request, result: object, elapsed: float) -> object:
        """What a tool returned, with views. Blocks."""
        try:
            if isinstance(result, ToolMessage):
                return message(request, result, elapsed)
            if isinstance(result, Command) and isinstance(result.update, dict) and isinstance(result.update.get("messages"), list):
                told = [message(request, one, elapsed) if isinstance(one, ToolMessage) else one for one in result.update["messages"]]
                return Command(graph=result.graph, update={**result.update, "messages": told}, resume=result.resume, goto=result.goto)
        except Exception as fault:
            sessions.fault("view", fault)
        return result

    def message(request: Request, result: ToolMessage, elapsed: float) -> ToolMessage:
        call, messages = request.tool_call, request.state["messages"]
        views = sessions.capture(
            conversation(messages), str(call["name"]), _texts(result.content), args=call["args"], call_id=str(call["id"] or ""),
            is_error=result.status == "error", said=_said(messages, call["id"]), task=_task(messages), elapsed=elapsed)
        return result if views is None else result.model_copy(update={"content": _put(result.content, views)})

    def ours(request: Request) -> bool:
        name, described = str(request.tool_call["name"]), str(getattr(request.tool, "description", "") or "")
        if not sessions.own(name, described):
            return False
        asking.set(conversation(request.state["messages"]))
        return True

    def failed(request: Request, fault: Exception) -> None:
        if not isinstance(fault, GraphBubbleUp):  # an interrupt is none
            call = request.tool_call
            sessions.failed(conversation(request.state["messages"]), str(call["name"]), fault, args=call["args"])

    def offered(tool: Offered) -> StructuredTool:
        def answer(**arguments: Json) -> str:
            return sessions.answer(asking.get(), tool.name, arguments)
        return StructuredTool(name=tool.name, description=tool.description, args_schema=dict(tool.schema), func=answer)

    class Byref(AgentMiddleware):  # type: ignore[misc]
        """Views in the place of long tool outputs, and the tools that bring what they leave out."""

        name = "byref"
        tools = [offered(tool) for tool in sessions.tools]

        def wrap_model_call(self, request: Asking, handler: Callable[[Asking], object]) -> object:
            turn(request)
            return handler(request)

        async def awrap_model_call(self, request: Asking, handler: Callable[[Asking], Awaitable[object]]) -> object:
            await to_thread(turn, request)
            return await handler(request)

        def wrap_tool_call(self, request: Request, handler: Callable[[Request], object]) -> object:
            if ours(request):
                return handler(request)
            start = time.monotonic()
            try:
                result = handler(request)
            except Exception as fault:
                failed(request, fault)
                raise
            return viewed(request, result, time.monotonic() - start)

        async def awrap_tool_call(self, request: Request, handler: Callable[[Request], Awaitable[object]]) -> object:
            if ours(request):
                return await handler(request)
            start = time.monotonic()
            try:
                result = await handler(request)
            except Exception as fault:
                await to_thread(failed, request, fault)
                raise
            return await to_thread(viewed, request, result, time.monotonic() - start)

    return Byref()


def _texts(content: Content) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [text for block in content if (text := _text(block)) is not None]


def _text(block: str | dict[str, Json]) -> str | None:
    found = block if isinstance(block, str) else block.get("text") if block.get("type") == "text" else None
    return found if isinstance(found, str) else None


def _put(content: Content, views: Sequence[str]) -> Content:
    """The content with these texts in the places of its own."""
    if isinstance(content, str):
        return views[0]
    left, made = iter(views), []
    for block in content:
        if _text(block) is None:
            made.append(block)
        else:
            made.append(next(left) if isinstance(block, str) else {**block, "text": next(left)})
    return made


def _results(messages: Iterable[Message]) -> list[str]:
    """The texts of all results of calls."""
    return [text for message in messages if message.type == "tool" for text in _texts(message.content)]


def _said(messages: Sequence[Message], call_id: Json) -> str:
    """What the model wrote beside a call."""
    for message in reversed(messages):
        calls = getattr(message, "tool_calls", None) or ()
        if message.type == "ai" and any(call.get("id") == call_id for call in calls):
            return "\n".join(_texts(message.content))
    return ""


def _task(messages: Iterable[Message]) -> str:
    return next(("\n".join(_texts(message.content)) for message in messages if message.type == "human"), "")
