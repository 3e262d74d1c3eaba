"""`byref gc`, `purge` and `verify`: what a user does for the store."""
from __future__ import annotations

import argparse

from byref.proxy.errors import Corrupt
from byref.proxy.frontends.command import Command, exit_code, open_session, say
from byref.proxy.frontends.held import complain
from byref.proxy.gateway import open as open_gateway


def size(number: int) -> str:
    """Bytes as a person reads them: `412 bytes`, `3.4 MiB`."""
    value, unit = float(number), "bytes"
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{number} bytes" if unit == "bytes" else f"{value:.1f} {unit}"


def _none(parser: argparse.ArgumentParser) -> None:
    pass


def _gc(args: argparse.Namespace) -> int:
    with open_gateway() as gateway:
        before = gateway.store.usage()
        left = gateway.gc()
    say(f"{before.outputs - left.outputs} outputs removed, {size(max(0, before.bytes_held - left.bytes_held))} freed; "
        f"{left.outputs} outputs, {size(left.bytes_held)} of {size(left.max_bytes)} left\n")
    return 0


def _purge_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF")
    parser.add_argument("--everywhere", action="store_true", help="remove its bytes even where other outputs hold the same ones")


def _purge(args: argparse.Namespace) -> int:
    gateway, session = open_session()
    with gateway:
        session.purge(args.ref, everywhere=args.everywhere)
    say(f"{args.ref} is gone\n")
    return 0


def _verify(args: argparse.Namespace) -> int:
    with open_gateway() as gateway:
        found = gateway.verify()
    for name, problem in found.damaged:
        complain(f"{name}: {problem}")
    say(f"{found.blobs} blobs and {found.outputs} outputs checked, {len(found.damaged)} damaged\n")
    return exit_code(Corrupt("", "")) if found.damaged else 0


GC = Command("gc", "apply the age limit and the quota now", _none, _gc)
PURGE = Command("purge", "remove an output and every trace of it", _purge_options, _purge)
VERIFY = Command("verify", "derive every hash again and say what is damaged (exit code 6)", _none, _verify)
