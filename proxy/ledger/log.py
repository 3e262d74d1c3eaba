"""The ledger's events as lines of JSON in a file, for programs that follow one. Off unless a path is named (`[log]` of config.toml).

A line holds what an `Event` does, and its scope: numbers, refs, names of tools, addresses and queries, no output and no argument. A file
that would grow beyond its size becomes FILE.1, that one FILE.2, and so on; the oldest is dropped. Many processes append; each holds a
lock beside the file while it does, so that neither a rotation nor a purge loses a line.
"""
from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from byref.proxy.contracts import Event, Json
from byref.proxy.errors import StoreError

FIELDS = ("at", "kind", "session", "ref", "tool", "shape", "numbers", "note")


class EventLog:
    """Appends to the file at `path`, of at most `size` bytes, and keeps so many full ones before it. fault: is told what went wrong."""

    def __init__(self, path: str, size: int, files: int, fault: Callable[[str, BaseException], object] = lambda doing, fault: None) -> None:
        self.path, self.size, self.files, self._fault = path, size, files, fault

    def note(self, scope: str, events: Iterable[Event]) -> None:
        """Adds events. A file that cannot be written stops no call."""
        try:
            self.write(scope, events)
        except OSError as fault:
            self._fault("event log", fault)

    def purge(self, ref: str, scope: str | None) -> None:
        """Forgets an output. Raises `StoreError` where the file may still name it."""
        try:
            self.forget(ref, scope)
        except OSError as fault:
            raise StoreError(f"{ref} is removed from the store, but {self.path} may still name it: {fault}") from fault

    def write(self, scope: str, events: Iterable[Event]) -> None:
        """Adds events, a line each, all of them to one file. Raises OSError."""
        lines = "".join(_line({**{name: getattr(event, name) for name in FIELDS}, "scope": scope}) for event in events)
        data = lines.encode("utf-8", "replace")
        with self._locked():
            fd = self._open()
            try:
                held = os.fstat(fd).st_size
                if held and held + len(data) > self.size:
                    os.close(fd)
                    fd = -1
                    self._rotate()
                    fd = self._open()
                os.write(fd, data)
            finally:
                if fd >= 0:
                    os.close(fd)

    def forget(self, ref: str, scope: str | None) -> None:
        """Takes ref and address off an output's lines, and their words off searches, in a scope or in all. Raises OSError."""
        with self._locked():
            for path in self._every():
                try:
                    with open(path, encoding="utf-8", errors="replace") as file:
                        lines = file.readlines()
                except FileNotFoundError:
                    continue
                left = [_without(line, ref, scope) for line in lines]
                if left != lines:
                    self._replace(path, "".join(left))

    def _open(self) -> int:
        return os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def _every(self) -> list[str]:
        return [self.path, *(f"{self.path}.{number}" for number in range(1, self.files + 1))]

    def _rotate(self) -> None:
        places = self._every()
        for newer, older in zip(places[-2::-1], places[:0:-1], strict=True):
            try:
                os.replace(newer, older)
            except FileNotFoundError:
                pass
        if not self.files:
            os.truncate(self.path, 0)

    def _replace(self, path: str, text: str) -> None:
        beside = f"{path}.new"
        fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        os.makedirs(os.path.dirname(self.path) or ".", 0o700, exist_ok=True)
        fd = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)


def _line(held: dict[str, object]) -> str:
    return json.dumps(held, ensure_ascii=False, separators=(",", ":")) + "\n"


def _without(line: str, ref: str, scope: str | None) -> str:
    """A line as a purge leaves it. One that is none of ours stays as it is."""
    try:
        row: Json = json.loads(line)
    except ValueError:
        return line
    if not isinstance(row, dict) or scope not in (None, row.get("scope")):
        return line
    if row.get("ref") == ref:
        return _line({**row, "ref": "", "note": ""})
    return _line({**row, "note": ""}) if row.get("kind") == "searched" and row.get("note") else line
