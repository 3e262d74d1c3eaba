"""The browser that tests of the dashboard drive: the system's Chromium, with an empty profile; and the site and page of a module.

A module of such tests names its store: `SITE`, a `Site` that fills itself.
"""
from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.dashboards import FLAGS, LIMIT, Site, fresh, watched
from e2e.programs import program


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    driver = pytest.importorskip("playwright.sync_api", reason="Playwright is not here: pip install 'byref[browser]'")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("Chromium is not here: apt-get install chromium")
    with driver.sync_playwright() as play:
        one = play.chromium.launch_persistent_context(
            str(tmp_path_factory.mktemp("profile")), executable_path=program, args=FLAGS, viewport={"width": 1280, "height": 900})
        one.set_default_timeout(LIMIT)
        yield one
        one.close()


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest, root: Path) -> Path:
    """The harness that a module names: `PROGRAM`."""
    return program(root, request.module.PROGRAM)


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The store of a module, with its daemon."""
    one: Site = request.module.SITE(tmp_path_factory.mktemp("site"))
    one.start()
    yield one
    one.stop()


@pytest.fixture
def page(site: Site, browser: Any) -> Iterator[Any]:
    """The dashboard of the module's store, open and watched."""
    with watched(browser, site) as one:
        site.ready(one)
        yield one


@pytest.fixture
def loose(browser: Any) -> Iterator[Any]:
    """A page on which faults are looked for: those of the network stand on its console."""
    one = fresh(browser)
    yield one
    browser.set_offline(False)
    one.close()
