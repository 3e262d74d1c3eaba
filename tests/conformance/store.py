"""What every store backend promises. A backend's own test is a class that inherits the suites and gives them a `factory`:

    class TestMemory(StoreSuite, RetentionSuite, LedgerSuite):
        @pytest.fixture
        def factory(self) -> Factory: ...

A factory takes max_bytes, max_age and a clock, and opens an empty store of the backend. What a store lets go, and when, is in
retention.py; what it records of calls, in ledger.py.
"""
from __future__ import annotations

import random
import threading
from collections.abc import Iterator

import pytest

from byref.proxy.contracts import Blob, Capture, Gap, Manifest, Output, Part, Store, View
from byref.proxy.errors import Collision, Evicted, Invalid, Miss, StoreError, Unknown
from byref.proxy.text import digest, ref_of
from conformance.captures import DAY, OTHER, SCOPE, Clock, Factory, capture, keep, log, noise, put, stored


class StoreSuite:
    """The promises, one test each."""

    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def store(self, factory: Factory, clock: Clock) -> Iterator[Store]:
        store = factory(max_bytes=1 << 30, max_age=30 * DAY, clock=clock)
        yield store
        store.close()

    # bytes

    @pytest.mark.parametrize("data", [
        b"", b"\n", b"one line", b"one\ntwo\n", b"\r\n\x00\xff\xfe", noise(16384, 1), noise(16385, 2), log(20_000), noise(400_000, 3),
        b"x" * 5_000_000, b"\n" * 300_000, log(6000)[:131_072], log(14_000)[:262_144],
    ], ids=lambda data: f"{len(data)} bytes")
    def test_every_byte_comes_back(self, store: Store, data: bytes) -> None:
        ref = keep(store, data, b"warning: \xe2\x82")
        assert stored(store, SCOPE, ref) == [data, b"warning: \xe2\x82"]
        part = store.resolve(SCOPE, ref).manifest.parts[0]
        assert part.blob == Blob(digest(data), len(data), data.count(b"\n"))
        assert store.open(part.blob.digest).read() == data

    def test_any_range_of_bytes_and_lines_is_the_slice_of_the_raw_bytes(self, store: Store) -> None:
        for data in (b"", b"a\nbb\n\nccc", log(300), log(20_000) + b"no newline at the end", b"\n" * 200_000, noise(300_000, 5)):
            source, draw = store.open(put(store, data).digest), random.Random(len(data))
            lines = data.split(b"\n")
            lines = [line + b"\n" for line in lines[:-1]] + [lines[-1]] * bool(lines[-1])
            offsets = [0]
            for line in lines:
                offsets.append(offsets[-1] + len(line))
            assert source.size == len(data)
            edges = [0, 1, len(data) - 1, len(data), len(data) + 9, 131_071, 131_072, 131_073, 262_144]
            for start in [*edges, *(draw.randrange(len(data) + 1) for _ in range(20))]:
                end = start + draw.choice((0, 1, 100, 131_072, 500_000))
                assert source.read(max(start, 0), end) == data[max(start, 0):end]
            for first in [1, 2, len(lines), len(lines) + 1, len(lines) + 2, *(draw.randrange(1, len(lines) + 2) for _ in range(20))]:
                for last in (first - 1, first, first + 99, len(lines), len(lines) + 1):
                    start, end = source.lines(first, last)
                    assert data[start:end] == b"".join(lines[first - 1:last]), (first, last)

    def test_blocks_are_at_most_a_mebibyte(self, store: Store) -> None:
        for data in (noise(8000, 1), log(150_000)):
            blocks = list(store.open(put(store, data).digest).blocks())
            assert max(map(len, blocks)) <= 1 << 20
            assert b"".join(blocks) == data

    def test_nothing_is_visible_before_finish_nor_after_abort(self, store: Store) -> None:
        data = noise(100_000, 9)
        writer = store.writer()
        writer.write(data)
        writer.abort()
        with pytest.raises(Unknown):
            store.open(digest(data))
        assert store.usage().blobs == 0

    def test_finish_gives_the_same_blob_twice_and_abort_after_it_is_harmless(self, store: Store) -> None:
        for data in (b"small\n", log(5000)):
            writer = store.writer()
            writer.write(data)
            blob = writer.finish()
            assert writer.finish() == blob
            writer.abort()
            assert store.open(blob.digest).read() == data

    def test_a_finished_blob_can_be_read_before_its_output_is_committed(self, store: Store) -> None:
        for data in (b"small\n", log(5000)):
            assert store.open(put(store, data).digest).read() == data

    def test_an_unknown_digest_is_unknown(self, store: Store) -> None:
        for name in ("b2:" + "0" * 64, "b2:", "", "../../etc/passwd", "b2:../../../etc/passwd", "b2:" + "0" * 62 + "é"):
            with pytest.raises(Unknown):
                store.open(name)

    # commit and resolve

    def test_an_output_is_what_was_captured(self, store: Store, clock: Clock) -> None:
        given = capture(store, b"out\n", b"err\n", call_id="1", exit_code=101)
        assert store.commit(given) == given
        output = store.resolve(SCOPE, given.ref)
        assert (output.ref, output.manifest, output.signature, output.shape) == (given.ref, given.manifest, given.signature, "log")
        assert output.captured == clock.now

    def test_arguments_and_names_that_are_no_utf8_and_large_numbers_survive(self, store: Store) -> None:
        given = capture(store, b"x", arguments='{"argv":["cat","caf\udce9","nul\\u0000"]}', session="s\udcff", scope="/tmp/\udc80",
                        call_id="\udc81", context="c\udc82", tool="tool\n\"' --;")
        store.commit(given)
        assert store.resolve(given.scope, given.ref).manifest == given.manifest
        first = store.first(given.context, "\udc81")
        assert first is not None and (first.session, first.scope, first.manifest) == (given.session, given.scope, given.manifest)
        assert [output.ref for output in store.recent(given.scope, session=given.session)] == [given.ref]

    @pytest.mark.parametrize("ref", ["", "a b", "../x", "r" * 65, "a'; DROP TABLE outputs; --", "%2e%2e%2f", "é", "r\n", "r\0"])
    def test_a_malformed_ref_is_invalid_everywhere(self, store: Store, ref: str) -> None:
        for call in (lambda: store.resolve(SCOPE, ref), lambda: store.purge(SCOPE, ref)):
            with pytest.raises(Invalid):
                call()

    def test_a_ref_of_another_scope_is_unknown_word_for_word(self, store: Store) -> None:
        ref = keep(store, b"payroll\n")
        with pytest.raises(Unknown) as foreign:
            store.resolve(OTHER, ref)
        store.purge(SCOPE, ref)
        with pytest.raises(Unknown) as purged:
            store.resolve(OTHER, ref)
        with pytest.raises(Unknown) as never:
            store.resolve(OTHER, "rneverissued")
        assert str(foreign.value) == str(purged.value) == str(never.value).replace("rneverissued", ref)
        for near in (ref[:6], ref[:-1] + ("a" if ref[-1] != "a" else "b"), ref.upper()):
            with pytest.raises(Unknown):
                store.resolve(SCOPE, near)

    def test_the_same_output_again_is_one_output_and_younger(self, store: Store, clock: Clock) -> None:
        ref = keep(store, b"same\n")
        seq = store.resolve(SCOPE, ref).seq
        clock.now += DAY
        assert keep(store, b"same\n") == ref
        assert (store.resolve(SCOPE, ref).seq, store.resolve(SCOPE, ref).captured) == (seq, clock.now)
        assert (store.usage().outputs, store.usage().blobs) == (1, 1)

    def test_scopes_share_bytes_but_not_outputs(self, store: Store) -> None:
        ref = keep(store, log(5000))
        assert keep(store, log(5000), scope=OTHER) == ref
        assert (store.usage().outputs, store.usage().blobs) == (2, 1)
        store.purge(SCOPE, ref)
        assert stored(store, OTHER, ref) == [log(5000)]

    def test_two_outputs_of_one_ref_collide_and_the_first_stays(self, store: Store) -> None:
        first, second = capture(store, b"first\n"), capture(store, b"second\n")
        store.commit(first)
        forged = Capture(SCOPE, "main", "window", None, first.ref, second.manifest, second.signature, second.view)
        with pytest.raises(Collision):
            store.commit(forged)
        assert stored(store, SCOPE, first.ref) == [b"first\n"]
        manifest = capture(store, b"second\n").manifest
        store.commit(Capture(OTHER, "main", "elsewhere", None, first.ref, manifest, second.signature, second.view))

    def test_a_capture_whose_bytes_were_never_written_is_refused_whole(self, store: Store) -> None:
        manifest = Manifest("shell", "{}", (Part("stdout", "text/plain", Blob(digest(b"never"), 5, 0)),))
        with pytest.raises(Miss):
            store.commit(Capture(SCOPE, "main", "window", "1", ref_of(manifest), manifest, "s", View("", ())))
        assert store.usage().outputs == 0 and store.first("window", "1") is None and list(store.events()) == []

    # the view memo, and what was shown

    def test_the_first_bytes_of_a_call_stay(self, store: Store) -> None:
        first = capture(store, b"one\n", b"", call_id="call-1")
        store.commit(first)
        again = capture(store, b"one\n", b"", call_id="call-1", view=View("another head", ("another", "view"), (), "text", False))
        other = capture(store, b"two\n", call_id="call-1")
        expected = Capture(*(getattr(first, field) for field in Capture.__slots__[:-1]))  # type: ignore[attr-defined]
        assert store.commit(again) == store.commit(other) == store.first("window", "call-1") == expected
        assert store.tick("window") == 1
        assert len(list(store.events())) == 1
        with pytest.raises(Unknown):
            store.resolve(SCOPE, other.ref)
        assert store.first("window", "call-2") is None and store.first("other window", "call-1") is None

    @pytest.mark.parametrize("texts", [("tiny\n", "err"), ("", ""), (), ("not the", "raw text")])
    def test_a_view_that_passed_comes_back_too(self, store: Store, texts: tuple[str, ...]) -> None:
        store.commit(capture(store, b"tiny\n", b"err", call_id="1", view=View("", texts)))
        first = store.first("window", "1")
        assert first is not None and first.view == View("", texts)

    def test_a_view_that_passed_and_is_no_utf8_comes_back_too(self, store: Store) -> None:
        raw = log(3000) + b"caf\xe9 \xf0\x9f\x92"
        for number, text in enumerate((raw.decode("utf-8", "surrogateescape"), raw.decode("utf-8", "replace"))):
            store.commit(capture(store, raw, call_id=str(number), view=View("", (text,))))
            first = store.first("window", str(number))
            assert first is not None and first.view.texts == (text,)

    def test_first_bytes_outlive_the_output_and_a_capture_brings_it_back(self, factory: Factory, clock: Clock) -> None:
        store = factory(max_bytes=2_000_000, max_age=DAY, clock=clock)
        kept = store.commit(capture(store, noise(300_000, 0), call_id="1"))
        passed = store.commit(capture(store, b"passed\n", call_id="2", view=View("", ("passed\n",))))
        store.commit(capture(store, b"passed\n", call_id="3", view=View("", ("passed\n",))))
        for seed in range(1, 9):
            clock.now += 1
            keep(store, noise(300_000, seed))
        for ref in (kept.ref, passed.ref):
            with pytest.raises(Evicted):
                store.resolve(SCOPE, ref)
        first = store.first("window", "1")
        assert first is not None and first.view == kept.view and first.manifest == kept.manifest
        assert store.first("window", "2") is store.first("window", "3") is None, "their views were the bytes, which are gone"
        anew = capture(store, b"other bytes\n", call_id="3")
        assert store.commit(anew) == anew and stored(store, SCOPE, anew.ref) == [b"other bytes\n"]
        again = capture(store, noise(300_000, 0), call_id="1", view=View("", ()))
        assert store.commit(again) == store.first("window", "1") == first
        assert stored(store, SCOPE, kept.ref) == [noise(300_000, 0)]
        reduced = View("now", ("reduced",), passed=False)
        assert store.commit(capture(store, b"passed\n", call_id="2", view=reduced)).view.texts == ("passed\n",)
        assert stored(store, SCOPE, passed.ref) == [b"passed\n"]
        store.close()

    def test_what_was_shown_counts_until_it_is_forgotten(self, store: Store) -> None:
        assert (store.tick("window"), list(store.shown("window"))) == (0, [])
        for number in range(3):
            store.commit(capture(store, b"%d\n" % number, call_id=str(number)))
        store.commit(capture(store, b"elsewhere\n", context="subagent"))
        assert store.tick("window") == 3
        assert list(store.shown("window")) == [(tick, b"8 bytes.", b"another.") for tick in (1, 2, 3)]
        store.forget("window")
        assert list(store.shown("window")) == [] and store.tick("window") == 3
        assert store.first("window", "0") is not None
        store.commit(capture(store, b"after\n"))
        assert [tick for tick, _, _ in store.shown("window")] == [4]
        assert [tick for tick, _, _ in store.shown("subagent")] == [1]

    def test_the_gaps_of_the_newest_view_that_is_not_forgotten(self, store: Store) -> None:
        def shown(context: str, *addresses: str, scope: str = SCOPE) -> str:
            gaps = tuple(Gap("stdout", address, 3, "lines") for address in addresses)
            view = View("head", ("text",), gaps, "log", False)
            return store.commit(capture(store, b"out\n" * 9, scope=scope, context=context, view=view)).ref
        ref = shown("a", "L2-4")
        assert store.gaps(SCOPE, ref) == (Gap("stdout", "L2-4", 3, "lines"),) and store.gaps(OTHER, ref) is None
        shown("b")
        shown("c", "L1-3", "L5-7", scope=OTHER)
        assert store.gaps(SCOPE, ref) == () and [gap.address for gap in store.gaps(SCOPE, ref, "a") or ()] == ["L2-4"]
        assert [gap.address for gap in store.gaps(OTHER, ref) or ()] == ["L1-3", "L5-7"]
        store.forget("b")
        assert store.gaps(SCOPE, ref, "b") is None and [gap.address for gap in store.gaps(SCOPE, ref) or ()] == ["L2-4"]
        store.purge(SCOPE, ref)
        assert store.gaps(SCOPE, ref) is None and store.gaps(OTHER, ref) is not None

    # lists

    def test_recent_is_newest_first_and_narrowed(self, store: Store, clock: Clock) -> None:
        refs = []
        for number in range(5):
            clock.now += 1
            session = "even" if number % 2 == 0 else "odd"
            refs.append(store.commit(capture(store, b"%d\n" % number, session=session, signature=f"s{number}")).ref)
        keep(store, b"foreign\n", scope=OTHER)

        def recent(**narrowed: str | int) -> list[str]:
            return [output.ref for output in store.recent(SCOPE, **narrowed)]  # type: ignore[arg-type]

        assert recent() == refs[::-1]
        assert recent(limit=2) == refs[:2:-1]
        assert recent(session="odd") == [refs[3], refs[1]]
        assert recent(signature="s2") == [refs[2]]
        assert recent(session="odd", signature="s2") == recent(limit=0) == []
        clock.now += 1
        keep(store, b"1\n", session="even")
        assert recent()[0] == refs[1] and recent(session="odd") == [refs[1], refs[3]]
        clock.now += 30 * DAY
        assert recent() == [refs[1]]

    def test_recent_goes_on_page_by_page(self, store: Store, clock: Clock) -> None:
        for number in range(5):
            clock.now += number % 2  # some at the same time: then the order is that of their numbers
            keep(store, b"%d\n" % number)
        keep(store, b"foreign\n", scope=OTHER)
        pages, before = [], None
        while page := store.recent(SCOPE, limit=2, before=before):
            pages.append(page)
            before = page[-1].captured, page[-1].seq
        assert [len(page) for page in pages] == [2, 2, 1]
        assert [output.ref for page in pages for output in page] == [output.ref for output in store.recent(SCOPE)]

    def test_sessions_are_listed_and_say_whether_they_are_closed(self, store: Store) -> None:
        assert store.sessions() == []
        keep(store, b"1\n", session="b")
        keep(store, b"2\n", session="a")
        keep(store, b"3\n", session="a", scope=OTHER)
        store.close_session(SCOPE, "b")
        mine = [row[1:] for row in store.sessions() if row[0] == SCOPE]
        assert mine == [("a", False), ("b", True)] and (OTHER, "a", False) in store.sessions()

    def test_changes_give_each_output_once_and_in_order(self, store: Store) -> None:
        refs = [keep(store, b"%d\n" % number) for number in range(7)]
        keep(store, b"foreign\n", scope=OTHER)
        seen: list[str] = []
        cursor = 0
        while page := store.changes(SCOPE, cursor, limit=3):
            cursor = page[-1].seq
            seen += [output.ref for output in page]
        assert seen == refs
        store.purge(SCOPE, refs[-1])
        assert list(store.changes(SCOPE, cursor)) == []
        keep(store, b"6\n")
        assert [output.ref for output in store.changes(SCOPE, cursor)] == [refs[-1]], "an output that came back is new to a layer"

    def test_older_gives_each_output_once_from_the_newest_on(self, store: Store) -> None:
        refs = [keep(store, b"%d\n" % number) for number in range(7)]
        keep(store, b"foreign\n", scope=OTHER)
        seen: list[Output] = []
        while page := store.older(SCOPE, seen[-1].seq if seen else None, limit=3):
            seen += page
        assert [output.ref for output in seen] == refs[::-1]
        store.purge(SCOPE, refs[0])
        assert [output.ref for output in store.older(SCOPE, seen[2].seq)] == refs[3:0:-1]

    # threads

    def test_many_threads_lose_nothing(self, store: Store) -> None:
        refs: list[tuple[str, bytes]] = []
        faults: list[BaseException] = []

        def work(worker: int) -> None:
            try:
                for number in range(12):
                    data = log(2 + 900 * (number % 3), seed=100 * worker + number)
                    refs.append((keep(store, data, session=str(worker)), data))
                    assert stored(store, SCOPE, refs[0][0]) == [refs[0][1]]
            except BaseException as fault:
                faults.append(fault)

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []
        assert len(refs) == 96 and all(stored(store, SCOPE, ref) == [data] for ref, data in refs)
        assert sorted(tick for tick, _, _ in store.shown("window")) == list(range(1, 97))
        assert store.verify().damaged == ()

    def test_a_closed_store_says_so(self, factory: Factory) -> None:
        store = factory()
        store.close()
        store.close()
        with pytest.raises(StoreError):
            keep(store, b"late\n")
