"""What layers answered before: an equal search asks nobody twice, any other one does, and what is let go leaves nothing behind."""
from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

import byref
from byref.layers import caching
from byref.layers.caching import Cached, Memory
from byref.layers.contract import GENERATE, Budget, Contribution, Hit, Scope, Span, Unindexed
from byref.proxy.query import parse
from layer_worlds import World


class Counted(Unindexed):
    """A layer that counts how often it is asked. given: what it answers; says it of the first blob."""

    name, roles = "counted", frozenset({GENERATE})

    def __init__(self, **given: Any) -> None:
        self.asked, self.version, self.given = 0, "1", given

    def applies(self, scope: Scope, query: Any) -> bool:
        return True

    def status(self, scope: Scope) -> Any: ...

    def search(self, query: Any, scope: Scope, budget: Budget, candidates: Any = None) -> Contribution:
        self.asked += 1
        return Contribution([Hit(Span(blob, 0, 1), 1, "x") for blob in scope.held][:1], **self.given)


def budget(late: bool = False) -> Budget:
    return Budget(-math.inf if late else math.inf, Event(), time.monotonic)


def asks(layer: Any, *searches: tuple[Any, ...], memory: Memory | None = None) -> list[int]:
    """How often the layer had been asked after each of these."""
    cached, seen = Cached(layer, memory or Memory(), "s"), []
    for query, scope, *rest in searches:
        cached.search(parse(query) if isinstance(query, str) else query, scope, budget(), *rest)
        seen.append(layer.asked)
    return seen


def test_an_equal_search_asks_nobody_and_answers_the_same() -> None:
    here, layer = World({"a": "alpha\n", "b": "bravo\n"}).scope, Counted()
    cached = Cached(layer, Memory(), "s")
    first = cached.search(parse("alpha"), here, budget())
    assert cached.search(parse(" alpha "), World({"a": "alpha\n", "b": "bravo\n"}).scope, budget()) == first and layer.asked == 1


def test_nothing_found_is_an_answer_too() -> None:
    here = World({}).scope
    assert asks(Counted(), ("alpha", here), ("alpha", here)) == [1, 1]


def test_another_query_weight_scope_or_candidate_is_another_search() -> None:
    two, three = World({"a": "alpha\n", "b": "bravo\n"}), World({"a": "alpha\n", "b": "bravo\n", "c": "charlie\n"})
    hit = Hit(Span("b", 0, 1), 1, "x")
    searches: list[tuple[Any, ...]] = [
        ("alpha x", two.scope), ("Alpha x", two.scope), ("alpha  x", two.scope), (parse("alpha x", {"x": 2}), two.scope),
        ("alpha x", three.scope), ("alpha x", two.narrowed("a")), ("alpha x", two.scope, []), ("alpha x", two.scope, [hit])]
    assert asks(Counted(), *searches, *searches) == [*range(1, 9), *[8] * 8]


def test_a_layer_that_reads_terms_alone_shares_what_is_written_otherwise() -> None:
    here, layer = World({"a": "alpha\n"}).scope, Counted()
    layer.by_terms = True  # type: ignore[attr-defined]
    assert asks(layer, ("alpha bravo", here), ("Alpha,  BRAVO", here), ("bravo alpha", here)) == [1, 1, 2]


@pytest.mark.parametrize("given", [{"whole": False}, {"searched": frozenset()}])
def test_what_was_cut_or_did_not_see_all_is_not_kept(given: Mapping[str, Any]) -> None:
    here = World({"a": "alpha\n"}).scope
    assert asks(Counted(**given), ("alpha", here), ("alpha", here)) == [1, 2]


def test_neither_is_what_came_too_late_nor_what_concerns_outputs_that_were_named() -> None:
    here, layer = World({"a": "alpha\n"}).scope, Counted()
    cached = Cached(layer, Memory(), "s")
    cached.search(parse("alpha"), here, budget(late=True))
    named = Scope("s", here.outputs, here.held, here.open, True, here.total)
    for scope in (here, named, named):
        cached.search(parse("alpha"), scope, budget())
    assert layer.asked == 4


