"""The dense layer: nearest chunks of what is indexed, integers from quantised floats, a start that nobody waits for, one index a model."""
from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from byref.layers import dense
from byref.layers.contract import Added, Budget, Starting
from byref.layers.dense import FLOOR, Dense, quantised
from byref.layers.encoders import choice
from byref.layers.encoders.contract import Encoder
from byref.proxy.config import models_folder
from byref.proxy.errors import Corrupt, Invalid
from byref.proxy.query import parse
from byref.proxy.store.source import BytesSource
from layer_worlds import World

MODELS = Path(models_folder())  # of the user: a test's own is empty
REAL = "minilm-int8"
TEXTS = {"dogs": "the puppy chased a ball across the garden\n", "sql": "SELECT name FROM users WHERE id = 7\n",
         "net": "the remote host closed the socket before a reply was read\n", "pay": "invoices are due within thirty days\n"}


class Words:
    """A model made by hand: a number for each of six words, and how often it was asked."""

    name, origin, width, window, dense = "words", "by hand", 6, 100, 6
    known = ("dog", "puppy", "car", "engine", "cold", "the")

    def __init__(self, mark: str = "0123456789abcdef") -> None:
        self.mark, self.asked = mark, 0

    def pooled(self, texts: list[str], late: Callable[[], bool] | None = None, query: bool = False) -> Any:
        self.asked += 1
        if late is not None and late():
            return None
        rows = np.array([[text.lower().split().count(word) for word in self.known] for text in texts], np.float32).reshape(-1, 6)
        rows[:, 1] += rows[:, 0] / 2
        sizes = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.maximum(sizes, 1e-9)


class Loading:
    """A model by hand that is loaded when somebody waits for it."""

    def __init__(self, encoder: Words, fault: str = "") -> None:
        self.name, self.encoder, self.there, self._fault = "words", encoder, False, fault

    def ready(self) -> Words | None:
        return self.encoder if self.there else None

    def wait(self) -> Words:
        self.there = True
        return self.encoder

    def fault(self) -> str:
        return self._fault


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Loading:
    handle = Loading(Words())
    monkeypatch.setattr(dense, "chosen", lambda setting: handle)
    return handle


@pytest.fixture
def layer(tmp_path: Path, model: Loading) -> Dense:
    return Dense(str(tmp_path / "index"), "words")


@pytest.fixture(scope="module")
def real() -> Iterator[str]:
    place = str(MODELS / REAL)
    if lacking := choice.missing(place):
        pytest.skip(lacking)
    yield place


def budget() -> Budget:
    return Budget(math.inf, Event(), time.monotonic)


def test_what_is_indexed_is_found_by_meaning_and_what_is_not_is_told(world: Any, layer: Dense, model: Loading) -> None:
    here: World = world({"dogs": "the puppy\n", "cars": "the car engine\n", "none": "zebra\n"})
    model.wait()
    before = layer.search(parse("dog"), here.scope, budget())
    assert before.hits == [] and before.searched == frozenset() and layer.status(here.scope).coverage == 0
    layer.apply(here.added("dogs", "none"), (), Event())
    found = layer.search(parse("dog"), here.scope, budget())
    assert here.names(found) == ["dogs"] and found.searched is not None and len(found.searched) == 2
    layer.apply(here.added(), (), Event())
    found = layer.search(parse("dog"), here.scope, budget())
    assert found.searched is None and found.hits[0].signal == "dense" and FLOOR <= found.hits[0].score <= 10_000
    assert layer.indexed() == here.scope.held.keys() and layer.status(here.scope).coverage == 10_000
    assert here.names(layer.search(parse("engine"), here.narrowed("dogs", "cars"), budget())) == ["cars"]


def test_nobody_who_searches_waits_for_the_model(world: Any, layer: Dense, model: Loading) -> None:
    here: World = world({"dogs": "the puppy\n"})
    assert layer.applies(here.scope, parse("dog")) and not layer.applies(here.scope, parse("/dog/"))
    with pytest.raises(Starting):
        layer.search(parse("dog"), here.scope, budget())
    assert layer.indexed() == frozenset() and layer.version == "1" and not model.there


