"""Other people's clients of APIs get the same objects through byref as directly: pyalex, exa-py, and context7's own MCP server.

usage: api_clients.py    a minute, and some packages from PyPI and npm, kept in an environment of their own beside this one

The APIs are a server on loopback that answers as they document it (tests/recorded.py). Ends with 1 if an object differs, if nothing was
stored, or if a key was.
"""
from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from mcp_conformance import programs

from recorded import recorded

PACKAGES = ("pyalex==0.21", "exa-py==2.28.0")
SERVER = "@upstash/context7-mcp"
LIMIT = 300  # seconds for one step, against hanging
ASK = """
import json, sys
base, other = sys.argv[1:]
import pyalex, requests
from exa_py import Exa
get = requests.Session.get  # pyalex writes its API's host into every URL and takes no other
requests.Session.get = lambda self, url, **more: get(self, url.replace("https://api.openalex.org", base), **more)
pyalex.config.email, pyalex.config.api_key = "me@example.org", "k-4711"
works = pyalex.Works().search("late interaction retrieval").filter(publication_year=2024).sort(cited_by_count="desc").get(per_page=30)
found = {"works": works, "meta": works.meta, "abstract": works[0]["abstract"], "one": pyalex.Works()["W4400000003"],
         "pages": [len(page) for page in pyalex.Works().search("a").paginate(per_page=25, n_max=100)]}
exa = Exa("k-4711", base_url=other)
for name, answer in (("search", exa.search("is the cache cold", num_results=4)), ("similar", exa.find_similar("https://example.org/1")),
                     ("contents", exa.get_contents(["https://example.org/1"], text=True)), ("answer", exa.answer("is the cache cold"))):
    found[name] = str(answer)
json.dump(found, sys.stdout, default=str)
"""


def environment_of() -> str | None:
    """The Python of an environment that has the clients; None where they cannot be had."""
    folder = Path(sys.prefix) / "api-clients"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        for command in ([sys.executable, "-m", "venv", str(folder)], [str(python), "-m", "pip", "install", "--quiet", *PACKAGES]):
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
            if done.returncode:
                print(done.stderr[-1000:])
                return None
        (folder / "ready").touch()
    return str(python)


@contextmanager
def behind(home: Path, upstreams: Mapping[str, str]) -> Iterator[str]:
    """The URL of a daemon with these upstreams."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("BYREF")} | {"BYREF_HOME": str(home)}
    program = [sys.executable, "-c", "from byref.proxy.frontends.cli import main; main()"]
    words = [word for name, url in upstreams.items() for word in ("--upstream", f"{name}={url}")]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen([*program, "serve", "--http", str(port), *words], env=environment, cwd=home) as child:
        try:
            until = time.monotonic() + 60
            while time.monotonic() < until:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            child.terminate()


def objects(python: str, openalex: str, exa: str) -> Any:
    done = subprocess.run([python, "-c", ASK, openalex, exa], capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode:
        raise SystemExit(f"the clients failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


async def documentation(node: Path, url: str) -> list[str]:
    """What context7's own server answers, asked over MCP, where its API lies at a URL."""
    from mcp import Client, StdioServerParameters
    server = StdioServerParameters(command=str(node / "node"), args=[str(node.parent / "@upstash/context7-mcp/dist/index.js")],
                                   env={**os.environ, "CONTEXT7_API_URL": url})
    async with Client(server) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        library = await client.call_tool("resolve-library-id", {"libraryName": "lib", "query": "cache a response"})
        docs = next(name for name in tools if name != "resolve-library-id")
        found = await client.call_tool(docs, {"libraryId": "/example/lib", "query": "cache a response"})
        return [library.content[0].text, found.content[0].text]


def main() -> int:
    failed = 0
    with tempfile.TemporaryDirectory(prefix="byref-clients-") as folder, recorded() as api:
        home = Path(folder)
        with behind(home, {name: api.url for name in ("openalex", "exa", "context7")}) as url:
            python = environment_of()
            if python is None:
                print("SKIPPED: pyalex and exa-py could not be had from PyPI; NOTHING was tested with them")
            else:
                direct, through = objects(python, api.url, api.url), objects(python, f"{url}/openalex", f"{url}/exa")
                for name, value in direct.items():
                    same = through.get(name) == value
                    failed += not same
                    print(f"{'pyalex' if name in ('works', 'meta', 'abstract', 'one', 'pages') else 'exa-py'} {name}: "
                          f"{'the same' if same else 'DIFFERS'}, {len(str(value))} characters", flush=True)
            node = programs(SERVER, of="context7")
            if node is None:
                print("SKIPPED: context7's MCP server could not be had from npm (Node.js); NOTHING was tested with it")
            else:
                expected, got = asyncio.run(documentation(node, api.url)), asyncio.run(documentation(node, f"{url}/context7"))
                failed += expected != got
                print(f"context7-mcp: {'the same' if expected == got else 'DIFFERS'}, {sum(map(len, expected))} characters")
        listed = subprocess.run([sys.executable, "-c", "from byref.proxy.frontends.cli import main; main()", "status"], cwd=home,
                                env={**os.environ, "BYREF_HOME": str(home)}, capture_output=True, text=True, check=False).stdout
        print(listed.splitlines()[0] if listed else "nothing was stored")
        failed += " 0 outputs" in f" {listed}" or not listed
        for file in home.rglob("*"):
            if file.is_file() and b"k-4711" in file.read_bytes():
                failed += 1
                print(f"{file.name} holds a key")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
