"""`byref install HARNESS --mcp` and `uninstall`: the MCP servers that a harness lists are started through `byref wrap`.

An entry keeps its name, its other keys and its comments; only what it starts changes. Undoing puts back the old bytes of a file
that nobody has changed since; else the old bytes of each entry that stands as it was written; else, of what others have changed or
written anew, only the command. It needs no record for that, since the new command holds the old one.
"""
from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Protocol, cast
from urllib.parse import urlsplit

from byref.proxy import config, discover
from byref.proxy.contracts import Json
from byref.proxy.errors import ConfigError
from byref.proxy.frontends import changes, edits, toml_edits
from byref.proxy.frontends.changes import Change
from byref.proxy.frontends.command import say
from byref.proxy.harness import Listed

MARK = "byref.proxy.frontends.cli"
Agreed = Callable[[argparse.Namespace, Sequence[Change]], bool]
PROGRAM = (sys.executable, "-P", "-c", f"from {MARK} import main; main()")
VARIABLE = "BYREF_HEADER_"  # before a number: the variable that holds a header's value
HOME = "BYREF_HOME"
NEAR = ("localhost", "127.0.0.1", "::1")


class Format(Protocol):
    """What changes a kind of file: edits.py, toml_edits.py."""

    def change(self, text: str, path: Sequence[str], values: Mapping[str, Json]) -> str: ...
    def piece(self, before: str, after: str, path: Sequence[str]) -> tuple[str, str]: ...


class Lists(Protocol):
    """How a harness lists MCP servers in files: what an adapter of one says. Pure; see adapters/harnesses/cursor.py.

    PROJECT_FILES: such files of a project, below its root. Files ending in .toml are TOML, all others JSON with comments.
    """

    PROJECT_FILES: Sequence[str]

    def user_files(self, user: str, settings: str, platform: str, told: Callable[[str], str]) -> Sequence[str]:
        """A user's files, whether they are there or not. user: the user's own folder; settings: where programs keep theirs;
        platform as in sys.platform; told: a variable of the environment, empty where it is not set."""
    def lists(self, settings: Json) -> Sequence[tuple[str, ...]]:
        """The paths of all lists of servers in a file's value."""
    def listed(self, entry: Mapping[str, Json]) -> Listed:
        """What an entry starts."""
    def relisted(self, entry: Mapping[str, Json], server: Listed) -> Mapping[str, Json]:
        """What makes the entry start another server: values by key, None for a key that goes."""


@dataclass(frozen=True, slots=True)
class Place:
    """A harness and its files. home: of byref. store: the home as its servers have to be told of it, empty where they need not.

    only: the servers that are meant, by name; all where it is empty.
    """

    name: str
    harness: Lists
    files: tuple[str, ...]
    key: str
    home: str
    store: str
    only: tuple[str, ...]


def place(args: argparse.Namespace) -> Place:
    """What the options mean. Raises `ConfigError`."""
    name = args.harness
    module = discover.load("harnesses", name.replace("-", "_"))
    if not hasattr(module, "relisted"):
        raise ConfigError(f"{name} keeps no list of MCP servers")
    harness, user = cast(Lists, module), config.user_folder()
    files: tuple[str, ...]
    if args.file:
        of = os.path.abspath(args.file)
        files = (of,)
    elif args.project:
        of = config.project_folder()
        files = tuple(os.path.join(of, file) for file in harness.PROJECT_FILES)
        if not files:
            raise ConfigError(f"{name} keeps no list of MCP servers in a project")
    else:
        settings, of = config.told("XDG_CONFIG_HOME") or os.path.join(user, ".config"), "user"
        if sys.platform == "darwin":
            settings = os.path.join(user, "Library", "Application Support")
        files = tuple(map(os.path.abspath, harness.user_files(user, settings, sys.platform, config.told)))
    home = config.home_folder()
    # A harness may start its servers with few variables: what names another home than the usual one is written down.
    usual = config.home_folder({"HOME": user})
    key = f"{name} mcp {of}"
    known = changes.record(home).get(key, {}).get("files")
    files = tuple(dict.fromkeys((*files, *(known if isinstance(known, dict) else ()))))
    return Place(name, harness, files, key, home, "" if home == usual else home, tuple(args.server))


