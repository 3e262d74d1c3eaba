"""Models of torch by PyLate's ColBERT: its checkpoints, Stanford's, and plain encoders."""
from __future__ import annotations

import os

from byref.layers.encoders import torched
from byref.layers.encoders.recipe import read
from byref.layers.encoders.torched import Torched

NEEDS = ("numpy", "tokenizers", "torch", "pylate")
EXTRA = "pylate"
WANTED = torched.WANTED
fits = torched.fits


def load(folder: str, numbers: str = "") -> Torched:
    """The encoder of a folder. numbers: of its weights, fp32 or bf16. Raises `Invalid` for a model that is damaged or of another kind."""
    numbers = numbers or "fp32"
    kind, device, recipe = torched.kind_of(numbers), torched.place(), read(folder)
    import torch
    from pylate.models import ColBERT, Dense
    from sentence_transformers.models import Transformer
    torched.quiet()
    given = {"torch_dtype": kind}
    try:
        if recipe.late or recipe.projections:
            model = ColBERT(folder, device=device, model_kwargs=given, local_files_only=True)
        else:  # else it gets a projection of chance
            backbone = Transformer(folder, model_args={**given, "local_files_only": True})
            width = backbone.get_word_embedding_dimension()
            same = Dense(width, width, bias=False, activation_function=torch.nn.Identity(), init_weight=torch.eye(width, dtype=kind))
            model = ColBERT(modules=[backbone, same], device=device, query_prefix="", document_prefix="")
        model.to(kind).eval()
    except Exception as fault:  # whatever a library says of files that are not what they should be
        raise torched.damaged(folder, fault) from None
    return Torched(os.path.basename(folder.rstrip("/")), "PyLate ColBERT", folder, recipe, numbers, model, device)
