"""What Prometheus reads is what the report says, whatever tools are called."""
from __future__ import annotations

import shutil
import subprocess

import pytest

from byref.proxy.contracts import Usage
from byref.proxy.ledger import events
from byref.proxy.ledger.exposition import Metric, Recent, exposition, instrument, metrics
from byref.proxy.ledger.report import Report, report

STORE = Usage(outputs=3, blobs=2, bytes_held=100, bytes_raw=4000, max_bytes=10_000, max_age=9.0)
ODD = 'a "tool" \\ of\ntwo lines \udcff'


def reported() -> Report:
    ledger = [event for tool in ("Bash", ODD) for event in events.captured(
        at=1.0, session="s", ref="r1", tool=tool, shape="log", size=3000, raw=1000, view=100, parts=1, gaps=1)]
    return report([*ledger, events.fetched(at=1.0, session="s", ref="r1", tool="Bash", shape="log", tokens=30, size=90),
                   events.usage(at=1.0, session="s", ref="", tool="", message="m", numbers={"input": 7})])


def test_prometheus_reads_back_the_report() -> None:
    parser = pytest.importorskip("prometheus_client.parser", reason="prometheus_client is not installed")
    families = {family.name: family for family in parser.text_string_to_metric_families(exposition(metrics(reported(), STORE)))}
    tokens = {(sample.labels["tool"], sample.labels["kind"]): sample.value for sample in families["byref_tokens"].samples}
    assert tokens["Bash", "raw"] == 1000 and tokens["Bash", "fetched"] == 30 and tokens[ODD.replace("\udcff", "?"), "view"] == 100
    assert families["byref_tokens"].type == "counter" and families["byref_store_bytes"].type == "gauge"
    assert families["byref_net_tokens"].samples[0].value == 2 * 900 - 30 and families["byref_store_outputs"].samples[0].value == 3
    assert [(sample.labels, sample.value) for sample in families["byref_billed_tokens"].samples] == [({"kind": "input"}, 7)]


def test_every_line_is_a_head_or_a_sample() -> None:
    for line in exposition(metrics(reported(), STORE)).splitlines():
        assert line.startswith(("# HELP byref_", "# TYPE byref_", "byref_")), "a line end in a tool's name breaks no line"


def test_open_telemetry_observes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    api = pytest.importorskip("opentelemetry.metrics", reason="opentelemetry-api is not installed")
    made: dict[str, object] = {}

    class Meter:
        def create_observable_counter(self, name: str, callbacks: list[object], description: str) -> None:
            made[name] = callbacks[0]

        create_observable_gauge = create_observable_counter

    monkeypatch.setattr(api, "get_meter", lambda name: Meter())
    assert instrument(lambda: metrics(reported(), STORE))
    seen = [(one.value, one.attributes) for one in made["byref.calls"](None)]  # type: ignore[operator]
    assert (1, {"tool": "Bash"}) in seen and len(made) == len(metrics(reported(), STORE))


def test_many_scrapes_in_a_row_add_up_the_ledger_once() -> None:
    made, now = [], [0.0]
    recent = Recent(lambda: made.append(1) or [], lambda: now[0])  # type: ignore[func-returns-value]
    for now[0] in (0.0, 5.0, 9.0, 11.0, 12.0):
        recent()
    assert len(made) == 2


def test_a_ledger_that_takes_long_is_added_up_more_seldom() -> None:
    now, made = [0.0], []

    def slow() -> list[Metric]:
        made.append(now[0])
        now[0] += 2.0
        return []
    recent = Recent(slow, lambda: now[0])
    for now[0] in (0.0, 30.0, 61.0, 63.0, 70.0):
        recent()
    assert made == [0.0, 63.0], "sixty seconds after it was through"


def test_without_the_api_there_is_nothing_to_observe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.metrics", None)
    assert not instrument(lambda: [Metric("byref_x", "", True)])


def test_promtool_has_nothing_to_say_of_it() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("no promtool: it comes with Prometheus (apt install prometheus)")
    text = exposition(metrics(reported(), STORE)).encode()
    done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, b"")
