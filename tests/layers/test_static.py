"""The static layer finds what means the same, indexed or not, and is quiet and clear where there is no model."""
from __future__ import annotations

import math
import shutil
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Event

import pytest

from byref.layers import embedding, static
from byref.layers.chunking import chunks
from byref.layers.contract import Added, Budget, Held, Scope, Starting
from byref.proxy.contracts import Blob, Manifest, Output, Part
from byref.proxy.errors import Invalid
from byref.proxy.query import parse
from byref.proxy.store.source import BytesSource
from byref.proxy.text import digest, ref_of

TEXTS = {"dogs": "the puppy is a dog\n", "cars": "the engine of the car\n", "weather": "cold, the cold\n", "other": "zebra quagga\n"}


def scope(texts: Mapping[str, str | bytes]) -> Scope:
    """Each text as an output of its own, the first one newest."""
    outputs, held, sources = [], {}, {}
    for age, (name, text) in enumerate(texts.items()):
        data = text.encode() if isinstance(text, str) else text
        blob = Blob(digest(data), len(data), data.count(b"\n"))
        manifest = Manifest(name, "null", (Part("stdout", "text/plain", blob),))
        outputs.append(Output(len(texts) - age, ref_of(manifest), manifest, "", 0.0, "text"))
        held[blob.digest] = Held(blob.digest, blob.size, outputs[-1], age, 0)
        sources[blob.digest] = BytesSource(data)
    return Scope("here", outputs, held, sources.__getitem__, False, sum(one.size for one in held.values()))


def added(held: Scope) -> list[Added]:
    return [Added(blob, held.open(blob), "text") for blob in held.held]


def budget(late: bool = False) -> Budget:
    return Budget(-math.inf if late else math.inf, Event(), time.monotonic)


def found(layer: static.Static, held: Scope, query: str) -> list[str]:
    return [held.held[hit.span.blob].output.manifest.tool for hit in layer.search(parse(query), held, budget()).hits]


@pytest.fixture
def layer(tiny_model: Path, tmp_path: Path) -> static.Static:
    return static.Static(str(tmp_path / "index"), str(tiny_model))


def test_meaning_is_found_without_an_index_and_the_same_with_one(layer: static.Static) -> None:
    held = scope(TEXTS)
    assert found(layer, held, "dog")[0] == "dogs" and found(layer, held, "where is the car?")[0] == "cars"
    before = layer.search(parse("dog car"), held, budget())
    assert before.searched is None and before.whole and not layer.indexed()
    layer.apply(added(held), (), Event())
    after = layer.search(parse("dog car"), held, budget())
    assert after == before and layer.indexed() == held.held.keys()
    assert layer.status(held).coverage == 10_000 and "other" not in found(layer, held, "dog car cold http")


def test_hits_are_spans_of_their_blob_with_a_cosine(layer: static.Static) -> None:
    held = scope({"long": "the car\n\n" * 30 + "filler " * 30 + "\n\n" + "a puppy and a dog\n" * 10 + "\n" + "http\n" * 300})
    best = layer.search(parse("puppy"), held, budget()).hits[0]
    assert b"puppy" in held.open(best.span.blob).read(best.span.start, best.span.end) and 9_000 < best.score <= 10_000
    assert best.signal == "static" and best.span.end - best.span.start < 2000


def test_nothing_of_a_blob_outside_the_scope_is_said(layer: static.Static) -> None:
    held = scope(TEXTS)
    layer.apply(added(held), (), Event())
    assert set(found(layer, held, "dog car")) == {"dogs", "cars"}
    assert found(layer, scope({"cars": TEXTS["cars"]}), "dog car") == ["cars"]


def test_what_is_hardly_alike_is_no_hit(layer: static.Static) -> None:
    assert found(layer, scope(TEXTS), "dog") == ["dogs"]


def test_equal_hits_come_newest_first(layer: static.Static) -> None:
    held = scope({"newest": "dog\n", "middle": "dog \n", "oldest": "dog  \n"})
    assert found(layer, held, "dog") == ["newest", "middle", "oldest"]


