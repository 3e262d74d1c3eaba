"""Texts become int8 vectors that every machine computes alike; a model that cannot be used says why, and what to do."""
from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from byref.layers import embedding
from byref.proxy.config import models_folder
from byref.proxy.errors import Invalid

POTION = Path(models_folder()) / "potion-base-8M"
potion = pytest.mark.skipif(bool(embedding.missing(str(POTION))), reason="potion-base-8M is not here: make models")
# As computed on x86-64: any other machine has to find the same.
MARK = "e65a55e417c19295"
LENGTHS = [144771, 124582, 151066]
FIRST = [[45, 41, -16, -46, -9, -9], [26, 14, -34, -44, 29, -11], [82, 51, 11, -75, -9, -67]]


def cosine(vectors: np.ndarray, a: int, b: int) -> float:
    one, other = vectors[a].astype(float), vectors[b].astype(float)
    return float(one @ other / math.sqrt(one @ one) / math.sqrt(other @ other))


def test_what_means_the_same_lies_near(tiny_model: Path) -> None:
    table = embedding.load(str(tiny_model))
    vectors, _ = table.vectors(["the dog", "a puppy", "car engine", "HttpCar"])
    assert cosine(vectors, 0, 1) > 0.9 > 0.2 > cosine(vectors, 0, 2)
    assert vectors[3].tolist() == table.vectors(["http car"])[0][0].tolist(), "the words of an identifier are words"


def test_a_text_without_known_words_has_no_vector(tiny_model: Path) -> None:
    vectors, lengths = embedding.load(str(tiny_model)).vectors(["", "zebra quagga", "日本語"])
    assert not vectors.any() and not lengths.any()


@given(arrays.arrays(np.int64, (3, 8), elements=st.integers(-(2**60), 2**60)))
def test_sums_become_int8_by_their_largest_number_and_keep_their_signs(sums: np.ndarray) -> None:
    vectors, lengths = embedding.quantised(sums)
    for row, held, length in zip(sums.tolist(), vectors.tolist(), lengths.tolist(), strict=True):
        assert max(map(abs, held)) == (127 if any(row) else 0)
        assert all(b == 0 or (a > 0) == (b > 0) for a, b in zip(row, held, strict=True))
        assert length == math.isqrt(sum(b * b for b in held) << 16)
    flipped = embedding.quantised(-sums)[0]
    assert (flipped == -vectors).all(), "rounding favours no side"


def test_a_model_that_is_not_there_says_how_to_get_it(tmp_path: Path) -> None:
    assert "make models" in embedding.missing(str(tmp_path / "none"))
    with pytest.raises(Invalid, match="make models"):
        embedding.load(str(tmp_path / "none"))


@pytest.mark.parametrize("cut", [0, 5, 60, -1])
def test_a_half_downloaded_model_is_told(tiny_model: Path, cut: int) -> None:
    file = tiny_model / "model.safetensors"
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(Invalid, match=r"damaged.*make models"):
        embedding.load(str(tiny_model))


def test_a_file_that_is_lacking_is_named(tiny_model: Path) -> None:
    (tiny_model / "tokenizer.json").unlink()
    assert "lacks tokenizer.json" in embedding.missing(str(tiny_model))


def test_a_tokenizer_of_another_model_is_told(tiny_model: Path) -> None:
    tokenizer = tiny_model / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text().replace('"http": 7', '"http": 7, "more": 8'))
    with pytest.raises(Invalid, match="another kind: 8 rows for 9 tokens"):
        embedding.load(str(tiny_model))
    tokenizer.write_text("{}")
    with pytest.raises(Invalid, match="damaged or of another kind"):
        embedding.load(str(tiny_model))


def test_numbers_that_are_none_are_told(tiny_model: Path) -> None:
    file = tiny_model / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-4] + np.float32("nan").tobytes())
    with pytest.raises(Invalid, match="damaged"):
        embedding.load(str(tiny_model))


@potion
def test_the_real_model_gives_these_very_numbers() -> None:
    table = embedding.load(str(POTION))
    vectors, lengths = table.vectors(["copy a whole folder", "shutil.copytree: recursively copy a directory tree", "TemporaryDirectory"])
    assert table.mark == MARK and lengths.tolist() == LENGTHS
    assert vectors[:, :6].tolist() == FIRST


@potion
def test_integers_lose_next_to_nothing_against_the_table_they_come_from() -> None:
    table = embedding.load(str(POTION))
    numbers = embedding._embeddings((POTION / "model.safetensors").read_bytes())
    texts = ["copy a whole folder", "connection refused by the database server", "def test_expiry(): assert token.valid"]
    for text, vector in zip(texts, table.vectors(texts)[0].astype(float), strict=True):
        true = numbers[table.tokenizer.encode(text, add_special_tokens=False).ids].sum(axis=0)
        assert true @ vector / np.linalg.norm(true) / np.linalg.norm(vector) > 0.9995


def test_words_of_a_query_count_by_their_weight(tiny_model: Path) -> None:
    table = embedding.load(str(tiny_model))

    def same(text: str, plain: str, **weights: int) -> bool:
        ours, theirs = table.query(text, list(weights.items()))[0][0], table.vectors([plain])[0][0]
        return bool((abs(ours.astype(int) - theirs.astype(int)) <= 1).all())  # thousandths are rounded

    assert same("dog car", "dog car") and same("dog car", "dog car", dog=1000) and not same("dog car", "car")
    assert same("the dog Car", "the dog", car=0) and same("dog car", "dog car dog", dog=2000)
    assert same("HttpCar dog", "car dog", http=0) and same("HttpCar dog", "dog", httpcar=0), "words inside an identifier, too"
    assert same("dog", "", dog=0)
