"""Who may come in over HTTP: from this machine by its own names alone, or whoever brings the token.

Host and Origin are checked against pages of a browser that reach for a local server under another name (DNS rebinding).
"""
from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping

from byref.proxy.errors import ConfigError

TOKEN_HEADER = "Byref-Token"  # for clients whose Authorization is the upstream's


class Door:
    """The rules of one listener. token: empty where none is asked for. `port` is known once it listens."""

    def __init__(self, host: str, token: str) -> None:
        self.host, self.token, self.port = host, token, 0
        self._local = local(host)
        if not token and not self._local:
            raise ConfigError(f"to listen on {host} set BYREF_TOKEN, which clients then have to bring; without it only 127.0.0.1 will do")

    def refusal(self, headers: Mapping[str, str]) -> tuple[int, str] | None:
        """Status and reason where a request is turned away; None where it may come in."""
        host = headers.get("Host", "")
        if self._local and host not in self._names():
            return 403, "ask for 127.0.0.1 and its port"
        origin = headers.get("Origin")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return 403, "other pages may not ask"
        if self.token and not any(hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode()) for given in
                                  (headers.get(TOKEN_HEADER, ""), bearer(headers))):
            return 401, f"bring the token: {TOKEN_HEADER}, or Authorization: Bearer"
        return None

    def ours(self, headers: Mapping[str, str]) -> bool:
        """Whether the Authorization of a request is for us, and goes no further."""
        return bool(self.token) and hmac.compare_digest(bearer(headers).encode("utf-8", "replace"), self.token.encode())

    def _names(self) -> set[str]:
        names = {"127.0.0.1", "localhost", "[::1]", f"[{self.host}]" if ":" in self.host else self.host}
        return {f"{name}:{self.port}" for name in names} | (names if self.port == 80 else set())


def local(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bearer(headers: Mapping[str, str]) -> str:
    """The token of an Authorization header, empty where there is none."""
    kind, _, token = headers.get("Authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def place(text: str) -> tuple[str, int]:
    """(host, port) of `PORT` or `HOST:PORT`. Raises `ConfigError`."""
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ConfigError(f"{text[:60]!r} is no place to listen: say PORT or HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)
