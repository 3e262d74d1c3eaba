"""A folder with an ONNX model runs without torch."""
from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from byref.layers.encoders import onnx
from byref.layers.encoders.contract import TOLERANCE, Encoder
from byref.layers.encoders.recipe import read
from byref.proxy.errors import Invalid

Loaded = Callable[..., Encoder]


def difference(one: Encoder, other: Encoder, texts: list[str]) -> tuple[float, float]:
    """The largest of a number of a vector, and the smallest cosine of a token."""
    first, second = one.documents(texts), other.documents(texts)
    assert first is not None and second is not None and [text.tokens for text in first] == [text.tokens for text in second]
    a, b = (np.concatenate([*(text.vectors for text in found), asked.query(texts[0][:80]).vectors])
            for found, asked in ((first, one), (second, other)))
    return float(np.abs(a - b).max()), float((a * b).sum(axis=1).min())


def test_every_token_has_a_vector_of_unit_length_and_its_place(loaded: Loaded, texts: list[str]) -> None:
    model = loaded("minilm-int8")
    assert (model.name, model.width, model.dense, model.window) == ("minilm-int8", 384, 384, 256)
    found = model.documents(texts)
    assert found is not None and len(found) == len(texts)
    for text, encoded in zip(texts, found, strict=True):
        assert encoded.tokens == tuple(text[start:end] for start, end in encoded.spans)
        assert np.allclose(np.linalg.norm(encoded.vectors, axis=1), 1, atol=1e-5)
    assert "".join("".join(found[-1].tokens).split()) == "".join(texts[-1].split()), "a text longer than a window is encoded whole"


def test_what_means_the_same_lies_near(loaded: Loaded) -> None:
    model = loaded("minilm-int8")
    said = ["the server ran out of memory", "the process was killed: no RAM left", "a list of colours in CSS"]
    asked, vectors = model.pooled(["memory exhausted"], query=True), model.pooled(said)
    assert asked is not None and vectors is not None
    near = (vectors @ asked[0]).tolist()
    assert min(near[:2]) > 0.4 > near[2]
    query, documents = model.query("memory exhausted"), model.documents(said)
    assert documents is not None
    best = [float((query.vectors @ text.vectors.T).max(axis=1).sum()) for text in documents]
    assert best[0] > best[2] and best[1] > best[2]


def test_neither_batch_nor_threads_change_a_vector_beyond_the_tolerance(model: Callable[[str], Path], texts: list[str]) -> None:
    place = str(model("minilm-onnx"))
    one, two = (onnx.Onnx(place, read(place), "model.onnx", threads) for threads in (1, 2))
    assert difference(one, two, texts)[0] < TOLERANCE
    alone = [encoded for text in texts for encoded in one.documents([text]) or ()]
    together = two.documents(texts)
    assert together is not None
    assert max(float(np.abs(a.vectors - b.vectors).max(initial=0)) for a, b in zip(alone, together, strict=True)) < TOLERANCE


def test_int8_is_close_to_what_it_was_made_from(loaded: Loaded, texts: list[str]) -> None:
    largest, cosine = difference(loaded("minilm-int8"), loaded("minilm-onnx"), texts)
    assert largest < 0.06 and cosine > 0.97


def test_the_same_model_has_the_same_mark_and_another_has_another(model: Callable[[str], Path], loaded: Loaded) -> None:
    place = str(model("minilm-int8"))
    assert onnx.load(place).mark == loaded("minilm-int8").mark != loaded("minilm-onnx").mark


def test_a_download_that_broke_off_is_named(model: Callable[[str], Path], tmp_path: Path) -> None:
    shutil.copytree(model("minilm-int8"), tmp_path / "half")
    whole = (tmp_path / "half/model.onnx").read_bytes()
    (tmp_path / "half/model.onnx").write_bytes(whole[:len(whole) // 2])
    with pytest.raises(Invalid, match=r"model\.onnx in .*half is damaged or of another kind .* fetch the model again"):
        onnx.load(str(tmp_path / "half"))
    (tmp_path / "half/model.onnx").unlink()
    with pytest.raises(Invalid, match="no ONNX model in"):
        onnx.load(str(tmp_path / "half"))


def test_numbers_that_an_export_has_not_are_refused(model: Callable[[str], Path]) -> None:
    with pytest.raises(Invalid, match="leave :bf16 away"):
        onnx.load(str(model("minilm-int8")), "bf16")
