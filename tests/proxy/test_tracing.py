"""Spans for a program that has OpenTelemetry's SDK; for any other, nothing."""
from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import byref
from byref.proxy.errors import Unknown
from byref.proxy.tracing import span


@pytest.fixture
def spans() -> Iterator[Any]:
    """Finished spans of this test, as the SDK's own exporter holds them."""
    trace = pytest.importorskip("opentelemetry.sdk.trace", reason="opentelemetry-sdk is not installed")
    from opentelemetry import trace as api
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    exporter = InMemorySpanExporter()
    provider = api.get_tracer_provider()
    if not isinstance(provider, trace.TracerProvider):
        provider = trace.TracerProvider()
        api.set_tracer_provider(provider)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield exporter
    exporter.shutdown()


def test_calls_are_spans_that_hold_sizes_and_no_words(spans: Any) -> None:
    with byref.open("memory:") as gateway:
        session = gateway.session("agent")
        ref = session.capture(tool="shell", args={"command": "hush-hush"}, output="a secret line\n" * 900).ref
        session.fetch(ref, "L1-2")
        session.search("secret line")
        with pytest.raises(Unknown):
            session.fetch("rk7f3qmab2x")
    found = spans.get_finished_spans()
    assert [one.name for one in found] == ["byref.capture", "byref.fetch", "byref.search", "byref.fetch"]
    capture, fetch, search, missed = found
    assert capture.attributes["byref.tool"] == "shell" and capture.attributes["byref.ref"] == ref and not capture.attributes["byref.passed"]
    assert fetch.attributes["byref.bytes"] == 28 and search.attributes["byref.hits"] >= 1
    assert missed.status.status_code.name == "ERROR"
    assert "secret" not in repr([dict(one.attributes) for one in found]) and "hush" not in repr([dict(one.attributes) for one in found])


def test_without_an_sdk_nothing_of_it_is_imported() -> None:
    code = ("import sys\nfrom byref.proxy.tracing import span\nwith span('capture', tool='x') as one:\n    one.set(ref='r')\n"
            "assert not [name for name in sys.modules if name.startswith('opentelemetry')]")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_span_that_does_nothing_raises_what_is_raised_in_it() -> None:
    with pytest.raises(KeyError), span("capture"):
        raise KeyError
