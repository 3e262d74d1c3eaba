"""`byref rules`: which rules are in force here, and whether a rule's file does what it says."""
from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from byref.proxy import config, rulebook
from byref.proxy.contracts import RuleFile
from byref.proxy.frontends.command import Command, say
from byref.proxy.frontends.held import complain
from byref.proxy.frontends.trust import STATES


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", choices=("list", "check"), default="list", help="list (as without a word) or check")
    parser.add_argument("files", metavar="FILE", nargs="*", help="what to check; all that are in force here if none is given")


def _own(home: str, root: str) -> list[RuleFile]:
    """The files of the project that are trusted, then the user's."""
    return list(rulebook.Rulebook(home).files(f":{root}"))


def _check(paths: Sequence[str]) -> int:
    from byref.filters.checking import problems
    wrong = 0
    for path in paths:
        file = rulebook.read(os.path.abspath(path))
        if file is None or not path.endswith(".toml"):
            found = ["toml: this is no file named NAME.toml that can be read; check the path"]
        else:
            beside = [rulebook.read(other) for other in rulebook.paths(os.path.dirname(file.place))]
            found = problems(file, [other for other in beside if other is not None])
        wrong += bool(found)
        for problem in found:
            say(f"{path}:{problem}\n")
    say(f"{len(paths)} rule{'s' * (len(paths) != 1)} checked, {f'{wrong} to mend' if wrong else 'all is well'}\n")
    return 1 if wrong else 0


def _list(home: str, root: str) -> None:
    from byref.filters import ruling
    user, names = rulebook.user_rules(home), set[str]()
    for file in (*_own(home, root), *ruling.builtin()):
        whose = "byref" if file.place.startswith(ruling.FOLDER) else "user" if os.path.dirname(file.place) == user else "project"
        hidden = " (another of this name goes before it)" if file.name in names else ""
        argv = ", ".join(" ".join(words) for words in ruling.argv_of(file.text)) or f"no argv can be read: `byref rules check {file.place}`"
        say(f"{whose:<8} {file.name:<16} {argv}{hidden}\n")
        names.add(file.name)
    for state in rulebook.states(home, root):
        if state.state not in ("trusted", "gone"):
            say(f"{'project':<8} {os.path.basename(state.path)[:-5]:<16} {STATES[state.state]}\n")


def _run(args: argparse.Namespace) -> int:
    home, root = config.home_folder(), config.project_folder()
    if args.what == "list":
        if args.files:
            complain("`byref rules list` takes no files")
            return 2
        _list(home, root)
        return 0
    from byref.filters.ruling import builtin
    return _check(args.files or [file.place for file in (*_own(home, root), *builtin())])


RULES = Command("rules", "list the rules that are in force here, or check the files of some", _options, _run,
                "A rule says what matters in the output of a command: see docs/rules.md. check prints FILE:KEY: what is wrong and what to "
                "do, and its exit code is 1 if anything is.")
