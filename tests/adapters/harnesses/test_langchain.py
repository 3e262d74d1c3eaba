"""LangChain agents, run by langchain itself with its own fake model."""
from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import byref
from byref.proxy.gateway import Gateway
from frameworks import CODE, HOW, LINES, LOG, SCOPE, example, held, stored

agents = pytest.importorskip("langchain.agents", reason=f"langchain is not installed; {HOW}")
from langchain.agents.middleware import SummarizationMiddleware, ToolCallRequest  # noqa: E402
from langchain.tools import ToolRuntime  # noqa: E402
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel  # noqa: E402
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, ToolMessage  # noqa: E402
from langchain_core.tools import BaseTool, tool  # noqa: E402
from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402
from langgraph.types import Command, interrupt  # noqa: E402


class Model(GenericFakeChatModel):
    def bind_tools(self, tools: list[BaseTool], **_: object) -> Model:
        return self


def call(name: str, call_id: str, said: str = "", **args: object) -> AIMessage:
    return AIMessage(said, tool_calls=[{"name": name, "args": args, "id": call_id}])


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with byref.open("memory:") as opened:
        yield opened


def agent(gateway: Gateway, turns: Iterator[AIMessage], *tools: Callable[..., object] | BaseTool, **more: object) -> object:
    middleware = [*more.pop("middleware", []), byref.middleware("langchain", gateway, scope=SCOPE)]
    return agents.create_agent(Model(messages=turns), list(tools), middleware=middleware, **more)


def results(state: dict[str, list[BaseMessage]]) -> dict[str, BaseMessage]:
    return {message.tool_call_id: message for message in state["messages"] if isinstance(message, ToolMessage)}


def journal(unit: str) -> str:
    """The log of a unit."""
    return LOG


def source(path: str) -> str:
    """A file."""
    return CODE


def test_the_example_shows_a_view_and_fetches_exact_bytes(root: Path) -> None:
    assert "the model saw" in example(root, "with_langchain.py")


@pytest.mark.parametrize("awaited", [False, True])
def test_a_call_is_captured_whole_with_all_that_is_known_of_it(gateway: Gateway, awaited: bool) -> None:
    seen: dict[str, BaseMessage] = {}

    def turns() -> Iterator[AIMessage]:
        yield call("journal", "a", "which request is slow?", unit="api")
        yield call("byref_fetch", "b", ref=seen["a"].content[1:12], at="L500-502")
        yield AIMessage("done")

    @tool
    def noted(unit: str) -> str:
        """Not called."""
        return ""
    made = agent(gateway, turns(), journal, noted)

    async def main() -> None:
        async for step in made.astream({"messages": [("user", "why?")]}, stream_mode="values"):
            seen.update(results(step))
    if awaited:
        asyncio.run(main())
    else:
        for step in made.stream({"messages": [("user", "why?")]}, stream_mode="values"):
            seen.update(results(step))
    assert stored(gateway) == [("journal", '{"unit":"api"}', False)], "what fetch returned is not captured"
    assert held(gateway, "journal") == LOG.encode() and seen["b"].content == "".join(LINES[499:502])


