"""A real MCP server over this checkout, mcp-server-git, called by the SDK's client: directly, and through `byref wrap`."""
from __future__ import annotations

import asyncio
import io
import re
import sys

from demo_tools import BYREF, ENV, HERE, counter, run
from mcp import Client, StdioServerParameters, stdio_client

SERVER = (sys.executable, "-m", "mcp_server_git", "--repository", str(HERE))


def long_one(page: str) -> tuple[str, str]:
    """A revision that is long to show, by its hash, so that commits made meanwhile change nothing; and what it is."""
    # Of a shallow clone's oldest commits the parents are missing; git counts them as having none, the server stumbles.
    listed = run("git", "log", "-n", "60", "--min-parents=1", "--max-parents=1", "--format=%H", "--shortstat").stdout.decode()
    for commit, added in re.findall(r"(\w{40,})\n\n.*?(\d+) insertion", listed):
        if int(added) > 300:
            return commit, f"the newest commit of over 300 new lines, {commit[:10]}"
    return page, "docs/figures.md, since this checkout's history has no commit of over 300 new lines"


def start(*command: str) -> Client:
    return Client(stdio_client(StdioServerParameters(command=command[0], args=list(command[1:]), env=ENV, cwd=HERE)))


async def main(revision: str, what: str) -> None:
    async def ask(client: Client, tool: str, **arguments: object) -> str:
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        return result.content[0].text

    async with start(*SERVER) as direct, start(BYREF, "wrap", "--", *SERVER) as wrapped:
        raw, view = [await ask(client, "git_show", repo_path=str(HERE), revision=revision) for client in (direct, wrapped)]
        ref, gap = re.match(r"«(\w+)", view), re.search(r"«(?:text\d*:)?(L(\d+)-(\d+))", view)
        assert ref and gap, "the view of this result hides nothing"
        fetched = await ask(wrapped, "fetch", ref=ref[1], at=gap[1], max_tokens=100_000)
    unit, tokens = counter()
    print(f"$ byref wrap -- python -m mcp_server_git --repository .\ngit_show of {what}\n"
          f"{unit}: raw {tokens(raw):,}, view {tokens(view):,}, saved {1 - tokens(view) / tokens(raw):.1%}")
    assert fetched.encode() == b"".join(io.BytesIO(raw.encode()).readlines()[int(gap[2]) - 1:int(gap[3])])
    print(f"fetch {ref[1]} {gap[1]}: {len(fetched.encode()):,} bytes, equal to those of the direct call")
    print(f"\n$ byref report\n{run(BYREF, 'report').stdout.decode()}")


page = run("git", "rev-parse", "--verify", "--quiet", "HEAD:docs/figures.md").stdout.decode().strip()
asyncio.run(main(*long_one(page))) if page else print("no git repository of byref here, so nothing for mcp-server-git to serve")
