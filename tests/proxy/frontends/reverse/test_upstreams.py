"""Which APIs stand behind byref is what the command line or a file says, and a slip in it is told."""
from __future__ import annotations

from pathlib import Path

import pytest

from byref.proxy.errors import ConfigError
from byref.proxy.frontends.reverse.upstreams import Upstream, chosen, upstream

TOML = """
[openalex]
url = "https://api.openalex.org/"
rate = 10
max_age = "1h"
headers = { Authorization = "Bearer ${KEY}" }

[local]
url = "http://localhost:8000/v1"
timeout = 600
concurrency = 2
attempts = 1
"""


def test_a_name_and_a_url_are_enough() -> None:
    assert chosen(["api=https://api.example.com/v1/"], None, [], None, {}) == [Upstream("api", "https://api.example.com/v1")]
    one = upstream("api", "https://api.example.com:8443/v1")
    assert (one.origin, one.base, one.limits.rate, one.limits.timeout, one.max_age) == ("https://api.example.com:8443", "/v1", 100, 30, 0)


def test_of_an_api_that_has_an_adapter_the_name_is_enough() -> None:
    assert [one.url for one in chosen(["openalex", "exa"], None, [], None, {})] == ["https://api.openalex.org", "https://api.exa.ai"]


def test_a_file_says_more(tmp_path: Path) -> None:
    (tmp_path / "apis.toml").write_text(TOML)
    openalex, local, other = chosen(["other=https://x.example"], str(tmp_path / "apis.toml"), [], "30m", {"KEY": "s3cret"})
    assert (openalex.url, openalex.limits.rate, openalex.max_age) == ("https://api.openalex.org", 10, 3600)
    assert openalex.headers == {"Authorization": "Bearer s3cret"} and "s3cret" not in repr(openalex)
    assert (local.limits.timeout, local.limits.concurrency, local.limits.attempts) == (600, 2, 1)
    assert (local.max_age, other.max_age) == (1800, 1800), "--max-age is for those that say none"
    (tmp_path / "apis.json").write_text('{"openalex": {"url": "https://api.openalex.org", "max_age": 3600, "rate": 10}}')
    assert [one.max_age for one in chosen([], str(tmp_path / "apis.json"), [], None, {})] == [3600]


def test_an_upstream_within_this_network_is_one_that_is_named_so() -> None:
    places = {"a": "http://localhost:1", "b": "http://127.0.0.1:1", "c": "http://[::1]:1", "d": "http://10.0.0.1", "e": "https://intranet.example"}
    found = chosen([f"{name}={url}" for name, url in places.items()], None, [], None, {})
    assert {one.name: one.private for one in found} == {"a": True, "b": True, "c": True, "d": True, "e": False}
    assert chosen(["e=https://intranet.example"], None, ["e"], None, {})[0].private


@pytest.mark.parametrize(("pairs", "private", "age", "said"), [
    (["https://x.example"], [], None, "say NAME=URL"),
    (["a=ftp://x.example"], [], None, "http:// or https://"),
    (["a=x.example"], [], None, "http:// or https://"),
    (["a=https://"], [], None, "http:// or https://"),
    (["a=https://x.example:99999"], [], None, "http:// or https://"),
    (["a=https://me:pw@x.example"], [], None, "neither credentials"),
    (["a=https://x.example/?key=1"], [], None, "nor a query"),
    (["a=https://x.example/v1/../.."], [], None, "dot segments"),
    (["v1=https://x.example"], [], None, "byref's own"),
    (["a/b=https://x.example"], [], None, "no name"),
    (["..=https://x.example"], [], None, "no name"),
    (["=https://x.example"], [], None, "no name"),
    (["a=https://x.example", "a=https://y.example"], [], None, "two are named a"),
    (["a=https://x.example"], ["b"], None, "no upstream is named 'b'"),
    (["a=https://x.example"], [], "soon", "--max-age"),
])
def test_what_cannot_be_used_is_told(pairs: list[str], private: list[str], age: str | None, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        chosen(pairs, None, private, age, {})


@pytest.mark.parametrize(("text", "said"), [
    ("x", "cannot be read"), ("url = 'https://x.example'", "say its url"), ("[a]\nrate = 1", "say its url"),
    ("[a]\nurl = 'https://x.example'\nport = 1", "no setting 'port'"), ("[a]\nurl = 'https://x.example'\nrate = 0", "rate is a number"),
    ("[a]\nurl = 'https://x.example'\nrate = true", "rate is a number"), ("[a]\nurl = 'https://x.example'\nmax_age = 'x'", "max_age"),
    ("[a]\nurl = 'https://x.example'\nallow_private = 1", "allow_private"),
    ("[a]\nurl = 'https://x.example'\nheaders = { A = '${NONE}' }", "variable NONE")])
def test_a_slip_in_a_file_is_told(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "apis.toml").write_text(text)
    with pytest.raises(ConfigError, match=said):
        chosen([], str(tmp_path / "apis.toml"), [], None, {})
