"""`byref doctor`: whether byref works here, what there is, and what to do where it does not. Exit code 1 on a problem."""
from __future__ import annotations

import argparse
import os
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from importlib import metadata

import byref
from byref.proxy import config, rulebook
from byref.proxy.errors import ByrefError, ConfigError
from byref.proxy.faults import NAME as LOG
from byref.proxy.frontends import changes, install
from byref.proxy.frontends.command import Command, say, scope_of
from byref.proxy.frontends.trust import STATES
from byref.proxy.frontends.upkeep import size
from byref.proxy.gateway import open as open_gateway
from byref.proxy.text import SMALL

LOW = 1 << 30  # bytes of free disk below which a long session may fill it


class Findings:
    """Lines as they are found; problems are counted."""

    def __init__(self) -> None:
        self.problems = 0

    def fine(self, what: str, text: str) -> None:
        say(f"ok    {what + ':':<13} {text}\n")

    def wrong(self, what: str, text: str, advice: str) -> None:
        self.problems += 1
        say(f"wrong {what + ':':<13} {text}\n{'':20} {advice}\n")


def extras() -> Iterator[tuple[str, list[str]]]:
    """Each extra of the installed distribution, with its packages that are missing here."""
    about = metadata.distribution("byref")
    wanted = about.requires or []
    for extra in about.metadata.get_all("Provides-Extra") or []:
        missing = []
        for line in wanted:
            requirement, _, marker = line.partition(";")
            if f"'{extra}'" in marker or f'"{extra}"' in marker:
                name = "".join(c if c.isalnum() or c in "-_." else " " for c in requirement).split()[0]
                try:
                    metadata.version(name)
                except metadata.PackageNotFoundError:
                    missing.append(name)
        yield extra, missing


def _open_to_others(home: str) -> list[str]:
    """What lies in the home that others than its owner may read or write; the first few."""
    found = []
    for folder, _, files in os.walk(home):
        for path in (folder, *(os.path.join(folder, name) for name in files)):
            try:
                if stat.S_IMODE(os.lstat(path).st_mode) & 0o077 and not os.path.islink(path):
                    found.append(path)
            except FileNotFoundError:  # another process was faster
                continue
        if len(found) > 2:
            break
    return found


def _place(found: Findings, home: str) -> None:
    there = os.path.isdir(home)
    above = home
    while not os.path.exists(above):
        above = os.path.dirname(above)
    found.fine("home", home + ("" if there else " (comes with the first output)"))
    if not os.access(above, os.W_OK | os.X_OK) or not os.path.isdir(above):
        found.wrong("permissions", f"{above} cannot be written",
                    "make it writable for you, or set BYREF_HOME to a folder that is; until then outputs pass raw")
    elif there and (loose := _open_to_others(home)):
        found.wrong("permissions", f"others may look at {', '.join(loose[:3])}", f"chmod -R go= {home}")
    else:
        found.fine("permissions", "yours alone")
    free = shutil.disk_usage(above).free
    if free < LOW:
        found.wrong("free disk", size(free), "make room, lower BYREF_MAX_BYTES and run `byref gc`, or move BYREF_HOME")
    else:
        found.fine("free disk", size(free))


def _store(found: Findings) -> None:
    try:
        with open_gateway() as gateway:
            usage = gateway.store.usage()
            found.fine("store", f"{gateway.settings.url}: {usage.outputs} outputs, {size(usage.bytes_raw)} in {size(usage.bytes_held)}; "
                                f"quota {size(usage.max_bytes)}, {usage.max_age / 86400:g} days")
            found.fine("scope", scope_of(gateway))
            found.fine("profile", f"{gateway.settings.profile}; outputs up to {SMALL} bytes pass, and whatever a view would not shorten")
    except ConfigError as fault:
        found.wrong("settings", str(fault), "until then outputs pass raw")
    except (ByrefError, OSError) as fault:
        found.wrong("store", f"{type(fault).__name__}: {fault}", "`byref verify` says what is damaged; until it is mended outputs pass raw")


