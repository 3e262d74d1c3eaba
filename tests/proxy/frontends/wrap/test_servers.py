"""Which servers stand behind us: command lines, URLs and files in the form that other clients use."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from byref.proxy.errors import ConfigError
from byref.proxy.frontends.wrap.servers import Local, Remote, from_command, from_file, from_url, from_variables

ENVIRON = {"HOME": "/home/me", "TOKEN": "t0ken", "EMPTY": ""}


def read(tmp_path: Path, servers: Any, key: str = "mcpServers") -> list[Local | Remote]:
    (tmp_path / "mcp.json").write_text(json.dumps({key: servers}))
    return from_file(str(tmp_path / "mcp.json"), ENVIRON)


def test_a_command_line_gets_all_of_our_environment() -> None:
    assert from_command(["/usr/bin/server", "-x", "a b"], ENVIRON) == Local("server", "/usr/bin/server", ("-x", "a b"), ENVIRON)
    for words, name in ((["python3.11", "-m", "mcp_server_git"], "mcp_server_git"), (["npx", "-y", "@scope/server"], "server"),
                        (["/bin/sh", "-c"], "sh")):
        assert from_command(words, ENVIRON).name == name
    with pytest.raises(ConfigError):
        from_command([], ENVIRON)


def test_a_url_has_headers_of_its_own() -> None:
    assert from_url("https://example.com:8/mcp", ["Authorization: Bearer x:y"]) == Remote(
        "example.com", "https://example.com:8/mcp", {"Authorization": "Bearer x:y"})
    for url, headers in (("ftp://example.com", []), ("example.com", []), ("http://[", []), ("http://e.com", ["no colon"])):
        with pytest.raises(ConfigError):
            from_url(url, headers)
    assert from_variables(["A: TOKEN", "B: Bearer TOKEN", "C: UNSET"], ENVIRON) == ["A: t0ken", "B: Bearer t0ken"]


def test_a_file_names_servers_as_claude_code_does(tmp_path: Path) -> None:
    found = read(tmp_path, {
        "git": {"command": "uvx", "args": ["mcp-server-git", "--repository", "${HOME}/x"], "cwd": "/srv",
                "env": {"A": "${TOKEN}", "B": "${NOT_SET:-b}"}},
        "web": {"type": "http", "url": "https://${HOST:-example.com}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
        "other": {"url": "http://127.0.0.1:1/mcp", "type": "streamable-http"},
        "off": {"command": "x", "disabled": True}})
    assert found == [
        Local("git", "uvx", ("mcp-server-git", "--repository", "/home/me/x"), {**ENVIRON, "A": "t0ken", "B": "b"}, "/srv"),
        Remote("web", "https://example.com/mcp", {"Authorization": "Bearer t0ken"}), Remote("other", "http://127.0.0.1:1/mcp")]
    assert read(tmp_path, {"a": {"command": "x"}}, "servers") == [Local("a", "x", (), ENVIRON)]


def test_no_secret_stands_in_what_is_printed_of_a_server() -> None:
    assert "t0ken" not in repr(from_url("http://e.com", ["A: t0ken"])) and "t0ken" not in repr(from_command(["x"], ENVIRON))


@pytest.mark.parametrize("servers", [
    {}, [], {"a": 5}, {"a": {"command": ["x"]}}, {"a": {"command": "x", "args": "y"}}, {"a": {"command": "x", "env": ["A=1"]}},
    {"a": {"type": "sse", "url": "http://x"}}, {"a": {"url": 5}}, {"a": {"command": "x", "args": ["${NOT_SET}"]}}, {"a": {"command": ""}}])
def test_a_file_that_cannot_be_used_says_what_is_wrong(tmp_path: Path, servers: Any) -> None:
    with pytest.raises(ConfigError, match=r"mcp\.json"):
        read(tmp_path, servers)


def test_a_file_that_is_not_there_or_no_json_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        from_file(str(tmp_path / "none.json"), ENVIRON)
    (tmp_path / "mcp.json").write_text("{")
    with pytest.raises(ConfigError, match="no JSON"):
        from_file(str(tmp_path / "mcp.json"), ENVIRON)
