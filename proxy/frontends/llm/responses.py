"""OpenAI Responses: a result is an item such as `function_call_output`, its call the item with the same `call_id`.

https://platform.openai.com/docs/api-reference/responses. With `previous_response_id` a request holds the end of its conversation alone.
"""
from __future__ import annotations

from byref.proxy.contracts import Json
from byref.proxy.frontends.llm.chat import arguments
from byref.proxy.frontends.llm.conversation import Calling, Conversation, Result, first_task, joined, offered, texts_of
from byref.proxy.frontends.llm.reading import Node

PATH = "/responses"
INTO = frozenset(("input", "content", "output"))
_TEXT = ("input_text", "output_text", "text")
_RESULTS = ("function_call_output", "custom_tool_call_output")
_CALLS = ("function_call", "custom_tool_call")


def read(text: str, request: Node) -> Conversation:
    """What a request says."""
    given = request.get("input")
    items = given.elements
    calls: dict[str, Calling] = {}
    results, asked, system, said = [], [given.text()], [request.text("instructions")], ""
    last = max((i for i, item in enumerate(items) if of_the_model(item)), default=-1)
    for i, item in enumerate(items):
        kind, role = item.text("type"), item.text("role")
        if kind in _CALLS:
            calls[item.text("call_id")] = Calling(item.text("name"), arguments(_first(item, "arguments", "input")), said)
        elif kind in _RESULTS:
            name = item.text("call_id")
            results.append(Result(name, calls.get(name, Calling()), texts_of(item.get("output"), _TEXT), False, i > last))
            said = ""
        elif role == "assistant":
            said = joined(item.get("content"), _TEXT)
        elif role == "user":
            said = ""
            if not any(asked):
                asked.append(first_task([one.text for one in texts_of(item.get("content"), _TEXT)]))
        elif role in ("system", "developer") and not any(asked):
            system.append(joined(item.get("content"), _TEXT))
    tools, cached = request.get("tools"), request.get("conversation").value
    named = cached.get("id") if isinstance(cached, dict) else cached
    apart = bool(request.text("previous_response_id")) or bool(named)
    session = request.text("prompt_cache_key") or (named if isinstance(named, str) else "")
    return Conversation(
        next(filter(None, asked), ""), "\n".join(filter(None, system)), session, not apart, request.text("model"),
        request.truth("stream"), tuple(results), offered(tools.value), tools.end - 1 if isinstance(tools.value, list) else -1,
        not apart and request.get("store").value is False)


def _first(item: Node, *names: str) -> Json:
    return next((item.get(name).value for name in names if name in item.members), None)


def of_the_model(item: Node) -> bool:
    """Whether an item is of an answer of the model: a message of the assistant, a call, reasoning."""
    kind, role = item.text("type"), item.text("role")
    return role == "assistant" if role else bool(kind) and not kind.endswith(("_output", "item_reference", "_response"))
