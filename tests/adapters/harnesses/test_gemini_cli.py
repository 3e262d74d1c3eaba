"""Gemini CLI's lists of MCP servers: the forms of its documentation, with what users add."""
from __future__ import annotations

from byref.adapters.harnesses import gemini_cli
from conformance.lists import ListsSuite


class TestGeminiCli(ListsSuite):
    NAME, PATH, PROJECT = "gemini-cli", ".gemini/settings.json", ".gemini/settings.json"
    TEXT = '''{
  "theme": "Dracula",
  "mcp": { "allowed": ["pythonTools"] },
  "mcpServers": {
    "pythonTools": {
      "command": "python",
      "args": ["-m", "my_mcp_server", "--port", "8080"],
      "cwd": "./mcp-servers/python",
      "env": { "DATABASE_URL": "$DB_CONNECTION_STRING", "API_KEY": "${EXTERNAL_API_KEY}" },
      "timeout": 15000
    },
    "httpServer": { "httpUrl": "http://localhost:3000/mcp", "timeout": 5000 },
    "withHeaders": {
      "httpUrl": "https://example.com/mcp",
      // "excludeTools": ["dangerous_tool"],
      "headers": { "Authorization": "Bearer token", "X-Custom-Header": "custom" },
      "trust": true
    },
    "typed": { "type": "http", "url": "https://example.com/mcp", "headers": { "A": "b" } },
    "events": { "url": "http://localhost:8080/sse" },
    "google": { "httpUrl": "https://run.example.com/mcp", "authProviderType": "google_credentials", "oauth": { "scopes": ["s"] } },
    "discovered": { "httpUrl": "https://api.example.com/mcp" }
  }
}
'''
    WRAPPED = ("pythonTools", "httpServer", "withHeaders", "typed")
    LEFT = ("events", "google", "discovered")
    THEIRS = ('"Dracula"', '"GitHub"')


def test_another_folder_is_honoured() -> None:
    assert gemini_cli.user_files("/u", "/x", "linux", {"GEMINI_CLI_HOME": "/g"}.__getitem__) == ("/g/.gemini/settings.json",)
    assert gemini_cli.user_files("/u", "/x", "darwin", lambda name: "") == ("/u/.gemini/settings.json",)
