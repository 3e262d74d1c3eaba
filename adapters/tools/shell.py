"""shell: one command, for harnesses that have no tool for it. Off unless its user asks for it by name, since it can do what its user can.

The command is run by `sh -c` in the caller's folder or one below it, in a process group of its own, without a terminal and with nothing to
read. Of the environment it gets the variables in PASSED and those that BYREF_SHELL_ENV names. At the end of its time the whole group is
killed, and what had come is the output; past the store's room for one output it is ended too, and says so.
"""
from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, BinaryIO

from byref.proxy.errors import Invalid
from byref.proxy.operations import Adapter, Argument, Here, Operation, Result

if TYPE_CHECKING:
    from byref.proxy.operations import Arguments

PASSED = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TERM", "TMPDIR", "TZ", "VIRTUAL_ENV",
          "BYREF_SCOPE", "BYREF_HOME", "BYREF_INSIDE")
MORE = "BYREF_SHELL_ENV"
TIMEOUT, LONGEST = 120, 3600  # seconds
_PAUSE = 0.02
_TIMED_OUT = 124  # as timeout(1) says it
_ARGUMENTS = (
    Argument("command", "what sh runs", required=True, plain=True),
    Argument("folder", "where it runs: a folder in the working folder, which it is if none is named"),
    Argument("timeout", f"seconds after which it is ended ({TIMEOUT}, {LONGEST} at most)", "integer"),
)


def _run(arguments: Arguments, here: Here) -> Result:
    command = arguments.get("command")
    if not isinstance(command, str) or not command.strip() or not _sendable(command):
        raise Invalid("command is a text that is not empty, and has no NUL and no half of a surrogate pair")
    timeout = arguments.get("timeout")
    if timeout is None:
        timeout = TIMEOUT
    if not isinstance(timeout, int) or isinstance(timeout, bool) or not 1 <= timeout <= LONGEST:
        raise Invalid(f"timeout is a number of seconds from 1 to {LONGEST}, not {str(timeout)[:20]}")
    folder = _folder(arguments.get("folder"), here.folder)
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 whoever calls closes them
    try:
        return _result(command, folder, timeout, here, out, err)
    except BaseException:
        out.close()
        err.close()
        raise


def _folder(asked: object, root: str) -> str:
    """Raises `Invalid` for a folder that does not lie in the caller's, symbolic links resolved."""
    if asked is None or asked == "":
        return root
    if not isinstance(asked, str) or not _sendable(asked):
        raise Invalid("folder is a text without NUL")
    place, top = os.path.realpath(os.path.join(root, asked)), os.path.realpath(root)
    if os.path.commonpath([place, top]) != top:
        raise Invalid(f"folder {asked[:60]!r} lies outside of the working folder; name one in it")
    if not os.path.isdir(place):
        raise Invalid(f"folder {asked[:60]!r} does not exist")
    return place


def _sendable(text: str) -> bool:
    """Whether a program can take a text as an argument."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def environment(held: Mapping[str, str]) -> dict[str, str]:
    """What a command gets of the caller's environment."""
    names = {*PASSED, *held.get(MORE, "").replace(",", " ").split()}
    return {name: value for name, value in held.items() if name in names or name.startswith("LC_")}


def _result(command: str, folder: str, timeout: int, here: Here, out: IO[bytes], err: IO[bytes]) -> Result:
    process = subprocess.Popen(["/bin/sh", "-c", command], cwd=folder, env=environment(here.environment), stdin=subprocess.DEVNULL,
                               stdout=out, stderr=err, start_new_session=True)
    why, code = "", None
    until = time.monotonic() + timeout
    try:
        while code is None and not why:
            try:
                code = process.wait(_PAUSE)
            except subprocess.TimeoutExpired:
                size = os.fstat(out.fileno()).st_size + os.fstat(err.fileno()).st_size
                if here.stop():
                    why = "nobody waits for it any more"
                elif time.monotonic() >= until:
                    why = f"it took longer than {timeout} seconds"
                elif size > here.room:
                    why = f"its output is larger than the {here.room} bytes that are kept"
    finally:
        _end(process)
    if why:
        code = _TIMED_OUT
        err.seek(0, os.SEEK_END)
        err.write(f"shell: ended, since {why}\n".encode())
    elif code is not None and code < 0:
        code = 128 - code
    parts: dict[str, bytes | BinaryIO] = {}
    for name, file in (("stdout", out), ("stderr", err)):
        size = file.seek(0, os.SEEK_END)
        if size > here.room:
            file.truncate(here.room)
        file.seek(0)
        parts[name] = file  # type: ignore[assignment]
    return Result(parts, code)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kills what is left of the command and of all that it started in its group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


ADAPTER = Adapter("shell", "run a command", (
    Operation("", "Runs a command in the working folder and returns its output.", _ARGUMENTS, run=_run, cost=True),),
    environment=(MORE,), optional=True)
