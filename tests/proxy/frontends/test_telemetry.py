"""Spans and metrics over OTLP: a collector gets them from the programs themselves, and one that is dead holds nothing up."""
from __future__ import annotations

import asyncio
import gzip
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

import pytest

from byref.proxy.frontends import telemetry
from wrapped import Talk, over, unruly

EXPORTER = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
LOG = "".join(f"a hushed line {i} of the installation\n" for i in range(2000))


@pytest.fixture
def installed() -> None:
    pytest.importorskip(EXPORTER, reason="the extra `otel` is not installed")


class Collector:
    """A receiver of OTLP over HTTP that decodes what it gets, as https://opentelemetry.io/docs/specs/otlp has it."""

    def __init__(self) -> None:
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
        kinds: dict[str, Any] = {"/v1/traces": ExportTraceServiceRequest, "/v1/metrics": ExportMetricsServiceRequest}
        self.got: list[Any] = []
        got = self.got

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                data = gzip.decompress(data) if self.headers.get("Content-Encoding") == "gzip" else data
                got.append(kinds[self.path].FromString(data))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self._server.serve_forever, daemon=True).start()
        self.env = {"BYREF_OTEL": "on", "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self._server.server_port}",
                    "OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_METRIC_EXPORT_INTERVAL": "300"}

    def spans(self) -> list[tuple[str, dict[str, Any]]]:
        """Names and attributes."""
        return [(span.name, {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes})
                for request in list(self.got) for of in getattr(request, "resource_spans", ())
                for scope in of.scope_spans for span in scope.spans]

    def metrics(self) -> dict[str, list[tuple[dict[str, str], float]]]:
        """By name: attributes and value of each point, as they were last."""
        return {metric.name: [({one.key: one.value.string_value for one in point.attributes}, point.as_int or point.as_double)
                              for point in (metric.sum if metric.HasField("sum") else metric.gauge).data_points]
                for request in list(self.got) for of in getattr(request, "resource_metrics", ())
                for scope in of.scope_metrics for metric in scope.metrics}

    def services(self) -> set[str]:
        return {one.value.string_value for request in list(self.got)
                for of in [*getattr(request, "resource_spans", ()), *getattr(request, "resource_metrics", ())]
                for one in of.resource.attributes if one.key == "service.name"}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector(installed: None) -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


