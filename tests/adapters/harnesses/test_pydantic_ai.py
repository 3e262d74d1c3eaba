"""Agents of pydantic-ai, run by itself with its own FunctionModel."""
from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import byref
from byref.proxy.gateway import Gateway
from frameworks import CODE, HOW, LINES, LOG, SCOPE, example, held, stored

pydantic_ai = pytest.importorskip("pydantic_ai", reason=f"pydantic-ai is not installed; {HOW}")
from pydantic_ai import Agent, BinaryContent, ModelRetry, ToolReturn  # noqa: E402
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart  # noqa: E402
from pydantic_ai.models.function import AgentInfo, FunctionModel  # noqa: E402

Turn = Callable[[dict[str, str]], list[TextPart | ToolCallPart]]


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with byref.open("memory:") as opened:
        yield opened


def results(messages: list[ModelMessage]) -> dict[str, object]:
    return {part.tool_call_id: part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)}


def agent(gateway: Gateway, turns: list[list[TextPart | ToolCallPart]], *tools: Callable[..., object], **more: object) -> Agent:
    """One that makes these turns; REF in arguments stands for the ref of the first result."""
    left = iter(turns)

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        parts = next(left)
        for part in parts:
            if isinstance(part, ToolCallPart) and part.args == {"ref": "REF", "at": "L500-502"}:
                part.args = {"ref": str(next(iter(results(messages).values())))[1:12], "at": "L500-502"}
        return ModelResponse(parts)
    return Agent(FunctionModel(model), tools=list(tools), capabilities=[byref.middleware("pydantic-ai", gateway, scope=SCOPE)], **more)


def call(name: str, call_id: str, **args: object) -> ToolCallPart:
    return ToolCallPart(name, args, call_id)


DONE = [TextPart("done")]


def journal(unit: str) -> str:
    """The log of a unit."""
    return LOG


async def source(path: str) -> str:
    """A file."""
    return CODE


def test_the_example_shows_a_view_and_fetches_exact_bytes(root: Path) -> None:
    assert "the model saw" in example(root, "with_pydantic_ai.py")


def test_a_call_is_captured_whole_and_a_fetch_is_not(gateway: Gateway) -> None:
    made = agent(gateway, [[call("journal", "a", unit="api")], [call("byref_fetch", "b", ref="REF", at="L500-502")], DONE], journal)
    found = results(asyncio.run(made.run("why?")).all_messages())
    assert stored(gateway) == [("journal", '{"unit":"api"}', False)] and held(gateway, "journal") == LOG.encode()
    assert found["b"] == "".join(LINES[499:502])


def test_what_the_conversation_holds_collapses_in_the_next_run_and_not_in_another_one(gateway: Gateway) -> None:
    made = agent(gateway, [[call("source", "a", path="a.py")], [call("source", "b", path="b.py")], DONE, [call("source", "c", path="c.py")],
                           DONE, [call("source", "d", path="d.py")], DONE], source)
    first = asyncio.run(made.run("read it"))
    second = asyncio.run(made.run("again", message_history=first.all_messages()))
    other = asyncio.run(made.run("read it"))
    sizes = {name: len(str(text)) for run in (second, other) for name, text in results(run.all_messages()).items()}
    assert sizes["b"] < sizes["a"] / 4 and sizes["c"] < sizes["a"] / 4 and sizes["d"] >= sizes["a"]


def test_a_history_that_was_cut_ends_what_was_shown(gateway: Gateway) -> None:
    made = agent(gateway, [[call("source", "a", path="a.py")], DONE, [call("source", "b", path="b.py")], DONE], source)
    first = asyncio.run(made.run("read it"))
    second = asyncio.run(made.run("again", message_history=first.all_messages()[-1:], conversation_id=first.conversation_id))
    assert len(str(results(second.all_messages())["b"])) >= len(str(results(first.all_messages())["a"]))


def test_calls_of_one_turn_do_not_collapse_for_one_another(gateway: Gateway) -> None:
    made = agent(gateway, [[call("source", "a", path="a.py"), call("source", "b", path="b.py")], DONE], source)
    found = results(asyncio.run(made.run("read both")).all_messages())
    assert len(str(found["a"])) == len(str(found["b"]))


def test_what_would_be_sent_as_json_is_viewed_as_json(gateway: Gateway) -> None:
    rows = [{"id": i, "name": f"row {i}", "state": "ok"} for i in range(500)]

    def table(of: str) -> list[dict[str, object]]:
        """Rows."""
        return rows
    made = agent(gateway, [[call("table", "a", of="t")], DONE], table)
    found = results(asyncio.run(made.run("?")).all_messages())["a"]
    assert isinstance(found, str) and found.startswith("«r") and held(gateway, "table").startswith(b'[{"id":0,"name":"row 0"')


def test_content_and_metadata_of_a_tool_return_stay_and_files_pass(gateway: Gateway) -> None:
    picture = BinaryContent(b"hi", media_type="image/png")

    def page(url: str) -> ToolReturn:
        """A page."""
        return ToolReturn(LOG, content="see above", metadata={"url": url})

    def shot(url: str) -> list[object]:
        """A picture."""
        return [LOG, picture]
    made = agent(gateway, [[call("page", "a", url="u"), call("shot", "b", url="u")], DONE], page, shot)
    parts = [part for message in asyncio.run(made.run("?")).all_messages() for part in message.parts if isinstance(part, ToolReturnPart)]
    assert parts[0].metadata == {"url": "u"} and len(str(parts[0].content)) < len(LOG) / 5
    assert parts[1].content == [LOG, picture] and [tool for tool, _, _ in stored(gateway)] == ["page"]


def test_what_is_raised_passes_and_is_noted_and_a_retry_is_no_failure(gateway: Gateway) -> None:
    def query(table: str) -> str:
        """Rows."""
        if table == "again":
            raise ModelRetry("name another")
        raise LookupError("no such table: leases")
    made = agent(gateway, [[call("query", "a", table="again")], [call("query", "b", table="leases")], DONE], query)
    with pytest.raises(LookupError, match="no such table"):
        asyncio.run(made.run("?"))
    assert stored(gateway) == [("query", '{"table":"leases"}', True)]


def test_a_store_that_is_gone_costs_the_view_and_nothing_else(gateway: Gateway) -> None:
    made = agent(gateway, [[call("journal", "a", unit="api")], DONE], journal)
    gateway.close()
    assert results(asyncio.run(made.run("?")).all_messages())["a"] == LOG
