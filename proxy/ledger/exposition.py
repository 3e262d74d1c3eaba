"""The ledger's totals as metrics: for Prometheus in its text format, and through the OpenTelemetry API where that is installed.

Names and units follow https://prometheus.io/docs/practices/naming; the text is version 0.0.4 of the exposition format. Totals are those
of the events that are kept: where retention drops old ones a counter falls, which Prometheus reads as a restart.
"""
from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

from byref.proxy.contracts import Usage
from byref.proxy.ledger.totals import Report

FRESH = 10.0  # seconds; Prometheus asks every 15 or more
_REST = 30  # times as long as it took to add up
MEDIA = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric with its samples. counter: it only grows; else it is a gauge. values: by labels."""

    name: str
    help: str
    counter: bool
    values: Sequence[tuple[Mapping[str, str], float]] = field(default=())


def metrics(found: Report, usage: Usage) -> list[Metric]:
    """The totals of a report and of a store."""
    tools = sorted(found.tools.items())
    kinds = ("raw", "view", "fetched", "repeated")
    plain: Mapping[str, str] = {}
    return [
        Metric("byref_calls_total", "Tool calls whose output was taken in.", True, [({"tool": tool}, row.calls) for tool, row in tools]),
        Metric("byref_views_reduced_total", "Views that left something out.", True, [({"tool": tool}, row.reduced) for tool, row in tools]),
        Metric("byref_tokens_total", "Tokens of raw outputs, views, fetched pages and repeated calls; estimates, but for those that a "
               "report has counted.", True,
               [({"tool": tool, "kind": kind}, getattr(row, kind)) for tool, row in tools for kind in kinds]),
        Metric("byref_fetches_total", "Pages fetched.", True, [({"tool": tool}, row.fetches) for tool, row in tools]),
        Metric("byref_repeats_total", "Calls made again for what a view had hidden.", True,
               [({"tool": tool}, row.repeats) for tool, row in tools]),
        Metric("byref_searches_total", "Searches answered.", True, [(plain, found.searches)]),
        Metric("byref_search_tokens_total", "Tokens of the answers of searches, by estimate.", True, [(plain, found.searched)]),
        Metric("byref_uncached_prompts_total", "Prompts that views made too short for their provider's cache.", True,
               [(plain, found.uncached.total())]),
        Metric("byref_definition_tokens", "Tokens of our tools' definitions, once a session.", False, [(plain, found.definitions)]),
        Metric("byref_net_tokens", "Tokens saved, net of fetches, searches, repeats and definitions.", False, [(plain, found.net)]),
        Metric("byref_billed_messages_total", "Messages whose bill was seen.", True, [(plain, found.messages)]),
        Metric("byref_billed_tokens_total", "Tokens as the provider billed them; a kind that no bill named is absent.", True,
               [({"kind": kind}, count) for kind, count in sorted(found.billed.items())]),
        Metric("byref_store_outputs", "Outputs held.", False, [(plain, usage.outputs)]),
        Metric("byref_store_bytes", "Bytes that the store takes up.", False, [(plain, usage.bytes_held)]),
        Metric("byref_store_raw_bytes", "Bytes of the outputs held, before compression.", False, [(plain, usage.bytes_raw)]),
        Metric("byref_store_max_bytes", "Quota of the store in bytes.", False, [(plain, usage.max_bytes)]),
    ]


class Recent:
    """What `make` gave within the last seconds: a ledger is added up whole, and scrapes come often. A large ledger is added up more seldom,
    so that it takes no more than a thirtieth of the time.
    """

    def __init__(self, make: Callable[[], list[Metric]], clock: Callable[[], float] = time.monotonic) -> None:
        self._make, self._clock, self._lock = make, clock, Lock()
        self._made: list[Metric] = []
        self._until = float("-inf")

    def __call__(self) -> list[Metric]:
        with self._lock:
            began = self._clock()
            if began > self._until:
                self._made = self._make()
                now = self._clock()
                self._until = now + max(FRESH, _REST * (now - began))
            return self._made


def exposition(of: Iterable[Metric]) -> str:
    """Metrics in Prometheus's text format. One without samples has its head alone."""
    out = []
    for metric in of:
        about = metric.help.translate({ord("\\"): r"\\", ord("\n"): r"\n"})
        out += [f"# HELP {metric.name} {about}", f"# TYPE {metric.name} {'counter' if metric.counter else 'gauge'}"]
        for labels, value in metric.values:
            held = ",".join(f'{name}="{_plain(text)}"' for name, text in labels.items())
            out.append(f"{metric.name}{{{held}}} {value}" if held else f"{metric.name} {value}")
    return "\n".join(out) + "\n"


def instrument(ask: Callable[[], list[Metric]]) -> bool:
    """Observable instruments of the OpenTelemetry API, named as for Prometheus with dots: whatever SDK the process has set up reads them.

    ask: what the metrics are now, called at each collection, once an instrument (see `Recent`). False where the API is not installed.
    """
    try:
        from opentelemetry.metrics import CallbackOptions, Observation, get_meter
    except ImportError:
        return False
    meter = get_meter("byref")

    def observer(name: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def observe(options: CallbackOptions) -> Iterable[Observation]:
            return [Observation(value, dict(labels)) for metric in ask() if metric.name == name for labels, value in metric.values]
        return observe

    for metric in metrics(Report(), Usage(0, 0, 0, 0, 0, 0.0)):
        make = meter.create_observable_counter if metric.counter else meter.create_observable_gauge
        make(metric.name.removesuffix("_total").replace("_", "."), callbacks=[observer(metric.name)], description=metric.help)
    return True


def _plain(text: str) -> str:
    """A label's value: UTF-8, with what the format keeps for itself escaped."""
    return text.encode("utf-8", "replace").decode().translate(_ESCAPES)
