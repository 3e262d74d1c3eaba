"""Models of torch by PyLate's ColBERT: its checkpoints, Stanford's, and plain encoders."""
from __future__ import annotations

from byref.layers.encoders import torched
from byref.layers.encoders.recipe import Recipe

TYPE_CHECKING = False
if TYPE_CHECKING:
    import torch

NEEDS = ("numpy", "tokenizers", "torch", "pylate")
EXTRA = "pylate"
WANTED = torched.WANTED
fits = torched.fits


def load(folder: str, numbers: str = "") -> torched.Torched:
    """The encoder of a folder. numbers: of its weights, fp32 or bf16. Raises `Invalid` for a model that is damaged or of another kind."""
    import torch
    from pylate.models import ColBERT, Dense
    from sentence_transformers.models import Transformer

    def make(recipe: Recipe, kind: torch.dtype, device: str) -> torch.nn.Module:
        given = {"torch_dtype": kind}
        if recipe.late or recipe.projections:
            model: torch.nn.Module = ColBERT(folder, device=device, model_kwargs=given, local_files_only=True)
            return model
        backbone = Transformer(folder, model_args={**given, "local_files_only": True})
        width = backbone.get_word_embedding_dimension()
        same = torch.eye(width, dtype=kind)  # else it gets a projection of chance
        projection = Dense(width, width, bias=False, activation_function=torch.nn.Identity(), init_weight=same)
        made: torch.nn.Module = ColBERT(modules=[backbone, projection], device=device, query_prefix="", document_prefix="")
        return made
    return torched.loaded(folder, numbers, "PyLate ColBERT", make)
