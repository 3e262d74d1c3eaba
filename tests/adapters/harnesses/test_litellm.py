"""LiteLLM, with a provider of its own kind that keeps what it is sent: from an application, and by its proxy's hook."""
from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import byref
from byref.proxy.gateway import Gateway
from frameworks import CODE, HOW, LINES, LOG, SCOPE, example, held, stored

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
litellm = pytest.importorskip("litellm", reason=f"litellm is not installed; {HOW}")
from litellm import CustomLLM, ModelResponse  # noqa: E402

Message = dict[str, object]
JOURNAL = {"type": "function", "function": {"name": "journal", "parameters": {"type": "object"}}}


class Recording(CustomLLM):
    """Says that it is done. sent: the messages of its requests."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[list[Message]] = []

    async def acompletion(self, *_: object, messages: list[Message], **__: object) -> ModelResponse:
        self.sent.append(json.loads(json.dumps(messages)))
        return ModelResponse(choices=[{"message": {"role": "assistant", "content": "done"}}])


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with byref.open("memory:") as opened:
        yield opened


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Recording:
    made = Recording()
    monkeypatch.setattr(litellm, "custom_provider_map", [{"provider": "recording", "custom_handler": made}])
    return made


def called(*calls: tuple[str, str]) -> list[Message]:
    """A user's question, then calls that a model made one after the other: tool and what it returned."""
    messages: list[Message] = [{"role": "user", "content": "which request is slow?"}]
    for number, (tool, output) in enumerate(calls):
        call = {"id": f"call-{number}", "type": "function", "function": {"name": tool, "arguments": '{"unit": "api"}'}}
        messages += [{"role": "assistant", "content": "I look.", "tool_calls": [call]},
                     {"role": "tool", "tool_call_id": f"call-{number}", "content": output}]
    return messages


def ask(gateway: Gateway, monkeypatch: pytest.MonkeyPatch, *histories: list[Message], offered: bool = True) -> object:
    ours = byref.middleware("litellm", gateway, scope=SCOPE)
    monkeypatch.setattr(litellm, "callbacks", [ours])

    async def main() -> None:
        for messages in histories:
            await litellm.acompletion(model="recording/one", messages=messages, tools=[JOURNAL, *(ours.tools if offered else [])])
    asyncio.run(main())
    return ours


def test_the_example_shows_a_view_and_fetches_exact_bytes(root: Path) -> None:
    assert "the model saw" in example(root, "with_litellm.py")


def test_a_result_is_captured_whole_and_the_application_keeps_it_raw(gateway: Gateway, provider: Recording,
                                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    messages = called(("journal", LOG))
    ours: Any = ask(gateway, monkeypatch, messages)
    view = str(provider.sent[0][-1]["content"])
    assert len(view) < len(LOG) / 5 and messages[-1]["content"] == LOG
    assert stored(gateway) == [("journal", '{"unit":"api"}', False)] and held(gateway, "journal") == LOG.encode()
    assert ours.answer("byref_fetch", json.dumps({"ref": view[1:12], "at": "L500-502"})) == "".join(LINES[499:502])


def test_the_same_bytes_stand_in_every_later_request_and_what_they_show_collapses(gateway: Gateway, provider: Recording,
                                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    ask(gateway, monkeypatch, called(("read", CODE)), called(("read", CODE), ("sed", CODE)))
    first, second = provider.sent
    assert second[:len(first)] == first and len(str(second[-1]["content"])) < len(str(first[-1]["content"])) / 4


def test_a_history_that_was_cut_ends_what_was_shown(gateway: Gateway, provider: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = called(("read", CODE), ("sed", CODE))
    ask(gateway, monkeypatch, called(("read", CODE)), [whole[0], *whole[3:]])
    first, second = provider.sent
    assert len(str(second[-1]["content"])) >= len(str(first[-1]["content"]))


def test_a_request_that_does_not_offer_our_tools_passes(gateway: Gateway, provider: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(gateway, monkeypatch, called(("journal", LOG)), offered=False)
    assert provider.sent[0][-1]["content"] == LOG and stored(gateway) == []


def test_the_proxys_hook_does_it_once_and_keeps_all_else(gateway: Gateway, provider: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = byref.middleware("litellm", gateway, scope=SCOPE)
    monkeypatch.setattr(litellm, "callbacks", [ours])
    history = called(("journal", LOG))
    data: dict[str, object] = {"model": "recording/one", "messages": history, "tools": list(ours.tools), "temperature": 0.5}

    async def main() -> dict[str, object]:
        changed = await ours.async_pre_call_hook(None, None, data, "completion")
        await litellm.acompletion(**changed)
        return dict(changed)
    changed = asyncio.run(main())
    assert provider.sent[0] == changed["messages"] and changed["temperature"] == 0.5
    assert [tool for tool, _, _ in stored(gateway)] == ["journal"], "the view was not taken for an output"


def test_messages_and_responses_are_read_as_what_they_are(gateway: Gateway) -> None:
    ours = byref.middleware("litellm", gateway, scope=SCOPE)
    block = {"type": "tool_result", "tool_use_id": "a", "content": LOG, "cache_control": {"type": "ephemeral"}}
    use = {"type": "tool_use", "id": "a", "name": "journal", "input": {}}
    messages = {"messages": [{"role": "user", "content": "why?"}, {"role": "assistant", "content": [use]},
                             {"role": "user", "content": [block]}],
                "tools": [{"name": "byref_fetch", "description": "", "input_schema": {}}]}
    items = {"input": [{"role": "user", "content": "why?"}, {"type": "function_call", "call_id": "b", "name": "journal", "arguments": "{}"},
                       {"type": "function_call_output", "call_id": "b", "output": LOG}],
             "tools": [{"type": "function", "name": "byref_fetch", "parameters": {}}]}
    asyncio.run(ours.async_pre_call_hook(None, None, messages, "anthropic_messages"))
    asyncio.run(ours.async_pre_call_hook(None, None, items, "aresponses"))
    shown = messages["messages"][2]["content"][0]  # type: ignore[index, call-overload]
    assert len(shown["content"]) < len(LOG) / 5 and shown["cache_control"] == {"type": "ephemeral"}
    assert len(str(items["input"][2]["output"])) < len(LOG) / 5


def test_messages_of_a_blocking_completion_are_viewed_on_request(gateway: Gateway) -> None:
    ours = byref.middleware("litellm", gateway, scope=SCOPE)
    history = called(("journal", LOG))
    told = ours.views(history)
    assert told[0] is history[0] and len(told[-1]["content"]) < len(LOG) / 5 and ours.views(history) == told


def test_calls_of_others_are_not_answered_and_broken_arguments_are_told(gateway: Gateway) -> None:
    ours = byref.middleware("litellm", gateway, scope=SCOPE)
    assert ours.answer("journal", "{}") is None and "are a JSON object" in ours.answer("byref_fetch", "[")


def test_a_store_that_is_gone_costs_the_view_and_nothing_else(gateway: Gateway, provider: Recording,
                                                              monkeypatch: pytest.MonkeyPatch) -> None:
    ours = byref.middleware("litellm", gateway, scope=SCOPE)
    monkeypatch.setattr(litellm, "callbacks", [ours])
    gateway.close()
    asyncio.run(litellm.acompletion(model="recording/one", messages=called(("journal", LOG)), tools=list(ours.tools)))
    assert provider.sent[0][-1]["content"] == LOG
