"""`byref install HARNESS` and `uninstall`: hooks, the MCP server and a skill in the harness's own settings.

The change is shown before it is made. What was there is kept under the home of byref, with the hash of what was written: as
long as nobody else has changed a file since, uninstalling puts back its old bytes; else it takes out what is ours and
leaves the rest as it stands. Files of mode and owner as before, links followed, written at once or not at all.
"""
from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Protocol, cast

from byref.proxy import config, discover
from byref.proxy.contracts import Json
from byref.proxy.errors import ConfigError
from byref.proxy.frontends import edits, hook
from byref.proxy.frontends.command import Command, say
from byref.proxy.frontends.remote import START

RECORD = "installed.json"  # under the home: what was installed where, and when
BACKUPS = "backups"
STARTING = 4.0  # seconds that the start of a session waits for the daemon, so that its first call gets a view
SERVER = [sys.executable, "-P", "-c", "from byref.proxy.frontends.cli import main; main()", "mcp"]


class Installable(Protocol):
    """What an adapter of a harness says of its settings. See adapters/harnesses/claude_code.py."""

    FOLDER: str
    VARIABLE: str

    def additions(self, hook: str, opening: str, server: Sequence[str], *, project: bool) -> Mapping[str, Json]: ...
    def place(self, name: str, folder: str, root: str, *, project: bool, moved: bool) -> str: ...
    def ours(self, value: Json) -> bool: ...


@dataclass(slots=True)
class Change:
    """One file: its bytes now and then; None where there is none. made: the containers that `edits.merge` had to make."""

    path: str
    now: bytes | None
    then: bytes | None
    before: bytes | None = None  # what uninstalling brings back
    made: list[list[str]] = field(default_factory=list)


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
        """What belongs where: by path, what is merged into a JSON file, or a whole text."""
        added = self.harness.additions(
            hook_command(self.name), hook_command(self.name, STARTING), SERVER, project=self.project)
        return {self.harness.place(name, self.folder, self.root, project=self.project, moved=self.moved): what
                for name, what in added.items()}


def target(name: str, project: bool) -> Target:
    """Raises `ConfigError` for a harness that there is none of."""
    try:
        harness = cast(Installable, discover.load("harnesses", name.replace("-", "_")))
    except ConfigError:
        known = ", ".join(one.replace("_", "-") for one in discover.names("harnesses"))
        raise ConfigError(f"no harness {name[:40]!r}; there are {known}") from None
    root = config.scope_here().partition(":")[2] if project and not config.told("BYREF_SCOPE") else os.getcwd()
    if not project:
        root = config.user_folder()
    folder = os.path.join(root, harness.FOLDER) if project else config.harness_folder(harness.VARIABLE, harness.FOLDER)
    return Target(name, harness, project, config.home_folder(), folder, root, bool(config.told(harness.VARIABLE)))


def hook_command(name: str, wait: float = 0.0) -> str:
    """The command line of a hook; with wait, one that waits so many seconds for the daemon to come up.

    It ends well whatever happens: a fault, or the 2 of Python for a script that is gone, would be a
    reason to stop the tool.
    """
    words = [sys.executable, "-I", "-S", os.path.abspath(hook.__file__), name]
    words += [*(["--wait", f"{wait:g}"] if wait else []), "--start", *START]
    return f"{shlex.join(words)} || :"


def record(home: str) -> dict[str, dict[str, Json]]:
    """What is installed: by harness and folder, when (seconds) and which files. Empty where nothing is, or it is not readable."""
    try:
        with open(os.path.join(home, RECORD), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, dict)} if isinstance(found, dict) else {}


def planned(where: Target) -> list[Change]:
    """The changes that install it; none where all is in place. Raises `ConfigError` where a file cannot take them."""
    return [_planned(where, path, what) for path, what in where.files().items()]


def _planned(where: Target, path: str, what: Json) -> Change:
    now = _read(path)
    if isinstance(what, str):
        return Change(path, now, what.encode())
    addition = what if isinstance(what, dict) else {}
    before = _restored(where, path, addition).then
    try:
        text, made = edits.merge((before or b"").decode(), addition)
    except (ConfigError, UnicodeDecodeError) as fault:
        raise ConfigError(f"{path}: {fault}") from None
    return Change(path, now, text.encode(), before, made)


