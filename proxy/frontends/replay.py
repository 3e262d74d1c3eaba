"""`byref replay`: what byref would have saved in sessions that are already recorded."""
from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from byref.proxy import config
from byref.proxy.errors import ConfigError, Invalid
from byref.proxy.frontends import saved
from byref.proxy.frontends.command import Command, say
from byref.proxy.frontends.held import complain
from byref.proxy.frontends.replaying import Work, worked
from byref.proxy.frontends.report import DEFINITION, days
from byref.proxy.ledger.counter import token_counter
from byref.proxy.ledger.economics import REGIMES
from byref.proxy.ledger.kv import MODELS
from byref.proxy.ledger.prices import OURS, Priced, priced
from byref.proxy.ledger.reading import ENDINGS, files, formats, read_file
from byref.proxy.ledger.savings import Savings
from byref.proxy.ledger.trajectories import Trajectory

PROFILES = ("safe", "auto", "lean")
_NOTES = (".json",)  # a harness's own lists and settings beside its recordings
_BAR = 0.2  # seconds between two looks of the progress
_MOST = 256  # processes: each holds a store in memory
_TOLD = 50  # faults that are told as they come
# Of each harness: an option, who finds its folder, the defaults of that, and what is below it. Claude Code 1.0.29 and its followers wrote
# to the second (github.com/anthropics/claude-code/issues/2277). Codex archives sessions beside the others.
_OWN = (("claude_code", "CLAUDE_CONFIG_DIR", (".claude", ".config/claude"), ("projects",)),
        ("codex", "CODEX_HOME", (".codex",), ("sessions", "archived_sessions")),
        ("opencode", "XDG_DATA_HOME", (".local/share",), ("opencode",)))


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="*", help="recordings, or folders of them")
    parser.add_argument("--claude-code", action="store_true", help="your own sessions of Claude Code (CLAUDE_CONFIG_DIR, else ~/.claude)")
    parser.add_argument("--codex", action="store_true", help="your own sessions of Codex (CODEX_HOME, else ~/.codex)")
    parser.add_argument("--opencode", action="store_true", help="your own sessions of OpenCode (XDG_DATA_HOME, else ~/.local/share)")
    parser.add_argument("--days", type=days, metavar="N", help="only files that changed in the last N days")
    parser.add_argument("--profile", action="append", choices=PROFILES, metavar="NAME",
                        help=f"{', '.join(PROFILES)}; again for another to compare with the first (default: auto)")
    parser.add_argument("--price", action="append", default=[], metavar="MODEL", help="the list prices of a model, beside the regimes")
    parser.add_argument("--limit", type=_above_zero, metavar="N", help="at most so many sessions")
    parser.add_argument("--jobs", type=_jobs, metavar="N",
                        help=f"processes, {_MOST} at most (default: as many as there are cores, 8 at most)")
    parser.add_argument("--counter", default="", metavar="NAME", help="toktok, tiktoken or estimate (default: the best that is installed)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="all figures as JSON")
    form.add_argument("--csv", action="store_true", help="tokens by session and tool as CSV, as they come")


def _above_zero(text: str) -> int:
    """A number of 1 or more."""
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError("1 or more is meant")
    return number


def _jobs(text: str) -> int:
    """A number of processes that a machine can start."""
    number = _above_zero(text)
    if number > _MOST:
        raise argparse.ArgumentTypeError(f"{_MOST} at most")
    return number


class _Progress:
    """A bar on stderr, on a terminal only: of what is read, how much has been replayed."""

    def __init__(self, size: int, shown: bool) -> None:
        self.size, self.shown, self.read, self.sessions, self._began, self._next = size, shown, 0, 0, time.monotonic(), 0.0
        self._ahead: deque[int] = deque()  # of each session that is not through, what was read when it was

    def done(self, size: int) -> None:
        """So many bytes more are read."""
        self.read += size
        if not self.sessions:
            self._show(0)

    def given(self) -> None:
        """A session is read and on its way."""
        self._ahead.append(self.read)

    def through(self) -> None:
        """The first session on its way is through."""
        self.sessions += 1
        self._show(self._ahead.popleft())

    def _show(self, passed: int) -> None:
        now = time.monotonic()
        if self.shown and now >= self._next:
            self._next = now + _BAR
            part = min(1.0, passed / self.size) if self.size else 0.0
            spent = now - self._began
            left = f", {_clock(spent / part - spent)} left" if part > 0.02 else ""
            bar = f"{'#' * int(24 * part):<24} {part:4.0%}  " if self.size else ""
            of = f" of {self.size / 1e6:.0f}" if self.size else ""
            sys.stderr.write(f"\r{bar}{self.sessions} sessions, {passed / 1e6:.0f}{of} MB{left}\x1b[K")
            sys.stderr.flush()

    def clear(self) -> None:
        """Takes the bar away."""
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _clock(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"


def _meant(args: argparse.Namespace) -> list[str]:
    """The files to read. Raises `ConfigError` where there are none."""
    found = files(args.files)
    if args.files and not found:
        raise ConfigError(f"no recording in {', '.join(args.files)}: a file's name is to end in {', '.join(ENDINGS)}")
    for option, variable, defaults, below in _OWN:
        if getattr(args, option):
            places = dict.fromkeys(os.path.join(config.harness_folder(variable, one), name) for one in defaults for name in below)
            own = [path for path in files(filter(os.path.isdir, places)) if not path.endswith(_NOTES)]
            if not own:
                raise ConfigError(f"no recorded sessions below {' or '.join(places)}; {variable} names another folder")
            found += own
    if args.days is not None and found:
        since = time.time() - 86_400 * args.days
        found = [path for path in found if not os.path.exists(path) or os.path.getmtime(path) >= since]
        if not found:
            raise ConfigError(f"none of these files changed in the last {args.days:g} days")
    if not found:
        raise ConfigError("say which recordings: FILE, a folder, --claude-code, --codex or --opencode")
    return found


def _sessions(paths: Sequence[str], limit: int | None, tell: Callable[[str], None], progress: _Progress) -> Iterator[Trajectory]:
    seen: set[int] = set()
    number = 0
    for path in paths:
        for trajectory in read_file(path, tell, seen, progress.done):
            progress.given()
            yield trajectory
            number += 1
            if number == limit:
                return


def _run(args: argparse.Namespace) -> int:
    paths, profiles = _meant(args), list(dict.fromkeys(args.profile or ["auto"]))
    counter = token_counter(args.counter)
    prices = [*(Priced(one, None, OURS) for one in REGIMES), *map(priced, args.price)]
    jobs = args.jobs or min(8, os.cpu_count() or 1)
    found = {profile: Savings(_listed) for profile in profiles}
    progress = _Progress(sum(os.path.getsize(path) for path in paths if os.path.isfile(path)), sys.stderr.isatty())
    faults: list[str] = []

    def tell(fault: str) -> None:
        faults.append(fault)
        if len(faults) <= _TOLD:
            progress.clear()
            complain(fault)
    if args.csv:
        say(",".join(saved.COLUMNS) + "\r\n")
    for result in worked(_sessions(paths, args.limit, tell, progress), Work(profiles, args.counter, DEFINITION), jobs):
        progress.through()
        if isinstance(result, str):
            tell(result)
            continue
        for profile, one in zip(profiles, result, strict=True):
            found[profile].add(one)
            if args.csv:
                say(saved.rows(profile, one))
    progress.clear()
    if len(faults) > _TOLD:
        complain(f"{len(faults) - _TOLD} more faults; --json lists all of them")
    told = saved.Found(paths, faults, counter.name, found, DEFINITION, prices, {one.name: one.kept for one in MODELS})
    if args.json:
        say(json.dumps(saved.as_dict(told), indent=1, ensure_ascii=False) + "\n")
    elif not args.csv:
        say(saved.text(told))
    return 0 if found[profiles[0]].sessions else 1


@cache
def _listed(model: str) -> Priced | None:
    """The list prices of a billed model; None where no table knows it."""
    try:
        return priced(model)
    except Invalid:
        return None


REPLAY = Command(
    "replay", "say what byref would have saved in recorded sessions", _options, _run,
    f"Reads recordings of {', '.join(formats())}, told apart by what is in them; they stream, a session at a time. What cannot be read is "
    "told by file and line, and the rest is read. Nothing is stored and nothing leaves this machine. Exit code 1: no session was found.")
