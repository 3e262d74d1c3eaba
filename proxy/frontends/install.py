"""`byref install HARNESS` and `uninstall`: hooks, the MCP server and a skill in the harness's own settings.

The change is shown before it is made, and undone byte for byte (changes.py). Where somebody else has changed a file since,
uninstalling takes out what is ours and leaves the rest as it stands.
"""
from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from types import ModuleType
from typing import Protocol, cast

from byref.proxy import config, discover
from byref.proxy.contracts import Json
from byref.proxy.errors import ConfigError
from byref.proxy.frontends import changes, edits, hook, listed, toml_edits
from byref.proxy.frontends.changes import Change
from byref.proxy.frontends.command import Command, say
from byref.proxy.frontends.remote import START

GONE, OLD = "its hooks are there no more", "its plugin is not that of this byref"
STARTING = 4.0  # seconds that the start of a session waits for the daemon, so that its first call gets a view
SERVER = [sys.executable, "-P", "-c", "from byref.proxy.frontends.cli import main; main()", "mcp"]


class Installable(Protocol):
    """What an adapter of a harness says of its settings. See adapters/harnesses/claude_code.py.

    FOLDER: of settings, below the user's own folder and a project's. An adapter may have more: PROJECT_FOLDER, where that of a project
    differs; user_folder(user, told), where no single variable names the user's; waiting(folder, settings): why hooks that are in
    place do not run, from their folder and the value of the user's own config.toml.
    """

    FOLDER: str
    VARIABLE: str

    def additions(self, hook: str, opening: str, server: Sequence[str], *, project: bool) -> Mapping[str, Json]: ...
    def place(self, name: str, folder: str, root: str, *, project: bool, moved: bool) -> str: ...
    def ours(self, value: Json) -> bool: ...


@dataclass(frozen=True, slots=True)
class Target:
    """A harness and where its settings lie. home: of byref."""

    name: str
    harness: Installable
    project: bool
    home: str
    folder: str
    root: str
    moved: bool

    @property
    def key(self) -> str:
        """The name in the record."""
        return f"{self.name} {self.folder}"

    def files(self) -> Mapping[str, Json]:
        """What belongs where: by path, what is merged into a JSON or TOML file, or a whole text."""
        added = self.harness.additions(
            hook_command(self.name), hook_command(self.name, STARTING), SERVER, project=self.project)
        return {self.harness.place(name, self.folder, self.root, project=self.project, moved=self.moved): what
                for name, what in added.items()}


def module(name: str) -> ModuleType:
    """The adapter of a harness. Raises `ConfigError` with the names there are."""
    if name.replace("-", "_") not in discover.names("harnesses"):
        raise ConfigError(f"no harness {name[:40]!r}; there are {', '.join(known())}")
    return discover.load("harnesses", name.replace("-", "_"))


def known() -> list[str]:
    """The harnesses that something can be installed into. A framework of agents is none: it is told of byref by its program."""
    return [name.replace("_", "-") for name in discover.names("harnesses") if hasattr(discover.load("harnesses", name), "lists")]


def target(name: str, project: bool) -> Target:
    """Raises `ConfigError` for a harness that there is none of."""
    harness = cast(Installable, module(name))
    root = config.scope_here().partition(":")[2] if project and not config.told("BYREF_SCOPE") else os.getcwd()
    if not project:
        root = config.user_folder()
    if project:
        folder = os.path.join(root, getattr(harness, "PROJECT_FOLDER", harness.FOLDER))
    elif hasattr(harness, "user_folder"):
        folder = harness.user_folder(root, config.told)
    else:
        folder = config.harness_folder(harness.VARIABLE, harness.FOLDER)
    return Target(name, harness, project, config.home_folder(), folder, root, bool(config.told(harness.VARIABLE)))


