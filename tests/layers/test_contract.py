"""What every layer of the folder withstands: any query, any scope, a damaged index, a purge while it searches, a cancel at any moment.

And what layers are given: a budget that ends, and spans as the one coordinate.
"""
from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from byref.layers import embedding
from byref.layers.contract import Budget, Contribution, Hit, LayerStatus, Span, Unindexed
from byref.proxy import discover
from byref.proxy.query import parse
from layer_worlds import World

LAYERS = sorted(discover.names("layers"))
TEXTS = {
    "dogs": "the puppy is a dog of the house\n" * 20, "cars": "def startEngine(car):\n    return car.engine.start()\n" * 20,
    "weather": "cold, the cold of the north\n\n" * 20, "chinese": "连接池最长等待时间为三十秒\n" * 20,
    "bytes": b"the dog \xff\xfe and a \0 car\n" * 20,
    "empty lines": "\n" * 50 + "a dog\n"}
QUERIES = (
    "dog", "startEngine", "car engine", "the cold of the north", "等待时间", "собака и машина", "كلب", "🐕 dog", "ｄｏｇ", "do\u0301g",
    "", "   ", "\0", "\ud800 dog", "\udcff", "«L1-2»", "a", "?!", "--", "dog" * 40, "x" * 1_000_000, "dog car " * 125_000, "狗" * 300_000,
    "/dog|car/", "/(((/", "/(a*)*b/", "/.*/", "/", "//", ".*", "^dog$", "[a-", "(?P<x>dog)", "\\", "\\b\\d+", "{1,99999}",
    'dog" OR "car', "dog AND car", "NOT dog", "dog NEAR/3 car", "NEAR(dog car, 5)", "dog*", "text:dog", "^dog", "-dog +car", "{text} : dog",
    "'; DROP TABLE blobs; --", '"', '""', "' OR 1=1", "%", "_", "dog\ncar", "../../etc/passwd", "<script>", "${dog}", "dog\x1b[31m")


@pytest.fixture
def layer_of(request: pytest.FixtureRequest, tiny_model: Path) -> Iterator[Any]:
    """Makes the layer of a name in a folder, with the small model where it takes one."""
    embedding.use(str(tiny_model.parent))

    def make(name: str, folder: Path | None) -> Any:
        return discover.load("layers", name).layer(None if folder is None else str(folder))
    yield make
    embedding.use("")


parsed = lru_cache(parse)


def budget(cancel: Any = None) -> Budget:
    return Budget(math.inf, cancel or Event(), time.monotonic)


def asked(layer: Any, world: World, text: str, scope: Any = None) -> Contribution:
    """What a layer says, from a small scope whose every span is a candidate."""
    scope = scope or world.scope
    query = parsed(text)
    candidates = [Hit(Span(blob, 0, held.size), 1, "x") for blob, held in scope.held.items()]
    found: Contribution = layer.search(query, scope, budget(), candidates) if layer.applies(scope, query) else Contribution(())
    return found


def answers(layer: Any, world: World) -> list[Any]:
    return [[(hit.span, hit.score, hit.signal) for hit in asked(layer, world, text).hits] for text in QUERIES[:5]]


def built(layer: Any, world: World) -> bool:
    """Has all taken in. False where the layer has no index, or cannot have one here."""
    if isinstance(layer, Unindexed) or layer.status(world.scope).missing:
        return False
    layer.apply(world.added(), (), Event())
    assert layer.indexed() >= {blob for blob, name in world.name_of.items() if name != "bytes"}
    return True


@pytest.mark.parametrize("name", LAYERS)
def test_no_query_breaks_it_and_all_it_says_lies_in_the_scope(layer_of: Any, name: str, tmp_path: Path) -> None:
    world, layer = World(TEXTS), layer_of(name, tmp_path / "index")
    for _ in range(2 if built(layer, world) else 1):
        for text in QUERIES:
            for scope in (world.scope, *([world.narrowed("dogs", "chinese"), world.narrowed()] if len(text) < 10_000 else ())):
                found = asked(layer, world, text, scope)
                for hit in found.hits:
                    assert hit.span.blob in scope.held and 0 <= hit.span.start <= hit.span.end <= scope.held[hit.span.blob].size
                assert found.searched is None or found.searched <= scope.held.keys()
    layer.close()