def test_what_is_missing_is_told(world: Any, tmp_path: Path) -> None:
    here: World = world({"dogs": "the puppy\n"})
    layer = Dense(str(tmp_path / "index"), str(tmp_path / "none"))
    assert "make models" in layer.status(here.scope).missing and not layer.applies(here.scope, parse("dog"))
    assert layer.indexed() == frozenset()
    layer.apply((), list(here.scope.held), Event())


def test_it_is_off_until_a_model_is_named(world: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here: World = world({"dogs": "the puppy\n"})
    layer = dense.layer(None)
    assert "BYREF_DENSE_MODEL" in layer.status(here.scope).missing and not layer.applies(here.scope, parse("dog"))
    monkeypatch.setattr(dense, "_setting", "")
    dense.use(str(tmp_path / "none"))
    assert "no model in" in dense.layer(None).status(here.scope).missing


def test_an_index_outlives_its_process_and_lets_go_without_the_model(world: Any, layer: Dense, model: Loading, tmp_path: Path) -> None:
    here: World = world({"dogs": "the puppy\n", "cars": "the car\n"})
    layer.apply(here.added(), (), Event())
    model.there = False
    later = Dense(str(tmp_path / "index"), "words")
    assert later.indexed() == here.scope.held.keys() and later.status(here.scope).coverage == 10_000
    gone, kept = here.scope.held
    later.apply((), [gone], Event())
    assert later.indexed() == {kept} and not model.there
    assert all(gone.encode() not in file.read_bytes() for file in (tmp_path / "index").rglob("*") if file.is_file())


def test_another_model_is_another_index_and_the_former_goes(world: Any, layer: Dense, model: Loading, tmp_path: Path) -> None:
    here: World = world({"dogs": "the puppy\n"})
    layer.apply(here.added(), (), Event())
    version = layer.version
    model.encoder = Words("f" * 16)
    other = Dense(str(tmp_path / "index"), "words")
    model.wait()
    assert other.search(parse("dog"), here.scope, budget()).hits == [] and other.indexed() == frozenset()
    other.apply(here.added(), (), Event())
    assert here.names(other.search(parse("dog"), here.scope, budget())) == ["dogs"] and other.version != version
    assert len(list((tmp_path / "index").iterdir())) == 1


def test_an_abort_keeps_what_is_written_and_goes_on(world: Any, layer: Dense, model: Loading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "STRETCH", 500)
    here: World = world({"big": "".join(f"the dog {number}\n\n" for number in range(200))})
    cancel, pooled = Event(), Words.pooled

    def counted(self: Words, texts: list[str], late: Callable[[], bool] | None = None, query: bool = False) -> Any:
        if self.asked == 2:
            cancel.set()
        return pooled(self, texts, late, query)
    monkeypatch.setattr(Words, "pooled", counted)
    layer.apply(here.added(), (), cancel)
    assert 0 < layer.status(here.scope).coverage < 10_000 and layer.indexed() == frozenset()
    asked = model.encoder.asked
    layer.apply(here.added(), (), Event())
    assert layer.indexed() == here.scope.held.keys() and model.encoder.asked > asked
    layer.apply(here.added(), (), Event())


def test_what_is_removed_while_it_is_encoded_does_not_come_back(world: Any, layer: Dense, model: Loading,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    here: World = world({"dogs": "the puppy\n"})
    blob, = here.scope.held
    pooled = Words.pooled

    def purged(self: Words, texts: list[str], late: Callable[[], bool] | None = None, query: bool = False) -> Any:
        layer.apply((), [blob], Event())
        return pooled(self, texts, late, query)
    with monkeypatch.context() as patch:
        patch.setattr(Words, "pooled", purged)
        layer.apply(here.added(), (), Event())
    assert layer.indexed() == frozenset()
    layer.apply(here.added(), (), Event())
    assert layer.indexed() == {blob}, "captured again, it is taken in again"


def test_what_cannot_be_read_costs_itself(world: Any, layer: Dense) -> None:
    class Damaged(BytesSource):
        def read(self, start: int = 0, end: int | None = None) -> bytes:
            raise Corrupt("r1", "its hash is another")
    here: World = world({"dogs": "the puppy\n", "cars": "the car\n"})
    first, second = here.added()
    layer.apply([Added(first.blob, Damaged(b"the car\n"), "text"), second], (), Event())
    assert layer.indexed() == {second.blob}


def test_building_waits_for_who_searches_and_not_for_ever(world: Any, layer: Dense, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "QUIET", 1000.0)
    here: World = world({"dogs": "the puppy\n", "cars": "the car\n"})
    first, second = here.added()
    layer.apply([first], (), Event())
    waits: list[float] = []

    class Waited(Event):
        def wait(self, timeout: float | None = None) -> bool:
            waits.append(timeout or 0)
            return False
    layer.search(parse("dog"), here.scope, budget())
    layer.apply([second], (), Waited())
    assert len(waits) == dense.PATIENCE and all(0 < one <= dense.QUIET for one in waits)
    assert layer.indexed() == here.scope.held.keys()


def test_a_query_is_encoded_once(world: Any, layer: Dense, model: Loading) -> None:
    here: World = world({"dogs": "the puppy\n"})
    layer.apply(here.added(), (), Event())
    asked = model.encoder.asked
    found = [layer.search(parse("dog"), here.scope, budget()) for _ in range(3)]
    assert found[0].hits and found[0] == found[2] and model.encoder.asked == asked + 1


def test_a_model_without_one_vector_a_text_is_refused(world: Any, layer: Dense, model: Loading) -> None:
    model.encoder.dense = 0
    with pytest.raises(Invalid, match="BYREF_DENSE_MODEL"):
        layer.apply(world({"dogs": "the puppy\n"}).added(), (), Event())


def test_equal_hits_come_newest_first_and_binary_is_passed_over(world: Any, layer: Dense) -> None:
    here: World = world({"oldest": "dog\n", "middle": "dog \n", "newest": "dog  \n", "binary": bytes(5000)})
    layer.apply(here.added(), (), Event())
    assert here.names(layer.search(parse("dog"), here.scope, budget())) == ["newest", "middle", "oldest"]
    assert layer.indexed() == here.scope.held.keys()


def test_quantising_keeps_the_cosine() -> None:
    rows = np.random.default_rng(1).normal(size=(50, 384)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    made, sizes = quantised(np.concatenate([rows, np.zeros((1, 384), np.float32)]))
    assert made.dtype == np.int8 and abs(int(np.abs(made[:50]).max()) - 127) == 0 and not made[50].any() and sizes[50] == 0
    near = (made[:50].astype(np.float64) @ made[:50].T.astype(np.float64)) / np.outer(sizes[:50], sizes[:50]) * 65536
    assert np.abs(near - rows @ rows.T).max() < 0.01


def test_a_real_model_finds_what_shares_no_word(world: Any, tmp_path: Path, real: str) -> None:
    here: World = world(TEXTS)
    layer = Dense(str(tmp_path), real)
    layer.apply(here.added(), (), Event())
    found = [here.names(layer.search(parse(query), here.scope, budget()))[0] for query in
             ("dog playing outside", "database query", "connection reset by peer", "when must a bill be settled")]
    assert found == ["dogs", "sql", "net", "pay"]


def test_one_and_two_threads_give_the_same_order(world: Any, tmp_path: Path, real: str, root: Path,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    from byref.layers.encoders.onnx import Onnx
    from byref.layers.encoders.recipe import read
    lines = (root / "bench/sets/help.jsonl").read_text(encoding="utf-8").splitlines()[::60]
    here: World = world({str(number): line for number, line in enumerate(lines)})
    found = []
    for threads in (1, 2):
        encoder: Encoder = Onnx(real, read(real), "model.onnx", threads)
        handle = Loading(encoder)  # type: ignore[arg-type]
        monkeypatch.setattr(dense, "chosen", lambda setting, handle=handle: handle)
        layer = Dense(None, real)
        layer.apply(here.added(), (), Event())
        found.append([layer.search(parse(query), here.scope, budget()).hits for query in ("follow redirects", "how to remove a container")])
    assert found[0] == found[1] and all(hits for hits in found[0])
