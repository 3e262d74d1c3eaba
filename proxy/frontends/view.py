"""`byref view`: a file through a view, or the view of a stored output once more."""
from __future__ import annotations

import argparse
import json
import os

from byref.proxy.contracts import Call, Seen
from byref.proxy.errors import Invalid
from byref.proxy.frontends.command import Command, open_session, put, view_options
from byref.proxy.frontends.held import complain
from byref.proxy.session import Session
from byref.proxy.text import check_ref


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="FILE|REF", nargs="+", help="a file, which is stored, or else the ref of an output")
    view_options(parser)


def _run(args: argparse.Namespace) -> int:
    gateway, session = open_session(args.profile)
    code = 0
    with gateway:
        for what in args.what:
            if os.path.exists(what) or not _is_ref(what):
                code |= _file(session, what, args)
            else:
                _stored(session, what, args)
    return code


def _is_ref(what: str) -> bool:
    try:
        return bool(check_ref(what))
    except Invalid:
        return False


def _file(session: Session, path: str, args: argparse.Namespace) -> int:
    try:
        with open(path, "rb") as file:
            shown = session.capture(
                tool="read", args={"file_path": path}, output=file, raw=args.raw, intent=args.intent or "", budget=args.budget)
            if shown.warning:
                complain(shown.warning)
            put(shown.head.encode())
            put(shown.blocks("text"))
    except BrokenPipeError:
        raise
    except OSError as fault:
        complain(f"{path}: {fault.strerror}")
        return 1
    return 0


def _stored(session: Session, ref: str, args: argparse.Namespace) -> None:
    """Renders it again from its stored bytes, with what the options say now; nothing is stored or counted."""
    from byref.filters.render import view
    store = session.gateway.store
    manifest = store.resolve(session.scope, ref).manifest
    sources = [(part, store.open(part.blob.digest)) for part in manifest.parts]
    if not args.raw:
        call = Call(manifest.tool, json.loads(manifest.arguments), manifest.exit_code, manifest.is_error, args.intent or "")
        found = view(ref, sources, call, Seen(), session.gateway.settings.profile, args.budget,
                     session.gateway.rules(session.scope))
        if not found.passed:
            texts = [found.head, *found.texts]
            put("".join(text if text.endswith("\n") or not text or text is texts[-1] else text + "\n" for text in texts)
                .encode("utf-8", "surrogateescape"))
            return
    for _, source in sources:
        put(source.blocks())


VIEW = Command("view", "show a view of files, or of a stored output once more", _options, _run)
