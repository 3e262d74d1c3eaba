"""A name on the internet does not lead into the network of whoever runs byref."""
from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence

import aiohttp
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from byref.proxy.frontends.reverse.addresses import Guarded, PrivateAddress, named, public


class Names(AbstractResolver):
    """A name server that gives other addresses each time."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[ResolveResult]:
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [ResolveResult(hostname=host, host=one, port=port, family=socket.AF_INET, proto=0, flags=0) for one in found]

    async def close(self) -> None:
        self.answers.clear()


@pytest.mark.parametrize("address", [
    "127.0.0.1", "127.9.9.9", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
    "255.255.255.255", "192.0.2.1", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
    "64:ff9b::7f00:1", "2002:7f00:1::", "2001:0:4136:e378:8000:63bf:80ff:fffe", "not an address"])
def test_addresses_within_a_machine_or_network_are_not_public(address: str) -> None:
    assert not public(address)


@pytest.mark.parametrize("address", ["93.184.215.14", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_addresses_of_the_internet_are(address: str) -> None:
    assert public(address)


@pytest.mark.parametrize(("host", "is_one"), [
    ("localhost", True), ("LOCALHOST.", True), ("127.0.0.1", True), ("10.0.0.7", True), ("[::1]", True), ("api.example.com", False),
    ("localhost.example.com", False), ("127.0.0.1.nip.io", False)])
def test_a_host_that_is_an_address_is_what_was_meant(host: str, is_one: bool) -> None:
    assert named(host) == is_one


def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    async def run() -> None:
        with pytest.raises(PrivateAddress, match=r"stands for 10\.0\.0\.1.*--allow-private api"):
            await Guarded("api", False, Names(["8.8.8.8", "10.0.0.1"])).resolve("api.example.com", 443)
        assert len(await Guarded("api", True, Names(["8.8.8.8", "10.0.0.1"])).resolve("api.example.com", 443)) == 2
    asyncio.run(run())


def test_a_name_that_turns_private_between_two_requests_is_refused_when_the_connection_is_made() -> None:
    async def run() -> None:
        reached = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            reached.append(await reader.readuntil(b"\r\n\r\n"))
            writer.close()
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        guarded = Guarded("api", False, Names(["127.0.0.1"]))
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(resolver=guarded)) as http:
            with pytest.raises(aiohttp.ClientConnectorError) as caught:
                await http.get(f"http://rebound.example.com:{port}/")
            assert isinstance(caught.value.os_error, PrivateAddress)
        server.close()
        await server.wait_closed()
        assert reached == []
    asyncio.run(run())
