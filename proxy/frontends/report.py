"""`byref report`: what was saved, from the ledger."""
from __future__ import annotations

import argparse
import json

from byref.proxy.frontends.command import Command, say, scope_of
from byref.proxy.gateway import open as open_gateway


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--here", action="store_true", help="of this project alone, not of all that the store has seen")


def _run(args: argparse.Namespace) -> int:
    with open_gateway() as gateway:
        found = gateway.report(scope=scope_of(gateway) if args.here else None)
        say(json.dumps(found.as_dict(), indent=1, ensure_ascii=False) + "\n" if args.json else found.text)
    return 0


REPORT = Command("report", "say what the views saved, by tool and by shape", _options, _run)
