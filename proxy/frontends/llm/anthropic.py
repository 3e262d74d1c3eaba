"""Anthropic Messages: a result is a block `tool_result` of a user's message, its call a block `tool_use` of an assistant's before it.

https://docs.anthropic.com/en/api/messages
"""
from __future__ import annotations

import json
import re

from byref.proxy.contracts import Json
from byref.proxy.frontends.llm.conversation import Calling, Conversation, Result, first_task, joined, offered, plain, texts_of
from byref.proxy.frontends.llm.reading import Node

PATH = "/messages"
INTO = frozenset(("messages", "content"))
_TEXT = ("text",)
_SESSION = re.compile(r"_session_([0-9A-Za-z-]{8,})\Z")


def read(text: str, request: Node) -> Conversation:
    """What a request says."""
    messages = request.get("messages").elements
    calls: dict[str, Calling] = {}
    results: list[Result] = []
    asked: list[str] = []
    last = max((i for i, message in enumerate(messages) if message.text("role") == "assistant"), default=-1)
    for i, message in enumerate(messages):
        content = message.get("content")
        if message.text("role") == "assistant":
            said = joined(content, _TEXT)
            calls |= {block.text("id"): Calling(block.text("name"), block.get("input").value, said)
                      for block in content.elements if block.text("type") == "tool_use"}
            continue
        if not any(asked):
            asked.append(first_task([one.text for one in texts_of(content, _TEXT)]))
        for block in content.elements:
            if block.text("type") == "tool_result":
                name = block.text("tool_use_id")
                texts = texts_of(block.get("content"), _TEXT)
                results.append(Result(name, calls.get(name, Calling()), texts, block.truth("is_error"), i > last))
    tools = request.get("tools")
    return Conversation(
        next(filter(None, asked), ""), plain(request.get("system").value), session(request.get("metadata").value), True,
        request.text("model"), request.truth("stream"), tuple(results), offered(tools.value),
        tools.end - 1 if isinstance(tools.value, list) else -1)


def session(metadata: Json) -> str:
    """The session that Claude Code names in `metadata.user_id`: in JSON, or at the end of a text; empty for others."""
    name = metadata.get("user_id") if isinstance(metadata, dict) else None
    if not isinstance(name, str):
        return ""
    if found := _SESSION.search(name):
        return found[1]
    try:
        about = json.loads(name)
    except ValueError:
        return ""
    named = about.get("session_id") if isinstance(about, dict) else None
    return named if isinstance(named, str) else ""
