"""What goes back to the caller: an upstream's answer with its own headers, a view, or an error of ours."""
from __future__ import annotations

import json
import socket
import struct

from aiohttp import web

from byref.proxy.errors import Unavailable
from byref.proxy.frontends.wrap.hops import Headers, plain
from byref.proxy.intake import to_bytes

_ADDED = ("Content-Type", "Server")  # what aiohttp would say where the upstream says nothing
_SILENT = web.ResponseKey("silent", tuple[str, ...])
_RESET = struct.pack("ii", 1, 0)


def passing(status: int, reason: str | None, headers: Headers) -> web.StreamResponse:
    """An answer whose body follows."""
    return _silenced(web.StreamResponse(status=status, reason=reason, headers=headers), headers)


def passing_whole(status: int, reason: str | None, headers: Headers, body: bytes) -> web.Response:
    """An answer with its body."""
    given = headers.copy()
    given.popall("Content-Length", None)
    response = web.Response(status=status, reason=reason, headers=given, body=body)
    _silenced(response, headers)
    return response


def viewed(status: int, reason: str | None, headers: Headers, view: str, profile: str) -> web.Response:
    """A view: text of its own, with the headers that still hold of it."""
    given = plain(headers.copy())
    for name in ("Accept-Ranges", "Last-Modified", "Content-Disposition"):
        given.popall(name, None)
    given["Content-Type"] = "text/plain; charset=utf-8"
    given["Byref-View"] = profile
    return web.Response(status=status, reason=reason, headers=given, body=to_bytes(view))


def error(status: int, reason: str, message: str, retry_after: float | None = None) -> web.Response:
    """An error of ours, in the form of all of the daemon's; retry_after in seconds."""
    said: dict[str, str | int] = {"reason": reason, "message": message}
    headers = {}
    if retry_after is not None:
        said["retry_after"] = max(1, -int(-retry_after // 1))
        headers["Retry-After"] = str(said["retry_after"])
    return web.Response(status=status, headers=headers, body=json.dumps({"error": said}).encode() + b"\n", content_type="application/json")


def held_back(fault: Unavailable) -> web.Response:
    """That the upstream cannot be asked now."""
    return error(429 if fault.reason == "rate" else 503, fault.reason, str(fault), fault.retry_after)


def cut(request: web.Request) -> None:
    """Breaks the connection off, so that a body that is not whole does not look so."""
    transport = request.transport
    if transport is None:
        return
    if request.version < (1, 1):  # there the end of the connection is the end of the body: only a reset says that something is missing
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        transport.abort()
    else:
        transport.close()


async def unsaid(request: web.Request, response: web.StreamResponse) -> None:
    """Takes back what aiohttp adds to an upstream's headers: a signal `on_response_prepare`."""
    for name in response.get(_SILENT, ()):
        response.headers.popall(name, None)


def _silenced(response: web.StreamResponse, headers: Headers) -> web.StreamResponse:
    response[_SILENT] = tuple(name for name in _ADDED if name not in headers)
    return response
