"""`byref rules`: which rules are in force here, and whether a rule's file does what it says."""
from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from byref.proxy.contracts import RuleFile
from byref.proxy.frontends.command import Command, say
from byref.proxy.frontends.held import complain


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", choices=("list", "check"), default="list", help="list (as without a word) or check")
    parser.add_argument("files", metavar="FILE", nargs="*", help="what to check; all that are in force here if none is given")


def _read(path: str) -> RuleFile:
    with open(path, encoding="utf-8") as file:
        return RuleFile(os.path.basename(path).removesuffix(".toml"), file.read(), os.path.abspath(path))


def _beside(path: str) -> list[str]:
    folder = os.path.dirname(os.path.abspath(path))
    return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".toml"))


def _check(paths: Sequence[str]) -> int:
    from byref.filters.checking import problems
    wrong = 0
    for path in paths:
        try:
            file, others = _read(path), [_read(other) for other in _beside(path)]
        except UnicodeDecodeError:
            wrong += 1
            complain(f"{path}:toml: this is not UTF-8; save it as UTF-8")
            continue
        found = problems(file, others)
        wrong += bool(found)
        for problem in found:
            say(f"{path}:{problem}\n")
    say(f"{len(paths)} rules checked, {wrong} to mend\n" if wrong else f"{len(paths)} rules checked, all is well\n")
    return 1 if wrong else 0


def _run(args: argparse.Namespace) -> int:
    from byref.filters import ruling
    if args.what == "check":
        return _check(args.files or [file.place for file in ruling.builtin()])
    for file in ruling.builtin():
        say(f"{file.name:<16} {', '.join(' '.join(words) for words in ruling.argv_of(file.text))}\n")
    return 0


RULES = Command("rules", "list the rules that are in force here, or check the files of some", _options, _run)
