"""The counts of a ledger: those it holds, and with a recount those that the store can still give."""
from __future__ import annotations

from byref.proxy.errors import ByrefError
from byref.proxy.ledger.counter import token_counter
from byref.proxy.ledger.recount import Counts, recount
from byref.proxy.reader import fetch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from byref.proxy.contracts import Clock, Event, Store

COUNTED = ""  # the scope of counts: they belong to texts, whoever had them


def counted(store: Store, ledger: Sequence[Event], clock: Clock, *, again: bool) -> Counts:
    """What was counted of a ledger. again: first counts what is not counted yet, and logs it."""
    known = Counts()
    for event in store.events(COUNTED):
        if event.kind == "counted":
            known.take(event)
    if again:
        def page(scope: str, ref: str, address: str) -> str | None:
            try:
                return fetch(store, scope, ref, address or None, max_tokens=None).text
            except ByrefError:
                return None

        for event in recount(ledger, store, page, token_counter(), clock(), known):
            store.log(COUNTED, event)
    return known
