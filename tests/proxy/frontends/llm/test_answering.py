"""With --answer: the model's calls of our tools are answered within the proxy, and the client gets one answer that knows nothing of it."""
from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from llm_requests import LOG, PATHS, Dialog, results

Talk = Callable[..., None]
Play = Callable[..., None]
APIS = ["anthropic", "chat"]
MAKE: Any = {"command": "make -j"}
USAGE: Any = {
    "anthropic": {"input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 5},
    "chat": {"prompt_tokens": 110, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 100}}}


def answer(api: str, number: int, *said: Any) -> Any:
    """An answer of a model: texts, and calls as (id, name, arguments)."""
    calls = any(isinstance(one, tuple) for one in said)
    if api == "anthropic":
        content = [{"type": "text", "text": one} if isinstance(one, str)
                   else {"type": "tool_use", "id": one[0], "name": one[1], "input": one[2]} for one in said]
        return {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude-sonnet-5", "content": content,
                "stop_reason": "tool_use" if calls else "end_turn", "usage": USAGE[api]}
    uses = [{"id": one[0], "type": "function", "function": {"name": one[1], "arguments": json.dumps(one[2])}}
            for one in said if isinstance(one, tuple)]
    text = "".join(one for one in said if isinstance(one, str))
    message = {"role": "assistant", "content": text or None, **({"tool_calls": uses} if uses else {})}
    return {"id": f"msg_{number}", "object": "chat.completion", "model": "gpt-6", "usage": USAGE[api],
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}]}


def streamed(api: str, whole: Any) -> list[bytes]:
    """The same as events."""
    if api == "anthropic":
        said: list[Any] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
        for i, block in enumerate(whole["content"]):
            text = block["type"] == "text"
            empty: Any = {"text": ""} if text else {"input": {}}
            said.append({"type": "content_block_start", "index": i, "content_block": {**block, **empty}})
            written = block["text"] if text else json.dumps(block["input"])
            for piece in re.findall(r".{1,7}", written, re.S):
                delta = {"type": "text_delta", "text": piece} if text else {"type": "input_json_delta", "partial_json": piece}
                said.append({"type": "content_block_delta", "index": i, "delta": delta})
            said.append({"type": "content_block_stop", "index": i})
        said += [{"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"]}, "usage": {"output_tokens": 5}},
                 {"type": "message_stop"}]
        return [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in said]
    message, head = whole["choices"][0]["message"], {"id": whole["id"], "object": "chat.completion.chunk", "model": "gpt-6"}
    deltas: list[Any] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in re.findall(r".{1,7}", message["content"] or "", re.S)]
    for i, call in enumerate(message.get("tool_calls", ())):
        deltas.append({"tool_calls": [{"index": i, **call, "function": {"name": call["function"]["name"], "arguments": ""}}]})
        deltas += [{"tool_calls": [{"index": i, "function": {"arguments": piece}}]}
                   for piece in re.findall(r".{1,7}", call["function"]["arguments"], re.S)]
    chunks: list[Any] = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks += [{**head, "choices": [{"index": 0, "delta": {}, "finish_reason": whole["choices"][0]["finish_reason"]}]},
               {**head, "choices": [], "usage": whole["usage"]}]
    return [*(f"data: {json.dumps(one)}\n\n".encode() for one in chunks), b"data: [DONE]\n\n"]


