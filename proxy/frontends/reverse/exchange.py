"""One request to an upstream and its answer: passed on as it comes, or as a view, and stored either way.

An answer is buffered, so that it carries its ref, where its length is known and small, or where the caller wants a view. All others
stream: they carry `Byref-Call`, and are stored once they have ended whole.
"""
from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING

import aiohttp
from aiohttp import web
from yarl import URL

from byref.proxy.errors import ByrefError
from byref.proxy.frontends.reverse import fresh, replies
from byref.proxy.frontends.reverse.addresses import PrivateAddress
from byref.proxy.frontends.reverse.asked import RAW, Upload, described, wanted
from byref.proxy.frontends.reverse.headers import coming, going, varying, viewable
from byref.proxy.frontends.reverse.keeping import Answered, Kept, keep, layout_of
from byref.proxy.frontends.reverse.paths import Outside, target
from byref.proxy.frontends.reverse.spool import MEMORY, Spool
from byref.proxy.frontends.reverse.upstreams import Upstream
from byref.proxy.frontends.tools.engine import again
from byref.proxy.frontends.wrap import codings
from byref.proxy.frontends.wrap.hops import EVENTS, Headers, ended, plain, words
from byref.proxy.gates import SAFE, Call

if TYPE_CHECKING:
    from byref.proxy.frontends.reverse.site import Site
    from byref.proxy.session import Session

WATCH = 1.0  # seconds between two looks at whether the caller of a silent stream is still there
_FAULTS = (aiohttp.ClientError, OSError, ValueError)


class _Broken(Exception):
    """A body that was to be whole broke off."""


