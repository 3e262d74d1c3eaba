"""`byref wrap`: an MCP server in front of others. The client gets what they say, with views in the place of long results.

It speaks over stdin and stdout. The servers start before anything else is loaded, and while the store opens.
"""
from __future__ import annotations

import argparse
import asyncio
import os
import signal
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from byref.proxy import config
from byref.proxy.errors import ConfigError
from byref.proxy.frontends.child import fill_standard
from byref.proxy.frontends.command import Command, say
from byref.proxy.frontends.held import complain
from byref.proxy.frontends.hooks import wrapped
from byref.proxy.frontends.wrap import servers
from byref.proxy.gateway import open as open_gateway
from byref.proxy.session import Session

THREADS = 4  # results that are stored and viewed at once
SWITCH = 0.001  # seconds after which a thread that computes a view lets the others in: the disk, and the event loop
LAST = 5.0  # seconds for what was answered last to be stored
LINGER = 1.0  # seconds for the last answers, once the client has closed our stdin: clients wait two


def _options(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--url", metavar="URL", help="a server over streamable HTTP")
    which.add_argument("--config", metavar="FILE", help="the servers of a file with `mcpServers`")
    parser.add_argument("--header", metavar="NAME:VALUE", action="append", default=[], help="a header for the server at --url")
    parser.add_argument("--header-env", metavar="NAME:VARIABLE", action="append", default=[],
                        help="such a header whose value stands in a variable of the environment; words before the variable stay")
    parser.add_argument("--no-steering", action="store_true", help="add no property to tools by which a call can say what it looks for")
    parser.add_argument("--structured", choices=("drop", "keep"), default="drop",
                        help="whether a result that is shown as a view keeps a reduced structuredContent (drop)")
    parser.add_argument("--client-name", metavar="NAME", default="byref",
                        help="what the client calls this server: names of tools are kept short enough for it (byref)")
    parser.add_argument("--http", metavar="[HOST:]PORT", help="clients come over HTTP, to this port (0: any that is free)")
    parser.add_argument("--profile", choices=config.PROFILES, help="safe, auto or lean")
    parser.add_argument("command", metavar="COMMAND", nargs="...", help="the server's command and its arguments, best after --")


def chosen(args: argparse.Namespace) -> list[servers.Local | servers.Remote]:
    """The servers that the options name. Raises `ConfigError` and OSError."""
    words = args.command[1:] if args.command[:1] == ["--"] else args.command
    environ = config.inherited()
    if (args.url or args.config) and words:
        raise ConfigError("give a command, or --url, or --config, and one of them only")
    if (args.header or args.header_env) and not args.url:
        raise ConfigError("--header belongs to --url")
    if args.url:
        return [servers.from_url(args.url, [*args.header, *servers.from_variables(args.header_env, environ)])]
    if args.config:
        return list(servers.from_file(args.config, environ))
    return [servers.from_command(words, environ)]


def _run(args: argparse.Namespace) -> int:
    found = chosen(args)
    fill_standard()  # or one of ours would stand where stderr is closed
    return asyncio.run(_serve(found, args) if args.http is None else _host(found, args))


async def _host(found: Sequence[servers.Local | servers.Remote], args: argparse.Namespace) -> int:
    try:
        from byref.proxy.frontends.wrap import hosting
    except ModuleNotFoundError as fault:
        if fault.name != "aiohttp":
            raise
        raise ConfigError("--http needs the extra `serve`: pip install 'byref[serve]'") from None
    from byref.proxy.frontends.wrap.proxy import Options
    with ThreadPoolExecutor(THREADS, "byref wrap") as pool:
        await hosting.serve(found, args.http, config.told("BYREF_TOKEN"), Options(not args.no_steering, args.structured),
                            lambda: open_session(args.profile), pool, args.client_name, complain, say)
    return 0


async def _serve(found: Sequence[servers.Local | servers.Remote], args: argparse.Namespace) -> int:
    from byref.proxy.frontends.wrap.endpoint import Endpoint
    from byref.proxy.frontends.wrap.proxy import Options, Proxy
    from byref.proxy.frontends.wrap.routes import Single
    from byref.proxy.frontends.wrap.several import Several
    from byref.proxy.frontends.wrap.stdio import Stdio
    routes: Single | Several = Single(found, complain) if len(found) == 1 else Several(found, complain, args.client_name)
    running = asyncio.ensure_future(routes.run())
    await asyncio.sleep(0)  # the servers are started before the rest
    pool = ThreadPoolExecutor(THREADS, "byref wrap")
    opening = asyncio.ensure_future(asyncio.get_running_loop().run_in_executor(pool, open_session, args.profile))

    async def session() -> Session:
        return await asyncio.shield(opening)

    proxy = Proxy(routes, session, pool, Options(not args.no_steering, args.structured))
    wire = await Stdio.open()
    routes.client = client = Endpoint(wire, proxy, complain, LINGER)
    serving = asyncio.ensure_future(client.run())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, serving.cancel)
    try:
        await asyncio.wait((serving, asyncio.ensure_future(_failed(opening))), return_when=asyncio.FIRST_COMPLETED)
        if opening.done():
            opening.result()  # a setting that cannot be used is told
        return 0
    finally:
        serving.cancel()
        running.cancel()
        await asyncio.gather(serving, running, return_exceptions=True)
        await wire.close()
        if opening.done():
            await asyncio.wait([asyncio.ensure_future(proxy.close())], timeout=LAST)
        pool.shutdown(wait=False, cancel_futures=True)
        if opening.done() and not opening.cancelled() and opening.exception() is None:
            opening.result().gateway.close()


async def _failed(opening: asyncio.Future[Session]) -> None:
    """Returns once the store cannot be opened; otherwise never."""
    try:
        await asyncio.shield(opening)
    except ConfigError:
        return
    await asyncio.Event().wait()


def open_session(profile: str | None = None) -> Session:
    """The byref session of an MCP client: in the scope of its project, under the name of its own session where it tells one.

    What the client's context holds is not known, so nothing collapses as already shown. Raises `ConfigError`.
    """
    gateway = open_gateway(profile=profile)
    if config.traced():
        from byref.proxy.frontends import telemetry
        telemetry.start(telemetry.noting(gateway.settings.folder))
    folder = config.told("CLAUDE_PROJECT_DIR")
    scope = gateway.settings.scope or config.scope_here(folder if os.path.isdir(folder) else None)
    told = config.told("CLAUDE_CODE_SESSION_ID")
    return gateway.session(told or "mcp", context=wrapped(told) if told else None, scope=scope, proven=False)


WRAP = Command(
    "wrap", "stand before an MCP server, and show its long results as views", _options, _run,
    "The server is given by its command, by its URL, or, where there are several, by a file in the form of Claude Code's .mcp.json, "
    "${VARIABLES} and all. Tools of several servers are named SERVER__TOOL. A server that ends is started again, and the client is told.")


