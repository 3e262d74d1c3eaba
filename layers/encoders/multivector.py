"""Models of torch by sentence-transformers' MultiVectorEncoder: its own and PyLate's checkpoints, and plain encoders."""
from __future__ import annotations

import os

from byref.layers.encoders import torched
from byref.layers.encoders.recipe import read
from byref.layers.encoders.torched import Torched

NEEDS = ("numpy", "tokenizers", "torch", "sentence_transformers.multi_vector_encoder")
EXTRA = "late"
WANTED = torched.WANTED
fits = torched.fits


def load(folder: str, numbers: str = "") -> Torched:
    """The encoder of a folder. numbers: of its weights, fp32 or bf16. Raises `Invalid` for a model that is damaged or of another kind."""
    numbers = numbers or "fp32"
    kind, device, recipe = torched.kind_of(numbers), torched.place(), read(folder)
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Transformer
    torched.quiet()
    given = {"dtype": kind}
    try:
        if recipe.late or recipe.projections:
            model = MultiVectorEncoder(folder, device=device, model_kwargs=given, local_files_only=True)
        else:  # else it gets a projection of chance
            model = MultiVectorEncoder(modules=[Transformer(folder, model_kwargs={**given, "local_files_only": True})], device=device)
        model.to(kind).eval()
    except Exception as fault:  # whatever a library says of files that are not what they should be
        raise torched.damaged(folder, fault) from None
    return Torched(os.path.basename(folder.rstrip("/")), "MultiVectorEncoder", folder, recipe, numbers, model, device)