def test_a_query_that_the_model_does_not_know_finds_nothing_and_says_so(layer: static.Static) -> None:
    answer = layer.search(parse("quagga"), scope(TEXTS), budget())
    assert not answer.hits and "no word" in answer.note
    assert not layer.applies(scope(TEXTS), parse("/dog/")) and not layer.applies(scope(TEXTS), parse("--"))


def test_without_a_model_it_says_what_to_do_and_does_nothing(tmp_path: Path) -> None:
    held = scope(TEXTS)
    layer = static.Static(str(tmp_path / "index"), str(tmp_path / "none"))
    assert not layer.applies(held, parse("dog")) and "make models" in layer.status(held).missing
    assert layer.status(held).coverage == 0 and not layer.indexed()
    layer.apply((), list(held.held), Event())
    layer.close()


def test_a_damaged_model_is_told_and_taken_once_it_is_whole(tiny_model: Path, layer: static.Static) -> None:
    held, file = scope(TEXTS), tiny_model / "model.safetensors"
    data = file.read_bytes()
    file.write_bytes(data[:-7])
    with pytest.raises(Invalid, match="cut short"):
        layer.search(parse("dog"), held, budget())
    assert "cut short" in layer.status(held).missing and not layer.applies(held, parse("dog"))
    file.write_bytes(data)
    assert layer.applies(held, parse("dog")) and found(layer, held, "dog")[0] == "dogs"
    assert layer.status(held).missing == ""


def test_an_index_is_of_one_model(tiny_model: Path, layer: static.Static, tmp_path: Path) -> None:
    held = scope(TEXTS)
    layer.apply(added(held), (), Event())
    other = tmp_path / "other" / tiny_model.name
    shutil.copytree(tiny_model, other)
    data = bytearray((other / "model.safetensors").read_bytes())
    data[-30] ^= 1
    (other / "model.safetensors").write_bytes(data)
    second = static.Static(str(tmp_path / "index"), str(other))
    assert not second.indexed() and second.version != layer.version and second.version != embedding.VERSION


def test_removed_blobs_are_gone_with_and_without_the_model(layer: static.Static, tiny_model: Path, tmp_path: Path) -> None:
    held = scope(TEXTS)
    layer.apply(added(held), (), Event())
    first, second, *_ = held.held
    layer.apply((), [first], Event())
    assert first not in layer.indexed() and second in layer.indexed()
    shutil.rmtree(tiny_model)
    static._tables.clear()
    static.Static(str(tmp_path / "index"), str(tiny_model)).apply((), [second], Event())
    assert all(second.encode() not in file.read_bytes() for file in (tmp_path / "index").iterdir())


def test_a_cancelled_build_goes_on_where_it_stopped(layer: static.Static, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "STRETCH", 600)
    held = scope({"big": "".join(f"dog {n}\n\n" if n % 3 else "the car\n\n" for n in range(600))})
    cancel = Event()
    vectors, steps = embedding.Table.vectors, []

    def counted(table: embedding.Table, texts: list[str]) -> object:
        steps.append(len(texts))
        if len(steps) == 4:
            cancel.set()
        return vectors(table, texts)
    with monkeypatch.context() as patch:
        patch.setattr(embedding.Table, "vectors", counted)
        layer.apply(added(held), (), cancel)
    coverage = layer.status(held).coverage
    assert 0 < coverage < 10_000 and not layer.indexed(), "what was written stays"
    partly = layer.search(parse("dog"), held, budget())
    with monkeypatch.context() as patch:
        patch.setattr(embedding.Table, "vectors", counted)
        steps.clear()
        layer.apply(added(held), (), Event())
    assert layer.indexed() == held.held.keys() and 0 < sum(steps) < 0.9 * len(list(chunks(held.open(*held.held).read(), "text")))
    assert layer.search(parse("dog"), held, budget()) == partly, "what the index lacked was embedded while searching"


