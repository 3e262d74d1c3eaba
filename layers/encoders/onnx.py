"""Models exported to ONNX, by onnxruntime: light, without torch. Any folder with a model.onnx beside a tokenizer.json.

The graph's own projection is used; where it ends before, the linear modules beside it are applied here.
"""
from __future__ import annotations

import os

from byref.layers.encoders.batched import Batched
from byref.layers.encoders.linear import Linear
from byref.layers.encoders.recipe import Recipe, read
from byref.proxy.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from byref.layers.encoders.contract import Vectors

NEEDS = ("numpy", "tokenizers", "onnxruntime")
EXTRA = "onnx"
THREADS = 2  # a wider pool waits for its last thread whenever something else runs
PLACES = ("model.onnx", "onnx/model.onnx", "model_int8.onnx", "onnx/model_int8.onnx", "onnx/model_quantized.onnx")
WANTED = ("*.json", "1_*/*", "2_*/*", "3_*/*", *PLACES, "model.onnx_data", "onnx/model.onnx_data")  # of a repository
_FED = ("input_ids", "attention_mask", "token_type_ids")


def fits(folder: str) -> bool:
    return bool(_graph(folder))


def load(folder: str, numbers: str = "") -> Onnx:
    """The encoder of a folder. numbers: only what the file has. Raises `Invalid` for a model that is damaged or of another kind."""
    if numbers:
        raise Invalid(f"an ONNX model computes in the numbers of its file: leave :{numbers} away, or name a folder without model.onnx")
    graph = _graph(folder)
    if not graph:
        raise Invalid(f"no ONNX model in {folder}: it would be {' or '.join(PLACES[:2])}")
    return Onnx(folder, read(folder), graph)


class Onnx(Batched):
    """See the module."""

    def __init__(self, folder: str, recipe: Recipe, graph: str, threads: int = THREADS) -> None:
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = min(threads, os.cpu_count() or 1)
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # measured on a busy machine: half the processor's time
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(os.path.join(folder, graph), options, providers=["CPUExecutionProvider"])
        except Exception as fault:  # onnxruntime has a family of its own, of which all say the same of a file
            raise Invalid(f"{graph} in {folder} is damaged or of another kind ({str(fault)[:200]}): fetch the model again") from None
        self._fed = [one.name for one in self._session.get_inputs()]
        if unknown := set(self._fed) - set(_FED):
            raise Invalid(f"{graph} in {folder} asks for {', '.join(sorted(unknown))}; encoders of texts take {', '.join(_FED)}")
        self._output = self._tokenwise(graph, folder)
        self._linear: list[Linear] = []
        linear = [Linear(os.path.join(folder, place)) for place in recipe.projections]
        if linear and self._ends(self._output) != linear[-1].width:
            self._linear = linear
        super().__init__(os.path.basename(folder.rstrip("/")), f"onnxruntime, {graph}", folder, recipe, (graph, graph + "_data"))

    def _forward(self, ids: NDArray[np.int64], seen: NDArray[np.int64]) -> Vectors:
        import numpy as np
        given = {"input_ids": ids, "attention_mask": seen, "token_type_ids": np.zeros_like(ids)}
        try:
            made: Vectors = self._session.run([self._output], {name: given[name] for name in self._fed})[0]
        except Exception as fault:  # as above
            raise Invalid(f"the model {self.name} fails on a text ({str(fault)[:200]}): it may be of another kind") from None
        made = made.astype(np.float32, copy=False)
        for linear in self._linear:
            made = linear(made)
        return made

    def _tokenwise(self, graph: str, folder: str) -> str:
        """The output that has a vector for each token: of several, the first."""
        for one in self._session.get_outputs():
            if len(one.shape) == 3 and str(one.type) in ("tensor(float)", "tensor(float16)"):
                return str(one.name)
        raise Invalid(f"{graph} in {folder} has no output of (texts, tokens, numbers): export the model with its last hidden state")

    def _ends(self, output: str) -> object:
        return next(one.shape[2] for one in self._session.get_outputs() if one.name == output)


def _graph(folder: str) -> str:
    return next((place for place in PLACES if os.path.isfile(os.path.join(folder, place))), "")
