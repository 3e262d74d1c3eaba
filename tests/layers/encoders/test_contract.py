"""What encoders and layers agree on, where it does not hang on a model."""
from __future__ import annotations

import numpy as np
import pytest

from byref.layers.encoders.contract import Encoded
from byref.proxy import discover


def test_what_is_encoded_cannot_be_changed() -> None:
    encoded = Encoded(np.ones((1, 1), np.float32), np.array([[0, 4]]), ("word",))
    with pytest.raises(AttributeError):
        encoded.tokens = ()  # type: ignore[misc]


def test_an_encoder_is_no_layer() -> None:
    assert "encoders" not in discover.names("layers")
