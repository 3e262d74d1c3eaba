"""The counts of a ledger: those it holds, and with a recount those that the store can still give."""
from __future__ import annotations

from itertools import islice

from byref.proxy.errors import ByrefError, StoreError
from byref.proxy.ledger.counter import token_counter
from byref.proxy.ledger.recount import Counts, recount
from byref.proxy.reader import fetch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from byref.proxy.contracts import Clock, Event, Store
    from byref.proxy.ledger.report import Report

_TOGETHER = 200  # counts of one transaction: others wait for it, and a report that is stopped keeps those before
COUNTED = ""  # the scope of counts: they belong to texts, whoever had them


def counted(store: Store, ledger: Sequence[Event], clock: Clock, *, again: bool, whole: bool = False) -> Counts:
    """What was counted of a ledger. again: first counts what is not counted yet, and logs it. whole: the ledger is that of all scopes, so
    that the counts stand in it.
    """
    known = Counts()
    for event in ledger if whole else store.events(COUNTED, kind="counted"):
        if event.kind == "counted":
            known.take(event)
    if again:
        def page(scope: str, ref: str, address: str) -> str | None:
            try:
                return fetch(store, scope, ref, address or None, max_tokens=None).text
            except ByrefError:
                return None

        counts, kept = recount(ledger, store, page, token_counter(), clock(), known), True
        while some := list(islice(counts, _TOGETHER)):
            try:
                if kept:
                    store.log(COUNTED, *some)
            except StoreError:
                kept = False  # read-only, full or busy: the figures stand, and are counted again next time
    return known


def reported(store: Store, clock: Clock, scope: str | None, session: str | None, since: float, recount: bool, definition: int) -> Report:
    """See `Gateway.report`."""
    from byref.proxy.ledger.report import report, uncollected
    with uncollected():
        found = list(store.events(scope, since=since, session=session))
        whole = scope is None and session is None and not since
        return report(found, counts=counted(store, found, clock, again=recount, whole=whole), definition=definition)
