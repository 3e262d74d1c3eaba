"""A search by late interaction: what is scored first, how far it comes, and what is told of a hit."""
from __future__ import annotations

import math
import time
from collections.abc import Mapping
from threading import Event

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.layers import seeking
from byref.layers.contract import Budget, Contribution, Hit, Span
from byref.layers.encoding import Knobs, encoded, piece
from byref.layers.seeking import Asked, Seeking, carrying
from byref.layers.sidecar import Sidecars
from byref.proxy.query import parse
from late_worlds import Wordy
from layer_worlds import World

TEXTS = {"old": "a dog barks\n", "cars": "the car\nwas stopped\n",
         "long": "filler text here\n" * 3 + "the puppy slept\n" + "more filler\n" * 40}


def budget(until: float = math.inf, hits: int = 200) -> Budget:
    return Budget(until, Event(), time.monotonic, hits)


def index(world: World, *names: str, knobs: Knobs = Knobs()) -> Sidecars:  # noqa: B008
    made = Sidecars(None, "v")
    for one in world.added(*names) if names else ():
        start = 0
        while start < one.source.size:
            some = piece(one.blob, one.source, one.shape, start)
            for sidecar in encoded(Wordy(), knobs, [some], lambda: False) or ():
                made.add(sidecar)
            start += len(some.data)
    return made


def found(world: World, sidecars: Sidecars, query: str, weights: Mapping[str, float] | None = None, candidates: list[Hit] | None = None,
          within: Budget | None = None, encoder: Wordy | None = None) -> Contribution:
    encoder = encoder or Wordy()
    asked = Asked.of(encoder, parse(query, weights))
    return Seeking(encoder, Knobs(), sidecars, asked, world.scope, within or budget(), "late").found(candidates or (), ())


@pytest.fixture(autouse=True)
def low_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeking, "FLOOR", 4000)


@pytest.fixture
def made() -> World:
    return World(TEXTS)


def test_what_means_the_same_is_found_and_shown_by_its_line(made: World) -> None:
    best = found(made, index(made, *TEXTS), "automobile halted").hits[0]
    assert made.name_of[best.span.blob] == "cars" and best.score > 8000
    (hit,) = [hit for hit in found(made, index(made, *TEXTS), "puppy slept").hits if made.name_of[hit.span.blob] == "long"]
    assert made.blobs["long"][hit.span.start:hit.span.end] == b"the puppy slept\n", "a chunk is trimmed to what carries the match"


def test_each_token_of_the_query_is_told_with_what_it_met(made: World) -> None:
    best = found(made, index(made, *TEXTS), "puppy barks").hits[0]
    data = made.blobs["old"]
    assert [(part.token, data[part.start:part.end]) for part in best.parts] == [("puppy", b"dog"), ("barks", b"barks")]
    assert best.parts[1].score >= 9950 > best.parts[0].score > 8000
    assert best.score == pytest.approx(sum(part.score for part in best.parts) / 2, abs=1)


def test_the_same_with_vectors_in_files_in_part_and_not_at_all(made: World) -> None:
    whole = found(made, index(made, *TEXTS), "dog stopped")
    assert whole.hits and whole.searched is None and whole.whole
    for names in ((), ("old",), ("long", "cars")):
        assert found(made, index(made, *names), "dog stopped") == whole


def test_weights_turn_the_order_and_take_words_out_without_encoding_again() -> None:
    world = World({"error": "error somewhere\n", "timeout": "timeout elsewhere\n"})
    sidecars, encoder = index(world, "error", "timeout"), Wordy()

    def order(weights: Mapping[str, float] | None) -> list[str]:
        return world.names(found(world, sidecars, "timeout error", weights, encoder=encoder))
    assert order({"timeout": 1.4}) == ["timeout", "error"] and order({"error": 1.4}) == ["error", "timeout"]
    assert order({"timeout": 0}) == ["error"] and order({"error": 0}) == ["timeout"]
    assert not encoder.encoded, "no document was encoded for it"
    best = found(world, sidecars, "timeout error", {"timeout": 3}).hits[0]
    assert best.parts[0].score == pytest.approx(3 * 10_000, abs=60) and best.score == pytest.approx(
        (3 * best.parts[0].score / 3 + best.parts[1].score) / 4, abs=2)


