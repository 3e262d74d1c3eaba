"""`byref replay`: what byref would have saved in sessions that are already recorded."""
from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from byref.proxy import config
from byref.proxy.errors import ConfigError, Invalid
from byref.proxy.frontends import saved
from byref.proxy.frontends.command import Command, say
from byref.proxy.frontends.held import complain
from byref.proxy.frontends.replaying import Work, worked
from byref.proxy.frontends.wrap.own import TOOLS
from byref.proxy.ledger.counter import token_counter
from byref.proxy.ledger.economics import REGIMES
from byref.proxy.ledger.kv import MODELS
from byref.proxy.ledger.prices import OURS, Priced, priced
from byref.proxy.ledger.reading import files, formats, read_file
from byref.proxy.ledger.savings import Savings
from byref.proxy.ledger.trajectories import Trajectory

PROFILES = ("safe", "auto", "lean")
_BAR = 0.2  # seconds between two looks of the progress


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="*", help="recordings, or folders of them")
    parser.add_argument("--claude-code", action="store_true", help="your own sessions of Claude Code (CLAUDE_CONFIG_DIR, else ~/.claude)")
    parser.add_argument("--codex", action="store_true", help="your own sessions of Codex (CODEX_HOME, else ~/.codex)")
    parser.add_argument("--days", type=float, metavar="N", help="only files that changed in the last N days")
    parser.add_argument("--profile", action="append", choices=PROFILES, metavar="NAME",
                        help=f"{', '.join(PROFILES)}; again for another to compare with the first (default: auto)")
    parser.add_argument("--price", action="append", default=[], metavar="MODEL", help="the list prices of a model, beside the regimes")
    parser.add_argument("--limit", type=int, metavar="N", help="at most so many sessions")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (default: as many as there are cores, 8 at most)")
    parser.add_argument("--counter", default="", metavar="NAME", help="toktok, tiktoken or estimate (default: the best that is installed)")
    parser.add_argument("--json", action="store_true", help="all figures as JSON")
    parser.add_argument("--csv", action="store_true", help="tokens by session and tool as CSV, as they come")


class _Progress:
    """A bar on stderr, on a terminal only."""

    def __init__(self, size: int, shown: bool) -> None:
        self.size, self.shown, self.read, self.sessions, self._began, self._next = size, shown, 0, 0, time.monotonic(), 0.0

    def done(self, size: int) -> None:
        """So many bytes more are read."""
        self.read += size
        now = time.monotonic()
        if self.shown and now >= self._next:
            self._next = now + _BAR
            part = min(1.0, self.read / self.size) if self.size else 1.0
            rate = self.read / 1e6 / max(0.001, now - self._began)
            bar = "#" * int(24 * part)
            sys.stderr.write(f"\r{bar:<24} {part:4.0%}  {self.sessions} sessions  {self.read / 1e6:.0f} MB  {rate:.1f} MB/s\x1b[K")
            sys.stderr.flush()

    def clear(self) -> None:
        """Takes the bar away."""
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _meant(args: argparse.Namespace) -> list[str]:
    """The files to read. Raises `ConfigError` where there are none."""
    found = files(args.files)
    for asked, variable, default, below in ((args.claude_code, "CLAUDE_CONFIG_DIR", ".claude", "projects"),
                                            (args.codex, "CODEX_HOME", ".codex", "sessions")):
        if asked:
            folder = os.path.join(config.harness_folder(variable, default), below)
            own = [path for path in files([folder]) if path.endswith(".jsonl")] if os.path.isdir(folder) else []
            if not own:
                raise ConfigError(f"no recorded sessions below {folder}; {variable} names another folder")
            found += own
    if args.days is not None and found:
        since = time.time() - 86_400 * args.days
        found = [path for path in found if not os.path.exists(path) or os.path.getmtime(path) >= since]
        if not found:
            raise ConfigError(f"none of these files changed in the last {args.days:g} days")
    if not found:
        raise ConfigError("say which recordings: FILE, a folder, --claude-code or --codex")
    return found


def _sessions(paths: Sequence[str], limit: int | None, tell: Callable[[str], None], done: Callable[[int], None]) -> Iterator[Trajectory]:
    seen: set[int] = set()
    number = 0
    for path in paths:
        for trajectory in read_file(path, tell, seen, done):
            if limit is not None and number >= limit:
                return
            number += 1
            yield trajectory


def _run(args: argparse.Namespace) -> int:
    paths, profiles = _meant(args), list(dict.fromkeys(args.profile or ["auto"]))
    counter = token_counter(args.counter)
    (definitions,) = counter.count([json.dumps(TOOLS)])
    prices = [*(Priced(one, None, OURS) for one in REGIMES), *map(priced, args.price)]
    jobs = max(1, args.jobs or min(8, os.cpu_count() or 1))
    found = {profile: Savings(_listed) for profile in profiles}
    progress = _Progress(sum(os.path.getsize(path) for path in paths if os.path.isfile(path)), sys.stderr.isatty())
    faults: list[str] = []

    def tell(fault: str) -> None:
        progress.clear()
        faults.append(fault)
        complain(fault)
    if args.csv:
        say(",".join(saved.COLUMNS) + "\r\n")
    for result in worked(_sessions(paths, args.limit, tell, progress.done), Work(profiles, args.counter, definitions), jobs):
        progress.sessions += 1
        progress.done(0)
        if isinstance(result, str):
            tell(result)
            continue
        for profile, one in zip(profiles, result, strict=True):
            found[profile].add(one)
            if args.csv:
                say(saved.rows(profile, one))
    progress.clear()
    told = saved.Found(paths, faults, counter.name, found, definitions, prices, {one.name: one.kept for one in MODELS})
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
    "Reads sessions of Claude Code and Codex, message lists of OpenAI and Anthropic, SWE-agent's .traj and trajectories of our own; files "
    f"of lines stream. Formats: {', '.join(formats())}. What cannot be read is told by file and line, and the rest is read. Nothing is "
    "stored and nothing leaves this machine. Exit code 1: no session was found.")
