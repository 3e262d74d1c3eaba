"""`byref status`: what this scope holds, and what was cached lately."""
from __future__ import annotations

import argparse
import json

from byref.proxy.frontends.command import Command, open_session, say


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as JSON")


def _run(args: argparse.Namespace) -> int:
    gateway, session = open_session()
    with gateway:
        found = session.status()
    if not args.json:
        say(found.text)
        return 0
    usage = found.usage
    say(json.dumps({
        "scope": found.scope, "outputs": found.outputs, "size": found.size,
        "recent": [{"ref": one.ref, "tool": one.tool, "command": one.command, "size": one.size, "age": one.age} for one in found.recent],
        "store": {"url": gateway.settings.url, "outputs": usage.outputs, "blobs": usage.blobs, "bytes_held": usage.bytes_held,
                  "bytes_raw": usage.bytes_raw, "max_bytes": usage.max_bytes, "max_age": usage.max_age},
    }, indent=1) + "\n")
    return 0


STATUS = Command("status", "say what this project holds and what was cached lately", _options, _run)
