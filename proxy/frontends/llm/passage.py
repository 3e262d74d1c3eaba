"""One request to an LLM: what it holds of tool results goes on as views, its answer comes back as it is, and what it cost is noted."""
from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import aiohttp
from aiohttp import web
from yarl import URL

from byref.proxy.contracts import Event, Json
from byref.proxy.errors import ByrefError
from byref.proxy.frontends import bodies
from byref.proxy.frontends.llm import rewriting
from byref.proxy.frontends.llm.answering import answered
from byref.proxy.frontends.llm.cacheable import fallen
from byref.proxy.frontends.llm.usage import Meter, Spent
from byref.proxy.frontends.reverse import replies
from byref.proxy.frontends.reverse.asked import Upload
from byref.proxy.frontends.reverse.exchange import Exchange
from byref.proxy.frontends.reverse.headers import coming
from byref.proxy.frontends.reverse.upstreams import Upstream
from byref.proxy.frontends.wrap import codings
from byref.proxy.frontends.wrap.hops import EVENTS, ended, words
from byref.proxy.gates import Call
from byref.proxy.ledger import events
from byref.proxy.text import estimate

if TYPE_CHECKING:
    from byref.proxy.frontends.llm.site import LlmSite

LARGEST = 256 << 20  # bytes of a request


class Body(Upload):
    """A request's body, whole."""

    def __init__(self, request: web.Request, data: bytes) -> None:
        super().__init__(request)
        self._data = data

    async def data(self) -> bytes:
        """What to send."""
        return self._data

    def kept(self) -> Json:
        """Nothing: prompts are not stored."""
        return None


class Passage(Exchange):
    """One request of a caller. Raises what `Exchange` raises."""

    site: LlmSite

    def __init__(self, site: LlmSite, upstream: Upstream, request: web.Request, own: bool) -> None:
        super().__init__(site, upstream, request, own)
        self.key = None  # an answer of a model is no answer to another request
        self.api = rewriting.family(request.path) if request.method == "POST" else None
        self.notes: dict[str, str] = {}
        self.made: rewriting.Rewritten | None = None
        self.least = 0

    async def answer(self) -> web.StreamResponse:
        """The upstream's answer."""
        if self.api is not None:
            data = await bodies.whole(self.request, LARGEST)
            self.upload = Body(self.request, await self._rewritten(self.api, data))
            self.going.popall("Content-Length", None)
        return await self._asked()

    async def _rewritten(self, api: rewriting.Family, data: bytes) -> bytes:
        encoding = self.request.headers.get("Content-Encoding", "")
        plain = data
        if encoding:
            undo = codings.decoder(encoding)
            try:
                plain = undo.decode(data) if undo is not None else b""
            except ValueError:
                return data
        made: rewriting.Rewritten = await self.site.run(partial(self.site.rewriter.rewrite, api, plain))
        self.made = made
        if made.found is None or not made.edits:
            return data
        self.going.popall("Content-Encoding", None)
        if made.answerer is not None:
            self.going["Accept-Encoding"] = "identity"  # what is to be read as it passes
        self.notes["Byref-Views"] = str(made.replaced)
        self.least = fallen(made.found, made.before, made.text)
        if self.least:
            self.notes["Byref-Warning"] = f"with views the prompt is below the {self.least} tokens from which the provider caches it"
            self._log(made, events.uncached(at=self.site.rewriter.gateway.clock(), session=made.session, tokens=estimate(made.text),
                                            minimum=self.least))
        return made.body

    async def _back(self, call: Call, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        made = self.made
        if made is not None and made.answerer is not None and answer.status == 200 and not answer.headers.get("Content-Encoding"):
            return await answered(self, made, made.answerer, call, answer)
        headers = coming(answer.headers, self.upstream, self.url)
        headers.update(self.notes)
        events_ = answer.content_type == EVENTS
        meter = Meter(answer.headers.get("Content-Encoding", ""), events_) if self.made is not None and answer.status < 300 else None
        response = replies.passing(answer.status, answer.reason, headers)
        if self.request.method == "HEAD" or answer.status in (204, 304):
            await response.prepare(self.request)
            return await ended(response)
        if events_ and answer.connection is not None and answer.connection.protocol is not None:
            answer.connection.protocol.read_timeout = None  # a model may think for long
        try:
            await response.prepare(self.request)
            while True:
                try:
                    piece = await self._piece(answer, events_)
                except (aiohttp.ClientError, TimeoutError) as fault:
                    call.broken()
                    self.site.note(f"{self.upstream.name} broke off in the middle: {words(fault)}")
                    replies.cut(self.request)
                    return response
                if not piece:
                    break
                await response.write(piece)
                if meter is not None:
                    meter.feed(piece)
        except (aiohttp.ClientConnectionResetError, ConnectionError):
            return response
        finally:
            self.cost(None if meter is None else meter.spent())
        return await ended(response)

    async def again(self, data: bytes) -> aiohttp.ClientResponse:
        """Asks the upstream once more within the same exchange. Raises what aiohttp raises."""
        return await self.site.http[self.upstream.name].request(
            "POST", URL(self.url, encoded=True), headers=self.going, data=data, allow_redirects=False)

    async def piece(self, answer: aiohttp.ClientResponse, streams: bool) -> bytes:
        """Some more bytes of an answer; none at its end. Raises ConnectionError once the caller is gone, and what aiohttp raises."""
        return await self._piece(answer, streams)

    def cost(self, spent: Spent | None) -> None:
        """Notes what an answer cost. One without an id counts for itself."""
        if spent is not None and self.made is not None:
            ours = {"ours": 1} if self.made.answerer is not None else {}
            self._log(self.made, events.usage(
                at=self.site.rewriter.gateway.clock(), session=self.made.session, ref="", tool="",
                message=spent.message or os.urandom(16).hex(), numbers={**spent.numbers, **ours}))

    def _log(self, made: rewriting.Rewritten, event: Event) -> None:
        self.site.later(self._logged(made.scope or self.site.rewriter.scope, event))

    async def _logged(self, scope: str, event: Event) -> None:
        gateway = self.site.rewriter.gateway
        try:
            await self.site.run(partial(gateway.log, scope, event))
        except (ByrefError, OSError) as fault:
            gateway.faults.add("llm usage", fault)