# -- what an entry starts -------------------------------------------------------------------------------
def wrapped(server: Listed, store: str) -> Listed:
    """The server behind `byref wrap`. Values of headers are handed over in variables: command lines are seen by all."""
    variables, told = dict(server.variables), []
    for number, (name, value) in enumerate(server.headers, 1):
        variables[f"{VARIABLE}{number}"] = value
        told.append(f"{name}: {VARIABLE}{number}")
    told += [f"{name}: {words} {variable}" if words else f"{name}: {variable}" for name, words, variable in server.taken]
    if store:
        variables.setdefault(HOME, store)
    words = ["--", *server.command] if server.command else [
        "--url", server.url, *(word for header in told for word in ("--header-env", header))]
    passed = dict.fromkeys((*server.passed, *(variable for *_, variable in server.taken)))
    return Listed((*PROGRAM, "wrap", *words), variables=tuple(variables.items()), passed=tuple(passed))


def unwrapped(server: Listed) -> Listed | None:
    """The server that stands behind a command of `wrapped`, of this or another installation; None for what is no such command."""
    words = list(server.command)
    at = next((n for n, word in enumerate(words[:8]) if MARK in word and words[n + 1:n + 2] == ["wrap"]), None)
    if at is None:
        return None
    rest, variables = words[at + 2:], dict(server.variables)
    variables.pop(HOME, None)
    if rest[:1] == ["--"]:
        return Listed(tuple(rest[1:]), variables=tuple(variables.items()), passed=server.passed) if rest[1:] else None
    url, headers, taken = "", [], []
    for option, value in zip(rest[::2], rest[1::2], strict=False):
        if option == "--url":
            url = value
        elif option == "--header-env":
            name, _, source = value.partition(": ")
            before, _, variable = source.rpartition(" ")
            if variable.startswith(VARIABLE):
                headers.append((name, variables.pop(variable, "")))
            else:
                taken.append((name, before, variable))
    passed = tuple(name for name in server.passed if name not in {variable for *_, variable in taken})
    return Listed((), url, tuple(headers), tuple(taken), tuple(variables.items()), passed) if url else None


def is_byref(server: Listed) -> bool:
    """Whether it is byref already: a wrapped server, whoever wrapped it, or byref's own."""
    words = server.command[:8]
    return any((MARK in word or os.path.basename(word) == "byref") and words[n + 1:n + 2] in (("wrap",), ("mcp",))
               for n, word in enumerate(words))


def may_sign_in(server: Listed) -> bool:
    """Whether the harness may have to sign in with it: a server elsewhere for which no header is set."""
    try:
        return bool(server.url) and not server.headers and not server.taken and urlsplit(server.url).hostname not in NEAR
    except ValueError:
        return True


# -- what a file lists ----------------------------------------------------------------------------------
def _read(path: str, text: str) -> Json:
    return toml_edits.read(text) if path.endswith(".toml") else edits.read(text).value if text.strip() else {}


def _format(path: str) -> Format:
    return toml_edits if path.endswith(".toml") else edits


def _servers(where: Place, path: str, text: str) -> Iterator[tuple[list[str], Mapping[str, Json]]]:
    """Path and entry of each server in a file."""
    value = _read(path, text)
    for keys in where.harness.lists(value):
        found = value
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        for name, entry in found.items() if isinstance(found, dict) else ():
            if isinstance(entry, dict):
                yield [*keys, name], entry


def _put(where: Place, path: str, text: str, at: Sequence[str], entry: Mapping[str, Json], server: Listed) -> tuple[str, Json]:
    """The text with an entry that starts another server, and what undoing that needs to know."""
    values, kind = where.harness.relisted(entry, server), _format(path)
    after = kind.change(text, at, values)
    new, old = kind.piece(text, after, at)
    return after, {"at": list(at), "new": new, "old": old, "was": {key: entry.get(key) for key in values}, "is": dict(values)}


def restored(where: Place, path: str) -> Change:
    """A file whose servers start as they did before. Raises `ConfigError` where it cannot be read."""
    now, note = changes.read(path), changes.held(where.home, where.key, path)
    if now is None:
        return Change(path, None, None)
    before = changes.backup(where.home, note)
    if before is not None and changes.fingerprint(now) == note.get("hash"):
        return Change(path, now, before)
    try:
        text = now.decode()
        held = note.get("servers")
        for one in held if isinstance(held, list) else ():
            new, old = (str(one.get(key, "")) for key in ("new", "old")) if isinstance(one, dict) else ("", "")
            if new and text.count(new) >= 1:
                text = text.replace(new, old, 1)
        for at, entry in list(_servers(where, path, text)):
            server = unwrapped(where.harness.listed(entry))
            if server is not None:
                text = _undo(where, path, text, at, entry, server, held)
    except (ConfigError, UnicodeDecodeError) as fault:
        raise ConfigError(f"{path}: {fault}") from None
    return Change(path, now, text.encode())