def _run(args: argparse.Namespace) -> int:
    found = Findings()
    found.fine("byref", f"{byref.__version__}, Python {sys.version.split()[0]}, {os.path.dirname(byref.__file__)}")
    if shutil.which("byref") is None:
        found.wrong("command", "`byref` is not on the PATH", f"add {os.path.dirname(sys.executable)} to it, so that an agent can fetch")
    home = config.home_folder()
    _place(found, home)
    _store(found)
    log = os.path.join(home, LOG)
    if os.path.exists(log) and (lines := _tail(log)):
        found.fine("faults", f"the last of those in {log}: {lines[-1][:200]}")
    else:
        found.fine("faults", "none logged")
    for extra, missing in extras():
        found.fine(f"extra {extra}", f"not here: {', '.join(missing)}; pip install 'byref[{extra}]'" if missing else "installed")
    _rules(found, home)
    _filtering(found, home)
    say("all is well\n" if not found.problems else f"{found.problems} problem{'s' * (found.problems > 1)} to mend\n")
    return 1 if found.problems else 0


def _rules(found: Findings, home: str) -> None:
    """How a project's own rules stand, and which of those in force cannot be used."""
    from byref.filters.ruling import usable
    try:
        root = config.project_folder()
    except ConfigError:  # the working folder is gone, as was said above
        return
    for file in rulebook.Rulebook(home).files(f":{root}"):
        try:
            usable(file)
        except ByrefError as fault:
            found.wrong("rules", f"{file.place} is skipped: {fault}", f"mend it; `byref rules check {file.place}` says when it is well")
    for state in rulebook.states(home, root):
        if state.state == "changed":
            found.wrong("rules", f"{state.path} is not as it was trusted, so it does not count", "read it, then `byref trust`")
        elif state.state != "gone":
            found.fine("rules", f"{state.path}: {STATES[state.state] or 'trusted'}")


def _filtering(found: Findings, home: str) -> None:
    """What is filtered, since when, and how to turn it off."""
    if config.switched_off():
        found.fine("filtering", "off (BYREF=off), also for an agent started from here; unset BYREF to turn it on")
    else:
        found.fine("filtering", "what `byref run`, `pipe` and `view` are given; --raw shows all of one output, BYREF=off turns `run` off")
    held = changes.record(home)
    for key, what in held.items():
        name, _, folder = key.partition(" ")
        since, at = "", what.get("at")
        if isinstance(at, (int, float)):
            since = time.strftime(" since %Y-%m-%d %H:%M", time.localtime(at))
        if what.get("kind") == "mcp":
            files = what.get("files")
            found.fine(name, f"the results of its MCP servers{since}, in {', '.join(files) if isinstance(files, dict) else folder}")
        elif why := install.set_up(key):
            known = why in (install.GONE, install.OLD)
            found.wrong(name, f"{folder}: {why}", f"`byref install {name}` puts it right" if known else "until then outputs pass raw")
        elif extras := install.missing():
            found.wrong(name, f"the hooks in {folder} pass everything raw", f"pip install 'byref[{','.join(extras)}]'")
        else:
            found.fine(name, f"the outputs of its tools{since}, by the hooks in {folder}")
    if not held:
        found.fine("harnesses", "none is set up; `byref install claude-code` sets up the first")
        return
    try:
        off = config.exceptions(home)
    except ConfigError as fault:
        found.wrong("off", str(fault), "until then its table [off] switches off nothing")
        return
    names = {"tools": off.tools, "commands": off.commands, "projects": off.projects}
    said = "; ".join(f"{name}: {', '.join(values)}" for name, values in names.items() if values)
    found.fine("off", said or "nothing")
    found.fine("to turn off", "a call: BYREF=off before the command. A command, tool or project: the table [off] of "
                              f"{os.path.join(home, 'config.toml')}, commands = [\"git diff*\"], tools = [\"mcp__github__*\"], "
                              "projects = [\"~/folder\"]. All: BYREF=off before the harness, or `byref uninstall`")


def _tail(path: str) -> list[str]:
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - 4096))
        return file.read().decode("utf-8", "replace").splitlines()


DOCTOR = Command("doctor", "check that byref works here, and say what to do where it does not", lambda parser: None, _run)
