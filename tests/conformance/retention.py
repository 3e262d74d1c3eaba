"""What every store backend lets go, and when: age, quota, purge, gc, verify."""
from __future__ import annotations

import pytest

from byref.proxy.contracts import Event, Store, View
from byref.proxy.errors import Evicted, Expired, Miss, StoreFull, Unknown
from conformance.captures import DAY, OTHER, SCOPE, Clock, Factory, capture, keep, log, noise, put, shell, stored

QUOTA = 2_000_000


def fate(store: Store, ref: str, scope: str = SCOPE) -> str:
    """held, or the one word of the miss."""
    try:
        store.resolve(scope, ref)
    except Miss as miss:
        return miss.reason
    return "held"


class RetentionSuite:
    """The promises, one test each."""

    # age

    def test_an_output_is_held_for_its_age_and_then_expired_at_once(self, factory: Factory, clock: Clock) -> None:
        store = factory(max_bytes=1 << 30, max_age=600, clock=clock)
        ref = keep(store, log(6000), arguments=shell("cargo test --all"))
        clock.now += 600
        assert stored(store, SCOPE, ref) == [log(6000)]
        clock.now += 0.5
        with pytest.raises(Expired, match=r"run it again: cargo test --all$"):
            store.resolve(SCOPE, ref)
        assert list(store.recent(SCOPE)) == list(store.changes(SCOPE, 0)) == []
        assert store.gc().outputs == store.usage().blobs == 0
        with pytest.raises(Expired, match=r"run it again: cargo test --all$"):
            store.resolve(SCOPE, ref)
        assert fate(store, ref, OTHER) == "unknown"
        store.close()

    def test_an_output_that_comes_back_past_its_age_belongs_to_the_session_that_brought_it(self, factory: Factory, clock: Clock) -> None:
        store = factory(max_bytes=1 << 30, max_age=600, clock=clock)
        ref = keep(store, b"out\n", session="a")
        clock.now += 601
        assert keep(store, b"out\n", session="b") == ref
        assert [o.ref for o in store.recent(SCOPE, session="b")] == [ref] and list(store.recent(SCOPE, session="a")) == []
        store.close()

    def test_the_first_bytes_of_a_call_are_given_once_more_as_their_output_expires(self, factory: Factory, clock: Clock) -> None:
        store = factory(max_bytes=1 << 30, max_age=600, clock=clock)
        first = capture(store, b"caf\xe9\n", call_id="1", view=View("", ("caf\udce9\n",)))
        store.commit(first)
        clock.now += 601
        again = store.commit(capture(store, b"out\n", call_id="1"))
        assert again.ref in (first.ref, capture(store, b"out\n").ref)
        store.close()

    def test_capturing_again_clears_a_tombstone(self, factory: Factory, clock: Clock) -> None:
        store = factory(max_bytes=1 << 30, max_age=600, clock=clock)
        for data in (b"small\n", log(6000)):
            ref = keep(store, data)
            seq = store.resolve(SCOPE, ref).seq
            for let_go in (False, True):
                clock.now += 601
                if let_go:
                    store.gc()
                assert fate(store, ref) == "expired"
                cursor = max([output.seq for output in store.changes(SCOPE, 0)], default=seq)
                assert keep(store, data) == ref
                assert stored(store, SCOPE, ref) == [data]
                seq = store.resolve(SCOPE, ref).seq
                assert seq > cursor, "it is new to the layers, too"
            store.purge(SCOPE, ref)
            assert fate(store, ref) == "evicted"
            keep(store, data)
            assert stored(store, SCOPE, ref) == [data]
        store.close()

    @pytest.mark.parametrize(("tool", "arguments", "said"), [
        ("shell", shell("ls -la"), "ls -la"),
        ("Bash", shell("make\\ntest"), "make\\\\ntest"),
        ("shell", '{"argv":["grep","-rn","a b","it\'s","src"]}', "grep -rn 'a b' 'it'"),
        ("mcp__exa__search", '{"query":"rust"}', 'mcp__exa__search {"query":"rust"}'),
        ("shell", '"uname"', "uname"),
        ("shell", "{}", "shell {}"),
        ("shell", shell("x" * 500), "x" * 199 + "…"),
    ])
    def test_a_miss_names_the_call_to_run_again(self, factory: Factory, clock: Clock, tool: str, arguments: str, said: str) -> None:
        store = factory(max_bytes=1 << 30, max_age=600, clock=clock)
        given = store.commit(capture(store, b"x\n", tool=tool, arguments=arguments))
        clock.now += 601
        for _ in range(2):
            with pytest.raises(Expired) as miss:
                store.resolve(SCOPE, given.ref)
            assert said.replace("\\\\", "\\") in str(miss.value) and len(str(miss.value)) < 300
            store.gc()
        store.close()

    # quota

    def test_the_oldest_make_room_and_the_newest_stays(self, factory: Factory, clock: Clock) -> None:
        store = factory(max_bytes=QUOTA, max_age=DAY, clock=clock)
        contents = [noise(200_000, seed) for seed in range(30)]
        refs = []
        for number, content in enumerate(contents):
            clock.now += 1
            refs.append(keep(store, content, arguments=shell(f"cat {number}")))
            assert stored(store, SCOPE, refs[-1]) == [content]
            assert store.usage().bytes_held <= 1.1 * QUOTA
        fates = [fate(store, ref) for ref in refs]
        held = fates.count("held")
        assert fates == ["evicted"] * (30 - held) + ["held"] * held
        assert held >= 6, "a quota that is not used is not one"
        assert [stored(store, SCOPE, ref) for ref in refs[-held:]] == [[content] for content in contents[-held:]]
        with pytest.raises(Evicted, match=r"run it again: cat 0$"):
            store.resolve(SCOPE, refs[0])
        assert store.usage().blobs == store.usage().outputs == held
        assert store.verify().damaged == ()
        store.close()

    def test_many_small_outputs_fill_a_quota_too(self, factory: Factory, clock: Clock) -> None:
        store = factory(max_bytes=600_000, max_age=DAY, clock=clock)
        for number in range(300):
            clock.now += 1
            ref = store.commit(capture(store, noise(4000, number), call_id=str(number))).ref
        assert store.usage().bytes_held <= 1.1 * 600_000
        assert fate(store, ref) == "held"
        assert store.usage().outputs >= 20
        store.close()

    def test_calls_and_events_alone_never_break_a_quota(self, factory: Factory, clock: Clock) -> None:
        store = factory(max_bytes=600_000, max_age=DAY, clock=clock)
        view = View("head", ("x" * 5000,), (), "text", False)
        for number in range(200):
            clock.now += 1
            store.commit(capture(store, b"always the same\n", call_id=str(number), view=view))
            for _ in range(10):
                store.log(SCOPE, Event("fetched", clock.now, "main", "r1", "shell", "text", {"fetched": 1}))
        ref = keep(store, b"the last\n")
        store.gc()
        assert store.usage().bytes_held <= 1.1 * 600_000
        assert fate(store, ref) == "held"
        store.close()

    def test_a_session_that_goes_on_is_open_with_all_it_had(self, factory: Factory, clock: Clock) -> None:
        store = factory(max_bytes=QUOTA, max_age=DAY, clock=clock)
        old = keep(store, noise(200_000, 1), session="resumed")
        clock.now += 1
        young = keep(store, noise(500_000, 2), session="closed")
        store.close_session(SCOPE, "closed")
        store.close_session(SCOPE, "resumed")
        keep(store, b"goes on\n", session="resumed")
        for seed in range(3, 6):
            keep(store, noise(460_000, seed))
        assert (fate(store, young), fate(store, old)) == ("evicted", "held")
        store.close()

    def test_closed_sessions_go_before_open_ones(self, factory: Factory, clock: Clock) -> None:
        store = factory(max_bytes=QUOTA, max_age=DAY, clock=clock)
        refs = {}
        for number, session in enumerate(("open", "closed", "shared", "resumed")):
            clock.now += 1
            refs[session] = keep(store, noise(300_000, number), session=session)
        keep(store, noise(300_000, 2), session="open")
        for session in ("closed", "shared", "resumed"):
            store.close_session(SCOPE, session)
        store.close_session(OTHER, "open")
        keep(store, b"the conversation goes on\n", session="resumed")
        keep(store, noise(300_000, 3), session="resumed")
        order = []
        for number in range(10, 24):
            clock.now += 1
            keep(store, noise(300_000, number), session="open", arguments=shell(str(number)))
            order += [name for name, ref in refs.items() if fate(store, ref) == "evicted" and name not in order]
        assert order == ["closed", "open", "shared", "resumed"], "shared and resumed were captured again by open sessions"
        store.close()

    def test_an_output_larger_than_the_quota_is_refused_and_costs_no_other_its_place(self, factory: Factory, clock: Clock) -> None:
        store = factory(max_bytes=QUOTA, max_age=DAY, clock=clock)
        ref = keep(store, noise(300_000, 1))
        with pytest.raises(StoreFull):
            keep(store, noise(5_000_000, 2))
        with pytest.raises(StoreFull):
            keep(store, noise(1_200_000, 3), noise(1_200_000, 4))
        assert fate(store, ref) == "held" and stored(store, SCOPE, ref) == [noise(300_000, 1)]
        assert store.usage().outputs == 1 and store.gc().blobs == 1
        keep(store, noise(300_000, 5))
        store.close()

    def test_bytes_that_another_output_shares_stay_when_one_is_let_go(self, factory: Factory, clock: Clock) -> None:
        store = factory(max_bytes=QUOTA, max_age=DAY, clock=clock)
        shared = noise(300_000, 1)
        old = keep(store, shared, arguments=shell("cat a"))
        clock.now += DAY / 2
        young = keep(store, shared, arguments=shell("cat b"))
        clock.now += DAY / 2 + 1
        usage = store.gc()
        assert (fate(store, old), usage.outputs, usage.blobs) == ("expired", 1, 1)
        assert stored(store, SCOPE, young) == [shared]
        store.close()

    def test_bytes_written_again_while_retention_takes_them_are_not_lost(self, factory: Factory, clock: Clock) -> None:
        store = factory(max_bytes=QUOTA, max_age=600, clock=clock)
        for data in (b"small\n", noise(200_000, 1)):
            ref = keep(store, data)
            again = capture(store, data)
            clock.now += 601
            store.gc()
            assert fate(store, ref) == "expired"
            store.commit(again)
            assert stored(store, SCOPE, ref) == [data]
        store.close()

    # purge

    def test_a_purge_leaves_only_that_it_was_there(self, store: Store) -> None:
        given = store.commit(capture(store, log(6000), call_id="1", arguments=shell("echo hunter2")))
        rest = keep(store, b"rest\n")
        tick = store.tick("window")
        store.purge(SCOPE, given.ref)
        with pytest.raises(Evicted) as miss:
            store.resolve(SCOPE, given.ref)
        assert "hunter2" not in str(miss.value)
        with pytest.raises(Unknown):
            store.open(given.manifest.parts[0].blob.digest)
        assert store.first("window", "1") is None
        assert len(store.shown("window")) == 1 and store.tick("window") == tick
        assert all(event.ref != given.ref for event in store.events())
        assert len(list(store.events())) == 2, "what was saved stays in the ledger"
        assert [output.ref for output in store.recent(SCOPE)] == [rest]
        store.purge(SCOPE, given.ref)
        with pytest.raises(Unknown):
            store.purge(SCOPE, "rneverissued")

    def test_a_purge_reaches_what_is_expired_or_evicted_already(self, factory: Factory, clock: Clock) -> None:
        store = factory(max_bytes=1 << 30, max_age=600, clock=clock)
        for let_go in (False, True):
            ref = store.commit(capture(store, b"%d\n" % let_go, call_id=f"{let_go}", arguments=shell("echo hunter2"))).ref
            clock.now += 601
            if let_go:
                store.gc()
            store.purge(SCOPE, ref)
            with pytest.raises(Evicted) as miss:
                store.resolve(SCOPE, ref)
            assert "hunter2" not in str(miss.value) and store.first("window", f"{let_go}") is None
        store.close()

    def test_a_purge_everywhere_takes_the_bytes_from_all_scopes(self, store: Store) -> None:
        secret = log(6000)
        ref = keep(store, secret)
        keep(store, secret, scope=OTHER)
        wider = keep(store, b"head\n", secret, scope=OTHER, arguments=shell("cat both"))
        rest = keep(store, b"head\n", scope=OTHER)
        store.purge(SCOPE, ref, everywhere=True)
        assert [fate(store, ref), fate(store, ref, OTHER), fate(store, wider, OTHER), fate(store, rest, OTHER)] == [
            "evicted", "evicted", "evicted", "held"]
        assert stored(store, OTHER, rest) == [b"head\n"]
        assert store.usage().blobs == 1

    # care

    def test_gc_and_verify_find_nothing_wrong_with_a_good_store(self, store: Store) -> None:
        refs = [keep(store, log(number * 500), b"") for number in range(20)]
        before = store.usage()
        assert (store.gc().outputs, store.usage().blobs) == (before.outputs, before.blobs)
        checked = store.verify()
        assert (checked.blobs, checked.outputs, checked.damaged) == (before.blobs, 20, ())
        assert all(fate(store, ref) == "held" for ref in refs)
        assert before.bytes_raw == sum(len(log(number * 500)) for number in range(20))

    def test_what_was_never_committed_does_not_stay(self, factory: Factory, clock: Clock) -> None:
        store = factory(max_bytes=QUOTA, max_age=DAY, clock=clock)
        for seed in range(5):
            put(store, noise(200_000, seed))
        assert store.usage().blobs == 0
        store.close()
