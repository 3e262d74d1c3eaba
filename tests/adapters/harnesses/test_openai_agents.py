"""Agents of the OpenAI Agents SDK, run by its own runner with a stub of its Model."""
from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

import byref
from byref.proxy.gateway import Gateway
from frameworks import CODE, HOW, LINES, LOG, SCOPE, example, held, stored

agents = pytest.importorskip("agents", reason=f"openai-agents is not installed; {HOW}")
from agents import Agent, Model, ModelResponse, RunConfig, Runner, RunResult, SQLiteSession, Usage, function_tool, handoff  # noqa: E402
from openai.types.responses import (  # noqa: E402
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

Script = list[list[tuple[str, str, dict[str, object]]]]


class Scripted(Model):
    """Makes these calls turn by turn, then says that it is done. inputs: of each request. REF stands for the first view's."""

    def __init__(self, script: Script) -> None:
        self.script, self.inputs = list(script), []

    async def get_response(self, system_instructions: str | None, input: list[dict[str, object]], *_: object,
                           **__: object) -> ModelResponse:
        self.inputs.append(json.loads(json.dumps(input)))
        views = list(results(self.inputs[-1]).values())
        calls = self.script.pop(0) if self.script else []
        said = [ResponseFunctionToolCall(type="function_call", call_id=name, name=tool,
                                         arguments=json.dumps({**args, **({"ref": views[0][1:12]} if "ref" in args else {})}))
                for name, tool, args in calls]
        text = ResponseOutputText(text="done", type="output_text", annotations=[])
        done = ResponseOutputMessage(id="m", role="assistant", status="completed", type="message", content=[text])
        return ModelResponse(output=said or [done], usage=Usage(), response_id=f"r{len(self.inputs)}")

    async def stream_response(self, *args: object, **more: object) -> AsyncIterator[ResponseCompletedEvent]:
        made = await self.get_response(*args, **more)  # type: ignore[arg-type]
        response = Response(id="r", created_at=0, model="scripted", object="response", output=made.output, parallel_tool_calls=True,
                            tool_choice="auto", tools=[])
        yield ResponseCompletedEvent(type="response.completed", response=response, sequence_number=0)


def results(items: list[dict[str, object]]) -> dict[str, str]:
    return {str(item["call_id"]): str(item["output"]) for item in items if item.get("type") == "function_call_output"}


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with byref.open("memory:") as opened:
        yield opened


@function_tool
def journal(unit: str) -> str:
    """The log of a unit."""
    return LOG


@function_tool
def source(path: str) -> str:
    """A file."""
    return CODE


def run(gateway: Gateway, model: Model, *asked: object, tools: bool = True, **more: object) -> RunResult:
    ours = byref.middleware("openai-agents", gateway, scope=SCOPE)
    watcher = Agent(name="watcher", model=model, tools=[journal, source, *(ours.tools if tools else [])])
    config = RunConfig(call_model_input_filter=ours.filter, tracing_disabled=True)

    async def main() -> RunResult:
        for text in asked:
            result = await Runner.run(watcher, text, run_config=config, **more)
        return result
    return asyncio.run(main())


def test_the_example_shows_a_view_and_fetches_exact_bytes(root: Path) -> None:
    assert "the model saw" in example(root, "with_openai_agents.py")


def test_a_call_is_captured_whole_and_a_fetch_is_not(gateway: Gateway) -> None:
    model = Scripted([[("a", "journal", {"unit": "api"})], [("b", "byref_fetch", {"ref": "", "at": "L500-502"})]])
    result = run(gateway, model, "why?")
    assert stored(gateway) == [("journal", '{"unit":"api"}', False)] and held(gateway, "journal") == LOG.encode()
    assert results(model.inputs[2])["b"] == "".join(LINES[499:502])
    assert results(result.to_input_list())["a"] == LOG, "what the application keeps is raw"


def test_the_same_bytes_stand_in_every_later_request_and_in_those_of_the_next_run(gateway: Gateway, tmp_path: Path) -> None:
    model = Scripted([[("a", "source", {"path": "a.py"})], [("b", "source", {"path": "b.py"})], [], [("c", "source", {"path": "c.py"})]])
    session = SQLiteSession("one", tmp_path / "history.db")
    run(gateway, model, "read it", "again", session=session)
    session.close()
    assert len(model.inputs) == 5
    for before, after in zip(model.inputs, model.inputs[1:], strict=False):
        assert after[:len(before)] == before
    shown = results(model.inputs[-1])
    assert len(shown["b"]) < len(shown["a"]) / 4 and len(shown["c"]) < len(shown["a"]) / 4


def test_a_session_that_goes_on_in_another_process_has_the_same_bytes(tmp_path: Path) -> None:
    scripts: list[Script] = [[[("a", "source", {"path": "a.py"})]], [[("b", "source", {"path": "b.py"})]]]
    inputs = []
    for script in scripts:
        session = SQLiteSession("one", tmp_path / "history.db")
        with byref.open(f"file:{tmp_path}/store") as gateway:
            model = Scripted(script)
            run(gateway, model, "read it", session=session)
        session.close()
        inputs.append(model.inputs[-1])
    before, after = inputs
    assert after[:len(before)] == before and len(results(after)["b"]) < len(results(after)["a"]) / 4


def test_a_history_that_was_cut_ends_what_was_shown(gateway: Gateway) -> None:
    model = Scripted([[("a", "source", {"path": "a.py"})], [], [("b", "source", {"path": "b.py"})]])
    run(gateway, model, "read it", "read it")
    assert len(results(model.inputs[-1])["b"]) >= len(results(model.inputs[1])["a"])


def test_an_agent_without_our_tools_is_shown_no_views(gateway: Gateway) -> None:
    model = Scripted([[("a", "journal", {"unit": "api"})]])
    run(gateway, model, "why?", tools=False)
    assert results(model.inputs[1])["a"] == LOG and stored(gateway) == []


def test_an_agent_that_takes_over_has_results_of_its_own_as_views(gateway: Gateway) -> None:
    ours = byref.middleware("openai_agents", gateway, scope=SCOPE)
    second = Scripted([[("b", "journal", {"unit": "db"})]])
    expert = Agent(name="expert", model=second, tools=[journal, *ours.tools])
    first = Scripted([[("a", "journal", {"unit": "api"})], [("h", "transfer_to_expert", {})]])
    watcher = Agent(name="watcher", model=first, tools=[journal, *ours.tools], handoffs=[handoff(expert)])
    asyncio.run(Runner.run(watcher, "why?", run_config=RunConfig(call_model_input_filter=ours.filter, tracing_disabled=True)))
    shown = results(second.inputs[-1])
    assert len(shown["b"]) < len(LOG) / 5 and shown["b"].startswith("«r")


def test_a_conversation_that_the_server_keeps_is_sent_each_result_once(gateway: Gateway) -> None:
    model = Scripted([[("a", "journal", {"unit": "api"})], [("b", "journal", {"unit": "db"})]])
    run(gateway, model, "why?", conversation_id="conv_1")
    assert [list(results(items)) for items in model.inputs] == [[], ["a"], ["b"]]
    assert all(len(results(items)[name]) < len(LOG) / 5 for items, name in ((model.inputs[1], "a"), (model.inputs[2], "b")))


def test_a_run_that_streams_is_shown_the_same(gateway: Gateway) -> None:
    ours = byref.middleware("openai_agents", gateway, scope=SCOPE)
    model = Scripted([[("a", "journal", {"unit": "api"})], [("b", "byref_fetch", {"ref": "", "at": "L500-502"})]])
    watcher = Agent(name="watcher", model=model, tools=[journal, *ours.tools])

    async def main() -> None:
        result = Runner.run_streamed(watcher, "why?", run_config=RunConfig(call_model_input_filter=ours.filter, tracing_disabled=True))
        async for _ in result.stream_events():
            pass
    asyncio.run(main())
    shown = results(model.inputs[-1])
    assert len(shown["a"]) < len(LOG) / 5 and shown["b"] == "".join(LINES[499:502])


def test_arguments_that_are_no_json_are_told_to_the_model(gateway: Gateway) -> None:
    fetch: Callable[..., object] = byref.middleware("openai_agents", gateway).tools[0].on_invoke_tool
    assert "are a JSON object" in str(asyncio.run(fetch(None, "{")))  # type: ignore[arg-type]


def test_a_store_that_is_gone_costs_the_view_and_nothing_else(gateway: Gateway) -> None:
    class Closing(Scripted):
        async def get_response(self, *args: object, **more: object) -> ModelResponse:
            gateway.close()
            return await super().get_response(*args, **more)
    model = Closing([[("a", "journal", {"unit": "api"})]])
    run(gateway, model, "why?")
    assert results(model.inputs[1])["a"] == LOG
