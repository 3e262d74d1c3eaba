"""Search over a scope: what is found first, within which bounds, and what it says of what it did not find."""
from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import byref
from byref.layers import late
from byref.proxy.errors import Corrupt, Invalid, Unknown
from byref.proxy.searching import USAGE, search
from late_worlds import Handle, Wordy


@pytest.fixture
def session() -> Any:
    with byref.open("memory:") as gateway:
        yield gateway.session("s")


def put(session: byref.Session, output: Any, tool: str = "Bash", **named: Any) -> str:
    return session.capture(tool=tool, args={"command": f"run {next(NUMBERS)}"}, output=output, raw=True, **named).ref


NUMBERS = itertools.count(100)


def layer(found: Any, name: str = "text") -> Any:
    return next(one for one in found.layers if one.name == name)


def test_exact_text_comes_before_all_words_and_these_before_most(session: byref.Session) -> None:
    refs = [put(session, text) for text in (
        "the cache and a bottleneck is what it is\n", "the cache is the bottleneck\n", "cache alone\n", "the Cache is the Bottleneck\n")]
    found = session.search("cache is the bottleneck")
    assert [hit.ref for hit in found.hits][:3] == [refs[1], refs[3], refs[0]]
    assert found.hits[0].signals == ("exact", "words") and found.hits[2].signals[0] == "words"
    assert (layer(found).status, layer(found).hits, layer(found).coverage) == ("ran", 4, 10_000)
    assert [hit.bps for hit in found.hits][:3] == [15_000, 15_000, 5_000]


def test_a_rare_word_weighs_more_than_a_common_one(session: byref.Session) -> None:
    put(session, "".join(f"tests/test_{n}.py PASSED tests were run\n" for n in range(500)) + "one was SKIPPED\n")
    assert "SKIPPED" in session.search("which tests were skipped").hits[0].excerpt


def test_what_is_alike_comes_newest_first_by_the_stores_own_count() -> None:
    clock = itertools.count(9e9, -1000)  # a clock that runs backwards tells nothing of the order
    with byref.open("memory:", clock=lambda: float(next(clock))) as gateway:
        session = gateway.session("s")
        refs = [put(session, f"needle {name}\n") for name in ("a", "b", "c")]
        found = session.search("needle")
    assert [(hit.ref, hit.age) for hit in found.hits] == [(refs[2], 0), (refs[1], 1), (refs[0], 2)]


def test_what_stands_nowhere_is_named(session: byref.Session) -> None:
    put(session, "the conflict is there\n")
    found = session.search("conflict qqzzx")
    assert found.uncovered == ("qqzzx",) and "nowhere: qqzzx" in found.text and len(found.hits) == 1
    none = session.search("qqzzx vvkkj")
    assert not none.hits and none.text.startswith("[no match; found: ") and "text 0" in none.text and "1 output searched" in none.text


def test_what_no_layer_looked_for_is_not_said_to_stand_nowhere(session: byref.Session) -> None:
    put(session, "the needle is here\n")
    found = session.search("needle qqzzx", layers=["names"])
    assert found.hits == found.uncovered == () and "nowhere" not in found.text
    assert session.search("needle qqzzx", layers=["text"]).uncovered == ("qqzzx",)


def test_refs_and_filters_narrow_it_and_are_echoed(session: byref.Session) -> None:
    good = put(session, "needle good\n")
    bad = put(session, "needle bad\n", exit_code=1)
    other = put(session, "needle other\n", tool="Grep", is_error=True)

    def refs(*given: Any, **named: Any) -> list[str]:
        return [hit.ref for hit in session.search("needle", *given, **named).hits]

    assert refs([good]) == [good] and refs([good, bad, good]) == [bad, good]
    assert refs(tool="shell") == [bad, good] and refs(tool="grep") == [other]
    assert refs(outcome="success") == [good] and refs(outcome="failure") == [other, bad]
    assert refs(since=bad) == [other] and refs(session="s") == [other, bad, good] and refs(session="none") == []
    assert "only tool grep, outcome failure" in session.search("needle", tool="grep", outcome="failure").text
    mark = session.gateway.store.resolve("s", bad).signature
    assert refs(signature=mark) == [bad] and refs([good, bad], signature=mark) == [bad]


def test_another_scope_is_not_looked_into(session: byref.Session) -> None:
    foreign = put(session.gateway.session("else"), "needle of others\n")
    assert not session.search("needle").hits
    with pytest.raises(Unknown):
        session.search("needle", [foreign])


def test_the_bytes_of_two_calls_are_shown_once_under_the_newer_ref(session: byref.Session) -> None:
    refs = [session.capture(tool="Bash", args={"command": f"cat {n}"}, output="needle\n" * 3).ref for n in (1, 2)]
    assert [hit.ref for hit in session.search("needle").hits] == [refs[1]]