@pytest.mark.parametrize("name", LAYERS)
def test_a_damaged_index_is_built_again_and_never_answers_wrongly(layer_of: Any, name: str, tmp_path: Path) -> None:
    world, folder = World(TEXTS), tmp_path / "index"
    layer = layer_of(name, folder)
    if not built(layer, world):
        layer.close()
        return
    wanted = answers(layer, world)
    layer.close()
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]
    assert files
    for path in files:
        whole = path.read_bytes()
        flips = range(0, len(whole), max(1, len(whole) // 23))
        damages = [whole[:len(whole) // 2], whole[:-1], whole[:16], b"", b"another file\n" * 99, whole + b"x", whole[::-1]]
        damages += [whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1:] for at in flips]
        for damage in damages:
            path.unlink(missing_ok=True)
            path.write_bytes(damage)
            layer = layer_of(name, folder)
            for said, right in zip(answers(layer, world), wanted, strict=True):
                assert {span for span, *_ in said} <= {span for span, *_ in right}, (path.name, len(damage))
            assert built(layer, world) and answers(layer, world) == wanted, (path.name, len(damage))
            layer.close()
            for left in folder.rglob("*"):
                if left.is_file() and left != path and left not in files:
                    left.unlink()
            for other in files:
                if other != path and not other.exists():
                    pytest.fail(f"{other.name} went with {path.name}")
            path.write_bytes(whole)


@pytest.mark.parametrize("name", LAYERS)
def test_a_blob_that_is_purged_while_it_is_searched_costs_itself_alone(layer_of: Any, name: str, tmp_path: Path) -> None:
    world = World(TEXTS)
    layer = layer_of(name, tmp_path / "index")
    built(layer, world)
    dogs = next(blob for blob, own in world.name_of.items() if own == "dogs")
    del world.name_of[dogs]
    for text in QUERIES[:8]:
        asked(layer, world, text)
    layer.apply((), [dogs], Event())
    for text in QUERIES[:8]:
        assert dogs not in {hit.span.blob for hit in asked(layer, world, text).hits}
    assert dogs not in layer.indexed()
    layer.close()


class After(Event):
    """Is set from the so manieth time on that it is asked."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

    def is_set(self) -> bool:
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("name", LAYERS)
def test_a_cancel_at_any_moment_loses_and_leaves_nothing(layer_of: Any, name: str, tmp_path: Path) -> None:
    world, other = World(TEXTS), World({"other": "a dog of another scope\n" * 9})
    reference = layer_of(name, tmp_path / "reference")
    if not built(reference, world):
        reference.close()
        return
    wanted, theirs = answers(reference, world), layer_of(name, tmp_path / "theirs")
    built(theirs, other)
    before = {path: path.read_bytes() for path in (tmp_path / "theirs").rglob("*") if path.is_file()}
    for times in range(12):
        folder = tmp_path / f"index{times}"
        layer = layer_of(name, folder)
        layer.apply(world.added(), (), After(times))
        assert layer.indexed() <= world.scope.held.keys()
        for said, right in zip(answers(layer, world), wanted, strict=True):
            assert {span for span, *_ in said} <= {span for span, *_ in right}
        layer.apply(world.added(), (), Event())
        assert answers(layer, world) == wanted
        gone = next(iter(world.scope.held))
        layer.apply(world.added(), [gone], After(times))
        layer.apply((), [gone], After(0))
        held = b"".join(path.name.encode() + path.read_bytes() for path in folder.rglob("*") if path.is_file())
        assert gone.encode() not in held and gone not in layer.indexed(), "what is let go is let go, cancelled or not"
        layer.close()
    assert before == {path: path.read_bytes() for path in (tmp_path / "theirs").rglob("*") if path.is_file()}
    for one in (reference, theirs):
        one.close()


@pytest.mark.parametrize("name", LAYERS)
def test_it_says_what_it_is_and_what_it_lacks(layer_of: Any, name: str) -> None:
    layer, world = layer_of(name, None), World(TEXTS)
    status = layer.status(world.scope)
    assert status.name == layer.name == name and set(status.role.split("+")) == layer.roles
    assert all((status.version, status.origin, status.granularity, status.accepts)) and status.latency_ms > 0
    assert 0 <= status.coverage <= 10_000
    if status.missing:
        assert not layer.applies(world.scope, parse("dog")) and ("install" in status.missing or "make models" in status.missing)
    layer.close()


def test_a_budget_ends_with_its_time_or_when_nobody_waits_any_more() -> None:
    now = [0.0]
    given = Budget(1.0, Event(), lambda: now[0])
    assert not given.late()
    now[0] = 1.0
    assert given.late()
    now[0] = 0.0
    given.cancel.set()
    assert given.late()


def test_records_are_frozen() -> None:
    for record in (Budget(1.0, Event(), lambda: 0.0), LayerStatus("a", "1", "generate", "", "", 0, "", 0)):
        with pytest.raises(AttributeError):
            record.until = 2.0  # type: ignore[union-attr, misc]
    with pytest.raises(AttributeError):
        Hit(Span("b2:0", 0, 1), 1, "text").score = 2  # type: ignore[misc]
