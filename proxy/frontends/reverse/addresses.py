"""Which addresses an upstream's name may stand for: none within this machine or network, unless it was named as one of these.

Names are looked up for each connection, and the connection goes to the addresses that were looked at: a name that points elsewhere
a moment later (DNS rebinding) changes nothing.
"""
from __future__ import annotations

import ipaddress
import socket

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import DefaultResolver

_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # RFC 6052: the last 32 bits are an IPv4 address


class PrivateAddress(OSError):
    """A name that stands for an address within this machine or network."""


class Guarded(AbstractResolver):
    """Looks up the host of one upstream. private: its addresses may be any."""

    def __init__(self, name: str, private: bool, lookup: AbstractResolver | None = None) -> None:
        self._name, self._private = name, private
        self._lookup = lookup or DefaultResolver()

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[ResolveResult]:
        """The addresses of a host. Raises `PrivateAddress` where one of them is not public, else OSError."""
        found = await self._lookup.resolve(host, port, family)
        for one in found:
            if not self._private and not public(one["host"]):
                raise PrivateAddress(
                    f"{host} stands for {one['host']}, which is not public; if that is meant: --allow-private {self._name}")
        return found

    async def close(self) -> None:
        await self._lookup.close()


def public(address: str) -> bool:
    """Whether an address belongs to the public internet, also the IPv4 address inside an IPv6 one."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if inner is None and found in _NAT64:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            return public(str(inner))
    return found.is_global and not found.is_multicast


def named(host: str) -> bool:
    """Whether a host is an address itself, or the name of this machine (RFC 6761 6.3): then it is what was meant."""
    if host.rstrip(".").lower() == "localhost":
        return True
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
