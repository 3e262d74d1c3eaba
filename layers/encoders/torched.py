"""What encoders on torch have in common: where and in which numbers they compute, and how many threads that takes."""
from __future__ import annotations

import os

from byref.layers import gpu
from byref.layers.encoders.batched import Batched
from byref.layers.encoders.recipe import Recipe, read
from byref.proxy.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import torch
    from numpy.typing import NDArray

    from byref.layers.encoders.contract import Vectors

THREADS = 1  # a second one waits by turning: on a busy machine it took six times the processor's time a token (bench/encoders.py)
ON_GPU = 1 << 15  # tokens of a batch there
NUMBERS = ("fp32", "bf16")  # bf16 is quicker where the processor has AMX, and slower where it has not
WANTED = ("*.json", "*.txt", "*.model", "*.safetensors", "artifact.metadata", "[0-9]_*/*")  # of a repository


class Torched(Batched):
    """An encoder whose model takes and gives the features of sentence-transformers, `input_ids` and `token_embeddings` among them."""

    def __init__(self, name: str, origin: str, folder: str, recipe: Recipe, numbers: str,
                 model: Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]], device: str) -> None:
        self._model, self._device = model, device
        self.batch = ON_GPU if device == "cuda" else 0
        super().__init__(name, f"{origin}, {numbers} on {device}", folder, recipe, weights(folder), numbers)

    def _forward(self, ids: NDArray[np.int64], seen: NDArray[np.int64]) -> Vectors:
        import torch
        if torch.get_num_threads() != THREADS:
            torch.set_num_threads(THREADS)  # of this thread and of those to come
        with torch.inference_mode():
            given = {"input_ids": torch.from_numpy(ids).to(self._device), "attention_mask": torch.from_numpy(seen).to(self._device)}
            made: Vectors = self._model(given)["token_embeddings"].float().cpu().numpy()
        return made


def loaded(folder: str, numbers: str, origin: str, make: Callable[[Recipe, torch.dtype, str], torch.nn.Module]) -> Torched:
    """The encoder of a folder. make: its model, of a recipe, in these numbers, on this device; origin: which library makes it.

    Raises `Invalid` for a model that is damaged or of another kind.
    """
    numbers = numbers or NUMBERS[0]
    kind, device, recipe = kind_of(numbers), place(), read(folder)
    quiet()
    try:
        model = make(recipe, kind, device).to(kind).eval()
    except Exception as fault:  # whatever a library says of files that are not what they should be
        raise damaged(folder, fault) from None
    return Torched(os.path.basename(folder.rstrip("/")), origin, folder, recipe, numbers, model, device)


def weights(folder: str) -> list[str]:
    """Files of weights, as one file or in parts."""
    return sorted(name for name in (os.listdir(folder) if os.path.isdir(folder) else ())
                  if name.endswith(".safetensors") or (name.startswith("pytorch_model") and name.endswith(".bin")))


def fits(folder: str) -> bool:
    """Whether there is a model for torch, by a look at the files alone."""
    return bool(weights(folder)) and os.path.isfile(os.path.join(folder, "config.json"))


def kind_of(numbers: str) -> torch.dtype:
    """The type of weights. Raises `Invalid` for numbers that are not known."""
    import torch
    if numbers not in NUMBERS:
        raise Invalid(f"no numbers {numbers[:20]!r}: say {' or '.join(NUMBERS)}")
    return torch.bfloat16 if numbers == "bf16" else torch.float32


def place() -> str:
    import torch  # noqa: F401  # loaded, so that a GPU is looked for
    return "cuda" if gpu.there() else "cpu"


def quiet() -> None:
    """What transformers says of a model while it loads is for somebody who trains it."""
    from transformers.utils import logging
    logging.disable_progress_bar()
    logging.set_verbosity_error()


def damaged(folder: str, fault: Exception) -> Invalid:
    """What is said of a model that its library does not take."""
    said = " ".join(str(fault).split())[:200]
    return Invalid(f"the model in {folder} is damaged or of another kind ({type(fault).__name__}: {said}): fetch it again, or name another")
