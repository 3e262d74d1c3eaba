"""A tool of ours as a command: `byref openalex works --search "late interaction"`."""
from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from byref.proxy import config
from byref.proxy.frontends.command import open_session, put, say, view_options
from byref.proxy.frontends.held import complain
from byref.proxy.frontends.tools import engine
from byref.proxy.frontends.tools.arguments import options, parsed
from byref.proxy.intake import to_bytes
from byref.proxy.operations import Adapter, Operation


def parser(of: Adapter) -> argparse.ArgumentParser:
    """The parser of one tool."""
    top = argparse.ArgumentParser(f"byref {of.name}", description=f"{of.help[0].upper()}{of.help[1:]}.", epilog=_epilog(of))
    if len(of.operations) == 1 and not of.operations[0].name:
        _operation(top, of.operations[0])
        return top
    below = top.add_subparsers(metavar="OPERATION", required=True)
    for one in of.operations:
        _operation(below.add_parser(one.name, help=one.help, description=one.help, allow_abbrev=False), one)
    return top


def _epilog(of: Adapter) -> str:
    if not of.base:
        return "The output is stored whole and shown as a view."
    told = f" From the environment: {', '.join(of.environment)}." if of.environment else ""
    return f"Each answer is stored whole and shown as a view.{told} Exit code 1: the API answered with an error, or did not."


def _operation(parser: argparse.ArgumentParser, what: Operation) -> None:
    options(parser, what)
    view_options(parser)
    if what.request is not None:
        parser.add_argument("--max-age", metavar="TIME", help="an answer in the store will do that is no older, as 12h")
    if what.after is not None:
        parser.add_argument("--pages", metavar="N", type=int, default=1,
                            help=f"pages at most, one after another (1, {engine.PAGES} at most)")
    parser.set_defaults(chosen=what)


def main(name: str, words: Sequence[str]) -> int:
    """Runs a tool; returns the exit code: of what ran here its own, of an API 1 where it answered with an error."""
    of = engine.adapter(name)
    try:
        args = parser(of).parse_args(list(words))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 2
    what: Operation = args.chosen
    age = getattr(args, "max_age", None)
    max_age = config.age(age, "--max-age") if age is not None else 0.0
    gateway, session = open_session(args.profile)
    tools = engine.Tools(config.inherited())
    code = 0
    with gateway:
        try:
            called = tools.call(session, of, what, parsed(what, args), pages=getattr(args, "pages", 1), max_age=max_age, raw=args.raw,
                                budget=args.budget, intent=args.intent or "")
            for number, one in enumerate(called, start=1):
                code = _print(one, number, getattr(args, "pages", 1))
        finally:
            tools.close()
    return code


def _print(one: engine.Called, number: int, pages: int) -> int:
    captured = one.captured
    if captured.warning:
        complain(captured.warning)
    if one.age is not None:
        complain(f"from the store, {one.age:.0f} s old")
    if not one.status:
        say(captured.head)
        texts = captured.texts
        for name, text in texts.items():
            if name == "stderr":
                sys.stdout.flush()
                sys.stderr.write(text)
            else:
                put(to_bytes(text))
        return captured.exit_code or 0
    say(one.text if one.text.endswith("\n") else one.text + "\n")
    if pages > 1 and one.more and number < pages:
        complain(f"page {number} of {pages} at most")
    if one.status >= 400:
        complain(f"the API answered {one.status}")
        return 1
    return 0