def read(api: str, body: bytes, stream: bool) -> tuple[str, list[Any], str, dict[str, int]]:
    """What a client makes of an answer: text, calls, why it stopped, usage."""
    if not stream:
        said = json.loads(body)
        if api == "anthropic":
            blocks = said["content"]
            calls = [(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]
            return "".join(block.get("text", "") for block in blocks), calls, said["stop_reason"], said["usage"]
        choice = said["choices"][0]
        calls = [(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in choice["message"].get("tool_calls", ())]
        return choice["message"]["content"] or "", calls, choice["finish_reason"], said["usage"]
    events = [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: {")]
    text, made, stop, usage = "", {}, "", {}
    if api == "anthropic":
        kinds = [event["type"] for event in events]
        assert kinds[-1] == "message_stop" and [kinds.count(f"message_{kind}") for kind in ("start", "delta", "stop")] == [1, 1, 1]
        starts = [event["index"] for event in events if event["type"] == "content_block_start"]
        assert starts == list(range(len(starts))) == [event["index"] for event in events if event["type"] == "content_block_stop"]
        for event in events:
            if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
                made[event["index"]] = [event["content_block"]["id"], event["content_block"]["name"], ""]
            elif event["type"] == "content_block_delta":
                text += event["delta"].get("text", "")
                if event["index"] in made:
                    made[event["index"]][2] += event["delta"]["partial_json"]
            elif event["type"] == "message_delta":
                stop, usage = event["delta"]["stop_reason"], event["usage"]
    else:
        assert body.count(b"[DONE]") == 1 and len({event["id"] for event in events}) == 1
        for event in events:
            usage = event.get("usage") or usage
            for choice in event["choices"]:
                stop = choice["finish_reason"] or stop
                text += choice["delta"].get("content") or ""
                for call in choice["delta"].get("tool_calls", ()):
                    held = made.setdefault(call["index"], [call.get("id"), call["function"].get("name"), ""])
                    held[2] += call["function"]["arguments"]
        assert list(made) == list(range(len(made)))
    return text, [(name, tool, json.loads(written)) for name, tool, written in made.values()], stop, usage


def grown(dialog: Dialog, text: list[str], calls: list[Any], returned: str = "") -> None:
    """The conversation as the client goes on with what it was answered."""
    if dialog.api == "anthropic":
        content: list[Any] = [{"type": "text", "text": one} for one in text]
        content += [{"type": "tool_use", "id": c, "name": n, "input": a} for c, n, a in calls]
        dialog.items.append({"role": "assistant", "content": content})
        if calls:
            found = [{"type": "tool_result", "tool_use_id": c, "content": returned} for c, _, _ in calls]
            dialog.items.append({"role": "user", "content": found})
    else:
        uses = [{"id": c, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}} for c, n, a in calls]
        dialog.items.append({"role": "assistant", "content": "".join(text) or None, **({"tool_calls": uses} if uses else {})})
        dialog.items += [{"role": "tool", "tool_call_id": c, "content": returned} for c, _, _ in calls]
    if not calls:
        dialog.asks("Go on.")


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
        _, _, body = await client.ask(PATHS[api], dialog.body(stream=stream))
        text, calls, stop, usage = read(api, body, stream)
        assert text == "Let me look. It linked 163.o before." and not calls and stop in ("end_turn", "stop")
        names = ("input_tokens", "cache_read_input_tokens") if api == "anthropic" else ("prompt_tokens", "completion_tokens")
        assert [usage[name] for name in names] == [3 * USAGE[api][name] for name in names]
        sent = [one[3] for one in provider.requests]
        assert [sent[0].count(name) for name in (b'"byref_fetch"', b'"byref_search"', b'"byref_status"')] == [1, 1, 0]
        fetched, found = results(api, sent[1])["u1"], results(api, sent[2])["u2"]
        assert fetched == "".join(LOG.splitlines(True)[99:101]) and "ERROR: cannot link beacon" in found
        assert len(await client.spent(3)) == 3
        grown(dialog, ["Let me look. ", "It linked 163.o before."], [])
        await client.ask(PATHS[api], dialog.body(stream=stream))
        restored = provider.last
        assert results(api, restored)["u1"] == fetched and results(api, restored)["u2"] == found
        assert [m["role"] for m in json.loads(restored)["messages"]][-5:] == (
            ["assistant", "user", "assistant", "user", "assistant", "user"] if api == "anthropic"
            else ["assistant", "tool", "assistant", "tool", "assistant", "user"])[-5:]
        second, third = json.loads(sent[2])["messages"], json.loads(restored)["messages"]
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
        _, _, body = await client.ask(PATHS[api], dialog.body(stream=stream))
        text, calls, stop, _ = read(api, body, stream)
        assert text == "Both." and calls == [("c2", "Bash", ls)] and stop in ("tool_use", "tool_calls")
        grown(dialog, ["Both."], calls, "harbour.py\n")
        await client.ask(PATHS[api], dialog.body(stream=stream))
        second = provider.last
        assert results(api, second)["u1"] == LOG.splitlines(True)[6] and results(api, second)["c2"] == "harbour.py\n"
        grown(dialog, ["Done."], [])
        await client.ask(PATHS[api], dialog.body(stream=stream))
        before, after = json.loads(second)["messages"], json.loads(provider.last)["messages"]
        assert after[:len(before)] == before
    play(api, stream, rounds, test)


@pytest.mark.parametrize("api", APIS)
def test_an_answer_without_calls_of_ours_passes_byte_for_byte(play: Play, provider: Any, api: str) -> None:
    dialog = Dialog(api, tools=())

    async def test(client: Any) -> None:
        _, _, body = await client.ask(PATHS[api], dialog.body(stream=True))
        assert body == b"".join(streamed(api, answer(api, 1, "So.", ("c9", "Bash", {}))))
    play(api, True, [lambda body: answer(api, 1, "So.", ("c9", "Bash", {}))], test)


@pytest.mark.parametrize("api", APIS)
def test_a_miss_is_told_to_the_model_and_endless_calls_come_to_an_end(play: Play, provider: Any, api: str) -> None:
    dialog = Dialog(api, tools=())
    rounds = [lambda body: answer(api, 1, ("u", "byref_fetch", {"ref": "raaaaaaaaaa"}))] * 40

    async def test(client: Any) -> None:
        await client.ask(PATHS[api], dialog.body())
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
