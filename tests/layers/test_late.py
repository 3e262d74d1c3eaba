"""The layer of late interaction: built by use, a unit at a time, gone when its blobs are; quiet while its model loads or lacks."""
from __future__ import annotations

import math
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from byref.layers import encoding, late
from byref.layers.contract import GENERATE, REFINE, Added, Budget, Starting
from byref.layers.encoders.choice import missing
from byref.layers.encoding import Knobs
from byref.layers.late import Late
from byref.layers.maxsim import BF16
from byref.layers.sidecar import Place, Sidecar, Sidecars
from byref.proxy.config import models_folder
from byref.proxy.query import parse
from late_worlds import Handle, Wordy
from layer_worlds import World

TEXTS = {"dogs": "a dog barks\n", "cars": "the car\nwas stopped\n", "other": "zebra quagga\n"}
REAL = Path(models_folder()) / "minilm-int8"


def budget() -> Budget:
    return Budget(math.inf, Event(), time.monotonic)


@pytest.fixture
def handle(monkeypatch: pytest.MonkeyPatch) -> Handle:
    made = Handle(Wordy())
    monkeypatch.setattr(late, "chosen", lambda model: made)
    monkeypatch.setattr(late, "QUIET", 0.0)
    return made


@pytest.fixture
def made() -> World:
    return World(TEXTS)


@pytest.fixture
def layer(handle: Handle, tmp_path: Path) -> Late:
    return Late(str(tmp_path / "late"))


def names(layer: Late, world: World, query: str) -> list[str]:
    return world.names(layer.search(parse(query), world.scope, budget()))


def test_it_finds_by_meaning_before_and_after_it_is_built_and_the_same(layer: Late, made: World) -> None:
    before = layer.search(parse("puppy"), made.scope, budget())
    assert made.names(before)[0] == "dogs" and before.searched is None and layer.roles == {GENERATE, REFINE}
    assert layer.status(made.scope).coverage == 0
    layer.apply(made.added(), (), Event())
    assert layer.search(parse("puppy"), made.scope, budget()) == before
    assert layer.indexed() == made.scope.held.keys() and layer.status(made.scope).coverage == 10_000


def test_what_is_built_needs_no_encoder_again(layer: Late, made: World, handle: Handle) -> None:
    layer.apply(made.added(), (), Event())
    assert handle.encoder is not None
    count = len(handle.encoder.encoded)
    layer.apply(made.added(), (), Event())
    names(layer, made, "puppy")
    assert len(handle.encoder.encoded) == count


def test_while_the_model_loads_it_says_so_and_holds_nobody_up(layer: Late, made: World, handle: Handle) -> None:
    handle.encoder = None
    assert layer.applies(made.scope, parse("puppy")) and layer.indexed() == frozenset()
    with pytest.raises(Starting):
        layer.search(parse("puppy"), made.scope, budget())
    assert layer.status(made.scope).missing == ""


def test_without_a_model_it_says_what_to_do_and_lets_go_all_the_same(handle: Handle, made: World, tmp_path: Path) -> None:
    first = Late(str(tmp_path / "late"))
    first.apply(made.added(), (), Event())
    bare = Handle(None, "no model there: `make models` puts one there")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(late, "chosen", lambda model: bare)
        layer = Late(str(tmp_path / "late"))
        assert not layer.applies(made.scope, parse("puppy")) and "make models" in layer.status(made.scope).missing
        assert layer.status(made.scope).coverage == 10_000
        assert layer.indexed() == made.scope.held.keys(), "so that what the store let go is known without a model"
        layer.apply((), list(made.scope.held), Event())
    assert not list((tmp_path / "late").iterdir())


def test_a_purge_needs_no_library(handle: Handle, made: World, tmp_path: Path) -> None:
    Late(str(tmp_path / "late")).apply(made.added(), (), Event())
    code = ("import sys\nfrom threading import Event\n"
            "for name in ('numpy', 'torch', 'tokenizers', 'onnxruntime'):\n    sys.modules[name] = None\n"
            f"from byref.layers import late\nlate.layer({str(tmp_path / 'late')!r}).apply((), {list(made.scope.held)!r}, Event())")
    subprocess.run([sys.executable, "-c", code], check=True)
    assert not list((tmp_path / "late").iterdir())


