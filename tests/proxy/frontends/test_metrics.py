"""The daemon's metrics are those of its store, and cost nothing before somebody asks."""
from __future__ import annotations

import subprocess
import sys
import types

import pytest

import byref
from byref.proxy.frontends.metrics import Metrics
from byref.proxy.frontends.report import DEFINITION

LOG = "".join(f"step {i} of the installation\n" for i in range(2000))


def test_a_scrape_is_the_report_of_the_store() -> None:
    with byref.open("memory:") as gateway:
        gateway.session("a").capture(tool="shell", args={"command": "./install"}, output=LOG)
        media, body = Metrics(gateway).scrape()
        net = gateway.report().net - DEFINITION
    assert media.startswith("text/plain; version=0.0.4") and f"byref_net_tokens {net}\n".encode() in body
    assert b'byref_calls_total{tool="shell"} 1\n' in body and b"byref_store_outputs 1\n" in body


def test_the_ledger_is_not_loaded_before_the_first_scrape() -> None:
    code = ("import sys, byref\nfrom byref.proxy.frontends.metrics import Metrics\nwith byref.open('memory:') as gateway:\n"
            "    Metrics(gateway)\nprint([name for name in sys.modules if name in ('byref.proxy.ledger.report', 'opentelemetry')])")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout == "[]\n"


def test_an_sdk_that_is_set_up_observes(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opentelemetry.metrics", reason="opentelemetry-api is not installed")
    asked: list[object] = []
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk", types.ModuleType("opentelemetry.sdk"))
    monkeypatch.setattr("byref.proxy.ledger.exposition.instrument", asked.append)
    with byref.open("memory:") as gateway:
        Metrics(gateway)
    assert len(asked) == 1
