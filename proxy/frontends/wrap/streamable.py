"""A server over streamable HTTP, by the SDK's own transport: sessions, event streams, resumption and redirects are its work.

What a client's session would put into headers is put there here, from the messages that pass: the protocol's version, and
since 2026-07-28 the method, the name and the arguments that a tool wants mirrored.
"""
from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from byref.proxy.contracts import Json
from byref.proxy.frontends.wrap.lines import Unsent
from byref.proxy.frontends.wrap.messages import INVALID_REQUEST, VERSION_KEY, Body, Message

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCMessage

CONNECT = 30.0  # seconds; how long an answer takes is the client's own affair
HELD = 256  # messages that wait to be read
ENDED = "ended the session"  # what the SDK makes of HTTP 404 where there was a session


class Session:
    """One session with a server. Made by `open`; a wire for an `Endpoint`."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url, self._headers = url, dict(headers)
        self._queue: asyncio.Queue[Message | None] = asyncio.Queue(HELD)
        self._out: asyncio.Queue[SessionMessage] = asyncio.Queue(HELD)
        self._why = ""
        self._version = ""
        self._methods: dict[str, str] = {}  # methods of the requests under way
        self._mirrored: dict[str, Mapping[tuple[str, ...], str]] = {}  # arguments that a tool wants in headers, by tool
        self._task: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, url: str, headers: Mapping[str, str]) -> Session:
        """A session with the server at url. It is asked nothing yet, so a server that is not there is noticed with the first message."""
        session = cls(url, headers)
        session._task = asyncio.ensure_future(session._run())
        return session

    async def _run(self) -> None:
        """Holds the transport open: it has to be entered and left by one task."""
        try:
            import httpx2
            from mcp.client.streamable_http import streamable_http_client
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=100)
            timeout = httpx2.Timeout(CONNECT, read=None, pool=None)
            async with (httpx2.AsyncClient(headers=self._headers, timeout=timeout, limits=limits) as client,
                        streamable_http_client(self._url, http_client=client, max_sse_event_size=None) as (reads, writes)):
                writing = asyncio.ensure_future(self._write(writes.send))
                try:
                    async for item in reads:
                        if not isinstance(item, Exception):
                            await self._queue.put(self._came(item.message))
                            if self._why:
                                return
                finally:
                    writing.cancel()
            self._end("closed the connection")
        except Exception as fault:
            self._end(f"could not be reached: {_first(fault)}")
        finally:
            self._end("closed the connection")
            await self._queue.put(None)

    async def _write(self, send: object) -> None:
        assert callable(send)
        while True:
            await send(await self._out.get())

    def _end(self, why: str) -> None:
        self._why = self._why or why

    def _came(self, model: JSONRPCMessage) -> Message:
        found: dict[str, Json] = model.model_dump(by_alias=True, mode="json", exclude_unset=True)
        number, method = found.get("id"), found.get("method")
        name = "params" if method else "error" if "error" in found else "result"
        message = Message(number if isinstance(number, (str, int, float)) else None, str(method or ""),
                          Body.of(found[name]) if name in found else None, name == "error")
        asked = self._methods.pop(str(number), "") if not method else ""
        if asked and message.body is not None:
            self._absorb(asked, message.body.object, message.failed)
        return message

    def _absorb(self, asked: str, body: Mapping[str, Json], failed: bool) -> None:
        """What an answer says about how to ask."""
        if failed:
            if body.get("code") == INVALID_REQUEST and body.get("message") == "Session terminated":
                self._end(ENDED)
        elif asked == "initialize":
            self._version = str(body.get("protocolVersion", ""))
        elif asked == "tools/list" and isinstance(tools := body.get("tools"), list):
            from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map
            for tool in tools:
                if isinstance(tool, dict) and find_invalid_x_mcp_header(schema := tool.get("inputSchema")) is None:
                    self._mirrored[str(tool.get("name"))] = x_mcp_header_map(schema)

    async def send(self, message: Message) -> None:
        """Sends a message. Raises `Gone`."""
        if self._why:
            raise Unsent(self._why)
        from mcp.shared.message import ClientMessageMetadata, SessionMessage
        from mcp_types import jsonrpc_message_adapter
        if message.method and message.id is not None:
            self._methods[str(message.id)] = message.method
        body = None if message.body is None else message.body.value
        whole: dict[str, Json] = {"jsonrpc": "2.0"}
        if message.id is not None:
            whole["id"] = message.id
        if message.method:
            whole["method"] = message.method
            if body is not None:
                whole["params"] = body
        else:
            whole["error" if message.failed else "result"] = body
        headers = self._about(message)
        await self._out.put(SessionMessage(jsonrpc_message_adapter.validate_python(whole),
                                           ClientMessageMetadata(headers=headers) if headers else None))

    def _about(self, message: Message) -> dict[str, str]:
        """The headers of a message beside those of its server."""
        version = message.meta.get(VERSION_KEY) if message.method else None
        if not isinstance(version, str):
            known = self._version and message.method and message.method != "initialize"
            return {"mcp-protocol-version": self._version} if known else {}
        from mcp.shared.inbound import NAME_BEARING_METHODS, encode_header_value, mcp_param_headers
        headers = {"mcp-protocol-version": version, "mcp-method": message.method}
        name = message.params.get(NAME_BEARING_METHODS.get(message.method, ""))
        if isinstance(name, str):
            headers["mcp-name"] = encode_header_value(name)
            arguments = message.params.get("arguments")
            if message.method == "tools/call" and isinstance(arguments, dict):
                headers.update(mcp_param_headers(self._mirrored.get(name, {}), arguments))
        return headers

    async def receive(self) -> Message | None:
        """The next message; None when no more can come."""
        return await self._queue.get()

    async def why(self) -> str:
        """Why no more can come."""
        return self._why

    async def close(self) -> None:
        """Ends the session, and says so to the server."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=2)


def _first(fault: BaseException) -> str:
    """The words of the first fault in a group."""
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    return str(fault) or type(fault).__name__
