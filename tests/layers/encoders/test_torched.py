"""What encoders on torch have in common, as far as it needs no torch."""
from __future__ import annotations

from pathlib import Path

import pytest

from byref.layers.encoders import torched
from byref.proxy.errors import Invalid


def test_a_folder_fits_that_has_weights_and_says_of_what(tmp_path: Path) -> None:
    assert not torched.fits(str(tmp_path / "nothing"))
    (tmp_path / "model-00001-of-00002.safetensors").touch()
    assert not torched.fits(str(tmp_path))
    (tmp_path / "config.json").touch()
    (tmp_path / "model-00002-of-00002.safetensors").touch()
    (tmp_path / "README.md").touch()
    assert torched.fits(str(tmp_path))
    assert torched.weights(str(tmp_path)) == ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]


def test_numbers_are_those_that_are_known() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: make test-late runs this")
    assert torched.kind_of("bf16") is torch.bfloat16 and torched.kind_of("fp32") is torch.float32
    with pytest.raises(Invalid, match="no numbers 'int4': say fp32 or bf16"):
        torched.kind_of("int4")


def test_what_a_library_says_of_a_model_is_passed_on_in_a_line() -> None:
    said = str(torched.damaged("some/folder", ValueError("header\n too   small")))
    assert "the model in some/folder is damaged or of another kind (ValueError: header too small): fetch it again" in said
