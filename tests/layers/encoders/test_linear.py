"""A linear module runs without torch as it does with it."""
from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from byref.layers.encoders.linear import Linear, tensors
from byref.proxy.errors import Invalid

ROWS = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 4.0]], np.float32)
WEIGHT = np.array([[1.0, 0.0, 2.0], [-1.0, 1.0, 0.5]], np.float32)
BIAS = np.array([0.25, -0.5], np.float32)


def saved(folder: Path, held: dict[str, np.ndarray], kind: str = "F32", **config: object) -> str:
    head, data = {}, b""
    for name, value in held.items():
        part = (value.view(np.uint32) >> 16).astype(np.uint16).tobytes() if kind == "BF16" else value.astype(
            {"F32": np.float32, "F16": np.float16}[kind]).tobytes()
        head[name] = {"dtype": kind, "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    head["__metadata__"] = {"format": "pt"}
    said = json.dumps(head).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(said)) + said + data)
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16"])  # these numbers are exact in all three
def test_a_projection(tmp_path: Path, kind: str) -> None:
    linear = Linear(saved(tmp_path, {"linear.weight": WEIGHT}, kind, activation_function="torch.nn.modules.linear.Identity", bias=False))
    assert (linear.taken, linear.width) == (3, 2)
    assert linear(ROWS).tolist() == [[-1.0, 0.5], [8.5, 1.5]]
    assert linear(ROWS[None]).shape == (1, 2, 2)


def test_a_head_with_bias_and_tanh_as_is_the_default_of_sentence_transformers(tmp_path: Path) -> None:
    linear = Linear(saved(tmp_path, {"linear.weight": WEIGHT, "linear.bias": BIAS}))
    assert np.allclose(linear(ROWS), np.tanh(ROWS @ WEIGHT.T + BIAS))


@pytest.mark.parametrize("residual", [None, np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]], np.float32)])
def test_what_goes_past_the_projection_is_added(tmp_path: Path, residual: np.ndarray | None) -> None:
    square = np.eye(3, dtype=np.float32) * 2
    held = {"linear.weight": square} if residual is None else {"linear.weight": WEIGHT, "residual.weight": residual}
    linear = Linear(saved(tmp_path, held, activation_function="torch.nn.modules.linear.Identity", use_residual=True))
    assert np.allclose(linear(ROWS), 3 * ROWS if residual is None else ROWS @ WEIGHT.T + ROWS @ residual.T)


def test_what_is_none_of_these_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"of another kind \(GELU\): it runs on torch alone"):
        Linear(saved(tmp_path, {"linear.weight": WEIGHT}, activation_function="torch.nn.modules.activation.GELU"))


def test_a_file_that_is_cut_short_is_named(tmp_path: Path) -> None:
    place = Path(saved(tmp_path, {"linear.weight": WEIGHT})) / "model.safetensors"
    for size in (4, 60, len(place.read_bytes()) - 1):
        place.write_bytes(place.read_bytes()[:size])
        with pytest.raises(Invalid, match=r"model\.safetensors is missing, damaged or of another kind .* fetch the model again"):
            tensors(str(place))
        saved(tmp_path, {"linear.weight": WEIGHT})
