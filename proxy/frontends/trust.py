"""`byref trust`: a project's own rules count once its user has said so, and as long as they are what was trusted."""
from __future__ import annotations

import argparse
import os

from byref.filters.ruling import argv_of
from byref.proxy import config, rulebook
from byref.proxy.frontends.command import Command, say
from byref.proxy.frontends.held import complain

STATES = {
    "trusted": "", "new": "not trusted; read it, then `byref trust`", "changed": "not as it was trusted; read it, then `byref trust`",
    "gone": "no longer there", "unreadable": f"no file that can be read, or over {rulebook.LIMIT >> 10} KiB"}


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", nargs="?", default=".", help="a folder of the project (default: the working folder)")
    parser.add_argument("--list", action="store_true", help="say how the rules of this project and all trusted ones stand; change nothing")
    parser.add_argument("--remove", action="store_true", help="trust none of this project's rules any more")


def _run(args: argparse.Namespace) -> int:
    if not os.path.isdir(args.folder):
        complain(f"{args.folder} is no folder")
        return 1
    home, root = config.home_folder(), config.project_folder(args.folder)
    if args.list:
        found = {state.path: state for state in (*rulebook.states(home), *rulebook.states(home, root))}
        for state in found.values():
            said = STATES[state.state]
            say(f"{state.state:<10} {state.path}{f': {said}' if said else ''}\n")
        if not found:
            say(f"nothing is trusted, and {rulebook.project_rules(root)} holds no rules\n")
        return 0
    if args.remove:
        gone = rulebook.distrust(home, root)
        say("".join(f"no longer trusted: {path}\n" for path in gone) or f"nothing of {root} was trusted\n")
        return 0
    files = rulebook.trust(home, root)
    for file in files:
        say(f"trusted: {file.place} ({', '.join(' '.join(words) for words in argv_of(file.text)) or 'no argv can be read'})\n")
    if not files:
        complain(f"{rulebook.project_rules(root)} holds no rules; put them there as NAME.toml")
        return 1
    say("a file that changes is no longer trusted; `byref rules check FILE` says whether it does what it says\n")
    return 0


TRUST = Command("trust", "let the rules in a project's .byref/rules count, as they are now", _options, _run,
                "Rules run no code: they say which lines of a command's output stand first and which go first. Lines that report a "
                "failure stand whatever a rule says, and every byte can be fetched.")
