"""Words by BM25: what is found, in which order, what a filter hides, and that nothing of a blob stays."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from byref.layers.bm25 import idf, layer, stem
from byref.layers.contract import Added, Budget, Held, Scope
from byref.proxy.contracts import Output
from byref.proxy.query import parse
from byref.proxy.store.source import BytesSource

pytest.importorskip("numpy")
TEXTS = {
    "retry": "def retryOnConflict(delay):\n    return delay * 2\n",
    "pool": "connection pool exhausted after 30 seconds\n",
    "chinese": "连接池最长等待时间为三十秒\n",
    "cache": "the cache caches cached things in a caching cache\n",
    "noise": "nothing here says anything of note\n" * 40,
}


@pytest.fixture(params=["memory", "folder"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    return None if request.param == "memory" else str(tmp_path / "bm25")


@pytest.mark.parametrize(("query", "wanted"), [
    ("retry on conflict", "retry"), ("conflict_retry", "retry"), ("connections", "pool"), ("等待时间", "chinese"), ("caching", "cache"),
    ("pool of connections", "pool"),
])
def test_words_are_found_inside_identifiers_in_other_forms_and_without_blanks(
        world: Any, budget: Budget, folder: str | None, query: str, wanted: str) -> None:
    here, bm25 = world(TEXTS), layer(folder)
    bm25.apply(here.added(), (), Event())
    found = bm25.search(parse(query), here.scope, budget)
    assert here.names(found)[0] == wanted and found.hits[0].terms and found.hits[0].score > 0 and found.searched is None


def test_outputs_come_one_after_the_other_and_in_another_process_too(world: Any, budget: Budget, tmp_path: Path) -> None:
    here, folder = world(TEXTS), str(tmp_path / "i")
    for name in TEXTS:
        layer(folder).apply(here.added(name), (), Event())
    whole = layer(str(tmp_path / "j"))
    whole.apply(here.added(), (), Event())
    for query in ("cache delay seconds", "nothing here", "连接池"):
        one, other = layer(folder).search(parse(query), here.scope, budget), whole.search(parse(query), here.scope, budget)
        assert one.hits == other.hits and one.places == other.places


def test_what_is_alike_comes_newest_first(world: Any, budget: Budget) -> None:
    here, bm25 = world({name: f"needle {name}\n" for name in "abc"}), layer(None)
    bm25.apply(here.added(), (), Event())
    assert here.names(bm25.search(parse("needle"), here.scope, budget)) == ["c", "b", "a"]


def test_a_filter_narrows_hits_and_what_words_weigh(world: Any, budget: Budget) -> None:
    here, bm25 = world(TEXTS), layer(None)
    alone = layer(None)
    bm25.apply(here.added(), (), Event())
    alone.apply(here.added("pool", "cache"), (), Event())
    scope = here.narrowed("pool", "cache")
    found = bm25.search(parse("cache pool nothing"), scope, budget)
    assert found.hits == alone.search(parse("cache pool nothing"), scope, budget).hits and "noise" not in here.names(found)
    assert found.places[parse("cache pool nothing").tokens.index("nothing")] == 0


def test_of_a_blob_that_is_let_go_no_byte_stays(world: Any, budget: Budget, tmp_path: Path) -> None:
    here, folder = world(TEXTS), tmp_path / "i"
    bm25, other = layer(str(folder)), layer(str(folder))
    bm25.apply(here.added(), (), Event())
    assert here.names(other.search(parse("pool"), here.scope, budget)) == ["pool"]
    (blob,) = [one.blob for one in here.added("pool")]
    before = {path.name: path.read_bytes() for path in folder.glob("*.seg")}
    assert any(blob.encode() in data for data in before.values())
    bm25.apply((), [blob], Event())
    after = {path.name: path.read_bytes() for path in folder.glob("*.seg")}
    assert not any(blob.encode() in data for data in after.values()) and not before.keys() & after.keys()
    assert not other.search(parse("pool"), here.scope, budget).hits and other.search(parse("cache"), here.scope, budget).hits
    assert blob not in bm25.indexed() and len(bm25.indexed()) == len(TEXTS) - 1


def test_taking_in_twice_changes_nothing_and_a_cancelled_batch_writes_nothing(world: Any, budget: Budget, folder: str | None) -> None:
    here, bm25 = world(TEXTS), layer(folder)
    cancelled = Event()
    cancelled.set()
    bm25.apply(here.added(), (), cancelled)
    assert bm25.indexed() == frozenset()
    for _ in range(2):
        bm25.apply(here.added(), (), Event())
    assert len(bm25.search(parse("cache"), here.scope, budget).hits) == 1


def test_numbers_are_integers_by_the_formula() -> None:
    assert idf(1000, 1000) < idf(1000, 10) < idf(1000, 1) and abs(idf(1000, 0) / 1024 - 10.97) < .01
    assert stem("bodies") == stem("bodie") == stem("body") == "body"
    assert (stem("caching"), stem("cached"), stem("caches"), stem("queries"), stem("class"), stem("x1s")) == (
        "cach", "cach", "cach", "query", "class", "x1s")


def test_a_weight_multiplies_what_a_word_adds_and_0_takes_it_out(world: Any, budget: Budget) -> None:
    here, bm25 = world({"a": "alpha of it\n", "b": "bravo of it\n"}), layer(None)
    bm25.apply(here.added(), (), Event())

    def scores(**weights: float) -> dict[str, int]:
        found = bm25.search(parse("alpha bravo", weights), here.scope, budget)
        return dict(zip(here.names(found), (hit.score for hit in found.hits), strict=True))

    plain = scores()
    doubled = scores(alpha=2)
    assert doubled["b"] == plain["b"] and abs(doubled["a"] - 2 * plain["a"]) <= 2 and scores(bravo=0).keys() == {"a"}


def test_a_chunk_scores_with_what_stands_beside_it_in_its_own_output(world: Any, budget: Budget) -> None:
    filler = "".join(f"word{n} of a line that fills the page up to where it is cut\n" for n in range(7))
    here, bm25 = world({"together": f"alpha {filler}\nbravo {filler}", "a": f"alpha {filler}", "b": f"bravo {filler}"}), layer(None)
    bm25.apply(here.added(), (), Event())
    found = bm25.search(parse("alpha bravo"), here.scope, budget)
    assert here.names(found)[:2] == ["together", "together"], "neither chunk holds both words, but each stands beside the other"


@pytest.mark.parametrize("word", ["status", "analysis", "bodies", "queries", "series", "pools"])
def test_a_word_is_found_as_it_is_written_whatever_its_ending(world: Any, budget: Budget, word: str) -> None:
    here, bm25 = world({"a": f"the {word} of it\n"}), layer(None)
    bm25.apply(here.added(), (), Event())
    assert bm25.search(parse(word), here.scope, budget).hits


def test_a_cancel_costs_the_blob_in_work_and_none_before_it(world: Any, folder: str | None) -> None:
    here, index, cancel = world(TEXTS), layer(folder), Event()
    first, second, *rest = here.added()

    class Cancels(BytesSource):
        def blocks(self) -> Iterator[bytes]:
            cancel.set()
            return super().blocks()

    index.apply([first, second, Added(rest[0].blob, Cancels(b"last words\n" * 9000), "log"), *rest[1:]], (), cancel)
    assert index.indexed() == {first.blob, second.blob}


def test_what_is_kept_between_searches_follows_the_scope_and_the_index(world: Any, budget: Budget, folder: str | None) -> None:
    here, bm25 = world(TEXTS), layer(folder)
    bm25.apply(here.added("retry", "noise"), (), Event())
    assert here.names(bm25.search(parse("pool"), here.scope, budget)) == []
    bm25.apply(here.added("pool"), (), Event())
    for _ in range(2):
        assert here.names(bm25.search(parse("pool"), here.scope, budget)) == ["pool"]
        assert here.names(bm25.search(parse("pool"), here.narrowed("retry"), budget)) == []


def test_logs_do_not_make_the_words_of_prose_rare(world: Any, budget: Budget) -> None:
    prose = {f"p{n}": f"the text of it says what the thing number{n} is and how the rest of it goes\n" for n in range(240)}
    prose["wanted"] = "retry delay\n"
    prose["the"] = "the the the\n"
    log = "".join(f"12:00:{n:05} INFO worker took {n} ms, retry ok\n" for n in range(9000))
    here = world({**prose, "log": log})
    held = {blob: one if here.name_of[blob] != "log" else _of_shape(one, "log") for blob, one in here.scope.held.items()}
    scope = Scope("s", [one.output for one in held.values()], held, here.open, False, here.scope.total)
    bm25 = layer(None)
    bm25.apply(here.added(), (), Event())
    found = bm25.search(parse("the delay"), scope, budget)
    scores = {here.name_of[hit.span.blob]: hit.score for hit in reversed(found.hits)}
    assert scores["wanted"] > 5 * scores["the"], "it stands in nearly every text, so it says little, however many lines of logs lack it"


def _of_shape(held: Held, shape: str) -> Held:
    one = held.output
    return Held(held.blob, held.size, Output(one.seq, one.ref, one.manifest, one.signature, one.captured, shape), held.age, held.part)
