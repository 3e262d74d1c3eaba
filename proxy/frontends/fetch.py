"""`byref fetch`: the exact bytes behind a ref, a gap or any other address."""
from __future__ import annotations

import argparse
import base64
import os
from collections.abc import Iterator

from byref.proxy.errors import Invalid
from byref.proxy.frontends.command import Command, put
from byref.proxy.frontends.held import complain, write_all
from byref.proxy.frontends.remote import ShellSession

MAX_TOKENS = 8000
LARGE = 1 << 18  # tokens of a page where all are wanted: about 1 MB


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="as it stands in a view's first line")
    parser.add_argument("at", metavar="AT", nargs="?", help="L120-180, b0-4096, results[3].title, /regex/±2; nothing for all")
    parser.add_argument("--part", metavar="NAME", help="stdout, stderr, ...")
    parser.add_argument("--max-tokens", metavar="N", type=int, help=f"size of a page, roughly ({MAX_TOKENS})")
    parser.add_argument("--cursor", metavar="C", help="the next page, as the last one named it on stderr")
    parser.add_argument("--all", action="store_true", help="all pages, one after the other")
    parser.add_argument("--out", metavar="FILE", help="into a file instead of stdout; all pages unless --max-tokens or --cursor is given")
    parser.add_argument("--base64", action="store_true", help="base64 text, for bytes that a terminal or an agent cannot show")


def pages(session: ShellSession, args: argparse.Namespace, every: bool) -> Iterator[bytes]:
    """The bytes of one page, or of every page from the first on; says on stderr how to get the next one."""
    cursor: str | None = args.cursor
    size = args.max_tokens or (LARGE if every else MAX_TOKENS)
    while True:
        page = session.fetch(args.ref, at=args.at, part=args.part, max_tokens=size, cursor=cursor)
        if page.note and not (page.binary and (every or args.base64)):
            complain(page.note)
        yield page.data
        cursor = page.cursor
        if not cursor:
            return
        if not every:
            complain(f"more follows: --cursor {cursor}, or --all")
            return


def encoded(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Base64 of pieces put together (RFC 4648), in lines of 76 characters."""
    rest = b""
    for piece in pieces:
        rest += piece
        whole = len(rest) - len(rest) % 57  # 57 bytes make one line
        yield base64.encodebytes(rest[:whole])
        rest = rest[whole:]
    yield base64.encodebytes(rest)


def _run(args: argparse.Namespace) -> int:
    if args.max_tokens is not None and args.max_tokens < 1:
        raise Invalid("--max-tokens is a number of tokens from 1 on")
    with ShellSession() as session:
        every = args.all or (args.out is not None and args.max_tokens is None and args.cursor is None)
        pieces = pages(session, args, every)
        if args.base64:
            pieces = encoded(pieces)
        if args.out is None:
            put(pieces)
        else:
            _write(args.out, pieces)
    return 0


def _write(path: str, pieces: Iterator[bytes]) -> None:
    """Into a new file beside the place, then there: a miss half-way leaves what was there before."""
    beside = f"{path}.{os.getpid()}.part"
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        for piece in pieces:
            write_all(fd, piece)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
    finally:
        os.close(fd)


FETCH = Command(
    "fetch", "get the exact bytes behind a ref or a gap", _options, _run,
    "Exit codes: 2 invalid address, 3 unknown ref, 4 expired, 5 evicted, 6 corrupt, all of them final; 7 the store cannot be used now.")
