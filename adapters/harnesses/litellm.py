"""LiteLLM: a `CustomLogger` for `litellm.callbacks`, in an application or its proxy, of litellm 1.110. https://docs.litellm.ai/docs/proxy/call_hooks

Every request holds all that the model is shown, so results become views there: in `async_pre_call_hook` in the proxy, in
`async_pre_call_deployment_hook` where an application awaits `acompletion(messages=…)` itself. `completion` has no hook that may change
messages; `views` is for that. Chat Completions, Anthropic Messages and Responses are told apart by the kind of the call. Views come
only where the request offers our tools: `tools` are these, `answer` makes what each returns.
"""
from __future__ import annotations

import json
from asyncio import to_thread
from collections.abc import Mapping, MutableMapping, Sequence
from contextvars import ContextVar

from byref.proxy.contracts import Json
from byref.proxy.framework import Sessions

PACKAGE = "litellm>=1.100"
CHAT = "/v1/chat/completions"

_PATHS = {"completion": CHAT, "acompletion": CHAT, "anthropic_messages": "/v1/messages",
          "aanthropic_messages": "/v1/messages", "responses": "/v1/responses", "aresponses": "/v1/responses"}

Messages = Sequence[Mapping[str, Json]]


def middleware(sessions: Sessions) -> object:
    """A CustomLogger. Raises ImportError where LiteLLM is not installed."""
    from litellm.integrations.custom_logger import CustomLogger

    done: ContextVar[bool] = ContextVar("done", default=False)

    class Byref(CustomLogger):  # type: ignore[misc]
        """Views in the place of long tool outputs, and the tools that bring what they leave out."""

        tools: list[Json] = [
            {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)}}
            for tool in sessions.tools]

        def answer(self, name: str, arguments: str | Mapping[str, Json]) -> str | None:
            """What a call of one of our tools returns; None for a call of another tool. arguments: as the model wrote them."""
            if not sessions.own(name):
                return None
            try:
                given = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
            except ValueError:
                given = None
            return sessions.answer("", name, given) if isinstance(given, dict) else f"invalid: the arguments of {name} are a JSON object"

        def views(self, messages: Messages, tools: Sequence[Json] | None = None) -> Messages:
            """The messages of a Chat Completion with views. tools: what the request offers. Blocks."""
            request: dict[str, Json] = {"messages": list(messages), "tools": list(self.tools if tools is None else tools)}
            _rewrite(sessions, CHAT, request)
            found = request["messages"]
            return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else messages

        async def async_pre_call_hook(self, user_api_key_dict: object, cache: object, data: MutableMapping[str, Json],
                                      call_type: str) -> MutableMapping[str, Json]:
            done.set(True)
            await to_thread(_rewrite, sessions, _PATHS.get(call_type, ""), data)
            return data

        async def async_pre_call_deployment_hook(self, kwargs: MutableMapping[str, Json],
                                                 call_type: object) -> MutableMapping[str, Json] | None:
            if done.get():  # the proxy was here with this request
                return None
            changed = dict(kwargs)
            await to_thread(_rewrite, sessions, _PATHS.get(str(getattr(call_type, "value", call_type)), ""), changed)
            return changed

    return Byref()


def _rewrite(sessions: Sessions, path: str, data: MutableMapping[str, Json]) -> None:
    """Puts views into a request. Messages that stay are the same objects."""
    name = "input" if path.endswith("/responses") else "messages"
    given = data.get(name)
    if not path or not isinstance(given, list):
        return
    try:
        plain = [one if isinstance(one, Mapping) else _dumped(one) for one in given]
        said = {key: data[key] for key in ("system", "instructions", "tools") if data.get(key) is not None}
        body = json.dumps({**said, name: plain}, ensure_ascii=False).encode()
        made = sessions.request(path, body)
        if made != body:
            told = json.loads(made)[name]
            data[name] = [old if before == new else new for old, before, new in zip(given, plain, told, strict=True)]
    except Exception as fault:
        sessions.fault("request", fault)


def _dumped(message: object) -> Mapping[str, Json]:
    """A message that is no dict: what LiteLLM returned, put back into the history as it was."""
    dump = getattr(message, "model_dump", None)
    found = dump(exclude_none=True) if dump is not None else None
    if not isinstance(found, dict):
        raise TypeError(f"a message is a dict, not {type(message).__name__}")
    return found
