"""Codex's lists of MCP servers, in TOML."""
from __future__ import annotations

from pathlib import Path

from byref.adapters.harnesses import codex
from conformance.lists import ListsSuite, User


class TestCodex(ListsSuite):
    NAME, PATH, PROJECT = "codex", ".codex/config.toml", ".codex/config.toml"
    TEXT = '''# my settings
model = "gpt-5-codex"   # the large one
approval_policy = "on-request"

[mcp_servers.context7]  # documentation
command = "npx"
args = [
  "-y",                 # no questions
  "@upstash/context7-mcp",
]
env_vars = ["LOCAL_TOKEN"]
startup_timeout_sec = 20

[mcp_servers.context7.env]
MY_ENV_VAR = "MY_ENV_VALUE"  # theirs

[mcp_servers.bare]
command = 'mcp-time'

[mcp_servers."figma files"]
url = "https://mcp.example.com/mcp"   # production
bearer_token_env_var = "FIGMA_OAUTH_TOKEN"
http_headers = { "X-Figma-Region" = "us-east-1" }
env_http_headers = { X-Team = "TEAM" }
enabled = false
tool_timeout_sec = 45.5

[mcp_servers.login]
url = "https://mcp.example.org/mcp"

[mcp_servers.registered]
url = "https://mcp.example.net/mcp"
scopes = ["read"]

[mcp_servers.elsewhere]
command = "x"
env_vars = [{ name = "TOKEN", source = "remote" }]

[profiles.fast]
model = "gpt-5-mini"
'''
    WRAPPED = ("context7", "bare", "figma files")
    LEFT = ("login", "registered", "elsewhere")
    THEIRS = ('approval_policy = "on-request"', 'approval_policy = "never"')

    def test_headers_of_variables_reach_the_server_by_name(self, user: User, file: Path) -> None:
        user("install", "codex", "--yes")
        entry = self.entries(file.read_text())["figma files"]
        assert entry["env_vars"] == ["FIGMA_OAUTH_TOKEN", "TEAM"] and entry["env"] == {"BYREF_HEADER_1": "us-east-1"}
        assert entry["args"][3:] == [
            "wrap", "--url", "https://mcp.example.com/mcp", "--header-env", "X-Figma-Region: BYREF_HEADER_1",
            "--header-env", "Authorization: Bearer FIGMA_OAUTH_TOKEN", "--header-env", "X-Team: TEAM"]
        assert not {"url", "bearer_token_env_var", "http_headers", "env_http_headers"} & set(entry)


def test_another_folder_is_honoured() -> None:
    assert codex.user_files("/u", "/x", "linux", {"CODEX_HOME": "/c"}.__getitem__) == ("/c/config.toml",)
    assert codex.user_files("/u", "/x", "darwin", lambda name: "") == ("/u/.codex/config.toml",)


def test_variables_that_are_no_texts_are_told() -> None:
    assert codex.listed({"url": "http://localhost/", "env_http_headers": {"A": 1}}).why
    assert codex.listed({"url": "http://localhost/", "bearer_token_env_var": 3}).why
