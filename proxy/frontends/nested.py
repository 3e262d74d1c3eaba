"""How a command that starts byref again tells the `byref run` around it to pass everything on untouched.

What a fetch returns is never cut or stored a second time (invariant 7), and the way it came decides that, never its
text. `byref run` names a file that does not exist in the variable BYREF_INSIDE; any byref below it creates that file;
at the end the outer one looks whether it is there. A variable and a file survive shells, pipes and programs that
close inherited descriptors.
"""
from __future__ import annotations

import os


def name() -> str:
    """The path of a file that is not there yet, for the commands that this process will start."""
    return f"/tmp/byref-{os.getpid()}-{os.urandom(8).hex()}"


def tell(path: str) -> None:
    """Creates the file that the run around us named, if there is one and it still lives."""
    try:
        os.kill(int(path.split("-")[-2]), 0)
    except (ValueError, IndexError, OverflowError, ProcessLookupError):
        return
    except PermissionError:  # it lives, as another user
        pass
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
    except OSError:  # told before, or nowhere to tell it
        pass


def told(path: str) -> bool:
    """Whether a command below has told; removes the file."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError:  # created by another user in a sticky folder: it is there
        pass
    return True


def starts_byref(command: str) -> bool:
    """Whether a shell command line starts byref itself, at its beginning or after an operator."""
    import shlex
    words = shlex.shlex(command, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    first = True
    try:
        for word in words:
            if first and word.rpartition("/")[2] == "byref":
                return True
            # assignments and openers leave the next word in the place of a command
            first = not word.strip("();<>|&") or (first and ("=" in word or word in ("{", "!", "exec", "env", "command", "time")))
    except ValueError:  # quotes that never close: no shell would run it
        return False
    return False
