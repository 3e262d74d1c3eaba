"""Clients and servers that others wrote get the same answers through `byref wrap` as without it.

usage: mcp_peers.py [--short]    --short: the TypeScript SDK's client, npm's server-everything and server-filesystem

Clients: npm `@modelcontextprotocol/sdk`, npm `@modelcontextprotocol/inspector --cli` (a process for each call) and the Python SDK's.
Servers: npm `@modelcontextprotocol/server-everything`, `-filesystem`, `-memory`; PyPI `mcp-server-git`, `mcp-server-time`. Each call is
made directly and through byref. A small result is the same, and so is a large one that was asked for raw; else a large one is a view
and its parts, fetched whole, are the bytes that the server gave. Where npm is missing or gives nothing in two minutes, it says so and
ends well: nothing was tested. Ends with 1 if an answer differs, and says which.
"""
from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_conformance import BYREF, programs

from byref import MARKER
from byref.proxy.contracts import Json

SPACE = "@modelcontextprotocol"
PACKAGES = (f"{SPACE}/sdk@1.32.2", f"{SPACE}/server-everything@2026.8.31", f"{SPACE}/server-filesystem@2026.8.31",
            f"{SPACE}/server-memory@2026.8.31")
INSPECTOR = f"{SPACE}/inspector@2.12.0"
INSTALL = 120  # seconds for npm, before it is given up
LIMIT = 120  # seconds for one call, against hanging
LOG = "".join(f"12:{i // 60 % 60:02}:{i % 60:02} INFO worker {i % 7} took job {i * 7919 % 10007}\n" if i != 1700 else
              "12:28:20 ERROR worker 6 lost job 2914: checksum differs\n" for i in range(2600))
Result = Mapping[str, Json]
Call = Callable[[str, Mapping[str, Json]], Awaitable[Result]]
Client = Callable[[str], contextlib.AbstractAsyncContextManager[Call]]


@dataclass(frozen=True, slots=True)
class Server:
    """A server. small: calls whose results pass as they are; large: calls whose results become views."""
    name: str
    command: Sequence[str]
    small: Sequence[tuple[str, Mapping[str, Json]]]
    large: Sequence[tuple[str, Mapping[str, Json]]]


def filled(folder: Path) -> None:
    """What the servers serve: files, a repository, a graph."""
    (folder / "files").mkdir()
    (folder / "files" / "notes.txt").write_text("Tide tables are in the second drawer.\nZürich, 東京.\n")
    (folder / "files" / "worker.log").write_text(LOG)
    entities = [{"type": "entity", "name": f"buoy {i}", "entityType": "buoy", "observations": [f"depth {i * 37 % 101} m", f"row {i % 9}"]}
                for i in range(900)]
    (folder / "graph.jsonl").write_text("\n".join(json.dumps(entity) for entity in entities))

    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(folder / "repo"), "-c", "user.name=A", "-c", "user.email=a@example.org", *words], check=True,
                       capture_output=True)
    (folder / "repo").mkdir()
    git("init", "--quiet")
    for i in range(4):
        (folder / "repo" / f"part{i}.log").write_text("".join(LOG.splitlines(True)[i * 600:i * 600 + 600]))
        git("add", ".")
        git("commit", "--quiet", "--message", f"Part {i}")


