"""An answer to a request of a tool that has an adapter, captured as its calls capture it."""
from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

from byref.proxy import discover
from byref.proxy.frontends.tools import engine
from byref.proxy.operations import Request


def adapted(session: Any, tool_name: str, args: Any, output: Any, /, **named: Any) -> Any:
    """The view; None for a tool without an adapter, or a call that is no request."""
    if not isinstance(args, dict) or "url" not in args or tool_name not in discover.names("tools"):
        return None
    url = urlsplit(args["url"])
    request = Request(url.path, tuple(parse_qsl(url.query, keep_blank_values=True)), args.get("method", "GET"))
    body = output if isinstance(output, bytes) else str(output).encode()
    return engine.capture(session, engine.adapter(tool_name), request, 200, body, "application/json", **named)
