"""With --answer: the model's calls of our tools are answered within the proxy, and the client gets one answer that knows nothing of it."""
from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from llm_answers import USAGE, answer, grown, read, streamed
from llm_requests import FAMILIES, LOG, PATHS, Dialog, results

Talk = Callable[..., None]
Play = Callable[..., None]
APIS = sorted(FAMILIES)
MAKE: Any = {"command": "make -j"}


def messages(api: str, body: bytes) -> list[Any]:
    """The messages of a request."""
    found: list[Any] = json.loads(body)["input" if api == "responses" else "messages"]
    return found


def looked(body: bytes) -> str:
    """The ref in a request with a view."""
    found = re.search(r"«(r[a-z2-7]{10}) ", body.decode())
    assert found, body[-500:]
    return found[1]


@pytest.fixture
def play(talk: Talk, provider: Any) -> Callable[..., None]:
    """Plays rounds: functions of the request that came, each giving an answer; a test's coroutine asks."""
    def run(api: str, stream: bool, rounds: list[Callable[[bytes], Any]], test: Callable[[Any], Any], **more: Any) -> None:
        handled = provider.handle

        async def handle(request: Any) -> Any:
            body = await request.read()
            made = rounds.pop(0)(body)
            provider.kind = "text/event-stream" if stream else "application/json"
            provider.answers = [streamed(api, made) if stream else json.dumps(made).encode()]
            return await handled(request)

        provider.handle = handle
        talk(test, provider, answers=True, **more)
    return run


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", APIS)
def test_a_call_of_fetch_is_answered_and_the_client_sees_one_answer(play: Play, provider: Any, api: str, stream: bool) -> None:
    dialog = Dialog(api, tools=())
    dialog.turn([("c1", "Bash", MAKE, LOG)])
    rounds = [lambda body: answer(api, 1, "Let me look. ", ("u1", "byref_fetch", {"ref": looked(body), "at": "L100-101"})),
              lambda body: answer(api, 2, ("u2", "byref_search", {"query": "beacon"})),
              lambda body: answer(api, 3, "It linked 163.o before."),
              lambda body: answer(api, 4, "Done.")]

    async def test(client: Any) -> None:
        _, _, body = await client.ask(PATHS[api], dialog.body(stream=stream, store=False))
        text, calls, stop, usage = read(api, body, stream)
        assert text == "Let me look. It linked 163.o before." and not calls and stop in ("end_turn", "stop", "completed")
        names = ("input_tokens", "output_tokens") if api == "responses" else list(USAGE[api])[:2]
        assert [usage[name] for name in names] == [3 * USAGE[api][name] for name in names]
        sent = [one[3] for one in provider.requests]
        assert [sent[0].count(name) for name in (b'"byref_fetch"', b'"byref_search"', b'"byref_status"')] == [1, 1, 0]
        fetched, found = results(api, sent[1])["u1"], results(api, sent[2])["u2"]
        assert fetched == "".join(LOG.splitlines(True)[99:101]) and "ERROR: cannot link beacon" in found
        assert [spent["ours"] for spent in await client.spent(3)] == [1, 1, 1], "each request carried the definitions of our tools"
        grown(dialog, body, ["Let me look. ", "It linked 163.o before."], [])
        await client.ask(PATHS[api], dialog.body(stream=stream, store=False))
        restored = provider.last
        assert results(api, restored)["u1"] == fetched and results(api, restored)["u2"] == found
        second, third = messages(api, sent[2]), messages(api, restored)
        assert third[:len(second)] == second, "the beginning that the provider has in its cache"
    play(api, stream, rounds, test)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", APIS)
def test_a_call_beside_the_clients_own_is_answered_with_its_results(play: Play, provider: Any, api: str, stream: bool) -> None:
    dialog = Dialog(api, tools=())
    dialog.turn([("c1", "Bash", MAKE, LOG)])
    ls: Any = {"command": "ls"}
    rounds = [lambda body: answer(api, 1, "Both.", ("u1", "byref_fetch", {"ref": looked(body), "at": "L7"}), ("c2", "Bash", ls)),
              lambda body: answer(api, 2, "Done."), lambda body: answer(api, 3, "Done.")]

    async def test(client: Any) -> None:
        _, _, body = await client.ask(PATHS[api], dialog.body(stream=stream, store=False))
        text, calls, stop, _ = read(api, body, stream)
        assert text == "Both." and calls == [("c2", "Bash", ls)] and stop in ("tool_use", "tool_calls", "completed")
        grown(dialog, body, ["Both."], calls, "harbour.py\n")
        _, _, body = await client.ask(PATHS[api], dialog.body(stream=stream, store=False))
        second = provider.last
        assert results(api, second)["u1"] == LOG.splitlines(True)[6] and results(api, second)["c2"] == "harbour.py\n"
        grown(dialog, body, ["Done."], [])
        await client.ask(PATHS[api], dialog.body(stream=stream, store=False))
        before, after = messages(api, second), messages(api, provider.last)
        assert after[:len(before)] == before
    play(api, stream, rounds, test)


@pytest.mark.parametrize("api", APIS)
def test_an_answer_without_calls_of_ours_passes_byte_for_byte(play: Play, provider: Any, api: str) -> None:
    dialog = Dialog(api, tools=())

    async def test(client: Any) -> None:
        _, _, body = await client.ask(PATHS[api], dialog.body(stream=True, store=False))
        assert body == b"".join(streamed(api, answer(api, 1, "So.", ("c9", "Bash", {}))))
    play(api, True, [lambda body: answer(api, 1, "So.", ("c9", "Bash", {}))], test)


@pytest.mark.parametrize("api", APIS)
def test_a_miss_is_told_to_the_model_and_endless_calls_come_to_an_end(play: Play, provider: Any, api: str) -> None:
    dialog = Dialog(api, tools=())
    rounds = [lambda body: answer(api, 1, ("u", "byref_fetch", {"ref": "raaaaaaaaaa"}))] * 40

    async def test(client: Any) -> None:
        await client.ask(PATHS[api], dialog.body(store=False))
        assert "raaaaaaaaaa" in results(api, provider.requests[1][3])["u"] and 20 < len(provider.requests) < 40
        assert "last call" in list(results(api, provider.last).values())[-1]
    play(api, False, rounds, test)


def test_tools_are_not_offered_where_there_are_none_or_the_client_has_ours(play: Play, provider: Any) -> None:
    async def test(client: Any) -> None:
        for body in (Dialog("anthropic").body(), Dialog("anthropic", tools=()).body(tools=[]), Dialog("responses", tools=()).body()):
            await client.ask(PATHS["responses" if b'"input"' in body else "anthropic"], body)
            assert provider.last == body
    play("anthropic", False, [lambda body: answer("anthropic", 1, "x")] * 3, test)


def test_a_refusal_in_the_middle_reaches_the_client(play: Play, provider: Any) -> None:
    dialog = Dialog("anthropic", tools=())

    def refuse(body: bytes) -> Any:
        provider.status = 529
        return {"type": "error", "error": {"type": "overloaded_error"}}

    async def test(client: Any) -> None:
        status, _, body = await client.ask("/v1/messages", dialog.body())
        assert status == 529 and b"overloaded_error" in body
    play("anthropic", False, [lambda body: answer("anthropic", 1, ("u", "byref_search", {"query": "x"})), refuse], test)
