"""All commands but `run`, as one parser. A command is an object close to its code; this is the one table of them."""
from __future__ import annotations

import argparse
from collections.abc import Sequence

import byref
from byref.proxy import discover
from byref.proxy.errors import ByrefError
from byref.proxy.frontends import (
    bench,
    doctor,
    fetch,
    install,
    mcp,
    open_dashboard,
    pipe,
    replay,
    report,
    rules,
    run,
    search,
    serve,
    similar,
    status,
    trust,
    upkeep,
    usage,
    view,
    wrapping,
)
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
COMMANDS: tuple[Command, ...] = (
    RUN, pipe.PIPE, view.VIEW, fetch.FETCH, search.SEARCH, similar.SIMILAR, status.STATUS, report.REPORT, usage.USAGE, replay.REPLAY,
    bench.BENCH, rules.RULES, trust.TRUST, serve.SERVE, open_dashboard.DASHBOARD, mcp.MCP, wrapping.WRAP, install.INSTALL,
    install.UNINSTALL, upkeep.GC, upkeep.PURGE, upkeep.VERIFY, doctor.DOCTOR)


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    top = argparse.ArgumentParser("byref", description=(byref.__doc__ or "").partition(": ")[2].strip(),
                                  epilog=f"tools: byref TOOL ..., of {', '.join(discover.names('tools'))}; {EXIT_HELP}")
    top.add_argument("--version", action="version", version=f"byref {byref.__version__}")
    below = top.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        sentence = f"{command.help[0].upper()}{command.help[1:]}."
        one = below.add_parser(command.name, help=command.help, description=sentence, epilog=command.detail or None)
        command.options(one)
        one.set_defaults(chosen=command)
    return top


def main(words: Sequence[str]) -> int:
    """Runs the command, or the tool, that words name; returns its exit code."""
    try:
        own = {command.name for command in COMMANDS}
        if words and words[0][:1].isalpha() and words[0] not in own and words[0] in discover.names("tools"):
            from byref.proxy.frontends.tools.command import main as tool
            return tool(words[0], words[1:])
        try:
            args = parser().parse_args(list(words))
        except SystemExit as end:  # --help, --version and wrong usage have said what there is to say
            return end.code if isinstance(end.code, int) else 2
        command: Command = args.chosen
        return command.run(args)
    except ByrefError as fault:
        complain(fault)
        return exit_code(fault)
    except BrokenPipeError:
        raise
    except OSError as fault:
        complain(f"{fault.filename}: {fault.strerror}" if fault.filename else fault)
        return 1
