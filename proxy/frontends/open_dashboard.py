"""`byref dashboard`: opens the daemon's page in a browser, for this user alone."""
from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping

from byref.proxy import config
from byref.proxy.contracts import Json
from byref.proxy.errors import StoreError
from byref.proxy.frontends import hook
from byref.proxy.frontends.command import Command, say
from byref.proxy.frontends.remote import START
from byref.proxy.frontends.serve import PATIENCE, ask

_PAUSE = 0.05


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--print", action="store_true", dest="only", help="say the URL, and open nothing")


def entry(home: str, command: list[str] | None = None, patience: float = PATIENCE) -> str:
    """A URL that lets one page in, once, within ten minutes. Starts the daemon where none runs.

    home: that of this process's environment, which a daemon that is started inherits. command: what starts it. Raises `StoreError`
    where it does not come up, has no port or cannot serve.
    """
    until = time.monotonic() + patience
    while True:
        try:
            status, found = ask(home, "POST /v1/dashboard", max(1.0, until - time.monotonic()))
            if status == 200:
                return str(found.get("url", ""))
            reason, message = _fault(found)
            if reason != "version":
                raise StoreError(f"the daemon refuses: {message or status}")
        except hook.Absent:
            hook.start(os.fsencode(home), command or START)
        if time.monotonic() > until:
            raise StoreError(f"no daemon came up within {patience:.0f} s; `byref serve` says why, and so does {home}/byref.log")
        time.sleep(_PAUSE)


def _fault(found: Mapping[str, Json]) -> tuple[str, str]:
    error = found.get("error")
    return (str(error.get("reason")), str(error.get("message"))) if isinstance(error, Mapping) else ("", "")


def _run(args: argparse.Namespace) -> int:
    url = entry(config.home_folder())
    say(url + "\n")
    if not args.only:
        import webbrowser
        webbrowser.open(url)
    return 0


DASHBOARD = Command(
    "dashboard", "open a page that shows what is stored, how it was shown and what that saved", _options, _run,
    "The page is the daemon's (`byref serve`, extra `serve`), which is started where none runs. The URL lets in one page, once, within "
    "ten minutes.")
