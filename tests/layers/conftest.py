"""What tests of layers are given: a scope in memory, and a model of static embeddings made by hand: eight words, four numbers each."""
from __future__ import annotations

import json
import struct
import time
from pathlib import Path
from threading import Event

import pytest

from byref.layers.contract import Budget
from layer_worlds import World

WORDS = {"[UNK]": (.3, .3, .3, .3), "dog": (1, .1, 0, 0), "puppy": (.9, .2, 0, 0), "car": (0, 0, 1, .1), "engine": (0, .1, .8, 0),
         "the": (.01, .01, .01, .01), "cold": (0, 1, 0, 0), "http": (0, 0, .1, -1)}


@pytest.fixture
def tiny_model(tmp_path: Path) -> Path:
    """A folder of models with one in it, in the format of model2vec."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    folder = tmp_path / "models" / "potion-base-8M"
    folder.mkdir(parents=True)
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    numbers = b"".join(struct.pack("<4f", *row) for row in WORDS.values())
    head = json.dumps({"embeddings": {"dtype": "F32", "shape": [len(WORDS), 4], "data_offsets": [0, len(numbers)]}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + numbers)
    (folder / "config.json").write_text('{"model_type": "model2vec"}')
    return folder


@pytest.fixture
def world() -> type[World]:
    return World


@pytest.fixture
def budget() -> Budget:
    return Budget(time.monotonic() + 60, Event(), time.monotonic)
