"""The linear modules of sentence-transformers (`Dense`) on numpy, where no torch runs the model. Reads safetensors."""
from __future__ import annotations

import os

from byref.layers.encoders.recipe import table
from byref.proxy.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from byref.layers.encoders.contract import Vectors


class Linear:
    """`activation(x W^T + b)`, with the input or its own projection added where the module says so. Raises `Invalid`."""

    def __init__(self, folder: str) -> None:
        said = table(folder, "config.json")
        held = tensors(os.path.join(folder, "model.safetensors"))
        activation = str(said.get("activation_function", "torch.nn.modules.activation.Tanh")).rpartition(".")[2]
        if activation not in ("Identity", "Tanh") or "linear.weight" not in held:
            raise Invalid(f"the module in {folder} is of another kind ({activation[:40]}): it runs on torch alone")
        self._tanh = activation == "Tanh"
        self._weight, self._bias = held["linear.weight"], held.get("linear.bias")
        self._residual = held.get("residual.weight")
        self._added = said.get("use_residual") is True
        self.taken, self.width = int(self._weight.shape[1]), int(self._weight.shape[0])

    def __call__(self, rows: Vectors) -> Vectors:
        """rows: (..., taken); the answer is (..., width)."""
        import numpy as np
        made: Vectors = rows @ self._weight.T
        if self._bias is not None:
            made += self._bias
        if self._tanh:
            made = np.tanh(made)
        if self._added:
            made += rows if self._residual is None else rows @ self._residual.T
        return made


def tensors(path: str) -> dict[str, Vectors]:
    """Everything in a file of the format safetensors (a JSON head's length in 8 bytes, the head, the numbers), as float32."""
    import json

    import numpy as np
    try:
        with open(path, "rb") as file:
            data = file.read()
        size = int.from_bytes(data[:8], "little")
        head = json.loads(data[8:8 + size])
        found: dict[str, NDArray[np.float32]] = {}
        for name, held in head.items():
            if name == "__metadata__":
                continue
            start, end = held["data_offsets"]
            part = data[8 + size + start:8 + size + end]
            if len(part) != end - start:
                raise ValueError("cut short")
            if held["dtype"] == "BF16":  # the upper half of a float32
                numbers = (np.frombuffer(part, np.uint16).astype(np.uint32) << 16).view(np.float32)
            else:
                numbers = np.frombuffer(part, {"F32": np.float32, "F16": np.float16}[held["dtype"]]).astype(np.float32)
            found[name] = numbers.reshape(held["shape"])
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise Invalid(f"{path} is missing, damaged or of another kind ({fault}): fetch the model again") from None
    return found