def test_too_much_to_embed_while_searching_is_left_to_the_index(layer: static.Static, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "FRESH", 40)
    answer = layer.search(parse("dog"), scope(TEXTS), budget())
    assert answer.searched is not None and 0 < len(answer.searched) < len(TEXTS)
    assert layer.search(parse("dog"), scope(TEXTS), budget(late=True)).hits == []


def test_binary_and_broken_text_is_no_fault(layer: static.Static) -> None:
    held = scope({"binary": bytes(range(256)) * 50 + b"\0" * 3000, "latin": b"dog " + b"\xe9\xff\n", "line": b"dog " * 200_000})
    layer.apply(added(held), (), Event())
    assert layer.indexed() == held.held.keys()
    assert set(found(layer, held, "dog")) <= {"latin", "line"}


def test_many_threads_search_while_one_builds(layer: static.Static) -> None:
    held = scope({f"t{n}": f"the dog {n}\n" for n in range(60)})
    faults: list[BaseException] = []

    def look() -> None:
        try:
            for _ in range(10):
                assert len(layer.search(parse("dog"), held, budget()).hits) == 60
        except BaseException as fault:
            faults.append(fault)
    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for one in added(held):
        layer.apply([one], (), Event())
    layer.apply((), list(held.held)[:5], Event())
    for thread in threads:
        thread.join()
    assert not faults


def test_a_purged_blob_is_passed_over(layer: static.Static) -> None:
    from byref.proxy.errors import Unknown
    held = scope(TEXTS)
    gone = next(iter(held.held))

    def read(blob: str) -> BytesSource:
        if blob == gone:
            raise Unknown("r0000000000")
        found = held.open(blob)
        assert isinstance(found, BytesSource)
        return found
    answer = layer.search(parse("car"), Scope(held.name, held.outputs, held.held, read, False, held.total), budget())
    assert answer.hits and answer.searched is not None and gone not in answer.searched


def test_a_query_leans_to_its_heavier_word(layer: static.Static) -> None:
    held = scope(TEXTS)

    def first(**weights: float) -> str:
        hits = layer.search(parse("dog car", weights), held, budget()).hits
        return held.held[hits[0].span.blob].output.manifest.tool

    assert (first(dog=3), first(car=3), first(dog=0)) == ("dogs", "cars", "cars")


def test_a_short_search_does_not_wait_for_the_model_and_a_later_one_has_it(layer: static.Static, monkeypatch: pytest.MonkeyPatch) -> None:
    go = Event()
    real = static.load
    monkeypatch.setattr(static, "load", lambda place: go.wait(30) and real(place))
    held = scope(TEXTS)
    for _ in range(2):
        with pytest.raises(Starting):
            layer.search(parse("dog"), held, Budget(time.monotonic() + 0.02, Event(), time.monotonic))
    go.set()
    assert found(layer, held, "dog")[0] == "dogs"


def test_a_model_that_cannot_be_read_is_told_by_the_search_that_loads_it(layer: static.Static, tiny_model: Path) -> None:
    (tiny_model / "model.safetensors").write_bytes(b"no")
    with pytest.raises(Invalid, match="damaged"):
        layer.search(parse("dog"), scope(TEXTS), budget())


def test_a_model_is_loaded_ahead_where_there_are_vectors_alone(tiny_model: Path, tmp_path: Path) -> None:
    folder = str(tmp_path / "ahead")
    static._tables.pop(str(tiny_model), None)
    static.Static(folder, str(tiny_model)).warm()
    assert str(tiny_model) not in static._loading
    static.Static(folder, str(tiny_model)).apply(added(scope(TEXTS)), (), Event())
    static._tables.pop(str(tiny_model))
    static.Static(folder, str(tiny_model)).warm()
    until = time.monotonic() + 60
    while str(tiny_model) not in static._tables and time.monotonic() < until:
        time.sleep(0.01)
    assert str(tiny_model) in static._tables