def test_a_word_of_weight_0_meets_nothing_and_counts_nothing(made: World) -> None:
    one, other = found(made, index(made, *TEXTS), "dog quagga", {"quagga": 0}), found(made, index(made, *TEXTS), "dog")
    assert [hit.score for hit in one.hits] == [hit.score for hit in other.hits]
    assert all(len(hit.parts) == 1 for hit in one.hits) and not one.uncovered


def test_what_nothing_covers_is_named_once_all_was_looked_at(made: World) -> None:
    assert found(made, index(made, *TEXTS), "puppy quagga").uncovered == ("quagga",)
    assert found(made, index(made, *TEXTS), "puppy dog").uncovered == ()
    late = found(made, index(made, *TEXTS), "puppy quagga", within=budget(-math.inf))
    assert not late.whole and late.uncovered == () and not late.hits


def test_candidates_are_scored_first_whatever_they_score(made: World) -> None:
    blob = next(blob for blob, name in made.name_of.items() if name == "cars")
    hits = found(made, index(made, *TEXTS), "dog", candidates=[Hit(Span(blob, 0, 4), 1, "words")]).hits
    assert made.names(Contribution(hits)) == ["old", "long", "cars"] and hits[-1].score < 4000
    assert "cars" not in made.names(found(made, index(made, *TEXTS), "dog"))


def test_of_a_candidate_without_vectors_the_chunks_that_it_meets_are_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeking, "FRESH", 1500)
    data = "\n\n".join(f"paragraph {number} " + "filler " * 60 for number in range(40)) + "\n\nthe dog " + "filler " * 60 + "\n"
    world = World({"big": data * 3})
    (blob,) = world.scope.held
    at = world.blobs["big"].index(b"the dog")
    encoder = Wordy()
    answer = found(world, Sidecars(None, "v"), "puppy", candidates=[Hit(Span(blob, at, at + 3), 1, "words")], encoder=encoder)
    assert world.texts(answer)[0].startswith("the dog") and 0 < sum(map(len, encoder.encoded)) <= 1500
    assert answer.whole and answer.searched == frozenset(), "it had the time, and not the room, for the rest"


def test_what_is_built_in_part_is_encoded_from_there_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from byref.layers import encoding
    monkeypatch.setattr(encoding, "STRETCH", 1000)
    world = World({"big": "".join(f"paragraph {number} of it\n\n" for number in range(200)) + "the dog\n"})
    (blob,) = world.scope.held
    sidecars, encoder = index(world), Wordy()
    for number in range(2):
        start = sidecars.reached(blob)
        made = encoded(encoder, Knobs(), [piece(blob, world.open(blob), "text", start)], lambda: False)
        assert made is not None and bool(start) == bool(number)
        sidecars.add(made[0])
    there = set(encoder.encoded)
    encoder.encoded.clear()
    answer = found(world, sidecars, "puppy", encoder=encoder)
    assert answer.searched is None and world.texts(answer)[0] == "the dog\n"
    assert encoder.encoded and not there & set(encoder.encoded), "what has vectors is not encoded again"


def test_no_more_is_encoded_than_there_is_room_and_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World({f"t{number}": f"dog {number} " + "filler " * 100 for number in range(30)})
    monkeypatch.setattr(seeking, "FRESH", 3000)
    encoder = Wordy()
    answer = found(world, Sidecars(None, "v"), "puppy", encoder=encoder)
    assert 1 <= len(answer.hits) == len(answer.searched or ()) < 30 and sum(map(len, encoder.encoded)) <= 3000
    slow = Wordy()
    within = budget()
    slow.before = lambda: len(slow.encoded) >= 2 and within.cancel.set()
    cut = found(world, Sidecars(None, "v"), "puppy", within=within, encoder=slow)
    assert len(slow.encoded) == 2 and not cut.whole and len(cut.hits) == 2