def test_another_version_is_another_layer() -> None:
    here, layer = World({"a": "alpha\n"}).scope, Counted()
    cached = Cached(layer, Memory(), "s")
    for version in ("1", "2", "2"):
        layer.version = version
        cached.search(parse("alpha"), here, budget())
    assert layer.asked == 2


def test_what_is_removed_is_forgotten_also_while_it_is_searched() -> None:
    here, memory = World({"a": "alpha\n"}).scope, Memory()
    layer = Counted()
    cached = Cached(layer, memory, "s")
    cached.search(parse("alpha"), here, budget())
    Cached(Counted(), memory, "t").search(parse("alpha"), here, budget())
    cached.apply((), list(here.held), Event())
    assert len(memory._held) == 1, "another scope's stays"
    during = Counted()
    during.search, search = lambda *rest: (memory.clear("s"), search(*rest))[1], during.search  # type: ignore[method-assign]
    Cached(during, memory, "s").search(parse("alpha"), here, budget())
    assert len(memory._held) == 1 and memory.size > 0
    memory.clear()
    assert memory.size == 0 and not memory._held


def test_it_is_bounded_and_what_was_used_last_stays() -> None:
    memory = Memory(1000)
    for key in "abc":
        memory.put(key, key, 240, "s", memory.cleared)
    assert memory.get("a") == "a"
    for key in "de":
        memory.put(key, key, 240, "s", memory.cleared)
    assert [memory.get(key) for key in "abcde"] == ["a", None, "c", "d", "e"] and memory.size == 960
    memory.put("huge", "huge", 251, "s", memory.cleared)
    assert memory.get("huge") is None
    memory.put("a", "again", 100, "s", memory.cleared)
    assert memory.get("a") == "again" and memory.size == 820


def test_the_vectors_of_a_query_are_made_once_whatever_its_blanks() -> None:
    made: list[str] = []

    def encode(text: str) -> Any:
        made.append(text)
        return SimpleNamespace(vectors=SimpleNamespace(nbytes=8), spans=SimpleNamespace(nbytes=8))

    texts = ("a\tb", "a b", "ａ b", "a  b", "A b", "½ cup", "½ cup")
    found = [caching.remembered("mark of this test", text, encode) for text in texts]
    assert made == ["a b", "a  b", "A b", "½ cup"] and found[0] is found[1] is found[2] and found[5] is found[6]
    assert caching.remembered("another mark", "a b", encode) is not found[0]


def test_a_second_equal_search_asks_no_layer_and_a_purge_leaves_nothing(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    with byref.open(f"file:{tmp_path / 'store'}") as gateway:
        session = gateway.session("s")
        refs = [session.capture(tool="Read", args={"file_path": word}, output=f"the {word} and its {word}Marker9x\n" * 30, raw=True).ref
                for word in ("alpha", "bravo")]
        gateway.indexes.build("s")
        asked: list[str] = []
        for layer in gateway.indexes.orchestrator("s").layers:
            inner: Any = layer._layer  # type: ignore[attr-defined]
            inner.search = (lambda name, search: lambda *rest: (asked.append(name), search(*rest))[1])(layer.name, inner.search)
        first = session.search("alphaMarker9x and bravo")
        once = list(asked)
        again = session.search("alphaMarker9x and bravo")
        assert again == first and once and asked == once
        session.search("alphaMarker9x", timebox_ms=2000)
        session.purge(refs[0])
        assert not gateway.indexes._memory._held
        left = b"".join(path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file())
        assert b"alphaMarker9x" not in left and b"alphamarker9x" not in left
        asked.clear()
        found = session.search("alphaMarker9x and bravo")
        assert asked and refs[0] not in [hit.ref for hit in found.hits]
        session.capture(tool="Read", args={"file_path": "new"}, output="alphaMarker9x is back\n", raw=True)
        assert "is back" in session.search("alphaMarker9x and bravo").text, "a new output is another search"
