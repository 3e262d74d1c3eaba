"""What is like a stretch of an output: found elsewhere, never itself, and near-duplicates told as such."""
from __future__ import annotations

import itertools
from typing import Any

import pytest

import byref
from byref.layers.contract import Contribution, Hit, Span
from byref.layers.orchestrator import Answer
from byref.proxy.errors import Evicted, Invalid, Miss, Unknown
from byref.proxy.likeness import SIGNAL, without
from byref.proxy.query import like

NOISE = "".join(f"step {n} copied file number {n * 7919 % 1000} of the harbour\n" for n in range(60))
TRACE = ('Traceback (most recent call last):\n  File "/srv/app/pool.py", line 31, in acquire\n    raise PoolTimeout(self.name)\n'
         "app.errors.PoolTimeout: no connection in pool main within 30 s\n")
CODE = "class Pool:\n    def acquire(self):\n        raise PoolTimeout(self.name)\n"
NUMBERS = itertools.count()


@pytest.fixture
def session() -> Any:
    with byref.open("memory:") as gateway:
        yield gateway.session("s")


def put(session: byref.Session, output: Any, **named: Any) -> str:
    return session.capture(tool="Bash", args={"command": f"run {next(NUMBERS)}"}, output=output, raw=True, **named).ref


def lines(text: str, part: str) -> str:
    first = text[:text.index(part)].count("\n") + 1
    return f"L{first}-{first + part.count(chr(10)) - 1}"


@pytest.mark.parametrize("layers", [["text"], ["bm25"], None])
def test_the_like_is_found_elsewhere_and_never_the_stretch_itself(session: byref.Session, layers: list[str] | None) -> None:
    if layers != ["text"]:
        pytest.importorskip("numpy")
    own = NOISE + TRACE + NOISE.replace("harbour", "port")
    here, again = put(session, own), put(session, NOISE + TRACE.replace("main", "spare"))
    code, other = put(session, CODE), put(session, "nothing of the sort\n" * 30)
    session.gateway.indexes.build("s")
    found = session.similar(here, lines(own, TRACE), layers=layers)
    refs = [hit.ref for hit in found.hits]
    assert refs[0] == again and code in refs and other not in refs
    assert SIGNAL in found.hits[0].signals and "PoolTimeout" in found.hits[0].excerpt
    assert not any(SIGNAL in hit.signals for hit in found.hits if hit.ref == code)
    assert not any(hit.ref == here and "PoolTimeout" in hit.excerpt for hit in found.hits)
    assert found.query == f"like {here} {lines(own, TRACE)}" and found.uncovered == ()


def test_a_stretch_that_stands_elsewhere_in_the_same_output_is_found_there(session: byref.Session) -> None:
    own = TRACE + NOISE + TRACE
    ref = put(session, own)
    first = session.similar(ref, "L1-4").hits[0]
    assert (first.ref, first.signals[0]) == (ref, "exact") and SIGNAL in first.signals
    assert int(first.address[1:].partition("-")[0]) > 50


def test_a_whole_output_is_like_another_one_and_the_very_same_bytes_are_named(session: byref.Session) -> None:
    long = NOISE * 20
    ref, near, same = put(session, long + "done\n"), put(session, "begin\n" + long), put(session, long + "done\n")
    found = session.similar(ref)
    assert {hit.ref for hit in found.hits} == {near} and all(SIGNAL in hit.signals for hit in found.hits)
    assert f"the very same in {same}" in found.text


def test_the_address_is_what_fetch_takes_and_a_miss_is_the_same(session: byref.Session) -> None:
    ref = put(session, {"stdout": b'{"results": [{"title": "pool timeout"}, {"title": "cache miss"}]}', "stderr": TRACE.encode()})
    put(session, "a pool and its timeout\n")
    assert any("its timeout" in hit.excerpt for hit in session.similar(ref, "results[0].title").hits)
    assert session.similar(ref, "stderr:L4").query == f"like {ref} stderr:L4"
    session.purge(gone := put(session, "gone\n"))
    for wanted, at in (("rk7f3qmab2x", None), ("../x", None), ("", None), (ref, "L999"), (ref, "nonsense!"), (gone, None), (ref, "b9999-")):
        with pytest.raises(Miss) as told:
            session.similar(wanted, at)
        with pytest.raises(type(told.value)) as fetched:
            session.fetch(wanted, at)
        assert str(told.value) == str(fetched.value)
    with pytest.raises(Unknown):
        session.gateway.session("else").similar(ref)
    with pytest.raises(Evicted):
        session.similar(gone)


def test_what_cannot_be_likened_is_told(session: byref.Session) -> None:
    ref = put(session, "--- ... ---\nwords here\n")
    for at, told in (("L1", "holds no words"), ("/words/", "not from a pattern")):
        with pytest.raises(Invalid, match=told):
            session.similar(ref, at)
    with pytest.raises(Invalid, match="give one of them"):
        session.search("words", like=f"{ref} L2")
    with pytest.raises(Invalid, match="holds no word"):
        session.similar(ref, "L2", weights={"other": 2})


def test_words_of_the_stretch_have_weights_and_filters_narrow_it(session: byref.Session) -> None:
    ref = put(session, "alpha bravo\n")
    alpha, bravo = put(session, "alpha alone\n"), put(session, "bravo alone\n", exit_code=1)
    assert [hit.ref for hit in session.similar(ref, weights={"bravo": 0}, layers=["text"]).hits] == [alpha]
    assert [hit.ref for hit in session.similar(ref, outcome="failure", layers=["text"]).hits] == [bravo]
    assert [hit.ref for hit in session.similar(ref, refs=[alpha], layers=["text"]).hits] == [alpha]


def test_a_megabyte_is_likened_within_its_bounds(session: byref.Session) -> None:
    ref = put(session, "".join(f"{n} {n * 7919 % 100_003} value of record {n}\n" for n in range(30_000)))
    put(session, "record 7 has a value\n")
    found = session.similar(ref)
    assert len(found.text) < 6000 and all(hit.ref != ref for hit in found.hits)


def test_what_a_layer_says_of_the_stretch_itself_is_left_out_whatever_the_layer() -> None:
    query = like("alpha bravo", [("b", 10, 20), ("b", 40, 50)])
    spans = [Span("b", *one) for one in ((0, 10), (0, 11), (12, 15), (19, 30), (20, 40), (49, 60), (50, 60))] + [Span("c", 12, 15)]
    (left,) = without([Answer("x", "1", "ran", Contribution([Hit(span, 1, "x") for span in spans]))], query)
    assert [hit.span[1:] for hit in left.contribution.hits] == [(0, 10), (20, 40), (50, 60), (12, 15)]