@pytest.mark.parametrize("query", ["", "  \t", "🚀", '"unclosed AND (', "/[/", "//", "a" * 20_000, "\x00", "\ud800", "«»", "%_*?",
                                   "OR NOT", "C++"])
def test_no_query_raises_and_the_answer_stays_small(session: byref.Session, query: str) -> None:
    put(session, "".join(f"{n} words of no meaning\n" for n in range(3000)))
    put(session, b"")
    put(session, "the of and\n")
    found = session.search(query)
    assert len(found.text) < 4000 and found.text.endswith("\n")
    if not query.strip():
        assert found.text == USAGE


def test_a_pattern_that_is_none_is_said_and_searched_as_text(session: byref.Session) -> None:
    put(session, "a /[/ b\n")
    found = session.search("/[/")
    assert len(found.hits) == 1 and "no RE2 pattern" in found.text
    assert session.search("/a|b/").hits[0].signals == ("regex",) and layer(session.search("/a|b/"), "names").status == "skipped"


def test_bounds_that_are_none_are_told(session: byref.Session) -> None:
    for named in ({"k": 0}, {"max_tokens": 10}, {"timebox_ms": 0}, {"outcome": "maybe"}, {"since": "no ref"}, {"refs": ["../x"]}):
        with pytest.raises(Invalid):
            session.search("x", **named)  # type: ignore[arg-type]


def test_a_timebox_that_no_clock_can_wait_for_is_a_long_one(session: byref.Session) -> None:
    put(session, "needle\n" * 200)
    assert session.search("needle", timebox_ms=10**25, k=10**25, max_tokens=10**25).hits


def test_k_bounds_the_hits(session: byref.Session) -> None:
    put(session, "".join(f"needle {n}\n\n\n\n\n\n\n\n\n\n\n" for n in range(30)))
    assert len(session.search("needle", k=3).hits) == 3


def test_when_the_timebox_ends_the_answer_says_how_far_it_came(session: byref.Session) -> None:
    for n in range(5):
        put(session, f"needle {n}\n")
    ticks = itertools.count()
    found = search(session.gateway.store, "s", "needle", timebox_ms=500, layers=["text"], clock=lambda: next(ticks) / 10)
    assert 0 < found.searched < found.outputs == 5 and layer(found).status == "aborted" and 0 < layer(found).coverage < 10_000
    assert f"{found.searched} of 5 outputs searched" in found.text and "aborted" in found.text


def test_images_and_binary_hold_no_words(session: byref.Session) -> None:
    session.capture(tool="x", output={"image": b"needle", "text": "none"}, media={"image": "image/png"}, aside=["image"])
    put(session, b"\0\0needle\0\0" * 50)
    assert not session.search("needle").hits


def test_a_damaged_output_is_told_and_does_not_hide_the_others(tmp_path: Any) -> None:
    with byref.open(f"file:{tmp_path}") as gateway:
        session = gateway.session("s")
        broken = put(session, "".join(f"needle {n} in a long output\n" for n in range(5000)))
        whole = put(session, "needle of the other\n")
    (blob,) = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent.parent.name == "blobs"]
    blob.chmod(0o600)
    data = bytearray(blob.read_bytes())
    data[40:60] = bytes(20)
    blob.write_bytes(data)
    with byref.open(f"file:{tmp_path}") as gateway:
        session = gateway.session("s")
        found = session.search("needle")
        assert [hit.ref for hit in found.hits] == [whole] and broken in layer(found).note and broken in found.text
        with pytest.raises(Corrupt):
            session.search("needle", [broken])


def test_each_search_is_in_the_ledger_with_its_query_and_nothing_of_what_it_found(session: byref.Session) -> None:
    put(session, "a needle that lies in the hay\n")
    session.search("needle")
    (event,) = [event for event in session.gateway.store.events() if event.kind == "searched"]
    assert event.numbers["hits"] == 1 and event.numbers["tokens"] > 0 and event.note == "needle" and "hay" not in repr(event)


def test_explain_shows_the_whole_chain_as_its_schema_says(session: byref.Session, root: Path) -> None:
    validate = pytest.importorskip("jsonschema").validate
    refs = [put(session, text) for text in ("the needle is here\n", "a needle or two, and what it is about\n")]
    found = session.search("what is the needle about", explain=True)
    validate(found.explanation, json.loads((root / "docs" / "explain-2.schema.json").read_text()))
    told: Any = found.explanation
    assert [(one["ref"], one["address"]) for one in told["hits"]] == [(hit.ref, hit.address) for hit in found.hits]
    assert {one["ref"] for one in told["hits"]} == set(refs) and all(one["branches"] for one in told["hits"])
    assert session.search("needle").explanation is None


