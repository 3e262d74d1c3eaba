"""Batches of windows come back as texts, in their order, however they were batched."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from byref.layers.encoders import batched
from byref.layers.encoders.batched import Batched
from byref.layers.encoders.recipe import Recipe

TABLE = np.random.default_rng(7).normal(size=(32, 6)).astype(np.float32)
TEXTS = ["the build fails", "", "exit code 2, the tests", "." * 40, "unused", "\n", "the"]


class Rows(Batched):
    """A model of a table of rows: what a token's vector is can be said beforehand. sizes: of the batches that it was given."""

    def __init__(self, folder: Path, recipe: Recipe) -> None:
        self.sizes: list[tuple[int, int]] = []
        super().__init__("rows", "numpy", str(folder), recipe, ("tokenizer.json",))

    def _forward(self, ids: np.ndarray, seen: np.ndarray) -> np.ndarray:
        self.sizes.append(ids.shape)
        return (TABLE[ids] * (1 + seen[:, :, None])).astype(np.float32)


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def test_texts_come_back_in_their_order_whatever_the_batches(tokens: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Rows(tokens, Recipe(window=16))
    whole = model.documents(TEXTS)
    monkeypatch.setattr(batched, "BATCH", 20)
    pieces = model.documents(TEXTS)
    assert whole is not None and pieces is not None
    for text, one, other in zip(TEXTS, whole, pieces, strict=True):
        assert one.tokens == other.tokens and np.array_equal(one.vectors, other.vectors) and np.array_equal(one.spans, other.spans)
        assert one.tokens == tuple(text[start:end] for start, end in one.spans)
        assert one.vectors.shape == (len(one.tokens), 6) and one.vectors.dtype == np.float32 and one.spans.dtype == np.int64
    assert np.allclose(whole[0].vectors, unit(TABLE[[7, 8, 9]]))
    assert whole[3].tokens == tuple("." * 40), "longer than a window, and whole"
    assert all(rows * tokens <= 20 for rows, tokens in model.sizes[2:])


def test_nothing_is_encoded_once_it_is_late(tokens: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batched, "BATCH", 8)
    model = Rows(tokens, Recipe())
    for allowed in range(3):
        model.sizes.clear()
        looks = iter([False] * allowed + [True])
        assert model.documents(TEXTS, lambda looks=looks: next(looks)) is None and len(model.sizes) == allowed
    assert model.pooled(TEXTS, lambda: True) is None
    assert model.documents([], lambda: True) == []


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
def test_a_text_has_one_vector_pooled_as_the_model_says(tokens: Path, pooling: str) -> None:
    model = Rows(tokens, Recipe(pooling=pooling))
    found = model.pooled(["the build", " ", "."])
    held = TABLE[[2, 7, 8, 3]]
    assert found is not None and found.shape == (3, 6) and model.dense == 6
    assert np.allclose(found[0], unit({"mean": held.mean(axis=0), "cls": held[0], "last": held[-1]}[pooling]), atol=1e-6)
    assert not found[1].any(), "nothing is like a text without tokens"


def test_a_long_text_has_the_mean_of_its_windows(tokens: Path) -> None:
    found = Rows(tokens, Recipe(window=8)).pooled(["the build fails exit code . " * 2])
    assert found is not None and np.allclose(found[0], unit(TABLE[[2, 7, 8, 9, 10, 11, 14, 3]].mean(axis=0)), atol=1e-6)


def test_a_question_has_its_own_prefix(tokens: Path) -> None:
    model = Rows(tokens, Recipe(prompts=("query: ", "")))
    asked, said = model.pooled(["the build"], query=True), model.pooled(["the build"])
    assert asked is not None and said is not None and not np.allclose(asked, said)
    assert len(model.query("the build").tokens) == 2, "which is no part of a token's vector"


def test_a_pooling_that_is_another_means_no_vector(tokens: Path) -> None:
    assert Rows(tokens, Recipe(pooling="")).dense == 0


def test_a_query_of_a_model_for_late_interaction_has_vectors_for_its_signs_too(tokens: Path) -> None:
    query = Rows(tokens, Recipe(late=True, prefixes=("[unused0]", ""), inserted=True, fill=7)).query("the build")
    assert query.tokens == ("[CLS]", "[unused0]", "the", "build", "[SEP]", "[MASK]", "[MASK]")
    assert query.spans.tolist() == [[0, 0], [0, 0], [0, 3], [4, 9], [0, 0], [0, 0], [0, 0]]
    assert np.allclose(query.vectors, unit(TABLE[[2, 5, 7, 8, 3, 4, 4]]))
    empty = Rows(tokens, Recipe()).query("")
    assert empty.vectors.shape == (0, 6) and empty.spans.shape == (0, 2) and empty.tokens == ()
