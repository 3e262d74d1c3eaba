"""What was counted once is known to every later report."""
from __future__ import annotations

import pytest

import byref
from byref.proxy.counting import COUNTED, counted
from byref.proxy.errors import StoreError
from byref.proxy.ledger.counter import token_counter
from byref.proxy.ledger.recount import raw_key

LOG = "".join(f"step {i} of the installation\n" for i in range(2000))


def test_pages_are_counted_by_fetching_them_again() -> None:
    if not token_counter().exact:
        pytest.skip("no tokenizer: the extra `count` is not installed")
    with byref.open("memory:") as gateway:
        session = gateway.session("a")
        ref = session.capture(tool="shell", args={"command": "a"}, output={"stdout": LOG, "stderr": '{"rows": [1, 2, 3]}'}).ref
        first = session.fetch(ref, max_tokens=300)
        pages = [session.fetch(ref, at) for at in ("stdout:L5-9", "stderr:$.rows", "stdout:/step 7.0 /±1")]
        pages += [first, session.fetch(ref, cursor=first.cursor, max_tokens=300)]
        found = gateway.report(recount=True)
        assert found.total.fetched == sum(token_counter().count([page.text for page in pages]))


def test_a_recount_stays_and_without_one_nothing_is_counted() -> None:
    if not token_counter().exact:
        pytest.skip("no tokenizer: the extra `count` is not installed")
    with byref.open("memory:") as gateway:
        gateway.session("a").capture(tool="shell", args={"command": "a"}, output=LOG)
        ledger = list(gateway.store.events())
        assert not counted(gateway.store, ledger, gateway.clock, again=False).tokens and not list(gateway.store.events(COUNTED))
        counted(gateway.store, ledger, gateway.clock, again=True)
        assert counted(gateway.store, ledger, gateway.clock, again=False).tokens[raw_key(ledger[-1])] == token_counter().count([LOG])[0]


def test_a_ledger_of_all_scopes_holds_its_counts_and_one_of_a_scope_does_not() -> None:
    with byref.open("memory:") as gateway:
        gateway.session("a").capture(tool="shell", args={"command": "x"}, output=LOG)
        made = gateway.report(recount=True)
        assert made.total.counted == 1 and gateway.report().as_dict() == made.as_dict()
        assert gateway.report(scope="a").total.counted == gateway.report(since=1.0).total.counted == 1


def test_a_store_that_takes_no_counts_gives_its_figures_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    if not token_counter().exact:
        pytest.skip("no tokenizer: the extra `count` is not installed")

    def refuse(*words: object) -> None:
        raise StoreError("read-only")
    with byref.open("memory:") as gateway:
        gateway.session("a").capture(tool="shell", args={"command": "x"}, output=LOG)
        monkeypatch.setattr(gateway.store, "log", refuse)
        found = gateway.report(recount=True)
        assert found.total.counted == 1 and found.total.raw + found.uncapped == token_counter().count([LOG])[0]
        assert not list(gateway.store.events(kind="counted"))