@pytest.mark.parametrize("profile", ["cascade", "rrf", "weighted"])
def test_the_profile_orders_and_explains_itself(session: byref.Session, root: Path, profile: str) -> None:
    validate = pytest.importorskip("jsonschema").validate
    best = put(session, "what the pool of connections is about: connections wait in a pool\n")
    put(session, "nothing but a pool\n")
    found = search(session.gateway.store, session.scope, "what are pools of connections about", profile=profile, explain=True)
    told: Any = found.explanation
    validate(told, json.loads((root / "docs" / "explain-2.schema.json").read_text()))
    assert (found.hits[0].ref, told["profile"]) == (best, profile)
    assert all(("weighted" in one) == (profile == "weighted") for one in told["hits"])
    with pytest.raises(Invalid, match="cascade"):
        search(session.gateway.store, session.scope, "x", profile="loud")


def test_layers_and_emphasis_are_the_callers(session: byref.Session) -> None:
    ref = session.capture(tool="Bash", args={"command": "make widgets"}, output="nothing of the kind\n").ref
    assert [hit.ref for hit in session.search("widgets", layers=["names"]).hits] == [ref]
    assert not session.search("widgets", layers=["text"]).hits
    for named in ({"layers": ["nonesuch"]}, {"emphasis": "loud"}):
        with pytest.raises(Invalid):
            session.search("x", **named)  # type: ignore[arg-type]


def test_an_output_is_found_by_its_very_call(session: byref.Session) -> None:
    ref = session.capture(tool="Bash", args={"command": "cargo build --release"}, output="Finished\n").ref
    put(session, "how to cargo build --releases\n")
    (hit,) = [hit for hit in session.search("cargo build --release").hits if hit.ref == ref]
    assert hit.bps == 10_000 and hit.signals == ("names",) and hit.excerpt == "Finished"


def test_a_heavier_word_comes_first_and_one_of_weight_0_is_neither_scored_nor_missed(session: byref.Session) -> None:
    put(session, "alpha alone\n" + "nothing of it\n" * 40 + "bravo alone\n")
    for layers in (["text"], None):
        assert session.search("alpha bravo", weights={"bravo": 3}, layers=layers, k=1).hits[0].excerpt.endswith("bravo alone")
        assert session.search("bravo alpha", weights={"Alpha": 3}, layers=layers, k=1).hits[0].excerpt.startswith("alpha alone")
        found = session.search("alpha qqzzx", weights={"qqzzx": 0}, layers=layers)
        assert found.uncovered == () and "nowhere" not in found.text and "weights qqzzx 0" in found.text and found.query == "alpha qqzzx"
    assert session.search("alpha qqzzx").uncovered == ("qqzzx",)
    for wrong in ({"alpha": -1}, {"alpha": "2"}, {"alpha": 1e9}, {"charlie": 1}):
        with pytest.raises(Invalid, match="weight"):
            session.search("alpha", weights=wrong)  # type: ignore[arg-type]


HOSTILE = ("x" * 1_000_000, "needle " * 140_000, "狗" * 200_000, "/(((/", "/(a*)*b/", ".*", "(?P<x>needle)", 'needle" OR "hay',
           "needle NEAR/3 hay", "NEAR(needle hay, 5)", "text:needle", "-needle +hay", "'; DROP TABLE blobs; --", "needle*", "иголка",
           "إبرة", "針を探す", "ｎｅｅｄｌｅ", "nee\x00dle", "\ud800needle", "needle\u202e", "../../etc/passwd", "«rabcdefghij L1»")


def test_nothing_that_is_asked_breaks_an_indexed_scope_or_shows_another(session: byref.Session) -> None:
    own = [put(session, f"needle {n} in the hay of a\nlong output\n" * 30) for n in range(4)]
    other = session.gateway.session("else")
    put(other, "needle of others in the hay\n" * 30)
    for scope in ("s", "else"):
        session.gateway.indexes.build(scope)
    for query in HOSTILE:
        found = session.search(query, timebox_ms=5000)
        assert {hit.ref for hit in found.hits} <= set(own) and len(found.text) < 6000, query[:40]
        assert "faulty" not in [one.note for one in found.layers], query[:40]
    for wrong in ({"like": "x" * 1_000_000}, {"like": "../x L1"}, {"like": f"{own[0]} /(((/"}, {"weights": {"x" * 1_000_000: 1}},
                  {"weights": {"needle": float("nan")}}):
        with pytest.raises(Invalid) as told:
            session.search("" if "like" in wrong else "needle", **wrong)  # type: ignore[arg-type]
        assert len(str(told.value)) < 500


def test_where_no_layer_looks_for_words_late_says_what_nothing_covers(session: byref.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late, "chosen", lambda model: Handle(Wordy()))
    put(session, "a dog barks\n")
    found = session.search("puppy quagga", layers=["late"])
    assert found.uncovered == ("quagga",) and "nothing like: quagga" in found.text
    assert session.search("puppy quagga", layers=["late", "text"]).uncovered == ("puppy", "quagga"), "of words, where they stand counts"
    assert session.search("puppy barks", layers=["late"]).uncovered == ()