def test_patterns_and_queries_without_words_are_not_for_it(layer: Late, made: World) -> None:
    assert not layer.applies(made.scope, parse("/dog/")) and not layer.applies(made.scope, parse("--"))


def test_removed_blobs_are_gone_and_found_no_more(layer: Late, made: World, tmp_path: Path) -> None:
    layer.apply(made.added(), (), Event())
    blob = next(blob for blob, name in made.name_of.items() if name == "dogs")
    layer.apply((), [blob], Event())
    assert blob not in layer.indexed() and all(blob[3:] not in file.name for file in (tmp_path / "late").iterdir())
    assert "dogs" not in made.names(layer.search(parse("puppy"), made.narrowed("cars", "other"), budget()))


def test_a_blob_that_is_purged_while_it_is_encoded_does_not_come_back(layer: Late, made: World, handle: Handle, tmp_path: Path) -> None:
    blob = next(iter(made.scope.held))
    assert handle.encoder is not None
    handle.encoder.before = lambda: layer.apply((), [blob], Event())
    layer.apply(made.added(), (), Event())
    assert layer.indexed() == made.scope.held.keys() - {blob}
    handle.encoder.before = lambda: None
    layer.apply([one for one in made.added() if one.blob == blob], (), Event())
    assert blob in layer.indexed(), "captured again, it is taken in again"


def test_a_cancelled_build_loses_one_unit_at_most_and_goes_on_there(layer: Late, handle: Handle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "STRETCH", 2000)
    monkeypatch.setattr(late, "STRETCH", 2000)
    world = World({"big": "".join(f"paragraph {number} of many\n\n" for number in range(600))})
    (blob,), cancel = world.scope.held, Event()
    assert handle.encoder is not None
    calls: list[int] = []

    def third() -> None:
        calls.append(len(handle.encoder.encoded))  # type: ignore[union-attr]
        if len(calls) == 3:
            cancel.set()
    handle.encoder.before = third
    layer.apply(world.added(), (), cancel)
    assert 0 < layer.status(world.scope).coverage < 10_000 and not layer.indexed()
    done = list(handle.encoder.encoded)
    layer.apply(world.added(), (), Event())
    assert layer.indexed() == {blob} and handle.encoder.encoded[:len(done)] == done
    assert len(set(handle.encoder.encoded)) == len(handle.encoder.encoded), "nothing was encoded twice"


def test_a_damaged_sidecar_is_built_again(layer: Late, made: World, handle: Handle, tmp_path: Path) -> None:
    layer.apply(made.added(), (), Event())
    blob = next(blob for blob, name in made.name_of.items() if name == "dogs")
    (file,) = (file for file in (tmp_path / "late").iterdir() if file.name.startswith(blob.replace(":", "_")))
    file.write_bytes(file.read_bytes()[:-9])
    again = Late(str(tmp_path / "late"))
    assert names(again, made, "puppy")[0] == "dogs", "it is encoded while searching"
    assert blob not in again.indexed() and not file.exists()
    again.apply(made.added(), (), Event())
    assert again.indexed() == made.scope.held.keys()


def test_another_model_or_cut_is_another_index(layer: Late, made: World, handle: Handle, tmp_path: Path) -> None:
    layer.apply(made.added(), (), Event())
    other = Late(str(tmp_path / "late"), knobs=Knobs(BF16))
    assert names(other, made, "puppy")[0] == "dogs" and not other.indexed() and other.version != layer.version
    other.apply(made.added(), (), Event())
    assert other.indexed() and len(list((tmp_path / "late").iterdir())) == len(TEXTS), "what the other one left is swept"


