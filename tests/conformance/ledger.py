"""What every store backend records of its calls: events, views, how outputs were handled, and that something changed."""
from __future__ import annotations

from byref.proxy.contracts import Event, Store, View
from conformance.captures import OTHER, SCOPE, capture, keep


class LedgerSuite:
    """The promises, one test each."""

    def test_events_come_back_in_order_and_narrowed(self, store: Store) -> None:
        events = [Event(kind, at, session, "r1", "Bash", "log", {"raw": 10, "view": 2}) for kind, at, session in (
            ("captured", 1.0, "a"), ("viewed", 2.0, "b"), ("fetched", 3.0, "a"))]
        store.log(SCOPE, *events[:2])
        store.log(SCOPE, events[2])
        store.log(OTHER, events[0])
        assert list(store.events(SCOPE)) == events
        assert list(store.events()) == [*events, events[0]]
        assert list(store.events(SCOPE, since=2.0)) == events[1:]
        assert list(store.events(SCOPE, session="a")) == events[::2]
        assert list(store.events(SCOPE, kind="viewed")) == events[1:2]

    def test_an_event_keeps_its_note(self, store: Store) -> None:
        event = Event("searched", 1.0, "a", "", "", "", {"hits": 2}, "größe \"x\" \\ \udcff")
        store.log(SCOPE, event)
        assert list(store.events(SCOPE)) == [event]

    def test_a_purge_forgets_what_its_scope_searched_for(self, store: Store) -> None:
        ref = store.commit(capture(store, b"out\n" * 9)).ref
        for scope in (SCOPE, OTHER):
            store.log(scope, Event("searched", 1.0, "a", "", "", "", {"hits": 2}, "the secret of it"))
        store.purge(SCOPE, ref)
        assert [event.note for event in store.events(SCOPE) if event.kind == "searched"] == [""]
        assert [event.note for event in store.events(OTHER)] == ["the secret of it"]

    def test_all_views_of_a_ref_come_back_from_every_scope(self, store: Store) -> None:
        texts = ("head of it", "")
        for scope, context in ((SCOPE, "a"), (OTHER, "b")):
            view = View(f"in {context}", texts, (), "log", False)
            store.commit(capture(store, b"out\n" * 9, b"err\n", scope=scope, context=context, view=view))
        ref = store.commit(capture(store, b"out\n" * 9, b"err\n", view=View("", (), (), "log"))).ref
        found = store.views(ref)
        assert [(one.scope, one.context, one.view.head, one.view.texts) for one in found] == [
            (SCOPE, "a", "in a", texts), (OTHER, "b", "in b", texts), (SCOPE, "window", "", ())]
        assert all(one.manifest == store.resolve(SCOPE, ref).manifest for one in found) and store.views("rmissing00") == []

    def test_how_outputs_were_handled(self, store: Store) -> None:
        ref, slow, other = (keep(store, b"%d\n" % number) for number in range(3))
        foreign = keep(store, b"0\n", scope=OTHER)
        for elapsed in (3.5, 7.25, None):
            store.commit(capture(store, b"1\n", elapsed=elapsed))
        for scope, kind, of in ((SCOPE, "fetched", ref), (SCOPE, "fetched", ref), (SCOPE, "viewed", ref), (OTHER, "fetched", foreign)):
            store.log(scope, Event(kind, 1.0, "a", of, "Bash", "log", {"tokens": 10}))
        found = store.handled(SCOPE, [ref, slow, other, *(f"rmissing{number}" for number in range(700))])
        assert [found[one] for one in (ref, slow, other)] == [(0.25, 2), (7.25, 0), (0.25, 0)]
        assert len(found) == 703 and set(list(found.values())[3:]) == {(None, 0)} and store.handled(SCOPE, []) == {}

    def test_the_revision_is_another_one_after_each_change_and_the_same_without(self, store: Store) -> None:
        seen = [store.revision()]

        def changed() -> bool:
            seen.append(store.revision())
            return seen[-1] not in seen[:-1] and seen[-1] == store.revision()
        ref = keep(store, b"1\n")
        assert changed()
        store.commit(capture(store, b"1\n"))
        assert changed(), "the same output again is another call"
        store.log(SCOPE, Event("fetched", 1.0, "a", ref, "Bash", "log", {"tokens": 10}))
        assert changed()
        store.purge(SCOPE, ref)
        assert changed()
        assert list(store.recent(SCOPE)) == [] and store.sessions() and store.revision() == seen[-1], "looking changes nothing"