def hook_command(name: str, wait: float = 0.0) -> str:
    """The command line of a hook; with wait, one that waits so many seconds for the daemon to come up.

    It ends well whatever happens: a fault, or the 2 of Python for a script that is gone, would be a
    reason to stop the tool.
    """
    words = [sys.executable, "-I", "-S", os.path.abspath(hook.__file__), name]
    words += [*(["--wait", f"{wait:g}"] if wait else []), "--start", *START]
    return f"{shlex.join(words)} || :"


class Format(Protocol):
    """What changes a kind of file: edits.py, toml_edits.py."""

    def merge(self, text: str, addition: Mapping[str, Json]) -> tuple[str, list[list[str]]]: ...
    def remove(self, text: str, addition: Mapping[str, Json], ours: edits.Ours, made: Collection[list[str]]) -> str: ...


def _format(path: str) -> Format:
    return toml_edits if path.endswith(".toml") else edits


def _value(path: str, text: str) -> Json:
    return toml_edits.read(text) if path.endswith(".toml") else edits.read(text or "{}").value


def planned(where: Target) -> list[Change]:
    """The changes that install it; none where all is in place. Raises `ConfigError` where a file cannot take them."""
    return [_planned(where, path, what) for path, what in where.files().items()]


def _planned(where: Target, path: str, what: Json) -> Change:
    now = changes.read(path)
    if isinstance(what, str):
        return Change(path, now, what.encode())
    addition = what if isinstance(what, dict) else {}
    before = _restored(where, path, addition).then
    try:
        text, made = _format(path).merge((before or b"").decode(), addition)
    except (ConfigError, UnicodeDecodeError) as fault:
        raise ConfigError(f"{path}: {fault}") from None
    return Change(path, now, text.encode(), before, {"made": [list(one) for one in made]})


def undone(where: Target) -> list[Change]:
    """The changes that uninstall it."""
    found = []
    for path, what in where.files().items():
        if isinstance(what, str):
            now, held = changes.read(path), changes.held(where.home, where.key, path)
            ours = now is not None and (now == what.encode() or changes.fingerprint(now) == held.get("hash"))
            found.append(Change(path, now, None if ours else now))
        else:
            found.append(_restored(where, path, what if isinstance(what, dict) else {}))
    return found


def _restored(where: Target, path: str, addition: Mapping[str, Json]) -> Change:
    """A file without what is ours: its old bytes where nobody has changed it since, else what is left of it."""
    now, held = changes.read(path), changes.held(where.home, where.key, path)
    if now is None:
        return Change(path, None, None)
    if changes.fingerprint(now) == held.get("hash"):
        before = changes.backup(where.home, held)
        if before is not None or held.get("backup") is None:
            return Change(path, now, before)
    made = held.get("made")
    kept = [[str(key) for key in one] for one in made if isinstance(one, list)] if isinstance(made, list) else []
    try:
        text = _format(path).remove(now.decode(), addition, where.harness.ours, kept)
        empty = "hash" in held and held.get("backup") is None and _value(path, text) == {}
    except (ConfigError, UnicodeDecodeError) as fault:
        raise ConfigError(f"{path}: {fault}") from None
    return Change(path, now, None if empty else text.encode())


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("harness", metavar="HARNESS", help=", ".join(known()))
    parser.add_argument("--mcp", action="store_true", help="wrap the MCP servers that it lists; all there is where it has no hooks")
    parser.add_argument("--server", metavar="NAME", action="append", default=[], help="with --mcp: this server alone; also several times")
    parser.add_argument("--file", metavar="FILE", help="with --mcp: a file that lists servers in another place than the usual one")
    parser.add_argument("--project", action="store_true", help="in this project's settings instead of the user's own")
    parser.add_argument("--yes", action="store_true", help="make the change without asking")
    parser.add_argument("--dry-run", action="store_true", help="show the change and make none")


