"""Models of torch by sentence-transformers' MultiVectorEncoder: its own and PyLate's checkpoints, and plain encoders."""
from __future__ import annotations

from byref.layers.encoders import torched
from byref.layers.encoders.recipe import Recipe

TYPE_CHECKING = False
if TYPE_CHECKING:
    import torch

NEEDS = ("numpy", "tokenizers", "torch", "sentence_transformers.multi_vector_encoder")
EXTRA = "late"
WANTED = torched.WANTED
fits = torched.fits


def load(folder: str, numbers: str = "") -> torched.Torched:
    """The encoder of a folder. numbers: of its weights, fp32 or bf16. Raises `Invalid` for a model that is damaged or of another kind."""
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Transformer

    def make(recipe: Recipe, kind: torch.dtype, device: str) -> torch.nn.Module:
        given = {"dtype": kind}
        if recipe.late or recipe.projections:
            model: torch.nn.Module = MultiVectorEncoder(folder, device=device, model_kwargs=given, local_files_only=True)
            return model
        backbone = Transformer(folder, model_kwargs={**given, "local_files_only": True})
        made: torch.nn.Module = MultiVectorEncoder(modules=[backbone], device=device)  # else it gets a projection of chance
        return made
    return torched.loaded(folder, numbers, "MultiVectorEncoder", make)
