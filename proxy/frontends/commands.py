"""All commands but `run`, as one parser. A command is an object close to its code; this is the one table of them.

Only the command that is meant is loaded; all of them for the help that lists them.
"""
from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from importlib import import_module

import byref
from byref.proxy import discover
from byref.proxy.errors import ByrefError
from byref.proxy.frontends import run
from byref.proxy.frontends.command import EXIT_HELP, Command, exit_code
from byref.proxy.frontends.held import complain


def _run_options(parser: argparse.ArgumentParser) -> None:
    for name, (metavar, text) in run.OPTIONS.items():
        if metavar:
            parser.add_argument(name, metavar=metavar, help=text)
        else:
            parser.add_argument(name, action="store_true", help=text)
    parser.add_argument("command", metavar="COMMAND", nargs="...", help="the command and its arguments, best after --")


RUN = Command(
    "run", "run a command; its output is stored whole and shown as a view", _run_options, lambda args: run.main(["--", *args.command]),
    "Exit code: the command's own; 128 + N where signal N ended it; 127 not found, 126 not executable. Stdout and stderr stay apart. "
    "INT and TERM go to the command and all it started; what came so far is shown; KILL follows after two "
    "seconds. What a command leaves in the background is waited for one second. Past 1 GiB (BYREF_RUN_LIMIT) an output goes through raw "
    "and is not stored. The output of a command that itself starts byref goes through untouched. With BYREF=off this is the bare command.")
# Where each of the others is: its module, and its name there.
PLACES = {
    "pipe": "pipe.PIPE", "view": "view.VIEW", "fetch": "fetch.FETCH", "search": "search.SEARCH", "similar": "similar.SIMILAR",
    "status": "status.STATUS", "report": "report.REPORT", "usage": "usage.USAGE", "replay": "replay.REPLAY", "bench": "bench.BENCH",
    "rules": "rules.RULES", "trust": "trust.TRUST", "serve": "serve.SERVE", "dashboard": "open_dashboard.DASHBOARD", "mcp": "mcp.MCP",
    "wrap": "wrapping.WRAP", "install": "install.INSTALL", "uninstall": "install.UNINSTALL", "gc": "upkeep.GC", "purge": "upkeep.PURGE",
    "verify": "upkeep.VERIFY", "doctor": "doctor.DOCTOR"}
NAMES = (RUN.name, *PLACES)


def command(name: str) -> Command:
    """The command of that name, one of NAMES."""
    if name == RUN.name:
        return RUN
    module, _, variable = PLACES[name].partition(".")
    found: Command = getattr(import_module("byref.proxy.frontends." + module), variable)
    return found


def parser(names: Iterable[str] = NAMES) -> argparse.ArgumentParser:
    """The parser of the command line, with these commands."""
    top = argparse.ArgumentParser("byref", description=(byref.__doc__ or "").partition(": ")[2].strip())
    if names is NAMES:
        top.epilog = f"tools: byref TOOL ..., of {', '.join(discover.names('tools'))}; {EXIT_HELP}"
    top.add_argument("--version", action="version", version=f"byref {byref.__version__}")
    below = top.add_subparsers(metavar="COMMAND", required=True)
    for chosen in map(command, names):
        sentence = f"{chosen.help[0].upper()}{chosen.help[1:]}."
        # No short forms: of --k argparse would make --kind.
        one = below.add_parser(chosen.name, help=chosen.help, description=sentence, epilog=chosen.detail or None, allow_abbrev=False)
        one.set_defaults(chosen=chosen, own=one)
        chosen.options(one)
    return top


def main(words: Sequence[str]) -> int:
    """Runs the command, or the tool, that words name; returns its exit code."""
    try:
        known = words[:1] if words and words[0] in NAMES else NAMES
        if words and words[0][:1].isalpha() and known is NAMES and words[0] in discover.names("tools"):
            from byref.proxy.frontends.tools.command import main as tool
            return tool(words[0], words[1:])
        try:
            args, left = parser(known).parse_known_args(list(words))
            if left:
                args.own.error(f"unrecognized arguments: {' '.join(left)}")
        except SystemExit as end:  # --help, --version and wrong usage have said what there is to say
            return end.code if isinstance(end.code, int) else 2
        chosen: Command = args.chosen
        return chosen.run(args)
    except ByrefError as fault:
        complain(fault)
        return exit_code(fault)
    except BrokenPipeError:
        raise
    except OSError as fault:
        complain(f"{fault.filename}: {fault.strerror}" if fault.filename else fault)
        return 1
