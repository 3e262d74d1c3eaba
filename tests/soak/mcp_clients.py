"""Clients of npm, as users have them, connect to the MCP servers that `byref install` wrapped, and all is undone byte for byte.

usage: mcp_clients.py [--short]    a minute, and a gigabyte from npm; with --short it is skipped, and says so

Claude Code, Gemini CLI and OpenCode each list their servers, one by a command and one by a URL, and say of each whether they could
connect: before, wrapped, and after. Needs no model. Ends with 1 if one cannot, and says which.
"""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from mcp_conformance import BYREF, SERVER, programs, started

PACKAGES = ("@anthropic-ai/claude-code@2.1.197", "@google/gemini-cli@0.61.0", "opencode-ai@1.18.33")
LIMIT = 120  # seconds for one list, against hanging
FILES = {"claude": ".claude.json", "gemini": ".gemini/settings.json", "opencode": ".config/opencode/opencode.json"}
INSTALLED = {"claude": ("claude-code", "--mcp"), "gemini": ("gemini-cli",), "opencode": ("opencode", "--mcp")}
CONNECTED = re.compile(r"(?i)\b(every|far)\b.*\bconnected\b")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def written(home: Path, url: str) -> None:
    """Each client's file, as a user would write it."""
    command, headers = [sys.executable, str(SERVER)], {"X-Team": "beacons"}
    local = {"command": command[0], "args": command[1:]}
    for client, value in {
            "claude": {"mcpServers": {
                "every": {"type": "stdio", **local, "env": {}}, "far": {"type": "http", "url": url, "headers": headers}}},
            "gemini": {"mcpServers": {"every": local, "far": {"httpUrl": url, "headers": headers}}},
            "opencode": {"$schema": "https://opencode.ai/config.json", "mcp": {
                "every": {"type": "local", "command": command}, "far": {"type": "remote", "url": url, "headers": headers}}}}.items():
        path = home / FILES[client]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=2) + "\n")


def servers(home: Path) -> dict[str, object]:
    """What the files say of servers: the clients write some other things into them."""
    values = {client: json.loads((home / file).read_text()) for client, file in FILES.items()}
    return {client: value.get("mcpServers", value.get("mcp")) for client, value in values.items()}


def main(words: list[str]) -> int:
    if "--short" in words:
        print("SKIPPED: the clients of npm are a gigabyte; run it without --short")
        return 0
    found = programs(*PACKAGES, of="clients")
    if found is None:
        print("SKIPPED: Claude Code, Gemini CLI and OpenCode need npm (Node.js), which could not give them; NOTHING of it was tested")
        return 0
    failed = 0
    with tempfile.TemporaryDirectory(prefix="byref-clients-") as folder, started(
            [sys.executable, str(SERVER), "--port", "0"], Path(folder) / "byref", quiet=True) as url:
        home = Path(folder) / "user"
        home.mkdir()
        written(home, url)
        before = servers(home)
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("BYREF", "XDG", "CLAUDE", "OPENCODE"))}
        environment |= {"HOME": str(home), "PATH": f"{found}{os.pathsep}{os.environ['PATH']}", "GEMINI_CLI_TRUST_WORKSPACE": "true"}

        def run(*command: str) -> str:
            done = subprocess.run(command, cwd=home, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=LIMIT, check=False)
            return done.stdout + done.stderr

        def look(when: str) -> int:
            lost = 0
            for client in FILES:
                said = run(client, "mcp", "list")
                connected = {match[1].lower() for line in COLOUR.sub("", said).splitlines() if (match := CONNECTED.search(line))}
                print(f"{when}: {client} connects to {', '.join(sorted(connected)) or 'none'}", flush=True)
                if connected != {"every", "far"}:
                    print(said[-1500:])
                    lost += 1
            return lost

        failed += look("before")
        for harness in INSTALLED.values():
            run(*BYREF, "install", *harness, "--yes")
        if json.dumps(servers(home)).count('"wrap"') != 2 * len(FILES):
            print(f"not all are wrapped: {servers(home)}")
            failed += 1
        failed += look("wrapped")
        for harness in INSTALLED.values():
            run(*BYREF, "uninstall", *harness, "--yes")
        if servers(home) != before:
            print(f"not as it was: {servers(home)}")
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
