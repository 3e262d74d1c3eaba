"""What holds for every test: no test touches the data of the person who runs it, and none depends on their settings."""
from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from byref.proxy.session import Session

ROOT = Path(__file__).resolve().parent.parent

LONG = ("test_cases.py", "e2e/test_claude_code.py", "proxy/frontends/test_remote.py", "filters/test_invariants.py", "filters/test_sieve.py",
        "proxy/frontends/test_wrapping.py", "proxy/frontends/test_serve.py", "proxy/frontends/test_report.py", "e2e/test_llm.py",
        "proxy/frontends/wrap/test_proxy.py", "test_examples.py")

# Whoever starts the tests may ignore them, as `nohup` and a shell's background do; what tests start is to find them as in a shell.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

# Programs of ours are started hundreds of times: they are compiled once, also where the environment says otherwise.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A search that finds something new each night belongs into `make soak`; a test that fails must fail again.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("local", deadline=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else os.environ.get("HYPOTHESIS_PROFILE", "local"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cases", default=str(ROOT.parent / "shared" / "cases"), metavar="DIR",
                     help="the folder of the shared cases that tests/test_cases.py runs (default: %(default)s)")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first: a worker takes whole files, and the other should not be left waiting for one at the end."""
    place = {ROOT / "tests" / name: number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.path, len(place)))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes that nobody reads are no name of a test: packed ones hold the time, and each worker would collect others."""
    return argname if isinstance(val, bytes) and not val.decode("latin-1").isprintable() else None


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has a data folder of its own, and none of the user's BYREF_* settings."""
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith("BYREF")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("BYREF_HOME", str(home / "byref"))
    monkeypatch.setenv("BYREF_MODELS", str(home / "models"))
    monkeypatch.setenv("COLUMNS", "80")  # what real tools print must not depend on the terminal
    return home


@pytest.fixture(autouse=True)
def time_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that names no timebox is not cut short: a machine that does much else may need more than the second that it is given."""
    for asking in (Session.search, Session.similar):
        monkeypatch.setitem(asking.__kwdefaults__, "timebox_ms", 60_000)


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared(root: Path) -> Path:
    """The material beside the checkout that is not part of it; tests that need it are skipped where it is absent."""
    folder = root.parent / "shared"
    if not folder.is_dir():
        pytest.skip(f"no {folder}: it is laid beside the checkout where this project is developed")
    return folder
