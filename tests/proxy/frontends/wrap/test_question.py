"""A request goes out as the proxy makes it, and its answer is settled however it came back."""
from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import byref
from byref.proxy.frontends.wrap.messages import GONE, Body, Message, RpcError
from byref.proxy.frontends.wrap.proxy import Options, Proxy, Told
from byref.proxy.frontends.wrap.question import Question
from relaying import LIMIT, LONG, TOOLS


def over(test: Any, listed: Any = TOOLS) -> list[str]:
    """Runs a test with a maker of questions; what was complained of."""
    said: list[str] = []

    async def side(message: Message) -> Body:
        if listed is None:
            raise RpcError.made(GONE, "no lists here")
        return Body.of({"tools": listed})

    async def run() -> None:
        with byref.open("memory:") as gateway, ThreadPoolExecutor(1) as pool:
            session = gateway.session("mcp", scope="s", proven=False)

            async def opened() -> byref.Session:
                return session
            told = Told()

            async def ask(message: Message) -> tuple[Question, Message | None, Message | None]:
                question = Question(message, side, said.append)
                return question, *await question.prepare(Proxy(question, opened, pool, Options(), told))
            await asyncio.wait_for(test(ask), LIMIT)
    asyncio.run(run())
    return said


def call(**params: Any) -> Message:
    return Message("a", "tools/call", Body.of(params))


def text(message: Message | None) -> str:
    assert message is not None and message.body is not None
    content: Any = message.body.object["content"]
    return str(content[0]["text"])


def test_a_call_goes_out_without_what_it_says_to_us_and_its_answer_comes_back_as_a_view() -> None:
    async def test(ask: Any) -> None:
        question, out, answer = await ask(call(name="report", arguments={"byref": "checksum", "n": 1}))
        assert answer is None and out.id == "a" and out.params["arguments"] == {"n": 1}
        assert "FAILED checksum" in text(await question.settle(Message("a", "", Body.of({"content": [{"type": "text", "text": LONG}]}))))
    over(test)


def test_what_stays_as_it_is_is_the_same_object() -> None:
    async def test(ask: Any) -> None:
        message = call(name="report", arguments={})
        question, out, _ = await ask(message)
        assert out is message
        assert await question.settle(Message("a", "", Body.of({"content": [{"type": "text", "text": "short"}]}))) is None
        question, _, _ = await ask(message)
        assert await question.settle(Message("a", "", Body.of({"code": -32602, "message": "no"}), True)) is None
    over(test)


def test_the_same_answer_settles_a_request_that_is_asked_anew() -> None:
    async def test(ask: Any) -> None:
        answers = []
        for _ in range(2):
            question, _, _ = await ask(call(name="report", arguments={}))
            answers.append(text(await question.settle(Message("a", "", Body.of({"content": [{"type": "text", "text": LONG}]})))))
        assert answers[0] == answers[1] != LONG
    over(test)


def test_our_own_tools_are_answered_here_and_faults_of_ours_too() -> None:
    async def test(ask: Any) -> None:
        _, out, answer = await ask(call(name="status", arguments={}))
        assert out is None and answer.body.object["_meta"] == {"byref/final": True}
        _, out, answer = await ask(Message(1, "resources/read", Body.of({"uri": "byref://rmissing"})))
        assert out is None and answer.failed and answer.body.object["code"] == -32002
    over(test)


def test_a_list_that_cannot_be_had_keeps_no_call_from_the_server() -> None:
    async def test(ask: Any) -> None:
        _, out, _ = await ask(call(name="report", arguments={"byref": "theirs?"}))
        assert out.params["arguments"] == {"byref": "theirs?"}
    over(test, None)


def test_what_breaks_here_lets_the_request_and_the_answer_through() -> None:
    async def test(ask: Any) -> None:
        class Broken:
            async def request(self, message: Message) -> Body:
                raise RuntimeError("ours")
        question = Question(call(name="x"), None, said.append)  # type: ignore[arg-type]
        out, answer = await question.prepare(Broken())  # type: ignore[arg-type]
        assert out is question.message and answer is None
        assert await question.settle(Message("a", "", Body.of({"content": []}))) is None
    said: list[str] = []
    over(test)
    assert said == ["tools/call: RuntimeError: ours"]
