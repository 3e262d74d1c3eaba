"""`byref status`: what this scope holds, and what was cached lately."""
from __future__ import annotations

import argparse
import json

from byref.proxy.contracts import Json
from byref.proxy.frontends.command import Command, say
from byref.proxy.frontends.remote import ShellSession
from byref.proxy.reader import Status


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as JSON")


def as_json(found: Status, url: str) -> dict[str, Json]:
    """A status as JSON, over HTTP too. url: of the store."""
    usage = found.usage
    return {
        "scope": found.scope, "outputs": found.outputs, "size": found.size,
        "recent": [{"ref": one.ref, "tool": one.tool, "command": one.command, "size": one.size, "age": one.age} for one in found.recent],
        "store": {"url": url, "outputs": usage.outputs, "blobs": usage.blobs, "bytes_held": usage.bytes_held,
                  "bytes_raw": usage.bytes_raw, "max_bytes": usage.max_bytes, "max_age": usage.max_age},
        "layers": [{"name": one.name, "version": one.version, "role": one.role, "origin": one.origin, "granularity": one.granularity,
                    "coverage": one.coverage, "accepts": one.accepts, "latency_ms": one.latency_ms, "missing": one.missing}
                   for one in found.layers],
    }


def _run(args: argparse.Namespace) -> int:
    with ShellSession() as session:
        found = session.status()
    say(json.dumps(as_json(found, session.url), indent=1) + "\n" if args.json else found.text)
    return 0


STATUS = Command("status", "say what this project holds and what was cached lately", _options, _run)