def test_a_search_that_is_cut_says_what_it_saw(made: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from byref.layers import maxsim
    texts = {f"t{number}": f"dog {number}\n" for number in range(50)}
    world = World(texts)
    sidecars = index(world, *texts)
    within = budget()
    opened: list[object] = []
    real = Sidecars.open

    def counted(self: Sidecars, place: object) -> object:
        opened.append(place)
        if len(opened) == 20:
            within.cancel.set()
        return real(self, place)  # type: ignore[arg-type]
    monkeypatch.setattr(Sidecars, "open", counted)
    monkeypatch.setattr(maxsim, "BLOCK", 8)
    answer = found(world, sidecars, "puppy", within=within)
    assert not answer.whole and answer.searched is not None and 0 < len(answer.searched) < 50
    assert {hit.span.blob for hit in answer.hits} >= answer.searched, "what it saw, it tells"


def test_equal_hits_come_newest_first_and_in_order_of_place() -> None:
    world = World({f"t{number}": "x" * number + " dog\n" for number in range(1, 9)})
    names = world.names(found(world, index(world, *[f"t{number}" for number in range(1, 9)]), "dog"))
    assert names == [f"t{number}" for number in range(8, 0, -1)]
    assert len(found(world, index(world, "t1"), "dog", within=budget(hits=3)).hits) == 3


def test_nothing_of_a_blob_outside_the_scope_is_said(made: World) -> None:
    sidecars = index(made, *TEXTS)
    narrow = World({"cars": TEXTS["cars"]})
    assert narrow.names(found(narrow, sidecars, "dog car")) == ["cars"]


def test_a_purged_blob_is_passed_over() -> None:
    world = World(TEXTS)
    blob = next(blob for blob, name in world.name_of.items() if name == "old")
    sidecars = index(world, "cars", "long", "old")
    del world.name_of[blob]
    hits = found(world, sidecars, "dog").hits
    assert all(hit.parts for hit in hits)
    answer = found(world, Sidecars(None, "v"), "dog", candidates=[Hit(Span(blob, 0, 3), 1, "words")])
    assert blob not in {hit.span.blob for hit in answer.hits}


def test_words_of_a_query_are_told_by_their_tokens_of_the_model() -> None:
    asked = Asked.of(Wordy(), parse("retryOnConflict is slow", {"retryonconflict": 0.5, "slow": 0}))
    assert asked.text == "retryOnConflict is slow" and asked.weights.tolist() == [500, 1000, 0]
    assert [word for word, _ in asked.words] == ["retryOnConflict", "is"]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=12), st.integers(1, 4), st.integers(0, 2**32))
def test_the_lines_shown_carry_most_and_are_whole_lines(words: list[int], asked: int, seed: int) -> None:
    data = b"".join(b"w " * count + b"\n" for count in words)
    starts = np.array([at for at, sign in enumerate(data) if sign == 119], np.int64)
    products = np.random.default_rng(seed).integers(0, 10_000, (asked, len(starts)))
    start, end = carrying(products, np.full(asked, 1000), starts, data)
    assert (start == 0 or data[start - 1:start] == b"\n") and (end == len(data) or data[end - 1:end] == b"\n") and start < end
    if len(starts):
        inside = (starts >= start) & (starts < end)
        whole, poorest = products.max(axis=1).sum(), min(
            products[:, [number for number, at in enumerate(starts) if data[:at].count(b"\n") == line]].max(axis=1).sum()
            for line in {data[:at].count(b"\n") for at in starts})
        assert products[:, inside].max(axis=1).sum() >= poorest + (whole - poorest) * 0.749


def test_a_chunk_of_one_line_is_shown_whole() -> None:
    assert carrying(np.array([[1, 2]]), np.array([1000]), np.array([0, 4]), b"one two") == (0, 7)
    assert carrying(np.zeros((1, 0), np.int64), np.array([1000]), np.zeros(0, np.int64), b"\n\n") == (0, 2)
