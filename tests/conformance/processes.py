"""Runs a function in a process of its own, as an ordinary user where file modes matter: root may write anywhere."""
from __future__ import annotations

import os
import pickle
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

Result = TypeVar("Result")
NOBODY = 65_534


def start(action: Callable[[], object], *, ordinary: bool = False) -> tuple[int, int]:
    """Forks. Returns the pid and a pipe on which the pickled result, or the exception, will come."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    os.close(reading)
    try:
        if ordinary and os.getuid() == 0:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        answer: object = action()
    except BaseException as fault:
        answer = fault
    try:
        os.write(writing, pickle.dumps(answer))
    except BaseException:
        os.write(writing, pickle.dumps(RuntimeError(repr(answer))))
    os._exit(0)


def finish(pid: int, reading: int) -> object:
    """What the process returned; raises what it raised."""
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    if not answer:
        raise RuntimeError("the process died")
    result = pickle.loads(answer)
    if isinstance(result, BaseException):
        raise result
    return result


def in_child(action: Callable[[], Result], *, ordinary: bool = False) -> Result:
    return finish(*start(action, ordinary=ordinary))  # type: ignore[return-value]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that an ordinary user owns and can reach, which root's own temporary folders are not."""
    folder = Path(tempfile.mkdtemp(prefix="byref-test-"))
    if os.getuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    yield folder
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o700)
    shutil.rmtree(folder)
