"""MCP servers that a harness lists, started through byref. What holds for every harness stands in tests/conformance/lists.py."""
from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.errors import ConfigError
from byref.proxy.frontends import listed
from byref.proxy.frontends.commands import main
from byref.proxy.harness import Listed

WORD = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), min_size=1)
NAME = st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,20}", fullmatch=True)
VARIABLE = st.from_regex(r"[A-Z][A-Z0-9_]{0,20}", fullmatch=True).filter(lambda name: not name.startswith("BYREF_"))
EVERYTHING = Path(__file__).parents[2] / "conformance" / "everything_server.py"


@given(st.lists(WORD, min_size=1), st.dictionaries(VARIABLE, st.text()), st.sampled_from(["", "/some/home"]))
def test_any_command_comes_back_from_behind_byref(words: list[str], variables: dict[str, str], store: str) -> None:
    server = Listed(tuple(words), variables=tuple(variables.items()))
    wrapped = listed.wrapped(server, store)
    assert listed.unwrapped(wrapped) == server and listed.is_byref(wrapped) and not wrapped.why
    assert dict(wrapped.variables).get("BYREF_HOME", "") == store


@given(st.dictionaries(NAME, st.text()), st.lists(st.tuples(NAME, st.sampled_from(["", "Bearer", "Token of"]), VARIABLE)))
def test_any_headers_come_back_and_no_value_of_theirs_stands_in_the_command(headers: dict[str, str], taken: list[Any]) -> None:
    server = Listed(url="https://x.example.com/mcp?a=b", headers=tuple(headers.items()), taken=tuple(taken))
    wrapped = listed.wrapped(server, "")
    assert listed.unwrapped(wrapped) == server
    assert all(value not in word for value in headers.values() if len(value) > 60 for word in wrapped.command)
    assert {variable for *_, variable in taken} <= set(wrapped.passed)


def test_what_others_wrapped_is_byref_and_not_ours_to_unwrap() -> None:
    for words in (("byref", "wrap", "--", "x"), ("/usr/bin/byref", "mcp"), ("uvx", "byref", "wrap", "--", "x")):
        assert listed.is_byref(Listed(words)) and listed.unwrapped(Listed(words)) is None
    for words in (("npx", "byref-like", "wrap"), ("wrap", "--", "byref"), ("byref", "run", "--", "x"), ()):
        assert not listed.is_byref(Listed(words)) and listed.unwrapped(Listed(words)) is None
    assert listed.unwrapped(Listed((*listed.PROGRAM, "wrap", "--"))) is None and listed.unwrapped(Listed((*listed.PROGRAM, "wrap"))) is None


def test_only_a_server_elsewhere_without_headers_may_want_a_sign_in() -> None:
    assert listed.may_sign_in(Listed(url="https://x.example.com/mcp")) and listed.may_sign_in(Listed(url="${BASE}/mcp"))
    assert listed.may_sign_in(Listed(url="http://[x"))
    for near in ("http://localhost:1/", "http://127.0.0.1/mcp", "http://[::1]:3/"):
        assert not listed.may_sign_in(Listed(url=near))
    assert not listed.may_sign_in(Listed(url="https://x.example.com/", headers=(("A", "b"),))) and not listed.may_sign_in(Listed(("x",)))


class TestServers:
    """Some servers of a file, chosen by name."""

    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        servers = {"a": {"command": "a"}, "b": {"command": "b"}, "far": {"url": "https://x.example.com/mcp"}}
        file = tmp_path / "mcp.json"
        file.write_text(json.dumps({"mcpServers": servers}))
        return file

    @staticmethod
    def wrapped(file: Path) -> set[str]:
        return {name for name, entry in json.loads(file.read_text())["mcpServers"].items() if "wrap" in entry.get("args", ())}

    def test_one_by_one_each_stays_wrapped_and_all_are_undone_at_once(self, file: Path) -> None:
        before = file.read_bytes()
        seen = []
        for name in ("b", "far", ""):
            assert main(["install", "cursor", "--file", str(file), "--yes", *(["--server", name] if name else [])]) == 0
            seen.append(self.wrapped(file))
        assert seen == [{"b"}, {"b", "far"}, {"a", "b", "far"}], "who names a server says that it needs no sign-in"
        assert main(["uninstall", "cursor", "--file", str(file), "--yes"]) == 0
        assert file.read_bytes() == before

    def test_a_name_that_is_not_there_is_told_with_those_that_are(self, file: Path, capfd: pytest.CaptureFixture[str]) -> None:
        before = file.read_bytes()
        assert main(["install", "cursor", "--file", str(file), "--yes", "--server", "git"]) == 2
        assert "a, b, far" in capfd.readouterr().err and file.read_bytes() == before

    def test_doctor_tells_of_them(self, file: Path, capfd: pytest.CaptureFixture[str]) -> None:
        main(["install", "cursor", "--file", str(file), "--yes"])
        main(["doctor"])
        said = capfd.readouterr().out
        assert "results of its MCP servers since 20" in said and str(file) in said


def test_a_harness_that_lists_no_servers_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from byref.adapters.harnesses import cursor
    monkeypatch.delattr(cursor, "relisted")
    with pytest.raises(ConfigError, match="keeps no list"):
        listed.place(argparse_of("cursor"))


def argparse_of(name: str) -> Any:
    from argparse import Namespace
    return Namespace(harness=name, file=None, project=False, server=[])


def test_headers_from_variables_reach_a_server_as_headers() -> None:
    from byref.proxy.frontends.wrap import servers
    wrapped = listed.wrapped(Listed(url="https://x.example.com/mcp", headers=(("X-Team", "a: b"),),
                                    taken=(("Authorization", "Bearer", "TOKEN"), ("X-Other", "", "UNSET"))), "")
    told = [value for option, value in zip(wrapped.command, wrapped.command[1:], strict=False) if option == "--header-env"]
    remote = servers.from_url("https://x.example.com/mcp", servers.from_variables(told, dict(wrapped.variables) | {"TOKEN": "t"}))
    assert remote.headers == {"X-Team": "a: b", "Authorization": "Bearer t"}, "one whose variable is not set is left out"
    with pytest.raises(ConfigError):
        servers.from_variables(["X-Team"], {})


def test_an_entry_that_was_wrapped_serves_its_client(tmp_path: Path, own_home: Path) -> None:
    """Installed, read as the client reads it, started, and asked: the server's own answers, and byref's tools beside its own."""
    from mcp import Client, StdioServerParameters
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"everything": {"command": sys.executable, "args": [str(EVERYTHING)]}}}))
    assert main(["install", "cursor", "--file", str(file), "--yes"]) == 0
    entry = json.loads(file.read_text())["mcpServers"]["everything"]
    assert entry["env"] == {"BYREF_HOME": os.environ["BYREF_HOME"]}, "a store in another place than the usual one is told to the server"

    async def ask() -> tuple[list[str], str]:
        async with Client(StdioServerParameters(command=entry["command"], args=entry["args"], env=entry["env"])) as client:
            result = await client.call_tool("test_simple_text", {})
            return [tool.name for tool in (await client.list_tools()).tools], result.content[0].text  # type: ignore[union-attr]
    names, text = asyncio.run(asyncio.wait_for(ask(), 60))
    assert text == "This is a simple text response for testing." and {"test_error_handling", "fetch"} <= set(names)
