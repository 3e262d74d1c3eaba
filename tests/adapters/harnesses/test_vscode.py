"""VS Code's lists of MCP servers: the forms of its configuration reference, with what users add."""
from __future__ import annotations

from byref.adapters.harnesses import vscode
from conformance.lists import ListsSuite


class TestVSCode(ListsSuite):
    NAME, PATH, PROJECT = "vscode", ".config/Code/User/mcp.json", ".vscode/mcp.json"
    TEXT = '''{
\t"inputs": [
\t\t{ "type": "promptString", "id": "key", "description": "API Key", "password": true } // asked once
\t],
\t"servers": {
\t\t"perplexity": {
\t\t\t"type": "stdio",
\t\t\t"command": "npx",
\t\t\t"args": [
\t\t\t\t"-y", // no questions
\t\t\t\t"server-perplexity-ask"
\t\t\t],
\t\t\t"env": { "PERPLEXITY_API_KEY": "${input:key}" },
\t\t\t"dev": { "watch": "src/**/*.ts" }
\t\t},
\t\t"github": {
\t\t\t"type": "http",
\t\t\t"url": "https://api.example.com/mcp/",
\t\t\t"headers": { "Authorization": "Bearer ${input:key}" }
\t\t},
\t\t"context7": { "type": "http", "url": "https://mcp.example.com/mcp" },
\t\t"boxed": { "type": "stdio", "command": "npx", "args": ["x"], "sandboxEnabled": true, "sandbox": {} },
\t\t"debugged": { "command": "node", "args": ["x"], "dev": { "debug": { "type": "node" } } },
\t\t"socket": { "type": "http", "url": "unix:///tmp/server.sock" },
\t\t"registered": { "type": "http", "url": "https://x.example.com/mcp", "oauth": { "clientId": "c" }, "headers": { "A": "b" } },
\t\t"events": { "type": "sse", "url": "https://y.example.com/sse", "headers": { "A": "b" } }
\t}
}
'''
    WRAPPED = ("perplexity", "github")
    LEFT = ("context7", "boxed", "debugged", "socket", "registered", "events")
    THEIRS = ('"API Key"', '"the key"')


def test_each_platform_has_a_folder_of_its_own() -> None:
    def none(name: str) -> str:
        return ""
    assert vscode.user_files("/u", "/x", "darwin", none) == ("/u/Library/Application Support/Code/User/mcp.json",)
    assert vscode.user_files("/u", "/x", "linux", none) == ("/x/Code/User/mcp.json",)