def posted(daemon: Any, path: str, **fields: Any) -> dict[str, Any]:
    port = daemon.about()["http"].rpartition(":")[2]
    token = (Path(os.fsdecode(daemon.home)) / "daemon.token").read_text().strip()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(fields).encode(),
                                     {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def test_a_daemon_sends_spans_and_metrics_without_a_word_of_an_output(daemon: Any, collector: Collector) -> None:
    daemon.byref.env |= collector.env
    daemon.start()
    ref = posted(daemon, "/v1/capture", scope="s", session="agent", tool="shell", args={"command": "./install"}, output=LOG)["ref"]
    posted(daemon, "/v1/fetch", scope="s", session="agent", ref=ref, at="L1-2")
    posted(daemon, "/v1/search", scope="s", session="agent", query="hushed")
    daemon.wait(lambda: {name for name, _ in collector.spans()} >= {"byref.capture", "byref.fetch", "byref.search"})
    daemon.wait(lambda: collector.metrics().get("byref.calls") == [({"tool": "shell"}, 1)])
    capture, = (held for name, held in collector.spans() if name == "byref.capture" and held["byref.session"] == "agent")
    assert capture["byref.ref"] == ref and capture["byref.tool"] == "shell" and capture["byref.passed"] is False
    tokens = {held["kind"]: value for held, value in collector.metrics()["byref.tokens"]}
    assert tokens["raw"] > tokens["view"] > 0 and collector.metrics()["byref.store.outputs"] == [({}, 1)]
    assert collector.services() == {"byref"} and "hushed" not in str(collector.got)


def test_byref_wrap_sends_spans(collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in collector.env.items():
        monkeypatch.setenv(name, value)

    async def calls(talk: Talk) -> None:
        await talk.hello()
        until = time.monotonic() + 50
        while not collector.spans() and time.monotonic() < until:  # the SDK loads beside the first calls
            await talk.call("long")
            await asyncio.sleep(0.2)
    over(["--", *unruly()], calls)
    assert {name for name, _ in collector.spans()} == {"byref.capture"} and collector.services() == {"byref"}


PROGRAM = """
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
import byref
with trace.get_tracer("agent").start_as_current_span("a step of the agent"), byref.open("memory:") as gateway:
    session = gateway.session("agent")
    session.fetch(session.capture(tool="shell", args={"command": "seq"}, output="a line\\n" * 9000).ref, "L1")
"""


def test_spans_of_a_program_stand_in_its_own_trace(collector: Collector) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("BYREF")} | collector.env
    del env["BYREF_OTEL"]  # its SDK is its own
    subprocess.run([sys.executable, "-c", PROGRAM], env=env, check=True, timeout=60)
    assert [name for name, _ in collector.spans()] == ["byref.capture", "byref.fetch", "a step of the agent"]
    made = [span for request in collector.got for of in request.resource_spans for scope in of.scope_spans for span in scope.spans]
    step = next(span for span in made if span.name == "a step of the agent")
    assert {span.parent_span_id for span in made if span is not step} == {step.span_id} and len({span.trace_id for span in made}) == 1


def test_a_collector_that_never_answers_holds_up_neither_calls_nor_the_end(daemon: Any, installed: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hole:
        daemon.byref.env |= {"BYREF_OTEL": "on", "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{hole.getsockname()[1]}",
                             "OTEL_BSP_SCHEDULE_DELAY": "10", "OTEL_METRIC_EXPORT_INTERVAL": "100", "OTEL_BSP_MAX_QUEUE_SIZE": "512",
                             "OTEL_EXPORTER_OTLP_TIMEOUT": "3600", "OTEL_METRIC_EXPORT_TIMEOUT": "3600000"}
        running = daemon.start()
        for number in range(20):
            assert posted(daemon, "/v1/capture", scope="s", session="agent", tool="shell", args={"n": number}, output=LOG)["ref"]
        with hole.accept()[0] as tried:
            assert tried.recv(4) == b"POST"
        assert daemon.byref("serve", "--stop").stdout == b"stopped\n" and running.wait(60) == 0


def test_a_collector_that_is_not_there_is_told_of_once(daemon: Any, installed: None) -> None:
    daemon.byref.env |= {"BYREF_OTEL": "on", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_BSP_SCHEDULE_DELAY": "10",
                         "OTEL_EXPORTER_OTLP_TIMEOUT": "1", "OTEL_METRICS_EXPORTER": "none"}
    running = daemon.start()
    log = Path(os.fsdecode(daemon.home)) / "byref.log"
    for number in range(3):
        assert posted(daemon, "/v1/capture", scope="s", session="agent", tool="shell", args={"n": number}, output=LOG)["ref"]
        daemon.wait(lambda: log.is_file() and "OpenTelemetry" in log.read_text())
    assert daemon.byref("serve", "--stop").returncode == 0 and running.wait(60) == 0
    assert log.read_text().count("telemetry: ") == 1


def test_it_is_off_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "_start", lambda *_: pytest.fail("nobody asked"))
    assert not telemetry.start(print, {}) and not telemetry.start(print, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "BYREF_OTEL": "off"})


def test_what_is_not_installed_is_told_with_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(telemetry, "_started", Lock())
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.metric_exporter", None)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    assert not telemetry.start(told.append, {"BYREF_OTEL": "on"})
    assert len(told) == 1 and "opentelemetry" in told[0] and "byref[otel]" in told[0]


def test_a_variable_that_opentelemetry_cannot_use_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(telemetry, "_started", Lock())
    monkeypatch.setattr(telemetry, "_start", lambda *_: float("soon"))
    assert not telemetry.start(told.append, {"BYREF_OTEL": "1"}) and "soon" in told[0]
    assert not telemetry.start(told.append, {"BYREF_OTEL": "1"}) and len(told) == 1, "it is tried once a process"


def test_the_end_waits_for_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "LAST", 0.05)
    never, sent = Event(), []
    telemetry._end([never.wait, lambda: sent.append(1)])
    assert sent == [1] and not never.is_set()
