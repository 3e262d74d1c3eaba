"""`byref pipe`: an output on stdin, its view on stdout."""
from __future__ import annotations

import argparse
import os
import signal
from select import POLLIN, poll

from byref.proxy import config
from byref.proxy.contracts import Json
from byref.proxy.frontends import nested
from byref.proxy.frontends.command import Command, put, view_options
from byref.proxy.frontends.held import Held, complain
from byref.proxy.frontends.remote import ShellSession
from byref.proxy.frontends.run import noted


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tool", metavar="NAME", default="shell", help="the tool whose output this is (shell)")
    parser.add_argument("--command", metavar="TEXT", help="the command line whose output this is")
    parser.add_argument("--exit", metavar="N", type=int, help="the exit code that the command ended with")
    view_options(parser)


def _run(args: argparse.Namespace) -> int:
    held = Held(("stdout", 1))
    session: ShellSession | None = None
    if args.command and nested.starts_byref(args.command):
        held.release()  # what a second call returns is final
    else:
        try:
            held.limit = config.run_limit()
            session = ShellSession(args.profile)
        except Exception as fault:
            held.release(noted("pipe", fault))
    ended = _read(held)
    if session is not None and not held.released:
        _show(held, session, args)
    if held.fault is not None:
        complain(f"the output could not be written: {held.fault.strerror}")
        return ended or 1
    return ended


def _read(held: Held) -> int:
    """Takes stdin to its end. INT and TERM end it early, as they do for the command before us; returns 0, or 128 + N.

    What stands in the pipe by then has come, too; one look takes it all.
    """
    came: list[int] = []
    wake, end = os.pipe()
    os.set_blocking(end, False)
    signal.set_wakeup_fd(end)
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, frame: came.append(number))
    poller = poll()
    for fd in (0, wake):
        poller.register(fd, POLLIN)
    last = False
    while not last:
        last = bool(came)
        if any(fd == 0 for fd, _ in poller.poll(0 if last else None)):
            data = os.read(0, 1 << 16)
            if not data or not held.take(held.streams[0], data):
                break
    return 128 + came[0] if came else 0


def _show(held: Held, session: ShellSession, args: argparse.Namespace) -> None:
    given: Json = {"command": args.command} if args.command is not None else {}
    try:
        shown = session.capture(tool=args.tool, args=given, output={"stdout": held.streams[0].content()}, exit_code=args.exit, raw=args.raw,
                                intent=args.intent or "", budget=args.budget)
        session.close()
    except Exception as fault:
        held.release(noted("pipe", fault))
        return
    if shown.warning:
        complain(shown.warning)
    if shown.passed:
        held.release()
    else:
        put(shown.data)


PIPE = Command(
    "pipe", "show a view of what comes on stdin; it is stored whole", _options, _run,
    "Exit code: 0, or 128 + N where signal N ended the reading; what came until then is shown.")