def servers(folder: Path, found: Path, short: bool) -> list[Server]:
    """The servers and what is asked of them."""
    def of_npm(name: str) -> list[str]:
        return [str(found / "node"), str(found / f"mcp-{name}")]
    files, repo = str(folder / "files"), str(folder / "repo")
    chosen = [
        Server("server-everything", of_npm("server-everything"), [
            ("echo", {"message": "héllo «there»"}), ("get-sum", {"a": 2, "b": 40}), ("get-tiny-image", {}),
            ("get-structured-content", {"location": "Chicago"}), ("get-annotated-message", {"messageType": "error", "includeImage": True}),
            ("get-resource-links", {"count": 3}), ("get-sum", {"a": "no number"})],
            [("echo", {"message": LOG[:90_000]})]),  # Linux takes 128 KiB in an argument of a command
        Server("server-filesystem", [*of_npm("server-filesystem"), files], [
            ("list_directory", {"path": files}), ("read_text_file", {"path": f"{files}/notes.txt"}), ("list_allowed_directories", {}),
            ("search_files", {"path": files, "pattern": "*.txt"}), ("read_text_file", {"path": str(folder / "graph.jsonl")})],
            [("read_text_file", {"path": f"{files}/worker.log"})])]
    if short:
        return chosen
    python = [sys.executable, "-P", "-m"]
    return [
        *chosen,
        Server("server-memory", ["env", f"MEMORY_FILE_PATH={folder / 'graph.jsonl'}", *of_npm("server-memory")],
               [("search_nodes", {"query": "buoy 777"}), ("open_nodes", {"names": ["buoy 3", "buoy 4"]})], [("read_graph", {})]),
        Server("mcp-server-git", [*python, "mcp_server_git", "--repository", repo],
               [("git_status", {"repo_path": repo}), ("git_log", {"repo_path": repo, "max_count": 2}), ("git_status", {"repo_path": "/"})],
               [("git_show", {"repo_path": repo, "revision": "HEAD"})]),
        Server("mcp-server-time", [*python, "mcp_server_time", "--local-timezone", "UTC"],
               [("convert_time", {"source_timezone": "Europe/Zurich", "time": "14:30", "target_timezone": "Asia/Tokyo"}),
                ("convert_time", {"source_timezone": "Nowhere", "time": "14:30", "target_timezone": "Asia/Tokyo"})], [])]


def typescript(found: Path) -> Client:
    """The TypeScript SDK's client."""
    @contextlib.asynccontextmanager
    async def connected(command: str) -> AsyncIterator[Call]:
        child = await asyncio.create_subprocess_exec(
            str(found / "node"), str(Path(__file__).with_name("mcp_peer.mjs")), str(found.parent), command,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, limit=1 << 26)
        to, of = child.stdin, child.stdout
        assert to is not None and of is not None

        async def call(name: str, arguments: Mapping[str, Json]) -> Result:
            to.write(json.dumps({"name": name, "arguments": arguments}).encode() + b"\n")
            return _object(await of.readline())
        try:
            yield call
        finally:
            to.close()
            try:
                await asyncio.wait_for(child.wait(), LIMIT)
            except TimeoutError:
                child.kill()
                raise
    return connected


