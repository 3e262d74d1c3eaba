"""PyLate's ColBERT gives what it gives by itself, and what ONNX gives. `make test-pylate` runs this."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from byref.layers.encoders import onnx, pylate
from byref.layers.encoders.contract import TOLERANCE
from byref.proxy.errors import Invalid

pytest.importorskip("pylate", reason="PyLate is not installed: make test-pylate")
QUERY = "why does the build fail with exit code 2?"


@pytest.fixture(scope="module")
def trained(model: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint as PyLate saves it; only its projection and the rows of its two signs are drawn by lot."""
    import torch
    from pylate.models import ColBERT
    torch.manual_seed(7)
    place = tmp_path_factory.mktemp("trained") / "checkpoint"
    ColBERT(str(model("minilm")), embedding_size=48, device="cpu", query_length=24, document_length=128).save_pretrained(str(place))
    return place


def test_the_same_checkpoint_is_the_same_in_onnx(model: Callable[[str], Path], texts: list[str],
                                                 record_property: Callable[[str, object], None]) -> None:
    one, other = pylate.load(str(model("minilm"))), onnx.load(str(model("minilm-onnx")))
    first, second = one.documents(texts), other.documents(texts)
    dense = one.pooled(texts), other.pooled(texts)
    assert first is not None and second is not None and dense[0] is not None and dense[1] is not None
    assert [text.tokens for text in first] == [text.tokens for text in second]
    pairs = [*((a.vectors, b.vectors) for a, b in zip(first, second, strict=True)), (one.query(QUERY).vectors, other.query(QUERY).vectors)]
    found = max(float(np.abs(a - b).max(initial=0)) for a, b in (*pairs, (dense[0], dense[1])))
    record_property("largest difference", found)
    assert found < TOLERANCE


def test_a_checkpoint_is_encoded_as_pylate_does(trained: Path, texts: list[str]) -> None:
    from pylate.models import ColBERT
    library, ours = ColBERT(str(trained), device="cpu"), pylate.load(str(trained))
    query = ours.query(QUERY)
    assert ours.width == 48 and np.abs(library.encode([QUERY], is_query=True)[0] - query.vectors).max() < TOLERANCE
    assert query.tokens[:3] == ("[CLS]", "[Q] ", "why") and query.tokens[-1] == "[MASK]" and len(query.tokens) == 24
    short = [text for text in texts if text.strip() and len(text) < 250]
    found = ours.documents(short)
    assert found is not None
    for text, encoded in zip(short, found, strict=True):
        whole = library.encode([text], is_query=False)[0]  # [CLS], [D], the text without punctuation, [SEP]
        assert np.abs(whole[2:-1] - encoded.vectors).max() < TOLERANCE


def test_a_folder_that_is_none_is_named(tmp_path: Path, model: Callable[[str], Path]) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    (tmp_path / "model.safetensors").write_bytes(b"\0" * 100)
    (tmp_path / "tokenizer.json").write_bytes((model("minilm") / "tokenizer.json").read_bytes())
    with pytest.raises(Invalid, match=r"is damaged or of another kind .*: fetch it again, or name another"):
        pylate.load(str(tmp_path))
