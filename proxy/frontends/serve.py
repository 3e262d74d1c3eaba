"""`byref serve`: the daemon that keeps store and filters warm for hooks, for the command line and for HTTP.

One a user and home. An `flock` on `daemon.lock` decides: of two that start at once the second waits until the first answers,
and ends. Clients start it as `python -P -m byref.proxy.frontends.serve`; what it needs beyond byref itself is the extra `serve`.
"""
from __future__ import annotations

import argparse
import fcntl
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence

from byref.proxy import config
from byref.proxy.contracts import Json
from byref.proxy.errors import ConfigError
from byref.proxy.frontends import hook
from byref.proxy.frontends.command import Command, say
from byref.proxy.frontends.held import complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byref.proxy.frontends.llm.providers import Offer
    from byref.proxy.frontends.reverse.upstreams import Upstream

IDLE = 3600.0  # seconds without a call
PATIENCE = 10.0  # seconds for another daemon to answer or to end
_PAUSE = 0.02


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 1 << 16):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no port: a number from 0 to 65535; it listens on 127.0.0.1 alone")
    return int(text)


def _options(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--http", metavar="PORT", type=_port, default=0, help="port of the loopback HTTP server (any that is free)")
    which.add_argument("--no-http", action="store_true", help="the Unix socket alone")
    parser.add_argument("--mcp", metavar="FILE", help="offer the servers that FILE names under `mcpServers` at /mcp, as `byref wrap` does; "
                        "their outputs belong to the project of FILE's folder")
    parser.add_argument("--upstream", metavar="NAME=URL", action="append", default=[], help="give an HTTP API at /NAME/; may be repeated")
    parser.add_argument("--upstreams", metavar="FILE", help="the same from a file of TOML or JSON, with more settings: docs/http.md")
    parser.add_argument("--allow-private", metavar="NAME", action="append", default=[],
                        help="this upstream's name may stand for an address within this machine or network")
    parser.add_argument("--max-age", metavar="AGE", help="answer GETs to upstreams from the store up to this age, such as 10m (never)")
    parser.add_argument("--llm", metavar="NAME[=URL]", action="append", default=[],
                        help="give an LLM API at /llm/NAME/, views in its requests: anthropic, openai, or any by its URL: docs/llm.md")
    parser.add_argument("--answer", action="store_true", help="with --llm: offer fetch and search to the model, and answer its calls here")
    parser.add_argument("--stateless", action="store_true", help="with --llm: make each view of its request alone, and remember nothing")
    parser.add_argument("--idle", metavar="SECONDS", type=float,
                        help=f"end after so long without a call ({IDLE:.0f}; with upstreams never)")
    parser.add_argument("--stop", action="store_true", help="end the daemon that runs, once it has answered what it was asked")
    parser.add_argument("--status", action="store_true", help="say what the daemon that runs does")


def ask(home: str, request: str, limit: float = 1.0) -> tuple[int, Mapping[str, Json]]:
    """A request without a body to the daemon of a home: status and JSON. Raises what `hook.call` raises."""
    path = hook.socket_path(os.fsencode(home))
    status, body = hook.call(path, request, b"", time.monotonic() + limit)
    found = json.loads(body) if body[:1] == b"{" else {}
    return status, found if isinstance(found, dict) else {}


def take_lock(home: str, patience: float = PATIENCE) -> int | None:
    """The descriptor that holds the lock; None once another daemon, of our version, answers. Raises TimeoutError."""
    hook.make_folder(os.fsencode(home))
    fd = os.open(os.path.join(home, "daemon.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    until = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return fd
        except BlockingIOError:
            pass
        try:
            if ask(home, "GET /healthz")[0] == 200:
                os.close(fd)
                return None
        except (hook.Absent, OSError, ValueError):  # on its way up or down
            pass
        if time.monotonic() > until:
            os.close(fd)
            raise TimeoutError(f"another daemon holds {home}/daemon.lock and does not answer; end it, and start this one again")
        time.sleep(_PAUSE)


def _run(args: argparse.Namespace) -> int:
    home = config.home_folder()
    if args.stop:
        return _stop(home)
    if args.status:
        return _status(home)
    if args.mcp is not None and args.no_http:
        raise ConfigError("clients of MCP come over HTTP: --mcp and --no-http exclude each other")
    upstreams, scope = _upstreams(args)
    llm = _llm(args)
    mcp = None if args.mcp is None else os.path.realpath(args.mcp)  # the daemon leaves the folder it is started in
    try:
        lock = take_lock(home)
    except TimeoutError as fault:
        complain(fault)
        return 1
    if lock is None:
        if mcp is None and not upstreams and llm is None:
            if sys.stderr.isatty():
                complain("a daemon runs already: `byref serve --status`")
            return 0
        complain(f"a daemon runs already, without these {'servers' if mcp else 'upstreams'}; end it with `byref serve --stop`, "
                 "and start this one again")
        return 1
    try:
        from byref.proxy.frontends.daemon import Daemon
    except ModuleNotFoundError as fault:
        if fault.name != "aiohttp":
            raise
        complain("`byref serve` needs aiohttp: pip install 'byref[serve]'; all else works without the daemon")
        return 1
    idle = args.idle if args.idle is not None else float("inf") if upstreams or llm else IDLE
    token = config.told("BYREF_TOKEN")
    settings = config.own_settings()
    if config.traced():
        from byref.proxy.frontends import telemetry
        telemetry.start(telemetry.noting(settings.folder))
    return Daemon(settings, lock, None if args.no_http else args.http, idle, mcp=mcp, upstreams=upstreams,
                  scope=scope or (config.scope_here() if llm else ""), upstream_token=token, llm=llm).run()


def _upstreams(args: argparse.Namespace) -> tuple[Sequence[Upstream], str]:
    """The upstreams that are asked for, and the scope of their answers: the project of the folder we are started in."""
    if not (args.upstream or args.upstreams):
        if args.allow_private or args.max_age:
            raise ConfigError("--allow-private and --max-age are for upstreams: --upstream NAME=URL")
        return (), ""
    try:
        from byref.proxy.frontends.reverse.upstreams import chosen
    except ModuleNotFoundError as fault:
        if fault.name != "aiohttp":
            raise
        raise ConfigError("`byref serve` needs aiohttp: pip install 'byref[serve]'") from None
    try:
        found = chosen(args.upstream, args.upstreams, args.allow_private, args.max_age, config.inherited())
    except OSError as fault:
        raise ConfigError(f"{args.upstreams} cannot be read: {fault.strerror}") from None
    return found, config.scope_here()


def _llm(args: argparse.Namespace) -> Offer | None:
    """The LLM APIs that are asked for."""
    if not args.llm:
        if args.answer or args.stateless:
            raise ConfigError("--answer and --stateless are for LLM APIs: --llm NAME")
        return None
    if args.no_http:
        raise ConfigError("clients of LLM APIs come over HTTP: --llm and --no-http exclude each other")
    try:
        from byref.proxy.frontends.llm.providers import Offer, chosen
    except ModuleNotFoundError as fault:
        if fault.name != "aiohttp":
            raise
        raise ConfigError("`byref serve` needs aiohttp: pip install 'byref[serve]'") from None
    return Offer(chosen(args.llm), args.stateless, args.answer)


def _stop(home: str) -> int:
    try:
        ask(home, "POST /v1/stop")
    except hook.Absent:
        say("no daemon runs\n")
        return 0
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            ask(home, "GET /healthz")
        except (hook.Absent, OSError, ValueError):
            say("stopped\n")
            return 0
        time.sleep(_PAUSE)
    complain("the daemon was asked to stop, and still answers")
    return 1


def _status(home: str) -> int:
    try:
        _, found = ask(home, "GET /v1/status")
    except hook.Absent:
        say("no daemon runs\n")
        return 1
    for name, value in found.items():
        say(f"{name + ':':<11} {value}\n")
    return 0


SERVE = Command(
    "serve", "keep byref warm in the background, for hooks, this command line and HTTP", _options, _run,
    "One a user. Hooks start it by themselves. HTTP listens on 127.0.0.1 alone and wants `Authorization: Bearer`, with the token in "
    "daemon.token in byref's folder. TERM ends it once it has answered what it was asked. Needs the extra `serve`.")


if __name__ == "__main__":
    from byref.proxy.frontends.cli import main
    os.closerange(3, 1 << 16)  # what a harness leaves open would be held open for as long as the daemon lives
    sys.exit(main(["serve", *sys.argv[1:]]))
