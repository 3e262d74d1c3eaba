"""OpenTelemetry by OTLP, for processes that live long: spans and metrics to a collector, where BYREF_OTEL is on.

All else is said by OpenTelemetry's own variables: OTEL_EXPORTER_OTLP_ENDPOINT (http://localhost:4318 without),
OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME (byref without), OTEL_TRACES_EXPORTER=none, OTEL_METRICS_EXPORTER=none,
OTEL_METRIC_EXPORT_INTERVAL, ... Nothing waits for the collector: spans go into a queue that drops what it cannot hold, metrics are
collected by a thread of their own, and the end waits for a moment only. What cannot be sent is noted once a minute.
"""
from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock, Thread

from byref.proxy import config
from byref.proxy.errors import ConfigError
from byref.proxy.faults import FaultLog
from byref.proxy.frontends.held import complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource

Note = Callable[[str], None]
EXTRA = "pip install 'byref[otel]'"
LAST = 2.0  # seconds at the end for what is still to be sent
QUIET = 60.0  # seconds between two notes of what cannot be sent
_NAME = "opentelemetry"
_started = Lock()


def start(note: Note, environ: Mapping[str, str] | None = None) -> bool:
    """Sets up OpenTelemetry's SDK where BYREF_OTEL is on; False where it is off, not installed, or set up already. Never raises.

    note: takes what there is to say, a line at a time, from any thread.
    """
    env = config.inherited(environ)
    if not config.traced(env) or not _started.acquire(blocking=False):
        return False
    try:
        return _start(note, env)
    except ImportError as fault:
        note(f"BYREF_OTEL is on, and {fault.name} is not installed: {EXTRA}")
    except Exception as fault:  # a variable of OpenTelemetry that it cannot use: what byref is for goes on without
        note(f"BYREF_OTEL is on, and OpenTelemetry cannot be set up: {type(fault).__name__}: {fault}")
    return False


def noting(folder: str | None) -> Note:
    """Says it on stderr and in the log of faults, which a daemon that a hook started has alone."""
    log = FaultLog(folder)

    def note(text: str) -> None:
        complain(text)
        log.add("telemetry", ConfigError(text))
    return note


def _start(note: Note, env: Mapping[str, str]) -> bool:
    import atexit

    from opentelemetry import metrics, trace
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    if isinstance(trace.get_tracer_provider(), TracerProvider):
        return False  # by opentelemetry-instrument, or a program of which we are a part
    _tell(note)
    resource, ends = _resource(env), []
    if env.get("OTEL_TRACES_EXPORTER", "") != "none":
        tracing = TracerProvider(resource=resource, shutdown_on_exit=False)
        tracing.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(tracing)
        ends.append(tracing.shutdown)
    if env.get("OTEL_METRICS_EXPORTER", "") != "none":
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        metering = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        metrics.set_meter_provider(metering)
        ends.append(metering.shutdown)
    atexit.register(_end, ends)
    return True


def _resource(env: Mapping[str, str]) -> Resource:
    """Who sends: `byref` with its version, unless the variables name the service."""
    from opentelemetry.sdk.resources import Resource

    from byref import __version__
    own = {"service.version": __version__}
    if not env.get("OTEL_SERVICE_NAME") and "service.name=" not in env.get("OTEL_RESOURCE_ATTRIBUTES", ""):
        own["service.name"] = "byref"
    return Resource.create(own)


def _end(ends: Sequence[Callable[[], object]]) -> None:
    """Lets each send what is left, all at once, and waits for no more than LAST."""
    until = time.monotonic() + LAST
    threads = [Thread(target=end, daemon=True) for end in ends]
    for one in threads:
        one.start()
    for one in threads:
        one.join(max(0.0, until - time.monotonic()))


class _Notes(logging.Handler):
    """Hands on the SDK's warnings, the first of each minute."""

    def __init__(self, note: Note) -> None:
        super().__init__(logging.WARNING)
        self._note, self._next = note, float("-inf")

    def emit(self, record: logging.LogRecord) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + QUIET
            self._note(f"OpenTelemetry: {record.getMessage()}"[:300])


def _tell(note: Note) -> None:
    log = logging.getLogger(_NAME)
    log.propagate = False  # else each failed try stands on stderr, with its traceback
    log.handlers = [_Notes(note)]
