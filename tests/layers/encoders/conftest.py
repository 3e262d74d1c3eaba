"""Models and texts for tests of encoders: real ones where `make models` has put them, a small tokenizer everywhere."""
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from byref.layers.encoders import choice
from byref.layers.encoders.contract import Encoder
from byref.proxy.config import models_folder

MODELS = Path(models_folder())  # of the user: a test's own is empty


@pytest.fixture(scope="session")
def model() -> Callable[[str], Path]:
    """The folder of a model by name; the test is skipped where it is not there, or nothing can run it."""
    def found(name: str) -> Path:
        place = MODELS / name
        if not place.is_dir():
            hint = "make test-late exports it" if name == "minilm-onnx" else "make models"
            pytest.skip(f"{name} is not here: {hint}")
        if lacking := choice.missing(str(place)):
            pytest.skip(lacking)
        return place
    return found


@pytest.fixture(scope="session")
def loaded(model: Callable[[str], Path]) -> Callable[..., Encoder]:
    """An encoder by the model's name, loaded once for all tests of a process."""
    return lambda name, numbers="": choice.chosen(f"{model(name)}:{numbers}" if numbers else str(model(name))).wait()


@pytest.fixture(scope="session")
def texts(root: Path) -> list[str]:
    """Real texts of all sizes: help of commands, code, prose with what is no ASCII, one longer than a window, and none."""
    helped = [json.loads(line)[1] for line in (root / "bench/sets/help.jsonl").read_text(encoding="utf-8").splitlines()[::400]]
    return [*helped, Path(json.__file__).read_text(encoding="utf-8")[:900], "naïve café – “quoted” 日本語 🦀", "", " \n",
            "x " * 300, Path(json.__file__).read_text(encoding="utf-8")[:2500]]


@pytest.fixture(scope="session")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tokenizer of a small BERT: words and their pieces, in lower case, [CLS] before a text and [SEP] behind it."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", "[unused1]", "the", "build", "fails", "exit", "code", "un",
             "##used", ".", ",", ":", "[", "]", "query", "0", "1", "2", "##s", "test", "cafe"]
    tokenizer = Tokenizer(models.WordPiece({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    folder = tmp_path_factory.mktemp("tokens")
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
