"""Over HTTP comes in who asks for this machine by its own name, or who brings the token; no page of a browser elsewhere."""
from __future__ import annotations

import pytest

from byref.proxy.errors import ConfigError
from byref.proxy.frontends.wrap.door import Door, bearer, place


def door(host: str = "127.0.0.1", token: str = "", port: int = 8000) -> Door:
    made = Door(host, token)
    made.port = port
    return made


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "[::1]:8000"])
def test_who_asks_for_this_machine_comes_in(host: str) -> None:
    assert door().refusal({"Host": host}) is None
    assert door().refusal({"Host": host, "Origin": f"http://{host}"}) is None


@pytest.mark.parametrize("headers", [
    {}, {"Host": "evil.example:8000"}, {"Host": "127.0.0.1"}, {"Host": "127.0.0.1:8001"},
    {"Host": "127.0.0.1:8000", "Origin": "http://evil.example"}, {"Host": "127.0.0.1:8000", "Origin": "null"},
    {"Host": "127.0.0.1:8000", "Origin": "http://127.0.0.1:9"}])
def test_a_name_or_a_page_from_elsewhere_does_not(headers: dict[str, str]) -> None:
    refused = door().refusal(headers)
    assert refused is not None and refused[0] == 403


def test_beyond_this_machine_there_is_no_listening_without_a_token() -> None:
    for host in ("0.0.0.0", "192.0.2.7", "::", "my.host"):
        with pytest.raises(ConfigError, match="BYREF_TOKEN"):
            Door(host, "")
    assert door("0.0.0.0", "secret").refusal({"Host": "my.host:8000", "Byref-Token": "secret"}) is None


def test_a_token_that_is_set_is_asked_of_everybody() -> None:
    asked = door(token="secret")
    here = {"Host": "127.0.0.1:8000"}
    assert asked.refusal(here | {"Authorization": "Bearer secret"}) is None
    assert asked.refusal(here | {"Byref-Token": "secret"}) is None
    for more in ({}, {"Authorization": "Bearer Secret"}, {"Authorization": "secret"}, {"Byref-Token": "sécret"}):
        refused = asked.refusal(here | more)
        assert refused is not None and refused[0] == 401


def test_an_authorization_that_is_ours_is_told_from_the_servers() -> None:
    assert door(token="secret").ours({"Authorization": "bearer secret"})
    assert not door(token="secret").ours({"Authorization": "Bearer another"})
    assert not door().ours({"Authorization": "Bearer "})
    assert bearer({"Authorization": "Basic dTpw"}) == ""


def test_where_to_listen_is_a_port_with_or_without_a_host() -> None:
    assert [place(text) for text in ("0", ":80", "0.0.0.0:8000", "[::1]:9")] == [
        ("127.0.0.1", 0), ("127.0.0.1", 80), ("0.0.0.0", 8000), ("::1", 9)]
    for text in ("", "here", "127.0.0.1", "1:65536", "1:²"):
        with pytest.raises(ConfigError):
            place(text)
