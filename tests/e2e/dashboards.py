"""What tests of the dashboard share: stores with a daemon of their own, and pages that are watched."""
from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import byref
from byref.proxy.frontends.open_dashboard import entry

PROGRAM = [sys.executable, "-c", "from byref.proxy.frontends.cli import main; main()"]
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync"]
SCOPE, OTHER = "1000:/home/me/project", "1000:/home/me/other"
LIMIT = 60_000  # milliseconds for one step, on a machine that does much else


class Site:
    """An empty store, and the daemon that shows it once it is asked."""

    def __init__(self, folder: Path) -> None:
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("BYREF")} | {
            "BYREF_HOME": str(folder / "byref"), "BYREF_MODELS": str(folder / "models")}

    def ready(self, page: Any) -> None:
        """Waits until a page shows what is stored."""
        page.locator("#list button").first.wait_for()

    def open(self) -> byref.Gateway:
        return byref.open(f"file:{self.env['BYREF_HOME']}")

    def byref(self, *words: str) -> str:
        done = subprocess.run([*PROGRAM, *words], env=self.env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start(self) -> None:
        """The daemon, in this environment."""
        self.byref("dashboard", "--print")

    def stop(self) -> None:
        self.byref("serve", "--stop")

    def url(self) -> str:
        return entry(self.env["BYREF_HOME"], patience=60)

    def capture(self, command: str, output: bytes | str, session: str = "first", scope: str = SCOPE, **more: Any) -> Any:
        """Captures as another process does."""
        with self.open() as gateway:
            return gateway.session(session, scope=scope).capture(tool="shell", args={"command": command}, output=output, **more)


def fresh(browser: Any) -> Any:
    """A page whose clock can be put forward."""
    one = browser.new_page()
    one.clock.install()
    return one


def soon(page: Any) -> None:
    """Puts the page's clock forward to when it looks again."""
    page.clock.fast_forward(10_000)


@contextmanager
def watched(browser: Any, site: Site) -> Iterator[Any]:
    """The dashboard of a site, open. Afterwards: nobody else was asked, the console holds no error, and no text became markup."""
    one, asked, said = fresh(browser), [], []
    one.on("request", lambda request: asked.append(request.url))
    one.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    one.on("pageerror", lambda fault: said.append(str(fault)))
    url = site.url()
    one.goto(url)
    one.locator("#scope option").first.wait_for(state="attached")
    yield one
    origin = url.partition("/web/")[0]
    assert asked and [address for address in asked if not address.startswith(origin + "/web/")] == []
    assert said == []
    assert one.title() == "byref", "text of an output became markup"
    one.evaluate("localStorage.clear()")
    one.close()


def focused(page: Any, what: str) -> Any:
    return page.evaluate(f"document.activeElement.{what}")


def command(page: Any) -> str:
    """The command of the output in the list that has the focus."""
    return str(focused(page, "querySelector('.command')?.textContent"))


def row(page: Any, command: str) -> Any:
    return page.locator("#list button", has=page.get_by_text(command, exact=True))