def undone(where: Target) -> list[Change]:
    """The changes that uninstall it."""
    found = []
    for path, what in where.files().items():
        if isinstance(what, str):
            now = _read(path)
            ours = now is not None and (now == what.encode() or _hash(now) == _held(where, path).get("hash"))
            found.append(Change(path, now, None if ours else now))
        else:
            found.append(_restored(where, path, what if isinstance(what, dict) else {}))
    return found


def _restored(where: Target, path: str, addition: Mapping[str, Json]) -> Change:
    """A file without what is ours: its old bytes where nobody has changed it since, else what is left of it."""
    now, held = _read(path), _held(where, path)
    if now is None:
        return Change(path, None, None)
    backup = held.get("backup")
    if _hash(now) == held.get("hash"):
        before = _read(os.path.join(where.home, BACKUPS, backup)) if isinstance(backup, str) else None
        if before is not None or backup is None:
            return Change(path, now, before)
    made = held.get("made")
    kept = [[str(key) for key in one] for one in made if isinstance(one, list)] if isinstance(made, list) else []
    try:
        text = edits.remove(now.decode(), addition, where.harness.ours, kept)
        empty = "hash" in held and backup is None and edits.read(text).value == {}
    except (ConfigError, UnicodeDecodeError) as fault:
        raise ConfigError(f"{path}: {fault}") from None
    return Change(path, now, None if empty else text.encode())


def _held(where: Target, path: str) -> Mapping[str, Json]:
    files = record(where.home).get(where.key, {}).get("files")
    found = files.get(path) if isinstance(files, dict) else None
    return found if isinstance(found, dict) else {}


def diff(changes: Sequence[Change]) -> str:
    """The changes as a unified diff."""
    out: list[str] = []
    for change in changes:
        if change.now != change.then:
            old, new = ((data or b"").decode("utf-8", "replace").splitlines(True) for data in (change.now, change.then))
            out += difflib.unified_diff(old, new, change.path if change.now is not None else "/dev/null",
                                        change.path if change.then is not None else "/dev/null")
    return "".join(line if line.endswith("\n") else line + "\n" for line in out)


