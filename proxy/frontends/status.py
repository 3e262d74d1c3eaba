"""`byref status`: what this scope holds, and what was cached lately."""
from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from byref.proxy.contracts import Json
from byref.proxy.frontends.command import Command, say
from byref.proxy.frontends.remote import ShellSession
from byref.proxy.reader import Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byref.layers.contract import LayerStatus


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--layers", action="store_true", help="what search asks: each layer, what it computes with and how far it came")
    parser.add_argument("--json", action="store_true", help="as JSON")


def as_json(found: Status, url: str) -> dict[str, Json]:
    """A status as JSON, over HTTP too. url: of the store."""
    usage = found.usage
    return {
        "scope": found.scope, "outputs": found.outputs, "size": found.size,
        "recent": [{"ref": one.ref, "tool": one.tool, "command": one.command, "size": one.size, "age": one.age} for one in found.recent],
        "store": {"url": url, "outputs": usage.outputs, "blobs": usage.blobs, "bytes_held": usage.bytes_held,
                  "bytes_raw": usage.bytes_raw, "max_bytes": usage.max_bytes, "max_age": usage.max_age},
        "layers": as_rows(found.layers),
    }


def as_rows(layers: Sequence[LayerStatus]) -> list[Json]:
    """What layers say of themselves, as JSON."""
    return [{"name": one.name, "version": one.version, "role": one.role, "origin": one.origin, "granularity": one.granularity,
             "coverage": one.coverage, "accepts": one.accepts, "latency_ms": one.latency_ms, "missing": one.missing} for one in layers]


def table(found: Status) -> str:
    """The layers, one a line under a head, and what is lacking. Coverage: of the bytes of the scope; ms: of a search."""
    rows = [("layer", "version", "role", "origin", "granularity", "coverage", "ms", "query")]
    rows += [(one.name, one.version, one.role, one.origin, one.granularity, f"{one.coverage // 100}%", str(one.latency_ms), one.accepts)
             for one in found.layers]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, *(f"without {one.name}: {one.missing}" for one in found.layers if one.missing)]) + "\n"


def _run(args: argparse.Namespace) -> int:
    with ShellSession() as session:
        found = session.status()
    say(json.dumps(as_json(found, session.url), indent=1) + "\n" if args.json else table(found) if args.layers else found.text)
    return 0


STATUS = Command("status", "say what this project holds and what was cached lately", _options, _run)