def _undo(where: Place, path: str, text: str, at: Sequence[str], entry: Mapping[str, Json], server: Listed, held: Json) -> str:
    """An entry that somebody wrote anew: its old values where it has those that were put in, else what its command says of the old."""
    values = where.harness.relisted(entry, server)
    for one in held if isinstance(held, list) else ():
        put = one.get("is") if isinstance(one, dict) and one.get("at") == list(at) else None
        was = one.get("was") if isinstance(one, dict) else None
        if isinstance(put, dict) and isinstance(was, dict) and all(entry.get(key) == value for key, value in put.items()):
            values = was
    return _format(path).change(text, at, values)


def planned(where: Place) -> tuple[list[Change], list[str]]:
    """The changes, one a file that is there, and of each server that stays as it is why. Raises `ConfigError`."""
    found: list[Change] = []
    left, names = [], set()
    for path in where.files:
        change = restored(where, path)
        if change.now is None or change.then is None:
            continue
        try:
            had = {tuple(at) for at, entry in _servers(where, path, change.now.decode()) if unwrapped(where.harness.listed(entry))}
            text = change.then.decode()
            notes: list[Json] = []
            for at, entry in list(_servers(where, path, text)):
                names.add(at[-1])
                server = where.harness.listed(entry)
                if is_byref(server) or not (not where.only or at[-1] in where.only or tuple(at) in had):
                    continue
                why = server.why
                if not why and may_sign_in(server) and at[-1] not in where.only and tuple(at) not in had:
                    why = f"it may need a sign-in, which only the harness can do; if not: --server {at[-1]}"
                if why:
                    left.append(f"{at[-1]} stays as it is: {why}")
                    continue
                text, note = _put(where, path, text, at, entry, wrapped(server, where.store))
                notes.append(note)
        except ConfigError as fault:
            raise ConfigError(f"{path}: {fault}") from None
        if notes or change.now != change.then:
            found.append(Change(path, change.now, text.encode(), change.then, {"servers": notes}))
    if missing := [name for name in where.only if name not in names]:
        raise ConfigError(f"{where.name} lists no MCP server {missing[0]!r}; there are {', '.join(sorted(names)) or 'none'}")
    return found, left


# -- the commands ---------------------------------------------------------------------------------------
def install(args: argparse.Namespace, agreed: Agreed) -> int:
    """Wraps the servers of a harness; returns the exit code. agreed: shows the changes, and says whether they are to be made."""
    if find_spec("mcp") is None:
        raise ConfigError("wrapping an MCP server needs the extra `mcp`: pip install 'byref[mcp]'")
    where = place(args)
    wanted, left = planned(where)
    say("".join(f"{line}\n" for line in left))
    if not wanted:
        there = [path for path in where.files if os.path.exists(path)]
        say(f"no MCP server to wrap in {', '.join(there or where.files)}\n")
    elif all(change.now == change.then for change in wanted):
        say(f"the MCP servers of {where.name} are wrapped already\n")
    elif agreed(args, wanted):
        changes.keep(where.home, where.key, wanted, time.time(), kind="mcp")
        for change in wanted:
            if change.now != change.then:
                changes.write(change)
        say(f"the MCP servers of {where.name} are wrapped; it takes effect when it starts them next. To undo: byref uninstall "
            f"{where.name} --mcp{' --project' if args.project else f' --file {args.file}' if args.file else ''}\n")
    return 0


def uninstall(args: argparse.Namespace, agreed: Agreed) -> int:
    """Undoes that."""
    where = place(args)
    return undo(args, agreed, [restored(where, path) for path in where.files], (where.home, where.key),
                f"no MCP server of {where.name} is wrapped\n", f"the MCP servers of {where.name} start as they did before\n")


def undo(args: argparse.Namespace, agreed: Agreed, found: Sequence[Change], record: tuple[str, str], none: str, done: str) -> int:
    """Makes the changes of those found that change something, once they are agreed to, and drops their record: home and key."""
    wanted = [change for change in found if change.now != change.then]
    if not wanted:
        say(none)
    elif agreed(args, wanted):
        for change in wanted:
            changes.write(change)
        say(done)
    else:
        return 0
    if not args.dry_run:
        changes.drop(*record)
    return 0
