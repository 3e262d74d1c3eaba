"""`byref usage`: how byref is used, from the ledger."""
from __future__ import annotations

import argparse
import json

from byref.proxy.frontends.command import Command, say, scope_of
from byref.proxy.frontends.report import days, drawn_text, nothing
from byref.proxy.gateway import open as open_gateway


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--here", action="store_true", help="of this project alone")
    parser.add_argument("--days", type=days, default=14.0, metavar="N", help="of the last N days; 14 without")


def _run(args: argparse.Namespace) -> int:
    from byref.proxy.ledger.usage import tables, usage
    with open_gateway() as gateway:
        since = gateway.clock() - args.days * 86400
        found = usage(gateway.store.events(scope_of(gateway) if args.here else None, since=since))
    if args.json:
        say(json.dumps(found.as_dict(), indent=1, ensure_ascii=False) + "\n")
    else:
        say(drawn_text(tables(found)) if found.calls else nothing(args.here, args.days))
    return 0


USAGE = Command("usage", "say how byref is used: calls by tool, searches and what became of them", _options, _run)
