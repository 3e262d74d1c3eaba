"""Files of settings that others own: a change is shown first, what was there is kept, and comes back.

What was there is kept under the home of byref, with the hash of what was written: as long as nobody else has changed a file
since, undoing puts back its old bytes. Files of mode and owner as before, links followed, written at once or not at all.
"""
from __future__ import annotations

import difflib
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from byref.proxy.contracts import Json
from byref.proxy.errors import ConfigError
from byref.proxy.frontends import hook

RECORD = "installed.json"  # under the home: what was installed where, and when
BACKUPS = "backups"


@dataclass(slots=True)
class Change:
    """One file: its bytes now and then; None where there is none. notes: what undoing it needs to know, beside its old bytes."""

    path: str
    now: bytes | None
    then: bytes | None
    before: bytes | None = None  # what uninstalling brings back
    notes: Mapping[str, Json] = field(default_factory=dict)


def record(home: str) -> dict[str, dict[str, Json]]:
    """What is installed: by harness and folder, when (seconds) and which files. Empty where nothing is, or it is not readable."""
    try:
        with open(os.path.join(home, RECORD), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, dict)} if isinstance(found, dict) else {}


def held(home: str, key: str, path: str) -> Mapping[str, Json]:
    """What the record says of a file: the hash that it was given, the name of its backup, the notes. Empty where it says nothing."""
    files = record(home).get(key, {}).get("files")
    found = files.get(path) if isinstance(files, dict) else None
    return found if isinstance(found, dict) else {}


def backup(home: str, note: Mapping[str, Json]) -> bytes | None:
    """The old bytes of a file that the record knows."""
    name = note.get("backup")
    return read(os.path.join(home, BACKUPS, os.path.basename(name))) if isinstance(name, str) else None


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
    """Puts a file into its new state. Folders that it needs come. Raises `ConfigError` where somebody changed it meanwhile."""
    path = os.path.realpath(change.path)
    if read(path) != change.now:
        raise ConfigError(f"{change.path} was changed meanwhile; try again")
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


def keep(home: str, key: str, changes: Sequence[Change], now: float, **about: Json) -> None:
    """Notes under a key what is installed, and what was there before, ahead of the first change."""
    hook.make_folder(os.fsencode(os.path.join(home, BACKUPS)))
    files: dict[str, Json] = {}
    for change in changes:
        name: str | None = None
        if change.before is not None:
            name = f"{fingerprint(change.path.encode())[:16]}-{fingerprint(change.before)[:16]}"
            _write_new(os.path.join(home, BACKUPS, name), change.before)
        files[change.path] = {"hash": fingerprint(change.then or b""), "backup": name, **change.notes}
    every = record(home)
    former = every.get(key, {})
    folders = former.get("folders")
    made = sorted({*(str(one) for one in (folders if isinstance(folders, list) else ())), *_missing_folders(changes)})
    every[key] = {"at": former.get("at", now), "files": files, "folders": list(made), **about}
    _note(home, every)


def _missing_folders(changes: Sequence[Change]) -> set[str]:
    """The folders that writing the changes will make."""
    found = set()
    for change in changes:
        folder = os.path.dirname(os.path.realpath(change.path))
        while not os.path.exists(folder):
            found.add(folder)
            folder = os.path.dirname(folder)
    return found


def drop(home: str, key: str) -> None:
    """Forgets that it was installed, with the backups and the folders that were made for it and are empty now."""
    every = record(home)
    former = every.pop(key, {})
    files, folders = former.get("files"), former.get("folders")
    for folder in sorted(map(str, folders), key=len, reverse=True) if isinstance(folders, list) else ():
        try:
            os.rmdir(folder)
        except OSError:  # it holds something else, or is gone
            pass
    for one in files.values() if isinstance(files, dict) else ():
        name = one.get("backup") if isinstance(one, dict) else None
        if isinstance(name, str):
            try:
                os.unlink(os.path.join(home, BACKUPS, os.path.basename(name)))
            except FileNotFoundError:
                pass
    _note(home, every)


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


def read(path: str) -> bytes | None:
    """The bytes of a file; None where there is none."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def fingerprint(data: bytes) -> str:
    """The hash by which a file is known again."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()
