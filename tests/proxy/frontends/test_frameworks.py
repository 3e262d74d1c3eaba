"""Conversations of an application: what counts as shown in them, what passes, and that nothing of ours fails a call."""
from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import byref
from byref.proxy import discover
from byref.proxy.errors import ConfigError
from byref.proxy.frontends import frameworks
from byref.proxy.frontends.frameworks import Conversations
from byref.proxy.gateway import Gateway

CODE = "".join(f"def function_{i}(value: int) -> int:\n    return value * {i} + offset_{i}\n" for i in range(60))
LOG = "".join(f"2026-03-01 10:{i // 60 % 60:02d}:{i % 60:02d} INFO request {i} took {i % 90} ms\n" for i in range(2000))


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with byref.open("memory:") as opened:
        yield opened


@pytest.fixture
def sessions(gateway: Gateway) -> Conversations:
    return Conversations(gateway, "any", "scope")


def shown(sessions: Conversations, conversation: str, call_id: str, text: str = CODE) -> str:
    """What the model sees of a call that reads CODE."""
    views = sessions.capture(conversation, "read", [text], args={"path": f"{call_id}.py"}, call_id=call_id)
    return text if views is None else views[0]


def test_a_long_output_becomes_a_view_whose_bytes_come_back(sessions: Conversations) -> None:
    views = sessions.capture("one", "bash", [LOG], args={"command": "journalctl"}, call_id="a")
    assert views is not None and len(views[0]) < len(LOG) / 5
    assert sessions.answer("one", "byref_fetch", {"ref": views[0][1:12], "at": "L7-9"}) == "".join(LOG.splitlines(keepends=True)[6:9])


def test_of_several_texts_the_first_that_stands_carries_the_head(sessions: Conversations) -> None:
    views = sessions.capture("one", "mcp", ["", LOG, "short"], call_id="a")
    assert views is not None and views[0] == "" and views[1].startswith("«r") and views[2].endswith("short")
    assert sessions.answer("one", "byref_fetch", {"ref": views[1][1:12], "part": "text2", "at": "L1"}) == LOG[:LOG.index("\n") + 1]


def test_what_was_shown_collapses_while_it_stands_in_the_conversation(sessions: Conversations) -> None:
    sessions.turn("one", [])
    first = shown(sessions, "one", "a")
    sessions.turn("one", [first])
    assert len(shown(sessions, "one", "b")) < len(first) / 4


def test_after_a_compaction_or_on_another_branch_nothing_counts_as_shown(sessions: Conversations) -> None:
    sessions.turn("one", [])
    first = shown(sessions, "one", "a")
    sessions.turn("one", ["a summary of what was said"])
    assert len(shown(sessions, "one", "b")) >= len(first)


def test_calls_of_one_turn_do_not_count_as_shown_for_one_another(sessions: Conversations) -> None:
    sessions.turn("one", [])
    assert len(shown(sessions, "one", "b")) == len(shown(sessions, "one", "a"))


def test_conversations_know_nothing_of_one_another(sessions: Conversations) -> None:
    for conversation in ("one", "two"):
        sessions.turn(conversation, [])
    first = shown(sessions, "one", "a")
    sessions.turn("one", [first])
    sessions.turn("two", [])
    assert shown(sessions, "two", "a") == first


def test_where_the_conversation_is_unknown_nothing_collapses(sessions: Conversations) -> None:
    sessions.turn("", [])
    first = shown(sessions, "", "a")
    sessions.turn("", [first])
    assert len(shown(sessions, "", "b")) == len(first)


def test_a_conversation_that_was_dropped_goes_on_as_a_new_one(sessions: Conversations, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frameworks, "CONVERSATIONS", 1)
    sessions.turn("one", [])
    first = shown(sessions, "one", "a")
    sessions.turn("two", [])
    sessions.turn("one", [first])
    assert len(shown(sessions, "one", "b")) == len(first)


def test_a_call_that_is_tried_again_shows_what_it_returned_then(sessions: Conversations) -> None:
    assert shown(sessions, "one", "a", "no such table: leases") == "no such table: leases"
    again = shown(sessions, "one", "a", LOG)
    assert again.startswith("«r") and again.endswith(LOG.splitlines()[-1] + "\n")


def test_the_same_result_of_a_call_keeps_its_first_bytes(sessions: Conversations) -> None:
    sessions.turn("one", [])
    first = shown(sessions, "one", "a")
    sessions.turn("one", [first])
    assert shown(sessions, "one", "a") == first


def test_a_failure_is_noted_as_an_error(gateway: Gateway, sessions: Conversations) -> None:
    sessions.failed("one", "query", ValueError("no such table: leases"))
    output = gateway.store.recent("scope")[0]
    assert output.manifest.is_error and sessions.answer("one", "byref_fetch", {"ref": output.ref}) == "ValueError: no such table: leases"


