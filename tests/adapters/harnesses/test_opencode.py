"""OpenCode's lists of MCP servers, as its versions 2 and 1 write them."""
from __future__ import annotations

from byref.adapters.harnesses import opencode
from conformance.lists import ListsSuite


class TestOpenCode(ListsSuite):
    NAME, PATH, PROJECT = "opencode", ".config/opencode/opencode.jsonc", "opencode.jsonc"
    TEXT = '''{
  "$schema": "https://opencode.ai/config.json",
  "model": "provider/model",
  "mcp": {
    "timeout": 5000,
    "servers": {
      // started by OpenCode
      "everything": {
        "type": "local",
        "command": ["npx", "-y", "@modelcontextprotocol/server-everything"],
        "environment": { "LOG_LEVEL": "{env:LEVEL}" },
        "disabled": true,
      },
      "remote": {
        "type": "remote",
        "url": "https://mcp.example.com/mcp", // the team's
        "headers": { "Authorization": "Bearer {env:TOKEN}" },
        "oauth": false,
      },
      "context7": { "type": "remote", "url": "https://mcp.example.org/mcp" },
      "registered": { "type": "remote", "url": "https://mcp.example.net/mcp", "oauth": { "clientId": "c" } },
    },
  },
}
'''
    WRAPPED, LEFT = ("everything", "remote"), ("context7", "registered")
    THEIRS = ('"provider/model"', '"provider/other"')


class TestOpenCode1(TestOpenCode):
    PATH, PROJECT = ".config/opencode/opencode.json", "opencode.json"
    TEXT = '''{
  "model": "provider/model",
  "mcp": {
    "everything": { "type": "local", "command": ["npx", "-y", "server"], "enabled": true },
    "remote": { "type": "remote", "url": "http://127.0.0.1:8000/mcp", "enabled": false },
    "jira": { "enabled": true } // the organisation's own
  }
}
'''
    WRAPPED, LEFT = ("everything", "remote"), ("jira",)


def test_further_files_are_named_by_the_environment() -> None:
    told = {"XDG_CONFIG_HOME": "/x", "OPENCODE_CONFIG": "/one.json", "OPENCODE_CONFIG_DIR": "/d"}.get
    found = opencode.user_files("/u", "/s", "linux", lambda name: told(name) or "")
    assert found == ("/x/opencode/opencode.json", "/x/opencode/opencode.jsonc", "/d/opencode.json", "/d/opencode.jsonc", "/one.json")
    assert opencode.user_files("/u", "/s", "darwin", lambda name: "")[0] == "/u/.config/opencode/opencode.json"


def test_a_server_of_version_1_that_is_called_servers_is_one() -> None:
    for server in ({"type": "local", "command": ["x"]}, {"type": "remote", "url": "http://localhost/mcp"}):
        assert list(opencode.lists({"mcp": {"servers": server}})) == [("mcp",)]
