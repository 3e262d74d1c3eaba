"""sentence-transformers' MultiVectorEncoder gives what it gives by itself, and what ONNX gives. `make test-late` runs this."""
from __future__ import annotations

import shutil
import string
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from byref.layers.encoders import multivector, onnx
from byref.layers.encoders.contract import TOLERANCE, Encoder
from byref.layers.encoders.torched import Torched
from byref.proxy.errors import Invalid

pytest.importorskip("sentence_transformers.multi_vector_encoder", reason="sentence-transformers 6 is not installed: make test-late")
QUERY = "why does the build fail with exit code 2?"


@pytest.fixture(scope="module")
def minilm(model: Callable[[str], Path]) -> Torched:
    return multivector.load(str(model("minilm")))


@pytest.fixture(scope="module")
def trained(model: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with all that one trained for late interaction has, as the library saves it; only its projection is drawn by lot."""
    import torch
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
    torch.manual_seed(7)
    backbone = Transformer(str(model("minilm")), document_length=128, query_expansion={"strategy": "fixed", "attend": True, "length": 24})
    dense = Dense(384, 48, bias=False, activation_function=torch.nn.Identity(), module_input_name="token_embeddings")
    made = MultiVectorEncoder(modules=[backbone, dense, MultiVectorMask(skiplist_words=list(string.punctuation)),
                                       Normalize(module_input_name="token_embeddings")], prompts={"query": "ask: ", "document": "say: "})
    place = tmp_path_factory.mktemp("trained") / "checkpoint"
    made.save_pretrained(str(place))
    return place


def together(one: Encoder, other: Encoder, texts: list[str]) -> float:
    """The largest difference of a number of a vector, of tokens and of texts."""
    first, second = one.documents(texts), other.documents(texts)
    assert first is not None and second is not None and [text.tokens for text in first] == [text.tokens for text in second]
    pairs = [(a.vectors, b.vectors) for a, b in zip(first, second, strict=True)]
    pairs.append((one.query(QUERY).vectors, other.query(QUERY).vectors))
    dense = one.pooled(texts), other.pooled(texts)
    assert dense[0] is not None and dense[1] is not None
    return max(float(np.abs(a - b).max(initial=0)) for a, b in (*pairs, dense))  # type: ignore[misc]


def test_the_same_checkpoint_is_the_same_in_onnx(minilm: Torched, model: Callable[[str], Path], texts: list[str],
                                                 record_property: Callable[[str, object], None]) -> None:
    found = together(minilm, onnx.load(str(model("minilm-onnx"))), texts)
    record_property("largest difference", found)
    assert found < TOLERANCE


def test_a_text_has_the_vector_that_sentence_transformers_gives_it(minilm: Torched, model: Callable[[str], Path], texts: list[str]) -> None:
    from sentence_transformers import SentenceTransformer
    short = [text for text in texts if text.strip() and len(text) < 600]
    own = SentenceTransformer(str(model("minilm"))).encode(short)
    found = minilm.pooled(short)
    assert found is not None and np.abs(own - found).max() < TOLERANCE


def test_a_checkpoint_is_encoded_as_its_library_does(trained: Path, texts: list[str]) -> None:
    from sentence_transformers import MultiVectorEncoder
    library, ours = MultiVectorEncoder(str(trained)), multivector.load(str(trained))
    assert ours.width == 48 and ours.window == 128
    query = ours.query(QUERY)
    assert np.abs(library.encode_query(QUERY, convert_to_numpy=True) - query.vectors).max() < TOLERANCE
    assert query.tokens[:3] == ("[CLS]", "ask", ":") and query.tokens[-1] == "[MASK]" and len(query.tokens) == 24
    short = [text for text in texts if text.strip() and len(text) < 250]
    found = ours.documents(short)
    assert found is not None
    for text, encoded in zip(short, found, strict=True):
        whole = library.encode_document(text, convert_to_numpy=True)  # [CLS], the word of the prompt, the text, [SEP]
        assert np.abs(whole[2:-1] - encoded.vectors).max() < TOLERANCE
        assert not set(encoded.tokens) & set(string.punctuation)


def test_the_projection_beside_an_onnx_model_is_applied(trained: Path, model: Callable[[str], Path], tmp_path: Path,
                                                        texts: list[str]) -> None:
    shutil.copytree(trained, tmp_path / "exported", ignore=shutil.ignore_patterns("model.safetensors"))
    shutil.copy(model("minilm-onnx") / "model.onnx", tmp_path / "exported")
    with pytest.raises(Invalid, match=r"model\.safetensors is missing"):
        onnx.load(str(tmp_path / "exported"))
    shutil.copy(trained / "1_Dense/model.safetensors", tmp_path / "exported/1_Dense")
    assert together(multivector.load(str(trained)), onnx.load(str(tmp_path / "exported")), texts) < TOLERANCE


def test_bf16_is_close_and_has_a_mark_of_its_own(minilm: Torched, model: Callable[[str], Path], texts: list[str]) -> None:
    half = multivector.load(str(model("minilm")), "bf16")
    assert half.mark != minilm.mark and "bf16" in half.origin
    assert together(minilm, half, texts) < 0.03


def test_threads_do_not_change_a_vector_beyond_the_tolerance(minilm: Torched, texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    one = minilm.documents(texts)
    monkeypatch.setattr("byref.layers.encoders.torched.THREADS", 2)
    two = minilm.documents(texts)
    assert one is not None and two is not None
    assert max(float(np.abs(a.vectors - b.vectors).max(initial=0)) for a, b in zip(one, two, strict=True)) < TOLERANCE


def test_a_download_that_broke_off_is_named(model: Callable[[str], Path], tmp_path: Path) -> None:
    shutil.copytree(model("minilm"), tmp_path / "half")
    with (tmp_path / "half/model.safetensors").open("r+b") as file:
        file.truncate(1 << 20)
    with pytest.raises(Invalid, match=r"the model in .*half is damaged or of another kind .*: fetch it again, or name another"):
        multivector.load(str(tmp_path / "half"))
