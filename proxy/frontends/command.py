"""What a command of `byref` is, and what several of them need. Off the cold path: argparse and dataclasses are fine here."""
from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from errno import EBADF

from byref.proxy import config
from byref.proxy.errors import ByrefError, ConfigError, Corrupt, Evicted, Expired, Invalid, StoreError, Unknown
from byref.proxy.frontends.held import write_all
from byref.proxy.gateway import Gateway
from byref.proxy.gateway import open as open_gateway
from byref.proxy.session import Session

SESSION = "cli"
EXIT_CODES: dict[type[ByrefError], int] = {Invalid: 2, ConfigError: 2, Unknown: 3, Expired: 4, Evicted: 5, Corrupt: 6, StoreError: 7}
EXIT_HELP = ("exit codes: 0 all is well, 1 a problem was found or a file could not be used, 2 invalid use, address or setting, "
             "3 unknown ref, 4 expired, 5 evicted, 6 corrupt, 7 the store cannot be used now")


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its name, a line of help, the options it adds to its parser, and what it does with them.

    run returns the exit code, and may raise any `ByrefError` or OSError; both become one line on stderr.
    """

    name: str
    help: str
    options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    detail: str = ""


def exit_code(fault: ByrefError) -> int:
    """The exit code of a fault."""
    return next((code for kind, code in EXIT_CODES.items() if isinstance(fault, kind)), 1)


def open_session(profile: str | None = None) -> tuple[Gateway, Session]:
    """The gateway of the user's store and the session of the shell in the scope of the working folder.

    A shell cannot tell what an agent's context holds, so nothing collapses as already shown.
    """
    gateway = open_gateway(profile=profile)
    return gateway, gateway.session(SESSION, scope=scope_of(gateway), proven=False)


def scope_of(gateway: Gateway) -> str:
    """The scope of the working folder, unless the settings fix one."""
    return gateway.settings.scope or config.scope_here()


def put(data: bytes | Iterable[bytes]) -> None:
    """Bytes to stdout, as they are. Raises OSError where it was closed: then 1 may be a file of ours."""
    if not to_stdout():
        raise OSError(EBADF, os.strerror(EBADF), "stdout")
    sys.stdout.flush()
    for block in (data,) if isinstance(data, bytes) else data:
        if not write_all(1, block):
            raise BrokenPipeError


def to_stdout() -> bool:
    """Whether there is a stdout. Python has none where it was closed as the process began."""
    return sys.stdout is not None


def say(text: str) -> None:
    """Text to stdout; bytes that are not UTF-8 come out as they went in."""
    put(text.encode("utf-8", "surrogateescape"))


def view_options(parser: argparse.ArgumentParser) -> None:
    """The options of every command that makes a view; those of `run` are written where it reads them."""
    from byref.proxy.frontends.run import OPTIONS
    for name in ("--raw", "--profile", "--budget", "--intent"):
        metavar, text = OPTIONS[name]
        if not metavar:
            parser.add_argument(name, action="store_true", help=text)
        else:
            parser.add_argument(name, metavar=metavar, help=text, type=_positive if metavar == "N" else str)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number