def write(change: Change) -> None:
    """Puts a file into its new state. Folders that it needs come."""
    path = os.path.realpath(change.path)
    if change.then is None:
        os.unlink(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    beside = f"{path}.byref-{os.getpid()}"
    mode = os.stat(path).st_mode & 0o777 if change.now is not None else 0o600 if change.path.endswith(".claude.json") else 0o644
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with open(fd, "wb") as file:
            os.fchmod(fd, mode)
            file.write(change.then)
            file.flush()
            os.fsync(fd)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


def keep(where: Target, changes: Sequence[Change], now: float) -> None:
    """Notes what is installed, and what was there before, ahead of the first change."""
    hook.make_folder(os.fsencode(os.path.join(where.home, BACKUPS)))
    files: dict[str, Json] = {}
    for change in changes:
        name: str | None = None
        if change.before is not None:
            name = f"{_hash(change.path.encode())[:16]}-{_hash(change.before)[:16]}"
            _write_new(os.path.join(where.home, BACKUPS, name), change.before)
        files[change.path] = {"hash": _hash(change.then or b""), "backup": name, "made": list(map(list, change.made))}
    held = record(where.home)
    former = held.get(where.key, {})
    folders = former.get("folders")
    made = sorted({*(str(one) for one in (folders if isinstance(folders, list) else ())), *_missing_folders(changes)})
    held[where.key] = {"at": former.get("at", now), "files": files, "folders": list(made)}
    _note(where.home, held)


def _missing_folders(changes: Sequence[Change]) -> set[str]:
    """The folders that writing the changes will make."""
    found = set()
    for change in changes:
        folder = os.path.dirname(os.path.realpath(change.path))
        while not os.path.exists(folder):
            found.add(folder)
            folder = os.path.dirname(folder)
    return found


def drop(where: Target) -> None:
    """Forgets that it was installed, with the backups and the folders that were made for it and are empty now."""
    held = record(where.home)
    former = held.pop(where.key, {})
    files, folders = former.get("files"), former.get("folders")
    for folder in sorted(map(str, folders), key=len, reverse=True) if isinstance(folders, list) else ():
        try:
            os.rmdir(folder)
        except OSError:  # it holds something else, or is gone
            pass
    for one in files.values() if isinstance(files, dict) else ():
        backup = one.get("backup") if isinstance(one, dict) else None
        if isinstance(backup, str):
            try:
                os.unlink(os.path.join(where.home, BACKUPS, os.path.basename(backup)))
            except FileNotFoundError:
                pass
    _note(where.home, held)


def _note(home: str, held: Mapping[str, Json]) -> None:
    path = os.path.join(home, RECORD)
    if held:
        _write_new(f"{path}~", (json.dumps(held, indent=1) + "\n").encode())
        os.replace(f"{path}~", path)
    elif os.path.exists(path):
        os.unlink(path)


def _write_new(path: str, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(fd)


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("harness", metavar="HARNESS", help="claude-code")
    parser.add_argument("--project", action="store_true", help="in this project's settings instead of the user's own")
    parser.add_argument("--yes", action="store_true", help="make the change without asking")
    parser.add_argument("--dry-run", action="store_true", help="show the change and make none")


def _agreed(args: argparse.Namespace, changes: Sequence[Change]) -> bool:
    """Shows the change, and whether it is to be made."""
    say(diff(changes))
    if args.dry_run or args.yes:
        return not args.dry_run
    if not sys.stdin.isatty():
        raise ConfigError("nothing was changed; say --yes to make this change")
    say("make this change? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def missing() -> list[str]:
    """The extras without which hooks find no daemon, or markers could not be followed."""
    return [extra for extra, module in (("serve", "aiohttp"), ("mcp", "mcp")) if find_spec(module) is None]


def set_up(key: str) -> bool | None:
    """Whether what the record says of a harness and folder stands in the settings; None where it cannot be told."""
    name, _, folder = key.partition(" ")
    try:
        harness = cast(Installable, discover.load("harnesses", name.replace("-", "_")))
        files = harness.additions("", "", SERVER, project=False)
        found = edits.read((_read(os.path.join(folder, next(iter(files)))) or b"{}").decode())
    except (ConfigError, OSError, UnicodeDecodeError):
        return None
    hooks = found.value.get("hooks") if isinstance(found.value, dict) else None
    groups = [one for value in hooks.values() if isinstance(value, list) for one in value] if isinstance(hooks, dict) else []
    return any(harness.ours(one) for one in groups)


def _install(args: argparse.Namespace) -> int:
    if extras := missing():
        raise ConfigError(f"a harness needs the daemon and the MCP server: pip install 'byref[{','.join(extras)}]'")
    where = target(args.harness, args.project)
    changes = planned(where)
    if all(change.now == change.then for change in changes):
        say(f"{args.harness} is set up already, in {where.folder}\n")
        return 0
    if _agreed(args, changes):
        keep(where, changes, time.time())
        for change in changes:
            if change.now != change.then:
                write(change)
        say(f"{args.harness} is set up, in {where.folder}; it takes effect with the next session. "
            f"To undo: byref uninstall {args.harness}{' --project' if args.project else ''}\n")
    return 0


def _uninstall(args: argparse.Namespace) -> int:
    where = target(args.harness, args.project)
    changes = [change for change in undone(where) if change.now != change.then]
    if not changes:
        say(f"{args.harness} is not set up in {where.folder}\n")
    elif _agreed(args, changes):
        for change in changes:
            write(change)
        say(f"{args.harness} is as it was, in {where.folder}\n")
    else:
        return 0
    if not args.dry_run:
        drop(where)
    return 0


INSTALL = Command("install", "set up a harness: its hooks, the MCP server, a skill", _options, _install)
UNINSTALL = Command("uninstall", "undo that, byte for byte", _options, _uninstall)