def test_second_calls_say_what_is_wrong_with_them(sessions: Conversations) -> None:
    assert "unknown: no output raaaaaaaaaa here" in sessions.answer("one", "byref_fetch", {"ref": "raaaaaaaaaa"})
    assert "fetch takes ref" in sessions.answer("one", "byref_fetch", {"reference": "raaaaaaaaaa"})


def test_tools_of_ours_are_told_by_name_and_behind_mcp_by_what_they_say(sessions: Conversations) -> None:
    assert sessions.own("byref_fetch") and sessions.own("fetch", sessions.tools[0].description)
    assert not sessions.own("fetch", "a page of the web") and not sessions.own("fetch")


def test_a_store_that_is_gone_costs_the_view_and_nothing_else(gateway: Gateway, sessions: Conversations) -> None:
    sessions.turn("one", [])
    gateway.close()
    sessions.turn("one", ["a text"])
    assert sessions.capture("one", "bash", [LOG], call_id="a") is None
    sessions.failed("one", "bash", ValueError("no"))
    assert gateway.faults.recent


def test_requests_that_offer_our_tools_are_given_views(sessions: Conversations) -> None:
    call = b'{"id":"a","type":"function","function":{"name":"bash","arguments":"{}"}}'
    said = LOG.replace("\n", "\\n").encode()
    body = (b'{"messages":[{"role":"user","content":"why?"},{"role":"assistant","tool_calls":[' + call + b']},'
            b'{"role":"tool","tool_call_id":"a","content":"' + said + b'"}]')
    offering = body + b',"tools":[{"type":"function","function":{"name":"byref_fetch","description":""}}]}'
    path = "/v1/chat/completions"
    assert len(sessions.request(path, offering)) < len(offering) / 5
    assert sessions.request(path, offering) == sessions.request(path, offering)
    other = body.replace(b"why?", b"when?") + b"}"
    assert sessions.request(path, other) == other and sessions.request("/v1/models", offering) == offering


def test_a_framework_that_there_is_none_of_is_told_with_those_there_are() -> None:
    there = "google_adk, langchain, litellm, openai_agents, pydantic_ai"
    for name in ("crewai", "claude_code"):
        with pytest.raises(ConfigError, match=f"no framework '{name}'; there are {there}"):
            byref.middleware(name)


def test_a_framework_that_is_not_installed_is_told_with_what_to_install(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(sessions: object) -> object:
        raise ModuleNotFoundError("No module named 'langchain'")
    module = ModuleType("langchain")
    module.middleware, module.PACKAGE = missing, "langchain>=1.5"  # type: ignore[attr-defined]
    monkeypatch.setattr(discover, "load", lambda kind, name: module)
    with pytest.raises(ConfigError, match=r"No module named 'langchain'; pip install 'langchain>=1\.5'"):
        byref.middleware("langchain", gateway)


def test_without_a_session_a_decorated_function_uses_the_users_own_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(frameworks, "_gateways", [])
    monkeypatch.chdir(tmp_path)

    @byref.tool
    def journal() -> str:
        return LOG
    view = journal()
    assert journal() == view, "it cannot prove what its caller saw, so nothing collapses"
    with byref.open() as gateway:
        own = gateway.session("reader", scope=byref.proxy.config.scope_here())  # type: ignore[attr-defined]
        assert own.fetch(view[1:12]).data[:100] == LOG[:100].encode()
    frameworks._gateways[0].close()


def test_a_store_that_cannot_be_named_does_not_stop_a_decorated_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frameworks, "_gateways", [])
    monkeypatch.setenv("BYREF_PROFILE", "nonsense")

    @byref.tool
    def journal() -> str:
        return LOG
    with pytest.warns(RuntimeWarning, match="no profile 'nonsense'"):
        assert journal() == LOG


def test_sessions_that_are_awaited_serve_too() -> None:
    async def main() -> None:
        async with byref.aio.open("memory:") as gateway:
            session = await gateway.session("agent")

            @byref.tool(session=session)
            async def journal() -> str:
                return LOG
            view = await journal()
            assert byref.tools(session)[0](ref=view[1:12], at="L1") == LOG[:LOG.index("\n") + 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(main())


def test_our_tools_as_functions_say_what_they_take() -> None:
    with byref.open("memory:") as gateway:
        fetch, search, status = byref.tools(gateway.session("agent"))
        assert fetch.__name__ == fetch.name == "byref_fetch" and "ref" in fetch.schema["properties"]  # type: ignore[operator]
        assert "outputs" in status() and fetch(ref="!").startswith("invalid") and search(query="nothing")
