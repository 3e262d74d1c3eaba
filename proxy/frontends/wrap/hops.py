"""What every HTTP proxy does: headers of one connection stay there, bodies stream, and messages make answers."""
from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

import aiohttp
from aiohttp import web
from multidict import CIMultiDict

from byref.proxy.frontends.wrap.events import Splitter
from byref.proxy.frontends.wrap.messages import GONE, Id, Message, RpcError, parse

HEADER = 1 << 16  # bytes of one header: tokens can be long
EVENTS, JSON = "text/event-stream", "application/json"
_HOP = ("Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding",
        "Upgrade", "Expect")  # RFC 9110 7.6.1
_OF_THE_BODY = ("Content-Encoding", "Content-Length", "Content-MD5", "Digest", "Content-Digest", "Repr-Digest", "ETag")
Headers = CIMultiDict[str]


def ends(headers: Mapping[str, str]) -> Headers:
    """The headers that go from end to end."""
    found: Headers = CIMultiDict(headers)
    for name in (*_HOP, *(name.strip() for name in headers.get("Connection", "").split(","))):
        found.popall(name, None)
    return found


def plain(headers: Headers) -> Headers:
    """The headers of a body that is another one now."""
    for name in _OF_THE_BODY:
        headers.popall(name, None)
    return headers


def line(message: Message) -> bytes:
    """A message without the end of its line."""
    return b"".join(map(bytes, message.pieces())).rstrip(b"\n")


def reply(answers: Sequence[Message], batch: bool, status: int = 200, headers: Headers | None = None) -> web.Response:
    """Messages as a body of JSON, as a list where batch says so."""
    lines = [line(message) for message in answers]
    given = CIMultiDict(headers or {})
    given["Content-Type"] = JSON
    return web.Response(status=status, headers=given, body=b"[" + b",".join(lines) + b"]" if batch else lines[0])


def fault(status: int, number: Id | None, text: str) -> web.Response:
    """An answer that is an error of ours."""
    return reply([Message(number, "", RpcError.made(GONE, text).body, True)], False, status)


async def through(request: web.Request, answer: aiohttp.ClientResponse, headers: Headers, begun: bytes = b"") -> web.StreamResponse:
    """A server's answer as it comes; begun: what of it was read already."""
    response = web.StreamResponse(status=answer.status, reason=answer.reason, headers=headers)
    await response.prepare(request)
    try:
        if begun:
            await response.write(begun)
        async for piece in answer.content.iter_any():
            await response.write(piece)
    except aiohttp.ClientConnectionResetError:  # the client's end
        return response
    except aiohttp.ClientError:
        if request.transport is not None:
            request.transport.close()  # a body that broke off must not look whole
    return await ended(response)


async def ended(response: web.StreamResponse, last: bytes = b"") -> web.StreamResponse:
    """A response to which nothing comes after this; who is gone need not get it."""
    try:
        if last:
            await response.write(last)
        await response.write_eof()
    except aiohttp.ClientConnectionResetError:
        pass
    return response


async def messages(answer: aiohttp.ClientResponse) -> AsyncIterator[Message]:
    """The messages of a server's answer. Raises ValueError."""
    if answer.content_type != EVENTS:
        for message in parse(await answer.read()):
            yield message
        return
    split = Splitter()
    async for piece in answer.content.iter_any():
        for event in split.feed(piece):
            if event.message:
                for message in parse(event.data):
                    yield message


def words(fault: BaseException) -> str:
    """What a fault says, in few words, and never the URL: its query may hold a key."""
    if isinstance(fault, aiohttp.ClientResponseError):
        return " ".join(fault.message.split())[:200] or type(fault).__name__
    if isinstance(fault, (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError)):
        return "its URL cannot be used"
    if isinstance(fault, aiohttp.ClientConnectorError):
        fault = fault.os_error
    if isinstance(fault, OSError) and fault.strerror:
        return fault.strerror
    return str(fault) or type(fault).__name__
