"""Whatever is done to a store, both backends give the same answers."""
from __future__ import annotations

import tempfile
from collections.abc import Callable

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from byref.proxy.contracts import Event, Store, View
from byref.proxy.errors import ByrefError
from byref.proxy.store import open_store
from conformance.captures import OTHER, SCOPE, Clock, capture, log, shell

AGE = 100.0
scopes, sessions, contexts = st.sampled_from([SCOPE, OTHER]), st.sampled_from("ab"), st.sampled_from(["window", "subagent"])
contents = st.sampled_from([b"", b"out\n", b"caf\xe9\n", b"x" * 9000, log(900)])


class Backends(RuleBasedStateMachine):
    """The same calls on a `memory:` and a `file:` store, under one clock and without a quota that matters."""

    def __init__(self) -> None:
        super().__init__()
        self.clock, self.folder, self.refs = Clock(), tempfile.TemporaryDirectory(prefix="byref-agree-"), ["rneverissued"]
        self.stores = [open_store(url, max_bytes=1 << 30, max_age=AGE, clock=self.clock)
                       for url in ("memory:", f"file:{self.folder.name}/s")]

    def both(self, action: Callable[[Store], object]) -> object:
        answers = []
        for store in self.stores:
            try:
                answers.append(action(store))
            except ByrefError as fault:
                answers.append((type(fault), str(fault)))
        assert answers[0] == answers[1]
        return answers[0]

    @rule(content=contents, scope=scopes, session=sessions, context=contexts, call=st.none() | st.sampled_from("12"), passed=st.booleans(),
          number=st.integers(0, 2))
    def commit(self, content: bytes, scope: str, session: str, context: str, call: str | None, passed: bool, number: int) -> None:
        def action(store: Store) -> object:
            view = View("", (content.decode("utf-8", "surrogateescape"),)) if passed else None
            given = capture(store, content, scope=scope, session=session, context=f"{scope} {context}", call_id=call, view=view,
                            arguments=shell(f"make {number}"))
            self.refs.append(given.ref)
            kept = store.commit(given)
            return kept.ref, kept.view.texts, kept.manifest
        self.both(action)

    @rule(seconds=st.sampled_from([1.0, 30.0, 99.0, 101.0]))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule(data=st.data(), scope=scopes, everywhere=st.booleans())
    def purge(self, data: st.DataObject, scope: str, everywhere: bool) -> None:
        ref = data.draw(st.sampled_from(self.refs))
        self.both(lambda store: store.purge(scope, ref, everywhere=everywhere))

    @rule()
    def gc(self) -> None:
        self.both(lambda store: (store.gc().outputs, store.usage().blobs, store.usage().bytes_raw))

    @rule(scope=scopes, context=contexts)
    def forget(self, scope: str, context: str) -> None:
        self.both(lambda store: store.forget(f"{scope} {context}"))

    @rule(scope=scopes, session=sessions)
    def close_session(self, scope: str, session: str) -> None:
        self.both(lambda store: store.close_session(scope, session))

    @rule(scope=scopes)
    def log(self, scope: str) -> None:
        self.both(lambda store: store.log(scope, Event("fetched", self.clock.now, "a", self.refs[-1], "Bash", "log", {"fetched": 7})))

    @invariant()
    def the_same_is_seen(self) -> None:
        for scope in (SCOPE, OTHER):
            for ref in self.refs[-4:]:
                self.both(lambda store, scope=scope, ref=ref: store.resolve(scope, ref).manifest)  # type: ignore[misc]
            self.both(lambda store, scope=scope: [output.ref for output in store.changes(scope, 0)])  # type: ignore[misc]
            for session in "ab":
                self.both(lambda store, scope=scope, session=session: [o.ref for o in store.recent(scope, session=session)])  # type: ignore[misc]
            self.both(lambda store, scope=scope: list(store.events(scope)))  # type: ignore[misc]

    def teardown(self) -> None:
        assert self.stores[1].verify().damaged == ()
        for store in self.stores:
            store.close()
        self.folder.cleanup()


# No shrinking: these stores live in real folders, and it takes minutes. A run has 25 steps at most.
Backends.TestCase.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
TestBackends = Backends.TestCase
