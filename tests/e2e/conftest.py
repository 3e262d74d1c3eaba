"""The browser that tests of the dashboard drive: the system's Chromium, with an empty profile."""
from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from e2e.dashboards import FLAGS, LIMIT


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
