"""Claude Desktop's list of MCP servers."""
from __future__ import annotations

from byref.adapters.harnesses import claude_desktop
from conformance.lists import ListsSuite


class TestClaudeDesktop(ListsSuite):
    NAME, PATH = "claude-desktop", ".config/Claude/claude_desktop_config.json"
    TEXT = '''{
  "globalShortcut": "Alt+Space",
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": [
        "-y",
        "@modelcontextprotocol/server-filesystem",
        "/Users/you/Desktop",
        "/Users/you/Downloads"
      ]
    },
    "brave": {"command": "docker", "args": [], "env": {"BRAVE_API_KEY": "k"}}
  },
  "preferences": {"menuBarEnabled": true}
}'''
    WRAPPED = ("filesystem", "brave")
    THEIRS = ('"menuBarEnabled": true', '"menuBarEnabled": false')


def test_each_platform_has_a_folder_of_its_own() -> None:
    def none(name: str) -> str:
        return ""
    found = claude_desktop.user_files("/u", "/u/.config", "darwin", none)
    assert found == ("/u/Library/Application Support/Claude/claude_desktop_config.json",)
    assert claude_desktop.user_files("/u", "/x", "linux", none) == ("/x/Claude/claude_desktop_config.json",)