def inspector(found: Path) -> Client:
    """The inspector's command: a process, and so a server, for each call."""
    @contextlib.asynccontextmanager
    async def connected(command: str) -> AsyncIterator[Call]:
        async def call(name: str, arguments: Mapping[str, Json]) -> Result:
            given = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in arguments.items()]
            child = await asyncio.create_subprocess_exec(
                str(found / "node"), str(found / "mcp-inspector"), "--cli", command, "--method", "tools/call", "--tool-name", name,
                *(word for one in given for word in ("--tool-arg", one)),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                said, errors = await child.communicate()
            except asyncio.CancelledError:
                child.kill()
                raise
            return _object(said or json.dumps({"fault": errors.decode()[-500:]}).encode())
        yield call
    return connected


@contextlib.asynccontextmanager
async def python(command: str) -> AsyncIterator[Call]:
    """The Python SDK's client."""
    from mcp import Client as Sdk
    from mcp import StdioServerParameters, stdio_client
    with open(os.devnull, "w") as errors:
        client = Sdk(stdio_client(StdioServerParameters(command=command, env=dict(os.environ)), errlog=errors))

        async def call(name: str, arguments: Mapping[str, Json]) -> Result:
            try:
                said = await client.call_tool(name, dict(arguments))
            except Exception as fault:  # the SDK raises what a server answers with, and what it finds in an answer
                return {"fault": f"{type(fault).__name__}: {fault}"}
            return _object(said.model_dump_json(by_alias=True, exclude_none=True).encode())
        async with client:
            yield call


def _object(line: bytes) -> Result:
    value = json.loads(line or b'{"fault": "nothing was said"}')
    assert isinstance(value, dict)
    return value


def _texts(result: Result) -> list[str]:
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    return [text for block in blocks if isinstance(block, dict) and isinstance(text := block.get("text"), str)]


async def fetched(call: Call, ref: str, part: str) -> str:
    """A part of an output, put together from its pages."""
    whole, cursor = "", ""
    while True:
        texts = _texts(said := await call("fetch", {"ref": ref, "cursor": cursor} if cursor else {"ref": ref, "part": part}))
        if said.get("isError") or not texts:
            return f"fetch: {json.dumps(said)[:300]}"
        whole += texts[0]
        cursor = texts[1].rpartition("cursor ")[2].rstrip("]") if len(texts) > 1 and "cursor " in texts[1] else ""
        if not cursor:
            return whole


def _differ(what: str, direct: object, through: object) -> list[str]:
    one, other = json.dumps(direct, ensure_ascii=False, sort_keys=True), json.dumps(through, ensure_ascii=False, sort_keys=True)
    if one == other:
        return []
    same = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    start = max(0, same - 60)
    return [f"{what}: {one[start:start + 240]!r} became {other[start:start + 240]!r}"]


async def compared(server: Server, direct: Call, through: Call) -> list[str]:
    """What is not the same, a line each."""
    found: list[str] = []
    for name, arguments in server.small:
        one = await asyncio.wait_for(direct(name, arguments), LIMIT)
        if "content" not in one:  # or two clients that get nothing would be the same
            found.append(f"{name}: directly it has no result, but {json.dumps(one)[:300]}")
        found += _differ(name, one, await asyncio.wait_for(through(name, arguments), LIMIT))
    for name, arguments in server.large:
        one = await asyncio.wait_for(direct(name, arguments), LIMIT)
        found += _differ(f"{name} raw", one, await asyncio.wait_for(through(name, {**arguments, "byref": "raw"}), LIMIT))
        view = "\n".join(_texts(await asyncio.wait_for(through(name, arguments), LIMIT)))
        whole = _texts(one)
        if (marker := MARKER.search(view)) is None or len(view) > len("".join(whole)) / 2:
            found.append(f"{name}: no view, but {view[:300]!r}")
            continue
        ref = marker[0].strip("«»").split()[0]
        for i, text in enumerate(whole, 1):
            part = f"text{i}" if i > 1 else "text"
            found += _differ(f"{name} fetched, {part}", text, await asyncio.wait_for(fetched(through, ref, part), LIMIT))
        if "structuredContent" in one:
            said = await asyncio.wait_for(fetched(through, ref, "structuredContent"), LIMIT)
            with contextlib.suppress(ValueError):
                found += _differ(f"{name} fetched, structuredContent", one["structuredContent"], json.loads(said))
                continue
            found.append(f"{name} fetched, structuredContent: {said[:300]!r}")
    return found


def _script(path: Path, words: Sequence[str], **variables: str) -> str:
    """A command of one word, since clients differ in how they take more."""
    given = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
    path.write_text(f"#!/bin/sh\n{given}exec {shlex.join(words)}\n")
    path.chmod(0o755)
    return str(path)


def had(*packages: str, of: str) -> Path | None:
    try:
        return programs(*packages, of=of, limit=INSTALL)
    except subprocess.TimeoutExpired:
        print(f"npm gave nothing in {INSTALL} s")
        return None


async def run(folder: Path, found: Path, clients: Mapping[str, Client], short: bool) -> int:
    failed = 0
    for server in servers(folder, found, short):
        direct = _script(folder / f"{server.name}-direct", server.command)
        through = _script(folder / f"{server.name}-through", [*BYREF, "wrap", "--", *server.command], BYREF_HOME=str(folder / "home"))
        for name, client in clients.items():
            async with client(direct) as one, client(through) as other:
                differences = await compared(server, one, other)
            calls = f"{len(server.small)} small, {len(server.large)} large"
            print(f"{name}, {server.name}: {calls}: " + (f"{len(differences)} DIFFER" if differences else "the same"), flush=True)
            for difference in differences:
                print(f"  {difference}")
            failed |= bool(differences)
    return failed


def main(words: Sequence[str]) -> int:
    short = "--short" in words
    found = had(*PACKAGES, of="peers")
    if found is None:
        print("SKIPPED: MCP clients and servers of npm (Node.js) could not be had; NOTHING of it was tested")
        return 0
    clients: dict[str, Client] = {"TypeScript SDK": typescript(found)}
    if not short:
        clients["Python SDK"] = python
        if (other := had(INSPECTOR, of="inspector")) is None:
            print("SKIPPED: the MCP inspector could not be had from npm; NOTHING was tested with it")
        else:
            clients["inspector"] = inspector(other)
    with tempfile.TemporaryDirectory(prefix="byref-peers-", ignore_cleanup_errors=True) as folder:
        filled(Path(folder))
        return asyncio.run(run(Path(folder), found, clients, short))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
