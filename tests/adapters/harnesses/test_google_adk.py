"""Agents of Google ADK, run by its own runner with a scripted model."""
from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

import byref
from byref.adapters.harnesses import google_adk
from byref.proxy.gateway import Gateway
from frameworks import CODE, HOW, LINES, LOG, SCOPE, example, held, stored

adk = pytest.importorskip("google.adk", reason=f"google-adk is not installed; {HOW}")
from google.adk.agents import LlmAgent  # noqa: E402
from google.adk.apps import App  # noqa: E402
from google.adk.models import BaseLlm, LlmRequest, LlmResponse  # noqa: E402
from google.adk.runners import InMemoryRunner  # noqa: E402
from google.genai import types  # noqa: E402

Script = list[list[tuple[str, dict[str, object]]]]


class Scripted(BaseLlm):
    """Makes these calls turn by turn, then says that it is done. seen: the responses in its last request; ref: of the first."""

    script: Script = []
    turn: int = 0
    seen: list[dict[str, object]] = []
    offered: set[str] = set()

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> AsyncIterator[LlmResponse]:
        parts = [part for content in llm_request.contents for part in content.parts]
        self.seen = [part.function_response.response for part in parts if part.function_response]
        self.offered = set(llm_request.tools_dict)
        calls = self.script[self.turn] if self.turn < len(self.script) else []
        self.turn += 1
        said = [types.Part.from_function_call(name=name, args={**args, **({"ref": self.seen[0]["result"][1:12]} if "ref" in args else {})})
                for name, args in calls]
        yield LlmResponse(content=types.Content(role="model", parts=said or [types.Part(text="done")]))


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with byref.open("memory:") as opened:
        yield opened


def run(gateway: Gateway, script: Script, *tools: Callable[..., object], asked: tuple[str, ...] = ("why?",)) -> Scripted:
    model = Scripted(model="scripted", script=script)
    app = App(name="watch", root_agent=LlmAgent(name="watcher", model=model, tools=list(tools)),
              plugins=[byref.middleware("google_adk", gateway, scope=SCOPE)])
    asyncio.run(InMemoryRunner(app=app).run_debug(list(asked), quiet=True))
    return model


def journal(unit: str) -> str:
    """The log of a unit."""
    return LOG


def source(path: str) -> dict[str, str]:
    """A file."""
    return {"content": CODE}


def test_the_example_shows_a_view_and_fetches_exact_bytes(root: Path) -> None:
    assert "the model saw" in example(root, "with_google_adk.py")


def test_a_call_is_captured_whole_and_a_fetch_is_not(gateway: Gateway) -> None:
    model = run(gateway, [[("journal", {"unit": "api"})], [("byref_fetch", {"ref": "", "at": "L500-502"})]], journal)
    assert stored(gateway) == [("journal", '{"unit":"api"}', False)] and held(gateway, "journal") == LOG.encode()
    assert model.seen[1] == {"result": "".join(LINES[499:502])}


def test_what_the_session_holds_collapses_and_a_key_of_its_own_stays(gateway: Gateway) -> None:
    model = run(gateway, [[("source", {"path": "a.py"})], [("source", {"path": "b.py"})]], source)
    first, second = (response["content"] for response in model.seen)
    assert len(second) < len(first) / 4


def test_calls_of_one_turn_do_not_collapse_for_one_another(gateway: Gateway) -> None:
    model = run(gateway, [[("source", {"path": "a.py"}), ("source", {"path": "b.py"})]], source)
    first, second = (response["content"] for response in model.seen)
    assert len(second) == len(first)


def test_contents_that_were_compacted_end_what_was_shown(gateway: Gateway) -> None:
    model = Scripted(model="scripted", script=[[("source", {"path": "a.py"})], [("source", {"path": "b.py"})]])

    class Short(adk.plugins.BasePlugin):
        """What an application does that keeps its requests short."""

        async def before_model_callback(self, *, callback_context: object, llm_request: LlmRequest) -> None:
            llm_request.contents = [content for content in llm_request.contents if content.parts[0].text] if model.turn == 1 else \
                llm_request.contents
    app = App(name="watch", root_agent=LlmAgent(name="watcher", model=model, tools=[source]),
              plugins=[Short(name="short"), byref.middleware("google_adk", gateway, scope=SCOPE)])
    asyncio.run(InMemoryRunner(app=app).run_debug("read", quiet=True))
    first, second = (response["content"] for response in model.seen)
    assert len(second) >= len(first)


def test_our_tools_are_offered_where_there_are_tools_and_nowhere_else(gateway: Gateway) -> None:
    assert {"byref_fetch", "byref_search", "byref_status"} < run(gateway, [], journal).offered
    assert run(gateway, []).offered == set()


def test_records_come_as_a_view_of_their_json(gateway: Gateway) -> None:
    def table(name: str) -> dict[str, object]:
        """Rows."""
        return {"status": "success", "rows": [{"id": i, "name": f"row {i}"} for i in range(500)]}
    model = run(gateway, [[("table", {"name": "t"})]], table)
    assert model.seen[0]["result"].startswith("«r") and held(gateway, "table").startswith(b'{"status": "success", "rows": [{"id": 0')


def test_what_is_raised_passes_and_is_noted(gateway: Gateway) -> None:
    def query(table: str) -> str:
        """Rows."""
        raise LookupError("no such table: leases")
    with pytest.raises(LookupError, match="no such table"):
        run(gateway, [[("query", {"table": "leases"})]], query)
    assert stored(gateway) == [("query", '{"table":"leases"}', True)]


def test_a_store_that_is_gone_costs_the_view_and_nothing_else(gateway: Gateway) -> None:
    plugin = byref.middleware("google_adk", gateway, scope=SCOPE)
    gateway.close()
    model = Scripted(model="scripted", script=[[("journal", {"unit": "api"})]])
    app = App(name="watch", root_agent=LlmAgent(name="watcher", model=model, tools=[journal]), plugins=[plugin])
    asyncio.run(InMemoryRunner(app=app).run_debug("?", quiet=True))
    assert model.seen == [{"result": LOG}]


def test_an_answer_of_an_mcp_server_keeps_its_blocks() -> None:
    image = {"type": "image", "data": "aGk="}
    answer = {"content": [{"type": "text", "text": "a"}, image, {"type": "text", "text": "b"}], "isError": False}
    assert google_adk._texts(answer) == ["a", "b"]
    assert google_adk._put(answer, ["x", "y"])["content"] == [{"type": "text", "text": "x"}, image, {"type": "text", "text": "y"}]
    assert google_adk._texts({**answer, "structuredContent": {"rows": [1]}})[0].startswith('{"content"'), "what is shown of it is all of it"


def test_media_and_nothing_pass() -> None:
    assert google_adk._texts({"image": object()}) is None and google_adk._texts(None) is None
