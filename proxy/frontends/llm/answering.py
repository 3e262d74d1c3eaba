"""One answer over several rounds: calls of ours are taken out of it, answered, and asked on with, until the model has said the rest."""
from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import aiohttp
from aiohttp import web

from byref.proxy.contracts import Json
from byref.proxy.frontends.llm.answers import ROUNDS, Answered, Answerer, Asked, Talk, answer, written
from byref.proxy.frontends.llm.reading import parse
from byref.proxy.frontends.llm.usage import Meter
from byref.proxy.frontends.reverse import replies
from byref.proxy.frontends.reverse.headers import coming
from byref.proxy.frontends.wrap.events import Splitter
from byref.proxy.frontends.wrap.hops import EVENTS, ended, words
from byref.proxy.gates import Call

if TYPE_CHECKING:
    from byref.proxy.frontends.llm.passage import Passage
    from byref.proxy.frontends.llm.rewriting import Rewritten

_ENOUGH = "that was the last call that is answered here; go on with what you have"
_BROKEN = (aiohttp.ClientError, TimeoutError, OSError, ValueError)


async def answered(passage: Passage, made: Rewritten, answerer: Answerer, call: Call, first: aiohttp.ClientResponse) -> web.StreamResponse:
    """The answer for the client. first: the upstream's, to the request as it was made."""
    talk = answerer.talk()
    rounds = _Rounds(passage, made, talk)
    if first.content_type != EVENTS:
        return await _whole(passage, rounds, talk, first)
    if first.connection is not None and first.connection.protocol is not None:
        first.connection.protocol.read_timeout = None  # a model may think for long
    headers = coming(first.headers, passage.upstream, passage.url)
    headers.update(passage.notes)
    headers.popall("Content-Length", None)
    response = replies.passing(first.status, first.reason, headers)
    upstream: aiohttp.ClientResponse | None = first
    try:
        await response.prepare(passage.request)
        while upstream is not None:
            held = await _round(passage, talk, upstream, response)
            upstream = await rounds.next()
            if upstream is not None and upstream.status != 200:
                held, upstream = _error(await upstream.read()), None
            if held:
                await response.write(held)
    except ConnectionError:  # the client's end
        return response
    except _BROKEN as fault:
        call.broken()
        passage.site.note(f"{passage.upstream.name} broke off in the middle: {words(fault)}")
        replies.cut(passage.request)
        return response
    finally:
        rounds.close()
    return await ended(response)


async def _round(passage: Passage, talk: Talk, upstream: aiohttp.ClientResponse, response: web.StreamResponse) -> bytes:
    """One stream, to its end. What comes once it is known that calls are to be answered is held back, and returned."""
    split, meter, held = Splitter(), Meter("", events=True), b""
    while piece := await passage.piece(upstream, True):
        meter.feed(piece)
        out = b""
        for event in split.feed(piece):
            given = talk.event(event)
            if talk.ended():
                held += given
            else:
                out += given
        if out:
            await response.write(out)
    passage.cost(meter.spent())
    return held + (b"" if talk.goes_on() else bytes(split.left))


def _error(body: bytes) -> bytes:
    """A refusal in the middle of a stream, as the providers' clients understand it."""
    try:
        said: Json = json.loads(body)
    except ValueError:
        said = {"type": "error", "error": {"type": "api_error", "message": body.decode("utf-8", "replace")[:500]}}
    return b"event: error\ndata: " + written(said).encode() + b"\n\n"


async def _whole(passage: Passage, rounds: _Rounds, talk: Talk, first: aiohttp.ClientResponse) -> web.StreamResponse:
    headers = coming(first.headers, passage.upstream, passage.url)
    headers.update(passage.notes)
    upstream: aiohttp.ClientResponse | None = first
    data = b""
    try:
        while upstream is not None:
            data = await upstream.read()
            meter = Meter("", events=False)
            meter.feed(data)
            passage.cost(meter.spent())
            if upstream.status != 200:
                refused = coming(upstream.headers, passage.upstream, passage.url)
                return replies.passing_whole(upstream.status, upstream.reason, refused, data)
            said = json.loads(data)
            if not isinstance(said, dict):
                break
            talk.whole(said)
            upstream = await rounds.next()
    except ValueError:
        pass
    except _BROKEN as fault:
        return replies.error(502, "broken", f"{passage.upstream.name} broke off in the middle of its answer: {words(fault)}")
    finally:
        rounds.close()
    return replies.passing_whole(first.status, first.reason, headers, written(talk.message()).encode() if talk.hidden else data)


class _Rounds:
    """What follows each round: the calls of ours answered, and the upstream asked on with them."""

    def __init__(self, passage: Passage, made: Rewritten, talk: Talk) -> None:
        self.passage, self.made, self.talk = passage, made, talk
        self._text, self._count = made.text, 0
        self._open: aiohttp.ClientResponse | None = None

    async def next(self) -> aiohttp.ClientResponse | None:
        """The upstream's next answer; None where the client has all of it. Raises what aiohttp raises."""
        calls = self.talk.ended()
        self._count += bool(calls)
        going = self.talk.goes_on()
        if calls:
            more = self.talk.follow([await self._answer(one) for one in calls])
            if going and self._count <= ROUNDS + 3:
                self.close()
                self._text = _extended(self._text, self.passage, more)
                self._open = await self.passage.again(self._text.encode())
                return self._open
            if going:
                raise ValueError("the model calls our tools without end")
        if self.talk.hidden and self.made.context is not None and not self.passage.site.rewriter.stateless:
            self.made.context.hides(self.talk.anchor(), self.talk.hidden)
        return None

    async def _answer(self, asked: Asked) -> Answered:
        if self._count > ROUNDS:
            return Answered(asked, _ENOUGH, True)
        made, rewriter = self.made, self.passage.site.rewriter
        found = made.found
        session = rewriter.session(made.session, made.scope, found.task if found else "", made.context.name if made.context else None)
        done: Answered = await self.passage.site.run(partial(answer, session, asked))
        return done

    def close(self) -> None:
        """Lets go of the connection of the last round."""
        if self._open is not None:
            self._open.close()
            self._open = None


def _extended(text: str, passage: Passage, more: str) -> str:
    """A request with more messages. more: with a comma before them."""
    assert passage.api is not None
    request = parse(text.encode(), passage.api.INTO).node
    items = request.get("messages") if "messages" in request.members else request.get("input")
    if isinstance(items.value, str):  # of Responses: all that a user said
        return f'{text[:items.start]}[{{"role":"user","content":{text[items.start:items.end]}}}{more}]{text[items.end:]}'
    return text[:items.end - 1] + more + text[items.end - 1:]
