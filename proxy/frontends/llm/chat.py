"""OpenAI Chat Completions, as many others speak it: a result is a message of the role `tool`, its call one of an assistant's `tool_calls`.

https://platform.openai.com/docs/api-reference/chat
"""
from __future__ import annotations

import json

from byref.proxy.contracts import Json
from byref.proxy.frontends.llm.conversation import Calling, Conversation, Result, first_task, joined, offered, texts_of
from byref.proxy.frontends.llm.reading import Node

PATH = "/chat/completions"
INTO = frozenset(("messages", "content"))
_TEXT = ("text",)


def read(text: str, request: Node) -> Conversation:
    """What a request says."""
    messages = request.get("messages").elements
    calls: dict[str, Calling] = {}
    results: list[Result] = []
    asked: list[str] = []
    system: list[str] = []
    last = max((i for i, message in enumerate(messages) if message.text("role") == "assistant"), default=-1)
    for i, message in enumerate(messages):
        role, content = message.text("role"), message.get("content")
        if role == "assistant":
            calls |= called(message.get("tool_calls").value, joined(content, _TEXT))
        elif role == "user":
            if not any(asked):
                asked.append(first_task([one.text for one in texts_of(content, _TEXT)]))
        elif role in ("system", "developer") and not any(asked):
            system.append(joined(content, _TEXT))
        elif role == "tool":
            name = message.text("tool_call_id")
            results.append(Result(name, calls.get(name, Calling()), texts_of(content, _TEXT), False, i > last))
    tools = request.get("tools")
    return Conversation(
        next(filter(None, asked), ""), "\n".join(system), request.text("prompt_cache_key"), True, request.text("model"),
        request.truth("stream"), tuple(results), offered(tools.value), tools.end - 1 if isinstance(tools.value, list) else -1)


def called(calls: Json, said: str) -> dict[str, Calling]:
    """The calls of a message by id. Arguments come as JSON in a string."""
    found = {}
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict) and isinstance(call.get("id"), str):
            about = call.get("function") or call.get("custom")
            if isinstance(about, dict):
                found[str(call["id"])] = Calling(str(about.get("name") or ""), arguments(about.get("arguments", about.get("input"))), said)
    return found


def arguments(text: Json) -> Json:
    """Arguments that a model wrote as JSON in a string; what is no JSON stays the string."""
    if not isinstance(text, str):
        return text
    try:
        found: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found