def agreed(args: argparse.Namespace, planned: Sequence[Change]) -> bool:
    """Shows the change, and whether it is to be made."""
    say(changes.diff(planned))
    if args.dry_run or args.yes:
        return not args.dry_run
    if not sys.stdin.isatty():
        raise ConfigError("nothing was changed; say --yes to make this change")
    say("make this change? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def missing() -> list[str]:
    """The extras without which hooks find no daemon, or markers could not be followed."""
    return [extra for extra, module in (("serve", "aiohttp"), ("mcp", "mcp")) if find_spec(module) is None]


def set_up(key: str) -> str | None:
    """Why what the record says of a harness and folder does not work; empty where all stands, None where it cannot be told."""
    name, _, folder = key.partition(" ")
    try:
        harness = cast(Installable, discover.load("harnesses", name.replace("-", "_")))
        file, what = next(iter(harness.additions(hook_command(name), hook_command(name, STARTING), SERVER, project=False).items()))
        now = changes.read(os.path.join(folder, file))
        if isinstance(what, str):
            return GONE if now is None else "" if now == what.encode() else OLD
        found = edits.read((now or b"{}").decode()).value
        hooks = found.get("hooks") if isinstance(found, dict) else None
        groups = [one for value in hooks.values() if isinstance(value, list) for one in value] if isinstance(hooks, dict) else []
        if not any(harness.ours(one) for one in groups):
            return GONE
        if not hasattr(harness, "waiting"):
            return ""
        own = os.path.join(config.harness_folder(harness.VARIABLE, harness.FOLDER), "config.toml")
        settings = toml_edits.read((changes.read(own) or b"").decode())
        return str(harness.waiting(folder, settings) and harness.waiting(os.path.realpath(folder), settings))
    except (ConfigError, OSError, UnicodeDecodeError):
        return None


def _lists(args: argparse.Namespace) -> bool:
    """Whether the servers are meant that a harness lists, not its hooks."""
    hooks = hasattr(module(args.harness), "additions")
    return bool(args.mcp or args.server or args.file or not hooks)


def _install(args: argparse.Namespace) -> int:
    if _lists(args):
        return listed.install(args, agreed)
    if extras := missing():
        raise ConfigError(f"a harness needs the daemon and the MCP server: pip install 'byref[{','.join(extras)}]'")
    where = target(args.harness, args.project)
    wanted = planned(where)
    if all(change.now == change.then for change in wanted):
        say(f"{args.harness} is set up already, in {where.folder}\n")
        return 0
    if agreed(args, wanted):
        changes.keep(where.home, where.key, wanted, time.time())
        for change in wanted:
            if change.now != change.then:
                changes.write(change)
        if hasattr(where.harness, "waiting") and set_up(where.key):
            say(f"not yet: {set_up(where.key)}\n")
        say(f"{args.harness} is set up, in {where.folder}; it takes effect with the next session. "
            f"To undo: byref uninstall {args.harness}{' --project' if args.project else ''}\n")
    return 0


def _uninstall(args: argparse.Namespace) -> int:
    if _lists(args):
        return listed.uninstall(args, agreed)
    where = target(args.harness, args.project)
    none = f"{args.harness} is not set up in {where.folder}\n"
    if any(key.startswith(f"{args.harness} mcp ") for key in changes.record(where.home)):
        none += f"its MCP servers are wrapped; byref uninstall {args.harness} --mcp\n"
    return listed.undo(args, agreed, undone(where), (where.home, where.key), none, f"{args.harness} is as it was, in {where.folder}\n")


INSTALL = Command(
    "install", "set up a harness: its hooks, the MCP server, a skill; or wrap the MCP servers that it lists", _options, _install,
    "The change is shown first. Claude Code and Codex get hooks, OpenCode a plugin, which see the results of MCP servers too; "
    "the servers of these are wrapped with --mcp. "
    "Of all others the MCP servers are wrapped: each is started through `byref wrap`, under its own name, all else in the file as it was.")
UNINSTALL = Command("uninstall", "undo that, byte for byte", _options, _uninstall)
