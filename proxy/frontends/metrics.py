"""`GET /metrics` of the daemon: the ledger and the store, as Prometheus reads them, and for an OpenTelemetry SDK that is set up."""
from __future__ import annotations

import sys

from byref.proxy.gateway import Gateway

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byref.proxy.ledger.exposition import Recent


class Metrics:
    """The metrics of a gateway's store, added up when first asked for, and again some seconds later. Safe for many threads."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._recent: Recent | None = None
        if "opentelemetry.sdk" in sys.modules:  # without an SDK the API observes nothing, and importing it would only cost time
            from byref.proxy.ledger.exposition import instrument
            instrument(self._now())

    def _now(self) -> Recent:
        from byref.proxy.frontends.report import DEFINITION
        from byref.proxy.ledger.exposition import Recent, metrics
        if self._recent is None:
            self._recent = Recent(lambda: metrics(self._gateway.report(definition=DEFINITION), self._gateway.store.usage()))
        return self._recent

    def scrape(self) -> tuple[str, bytes]:
        """The media type and the body of an answer. Raises a `StoreError`."""
        from byref.proxy.ledger.exposition import MEDIA, exposition
        return MEDIA, exposition(self._now()()).encode()