class Exchange:
    """One request of a caller. own: its Authorization is ours. Raises `Outside`, `ConfigError` and `Unavailable`."""

    def __init__(self, site: Site, upstream: Upstream, request: web.Request, own: bool) -> None:
        self.site, self.upstream, self.request = site, upstream, request
        self.url = target(upstream.name, upstream.url, request.raw_path)
        self.want = wanted(request.headers)
        self.going = going(request.headers, upstream, own)
        self.upload = Upload(request)
        self.began = time.monotonic()
        plainly = request.method == "GET" and not self.upload.there
        self.key = site.fresh.key(self.url, self.going) if plainly else None

    def session(self) -> Session:
        """Where the answer is stored, for the view that is wanted."""
        return self.site.session(self.want.session, self.want.view)

    async def answer(self) -> web.StreamResponse:
        """The answer, of the store where one is young enough, else of the upstream."""
        if self.key is not None:
            limit = fresh.limit(self.request.headers, self.upstream.max_age)
            found = self.site.fresh.find(self.key, limit) or await self.site.fresh.awaited(self.key, limit) if limit else None
            if found is not None:
                response = await self._again(*found)
                if response is not None:
                    return response
        if "only-if-cached" in ",".join(self.request.headers.getall("Cache-Control", [])).lower():
            return replies.error(504, "absent", "no stored answer to this request is young enough")
        if self.key is None:
            return await self._asked()
        self.site.fresh.ask(self.key)
        try:
            return await self._asked()
        finally:
            self.site.fresh.asked(self.key)

    # the upstream

    async def _asked(self) -> web.StreamResponse:
        method = self.request.method
        if method in ("CONNECT", "TRACE"):
            raise Outside(405, f"{method} goes to no upstream")
        data = await self.upload.data()
        async with self.site.gates[self.upstream.name].call(method in SAFE and not self.upload.there) as call:
            while True:
                try:
                    answer = await self.site.http[self.upstream.name].request(
                        method, URL(self.url, encoded=True), headers=self.going, data=data, allow_redirects=False)
                except _FAULTS as fault:
                    if await call.failed(not isinstance(fault, aiohttp.SocketTimeoutError) and _private(fault) is None):
                        continue
                    return self._unreached(fault)
                try:
                    if await call.answered(answer.status, answer.headers.get("Retry-After")):
                        continue
                    return await self._back(call, answer)
                except _Broken as fault:
                    if not await call.failed():
                        return replies.error(502, "broken", f"{self.upstream.name} broke off in the middle of its answer: {fault}")
                finally:
                    answer.close()

    def _unreached(self, fault: Exception) -> web.Response:
        name = self.upstream.name
        if (private := _private(fault)) is not None:
            return replies.error(502, "private", f"{name}: {private}")
        if isinstance(fault, TimeoutError):
            return replies.error(504, "timeout", f"{name} said nothing for {self.upstream.limits.timeout:g} s")
        return replies.error(502, "unreachable", f"{name} could not be reached: {words(fault)}")

    async def _back(self, call: Call, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        headers = coming(answer.headers, self.upstream, self.url)
        if self.request.method == "HEAD" or answer.status in (204, 304):
            response = replies.passing(answer.status, answer.reason, headers)
            await response.prepare(self.request)
            return await ended(response)
        events = answer.content_type == EVENTS
        length = headers.get("Content-Length", "")
        if not events and (self.want.view or (length.isdigit() and int(length) <= MEMORY)):
            return await self._buffered(answer, headers)
        if self.key is not None:
            self.site.fresh.asked(self.key)  # it may take its time: nobody waits for it
        if events and answer.connection is not None and answer.connection.protocol is not None:
            answer.connection.protocol.read_timeout = None  # a stream of events may be silent for long
        return await self._streamed(call, answer, headers, events)

    # whole

    async def _buffered(self, answer: aiohttp.ClientResponse, headers: Headers) -> web.StreamResponse:
        spool = self.site.spool(keep=True)
        try:
            try:
                async for piece in answer.content.iter_any():
                    await spool.add(piece)
                await spool.done()
            except (aiohttp.ClientError, TimeoutError) as fault:
                raise _Broken(words(fault)) from None
            if not spool.size:
                return replies.passing_whole(answer.status, answer.reason, headers, b"")
            view = answer.status != 206 and viewable(headers) and codings.decoder(headers.get("Content-Encoding", "")) is not None
            kept = await self._keep(spool, answer, headers, view)
            self._told(headers, kept)
            if self.want.view:
                varying(headers, "Accept", "Byref-View")
                if kept.view is not None:
                    return replies.viewed(answer.status, answer.reason, headers, kept.view, self.want.view)
                headers["Byref-View"] = RAW
            if (data := spool.whole) is not None:
                return replies.passing_whole(answer.status, answer.reason, headers, data)
            headers["Content-Length"] = str(spool.size)
            return await self._written(replies.passing(answer.status, answer.reason, headers), spool)
        finally:
            spool.close()

    async def _written(self, response: web.StreamResponse, spool: Spool) -> web.StreamResponse:
        await response.prepare(self.request)
        blocks = spool.blocks()
        try:
            while (block := await self.site.run(partial(next, blocks, None))) is not None:
                await response.write(block)
        except aiohttp.ClientConnectionResetError:
            return response
        return await ended(response)

    def _told(self, headers: Headers, kept: Kept) -> None:
        if kept.ref:
            headers["Byref-Ref"] = kept.ref
        if kept.why:
            headers["Byref-Warning"] = " ".join(kept.why.split()).encode("ascii", "replace").decode()[:500]

    async def _keep(self, spool: Spool, answer: aiohttp.ClientResponse, headers: Headers, view: bool) -> Kept:
        """Stores a body; from then on it may be given again."""
        encoding = headers.get("Content-Encoding", "")
        kept: Kept = await self.site.run(
            partial(keep, self.session(), self._said(answer.status, headers, encoding), spool, self.want, view), spool.size > MEMORY)
        if kept.ref and self.key is not None and answer.status == 200 and codings.decoder(encoding) is not None:
            self.site.fresh.keep(self.key, kept.ref, answer.reason, plain(headers.copy()) if encoding else headers)
        return kept

    def _said(self, status: int, headers: Headers, encoding: str) -> Answered:
        adapter, hidden = self.site.adapters.get(self.upstream.name, (None, ()))
        request = described(self.request.method, self.url[len(self.upstream.url):], self.upload, hidden)
        return Answered(self.upstream.name, adapter, request, status, headers.get("Content-Type", "").strip(), encoding,
                        headers.get("Content-Range", "") if status == 206 else "", time.monotonic() - self.began)

    # as it comes

    async def _streamed(self, call: Call, answer: aiohttp.ClientResponse, headers: Headers, events: bool) -> web.StreamResponse:
        name = self.site.calls.begun()
        given = headers.copy()
        given["Byref-Call"] = name
        response = replies.passing(answer.status, answer.reason, given)
        spool, why = self.site.spool(), "the caller went away before it had ended"
        try:
            await response.prepare(self.request)
            while True:
                try:
                    piece = await self._piece(answer, events)
                except (aiohttp.ClientError, TimeoutError) as fault:
                    why = f"{self.upstream.name} broke off in the middle: {words(fault)}"
                    call.broken()
                    replies.cut(self.request)
                    return await ended(response)
                if not piece:
                    why = ""
                    break
                await response.write(piece)
                await spool.add(piece)
        except (aiohttp.ClientConnectionResetError, ConnectionError):
            return response
        finally:
            if why:
                self.site.calls.lost(name, why)
                spool.close()
        self.site.calls.ended(name)
        self.site.later(self._stored(name, spool, answer, headers))
        return await ended(response)

    async def _piece(self, answer: aiohttp.ClientResponse, events: bool) -> bytes:
        """Some more bytes, as soon as they are there; none at the end. Raises ConnectionError once the caller is gone."""
        while events:
            try:
                async with asyncio.timeout(WATCH):
                    return await answer.content.readany()
            except TimeoutError:
                if self.request.transport is None or self.request.transport.is_closing():
                    raise ConnectionError from None
        return await answer.content.readany()

    async def _stored(self, name: str, spool: Spool, answer: aiohttp.ClientResponse, headers: Headers) -> None:
        try:
            await spool.done()
            if not spool.size:
                self.site.calls.lost(name, "it is empty")
                return
            kept = await self._keep(spool, answer, headers, view=False)
            if kept.ref:
                self.site.calls.stored(name, kept.ref)
            else:
                self.site.calls.lost(name, kept.why)
        finally:
            spool.close()

    # of the store

    async def _again(self, found: fresh.Answer, age: int) -> web.StreamResponse | None:
        """A stored answer; None where its bytes are no longer held."""
        headers = found.headers.copy()
        headers["Age"], headers["Byref-From"], headers["Byref-Ref"] = str(age), "store", found.ref
        session = self.session()
        spool = self.site.spool(keep=True)
        try:
            blocks = session.blocks(found.ref)
            while (block := await self.site.run(partial(next, blocks, None))) is not None:
                await spool.add(block)
            await spool.done()
            if self.want.view:
                varying(headers, "Accept", "Byref-View")
                if viewable(headers) and self.want.view != RAW:
                    layout = layout_of(self._said(200, headers, ""))
                    shown = await self.site.run(
                        partial(again, session, found.ref, layout, budget=self.want.budget, intent=self.want.intent), spool.size > MEMORY)
                    if not shown.passed:
                        return replies.viewed(200, found.reason, headers, shown.text, self.want.view)
                headers["Byref-View"] = RAW
            if (data := spool.whole) is not None:
                return replies.passing_whole(200, found.reason, headers, data)
            headers["Content-Length"] = str(spool.size)
            return await self._written(replies.passing(200, found.reason, headers), spool)
        except ByrefError:
            if self.key is not None:
                self.site.fresh.drop(self.key)
            return None
        finally:
            spool.close()


def _private(fault: BaseException) -> PrivateAddress | None:
    inner = fault.os_error if isinstance(fault, aiohttp.ClientConnectorError) else fault
    return inner if isinstance(inner, PrivateAddress) else None
