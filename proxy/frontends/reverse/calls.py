"""What became of answers that were streamed: `Byref-Call` names one, and the status resolves it to the ref after the end."""
from __future__ import annotations

import os
from collections import OrderedDict

from byref.proxy.contracts import Json

MOST = 10_000  # calls that are remembered


class Calls:
    """The calls of this process. A call is running, then storing, then stored with its ref, or lost with the reason."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, dict[str, Json]] = OrderedDict()

    def begun(self) -> str:
        """The id of a call that begins."""
        name = "c" + os.urandom(10).hex()
        self._calls[name] = {"call": name, "state": "running"}
        if len(self._calls) > MOST:
            self._calls.popitem(last=False)
        return name

    def ended(self, name: str) -> None:
        """Its answer has gone out whole, and is being stored."""
        self._told(name, state="storing")

    def stored(self, name: str, ref: str) -> None:
        """Its answer is durable under ref."""
        self._told(name, state="stored", ref=ref)

    def lost(self, name: str, why: str) -> None:
        """Its answer is not stored."""
        self._told(name, state="lost", reason=why)

    def about(self, name: str) -> dict[str, Json] | None:
        """What is known of a call."""
        return self._calls.get(name)

    def _told(self, name: str, **what: Json) -> None:
        if name in self._calls:
            self._calls[name] = {"call": name, **what}
