"""The rules of a user and of a project as files, and which of a project's files the user trusts.

A user's rules are `rules/*.toml` in byref's home. A project's are `.byref/rules/*.toml` under its root; one counts as long as it has
the bytes that `byref trust` saw: `trusted` in the home holds a hash and a path a line.
"""
from __future__ import annotations

import os
import stat

from byref.proxy.contracts import RuleFile, dataclass
from byref.proxy.errors import ConfigError
from byref.proxy.text import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    Stamp: TypeAlias = tuple[int, int, int]

TRUSTED = "trusted"  # the file in the home
LIMIT = 1 << 18  # bytes of a rule's file; a longer one is none
_PROJECTS = 256  # projects that are held in memory


@dataclass(frozen=True, slots=True)
class State:
    """A file of a project and how it stands: trusted, changed, new, gone or unreadable."""

    path: str
    state: str


def user_rules(home: str) -> str:
    """The folder of a user's own rules."""
    return os.path.join(home, "rules")


def project_rules(root: str) -> str:
    """The folder of a project's rules."""
    return os.path.join(root, ".byref", "rules")


def root_of(scope: str) -> str:
    """The project folder that a scope names, empty if it names none."""
    root = scope.partition(":")[2]
    return root if root.startswith("/") else ""


class Rulebook:
    """The rules that go before those of byref: a project's, then a user's. Files are read again when their time or size changes."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._folders: dict[str, tuple[Stamp, dict[str, Stamp | None], tuple[RuleFile, ...]]] = {}
        self._trust: tuple[Stamp | None, Mapping[str, str]] = (None, {})
        self._found: dict[str, tuple[tuple[RuleFile, ...], tuple[RuleFile, ...], Mapping[str, str], tuple[RuleFile, ...]]] = {}

    def files(self, scope: str) -> tuple[RuleFile, ...]:
        """The files in force in a scope, the one that goes before the others first. The same object as long as nothing changed."""
        root = root_of(scope)
        mine = self._folder(user_rules(self._home))
        own = self._folder(project_rules(root)) if root else ()
        trust = self._trusted() if own else {}
        held = self._found.get(root)
        if held is None or held[0] is not mine or held[1] is not own or held[2] is not trust:
            if len(self._found) >= _PROJECTS:
                self._found.clear()
                self._folders.clear()
            files = (*(file for file in own if trust.get(file.place) == _digest(file)), *mine)
            held = self._found[root] = (mine, own, trust, files)
        return held[3]

    def _folder(self, folder: str) -> tuple[RuleFile, ...]:
        """The files of a folder in the order of their names."""
        held = self._folders.get(folder)
        stamp = _stamp(folder)
        if stamp is None:
            self._folders.pop(folder, None)
            return ()
        if held is None or held[0] != stamp or held[1] != {path: _stamp(path) for path in held[1]}:
            stamps = {path: _stamp(path) for path in paths(folder)}  # before the files are read: what changes meanwhile is read again
            held = self._folders[folder] = (stamp, stamps, tuple(file for path in stamps if (file := read(path)) is not None))
        return held[2]

    def _trusted(self) -> Mapping[str, str]:
        stamp = _stamp(os.path.join(self._home, TRUSTED))
        if stamp != self._trust[0]:
            self._trust = (stamp, trusted(self._home))
        return self._trust[1]


def states(home: str, root: str = "") -> list[State]:
    """How the files of a project stand; without a root all files that are or were trusted."""
    known = trusted(home)
    here = paths(project_rules(root)) if root else []
    inside = project_rules(root) + os.sep
    found = []
    for path in sorted({*here, *(path for path in known if not root or path.startswith(inside))}):
        file = read(path)
        if file is None:
            state = "unreadable" if os.path.lexists(path) else "gone"
        else:
            state = "new" if path not in known else "trusted" if known[path] == _digest(file) else "changed"
        found.append(State(path, state))
    return found


def trust(home: str, root: str) -> list[RuleFile]:
    """Trusts the files of a project as they are now, and no other state of them; returns them."""
    files = [file for path in paths(project_rules(root)) if (file := read(path)) is not None]
    for file in files:
        if "\n" in file.place:
            raise ConfigError(f"{file.place!r} cannot be trusted: its path holds a line end; rename it")
    _write(home, {**_outside(home, root), **{file.place: _digest(file) for file in files}})
    return files


def distrust(home: str, root: str) -> list[str]:
    """Trusts no file of a project any more; returns those that were."""
    left = _outside(home, root)
    gone = sorted(trusted(home).keys() - left.keys())
    if gone:
        _write(home, left)
    return gone


def trusted(home: str) -> dict[str, str]:
    """The hash under which each path is trusted."""
    try:
        with open(os.path.join(home, TRUSTED), encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            rows = [line.rstrip("\n").partition(" ") for line in file]
    except FileNotFoundError:
        return {}
    return {path: name for name, _, path in rows if path}


def paths(folder: str) -> list[str]:
    """The rule files in a folder, sorted; none where there is no folder."""
    try:
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".toml") and not name.startswith(".")]
    except OSError:
        return []


def read(path: str) -> RuleFile | None:
    """A rule's file; None where there is none that can be read, or it is too long to be one."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe of that name must not hold up a call
    except OSError:
        return None
    try:
        data = os.read(handle, LIMIT + 1) if stat.S_ISREG(os.fstat(handle).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(handle)
    if data is None or len(data) > LIMIT:
        return None
    return RuleFile(os.path.basename(path)[:-5], data.decode("utf-8", "surrogateescape"), path)


def _digest(file: RuleFile) -> str:
    return digest(file.text.encode("utf-8", "surrogateescape"))


def _outside(home: str, root: str) -> dict[str, str]:
    inside = project_rules(root) + os.sep
    return {path: name for path, name in trusted(home).items() if not path.startswith(inside)}


def _write(home: str, table: Mapping[str, str]) -> None:
    """Puts the file in place whole, for its owner alone."""
    os.makedirs(home, 0o700, exist_ok=True)
    path = os.path.join(home, TRUSTED)
    draft = f"{path}.{os.getpid()}"
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(handle, "".join(f"{table[name]} {name}\n" for name in sorted(table)).encode("utf-8", "surrogateescape"))
        os.fsync(handle)
    finally:
        os.close(handle)
    os.replace(draft, path)


def _stamp(path: str) -> Stamp | None:
    """What changes with a file or folder, as far as a look tells."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