def test_several_models_side_by_side_are_several_layers(made: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    handles = {"one": Handle(Wordy()), "two": Handle(Wordy())}
    monkeypatch.setattr(late, "chosen", lambda model: handles[model])
    first, second = (Late(str(tmp_path / model), model, f"late_{model}") for model in handles)
    assert (first.name, second.name) == ("late_one", "late_two")
    first.apply(made.added(), (), Event())
    assert first.indexed() and not second.indexed()
    assert [hit.signal for layer in (first, second) for hit in layer.search(parse("puppy"), made.scope, budget()).hits[:1]] == [
        "late_one", "late_two"]


def test_what_was_of_use_is_scored_before_the_rest(layer: Late, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World({f"t{number}": f"dog {number}\n" if number == 7 else f"cars {number}\n" for number in range(60)})
    layer.apply(world.added(), (), Event())
    assert names(layer, world, "puppy")[0] == "t7"
    within, opened = budget(), []
    real = late.Sidecars.open

    def counted(self: Sidecars, place: Place) -> Sidecar | None:
        opened.append(place.blob)
        if len(opened) > 4:
            within.cancel.set()
        return real(self, place)
    monkeypatch.setattr(late.Sidecars, "open", counted)
    answer = layer.search(parse("automobile dog"), world.scope, within)
    blob = next(blob for blob, name in world.name_of.items() if name == "t7")
    assert not answer.whole and opened[0] == blob


def test_many_threads_search_while_one_builds_and_removes(layer: Late) -> None:
    world = World({f"t{number}": f"the dog {number}\n" for number in range(60)})
    faults: list[BaseException] = []

    def look() -> None:
        try:
            for _ in range(10):
                assert 55 <= len(layer.search(parse("puppy"), world.scope, budget()).hits) <= 60
        except BaseException as fault:
            faults.append(fault)
    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for one in world.added():
        layer.apply([one], (), Event())
    layer.apply((), list(world.scope.held)[:5], Event())
    for thread in threads:
        thread.join()
    assert not faults


def test_binary_and_broken_text_is_no_fault(layer: Late) -> None:
    world = World({"binary": bytes(range(256)) * 50 + b"\0" * 3000, "latin": b"dog \xe9\xff\n", "line": b"dog " * 9000, "blank": b"\n \n"})
    layer.apply(world.added(), (), Event())
    assert layer.indexed() == world.scope.held.keys()
    assert set(names(layer, world, "dog")) <= {"latin", "line"}


def ask(layer: Late, world: World) -> Callable[..., list[str]]:
    def named(query: str, **weights: float) -> list[str]:
        return world.names(layer.search(parse(query, weights), world.scope, budget()))
    return named


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> Late:
    if why := missing(str(REAL)):
        pytest.skip(why)
    layer = Late(None, str(REAL))
    layer.apply([], (), Event())
    layer._handle().wait()
    return layer


def test_a_real_model_finds_answers_that_share_no_word_and_weights_steer_it(real: Late) -> None:
    world = World({"refused": "dial tcp 10.0.0.7:5432: connect: connection refused\n", "disk": "write error: no space left on device\n",
                   "tests": "FAILED tests/test_login.py::test_expired_session\n", "cat": "The cat sleeps on the mat all day.\n"})
    named = ask(real, world)
    assert named("the storage is full")[0] == "disk" and named("database server not reachable")[0] == "refused"
    assert named("session connection", session=0) == ["refused", "tests"] and named("session connection", connection=0) == ["tests"]
    answer = real.search(parse("connection marzipan"), world.scope, budget())
    assert answer.uncovered == ("marzipan",)
    met = {part.token: world.blobs["refused"][part.start:part.end] for part in real.search(
        parse("connection"), world.scope, budget()).hits[0].parts}
    assert met == {"connection": b"connection"}


def test_a_real_model_gives_the_same_answer_each_time_built_or_not(real: Late) -> None:
    world = World({f"t{number}": text for number, text in enumerate(
        [f"request {number} timed out after {number} s\n" for number in range(20)] + ["shard refused the lease\n", "retrying\n"])})
    query = parse("which lease was rejected")
    first = real.search(query, world.scope, budget())
    assert real.search(query, world.scope, budget()) == first
    real.apply([Added(one.blob, one.source, one.shape) for one in world.added()], (), Event())
    built = real.search(query, world.scope, budget())
    assert [hit.span for hit in built.hits[:5]] == [hit.span for hit in first.hits[:5]]
    assert all(abs(a.score - b.score) <= 20 for a, b in zip(built.hits, first.hits, strict=True))


def test_a_model_is_loaded_ahead_where_there_are_vectors_alone(layer: Late, made: World, handle: Handle, tmp_path: Path) -> None:
    Late(None).warm()
    layer.warm()
    assert handle.started == 0
    layer.apply(made.added(), (), Event())
    Late(str(tmp_path / "late")).warm()
    assert handle.started == 1
