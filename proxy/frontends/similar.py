"""`byref similar`: what is like a stretch of an output that this scope holds."""
from __future__ import annotations

import argparse

from byref.proxy.frontends import search
from byref.proxy.frontends.command import Command


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("of", metavar="REF", help="as it stands in a view's first line")
    parser.add_argument("at", metavar="AT", nargs="?", default="", help="L120-180, b0-4096, results[3].title; nothing for all of it")
    search.options(parser)


def _run(args: argparse.Namespace) -> int:
    return search.ask(args, "", f"{args.of} {args.at}")


SIMILAR = Command(
    "similar", "find what is like a stretch of an output", _options, _run,
    "Each hit stands under an address that fetch takes; what says nearly the same has the signal duplicate. Exit code 1: nothing found.")