def test_a_file_read_twice_collapses_until_the_conversation_is_summarised(gateway: Gateway) -> None:
    turns = iter([call("source", "a", path="a.py"), call("source", "b", path="b.py"), AIMessage("done"),
                  call("source", "c", path="c.py"), AIMessage("done")])
    made = agent(gateway, turns, source, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    state = made.invoke({"messages": [("user", "read it")]}, thread)
    first, second = (str(results(state)[one].content) for one in "ab")
    assert len(second) < len(first) / 4
    made.update_state(thread, {"messages": [RemoveMessage(message.id) for message in state["messages"][1:]]})
    state = made.invoke({"messages": [("user", "again")]}, thread)
    assert len(str(results(state)["c"].content)) >= len(first)


def test_langchains_own_summary_ends_what_was_shown(gateway: Gateway) -> None:
    turns = iter([call("source", "a", path="a.py"), call("source", "b", path="b.py"), AIMessage("done")])
    summary = SummarizationMiddleware(GenericFakeChatModel(messages=iter([AIMessage("a summary")] * 9)), trigger=("messages", 2),
                                      keep=("messages", 1))
    made = agent(gateway, turns, source, middleware=[summary])
    shown: dict[str, int] = {}
    for step in made.stream({"messages": [("user", "read it")]}, stream_mode="values"):
        shown |= {name: len(str(message.content)) for name, message in results(step).items()}
    assert shown["b"] >= shown["a"]


def test_threads_know_nothing_of_one_another(gateway: Gateway) -> None:
    made = agent(gateway, iter([call("source", "a", path="a.py"), AIMessage("done")] * 2), source, checkpointer=InMemorySaver())
    shown = [results(made.invoke({"messages": [("user", "read it")]}, {"configurable": {"thread_id": name}}))["a"].content for name in "12"]
    assert shown[0] == shown[1]


def test_blocks_artifact_and_status_stay_and_text_becomes_a_view(gateway: Gateway) -> None:
    image = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}

    @tool(response_format="content_and_artifact")
    def page(url: str) -> tuple[list[object], dict[str, str]]:
        """A page."""
        return [{"type": "text", "text": LOG}, image], {"url": url}
    found = results(agent(gateway, iter([call("page", "a", url="u"), AIMessage("done")]), page).invoke({"messages": [("user", "?")]}))["a"]
    assert found.content[1] == image and len(found.content[0]["text"]) < len(LOG) / 5
    assert found.artifact == {"url": "u"} and held(gateway, "page") == LOG.encode()


def test_a_command_that_updates_the_state_carries_a_view_too(gateway: Gateway) -> None:
    @tool
    def load(path: str, runtime: ToolRuntime) -> Command:
        """Loads."""
        return Command(update={"messages": [ToolMessage(LOG, tool_call_id=runtime.tool_call_id)]})
    found = results(agent(gateway, iter([call("load", "a", path="p"), AIMessage("done")]), load).invoke({"messages": [("user", "?")]}))["a"]
    assert len(found.content) < len(LOG) / 5


def test_an_error_is_stored_as_one_and_what_is_raised_passes(gateway: Gateway) -> None:
    def query(table: str) -> str:
        """Rows."""
        raise LookupError("no such table: leases")
    with pytest.raises(LookupError, match="no such table"):
        agent(gateway, iter([call("query", "a", table="leases")]), query).invoke({"messages": [("user", "?")]})
    assert stored(gateway) == [("query", '{"table":"leases"}', True)]


def test_a_tool_that_langchain_answers_for_with_an_error_is_flagged(gateway: Gateway) -> None:
    class Handled(agents.middleware.AgentMiddleware):
        def wrap_tool_call(self, request: ToolCallRequest, handler: object) -> ToolMessage:
            return ToolMessage("no such table", tool_call_id=request.tool_call["id"], status="error")
    inner = agents.create_agent(Model(messages=iter([call("journal", "a", unit="u"), AIMessage("done")])), [journal],
                                middleware=[byref.middleware("langchain", gateway, scope=SCOPE), Handled()])
    assert results(inner.invoke({"messages": [("user", "?")]}))["a"].status == "error" and stored(gateway)[0][2]


def test_an_interrupt_is_no_failure_and_what_follows_it_is_viewed(gateway: Gateway) -> None:
    def guarded(unit: str) -> str:
        """The log of a unit, once somebody agrees."""
        return LOG if interrupt("sure?") else ""
    made = agent(gateway, iter([call("guarded", "a", unit="api"), AIMessage("done")]), guarded, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    assert made.invoke({"messages": [("user", "?")]}, thread)["__interrupt__"] and stored(gateway) == []
    assert len(results(made.invoke(Command(resume=True), thread))["a"].content) < len(LOG) / 5
    assert stored(gateway) == [("guarded", '{"unit":"api"}', False)]


def test_a_store_that_is_gone_costs_the_view_and_nothing_else(gateway: Gateway) -> None:
    made = agent(gateway, iter([call("journal", "a", unit="api"), AIMessage("done")]), journal)
    gateway.close()
    assert results(made.invoke({"messages": [("user", "?")]}))["a"].content == LOG
