"""Cursor's lists of MCP servers: the forms of cursor.com/docs/context/mcp, with what users add."""
from __future__ import annotations

from byref.adapters.harnesses import cursor
from conformance.lists import ListsSuite


class TestCursor(ListsSuite):
    NAME, PATH, PROJECT = "cursor", ".cursor/mcp.json", ".cursor/mcp.json"
    TEXT = '''{
  // everything that the agent may use
  "theme": "dark",
  "mcpServers": {
    "server-name": {
      "command": "npx",   // Node
      "args": ["-y", "mcp-server" /* pinned by the lock file */],
      "env": { "API_KEY": "${env:API_KEY}" },
      "envFile": "${workspaceFolder}/.env",
      "x-unknown": [1, {"deep": null}]
    },
    "bare": { "command": "mcp-time" },
    "remote": {
      "url": "https://api.example.com/mcp",  // production
      "headers": { "Authorization": "Bearer ${env:TOKEN}", "X-Team": "\\u00e4" }
    },
    "near": { "type": "streamable-http", "url": "http://localhost:3000/mcp" },
    "login": { "url": "https://mcp.example.org/mcp" },
    "oauth": { "url": "https://mcp.example.net/mcp", "auth": { "CLIENT_ID": "${env:ID}" } },
    "old": { "type": "sse", "url": "http://localhost:3000/sse" },
    "byref": { "command": "byref", "args": ["mcp"] },
  },
}
'''
    WRAPPED = ("server-name", "bare", "remote", "near")
    LEFT = ("login", "oauth", "old", "byref")
    THEIRS = ('"theme": "dark"', '"theme": "light"')


def test_it_is_the_same_file_on_every_platform() -> None:
    assert cursor.user_files("/u", "/u/.config", "darwin", {}.get) == ("/u/.cursor/mcp.json",)  # type: ignore[arg-type]


def test_a_list_that_is_none_holds_nothing() -> None:
    for value in (None, [], {}, {"mcpServers": []}, {"mcpServers": {}}, {"servers": {"a": {}}}):
        assert list(cursor.lists(value)) == []
