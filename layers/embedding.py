"""Static embeddings in integers: a text's vector is the sum of its tokens' rows in a table, the same on every machine.

Reads models in the format of model2vec (`model.safetensors`, `tokenizer.json`, `config.json`). The table is quantised first: each
row to int8 by its largest number, with a weight of 12 bits for its length; sums are taken in 64 bits. Needs numpy and tokenizers.
"""
from __future__ import annotations

import os
import re
from bisect import bisect_left, bisect_right

from byref.proxy.contracts import dataclass
from byref.proxy.errors import Invalid
from byref.proxy.query import AS_IT_IS, weighed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    Int8: TypeAlias = NDArray[np.int8]
    Int32: TypeAlias = NDArray[np.int32]
    Int64: TypeAlias = NDArray[np.int64]

VERSION = "1"  # of how texts become vectors
FILES = ("config.json", "model.safetensors", "tokenizer.json")
HOW = "`make models` puts one there, or copy a model2vec model to it"
_WEIGHT = 4095  # of the row that holds the table's largest number
_TOP = 127
_ROOM = 1 << 20  # numbers of a sum are brought below this, so that their squares add up within 64 bits
_TOKENS = 2000  # of one text; more is no chunk of ours
# Where an identifier's words meet: the tokenizer knows no camelCase, and takes other signs apart by itself.
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


_models = ""


def use(folder: str) -> None:
    """Where models lie, a folder each. Until it is said, in the cache folder of the platform."""
    global _models
    _models = folder


def place_of(model: str) -> str:
    """The folder of a model."""
    if _models:
        return os.path.join(_models, model)
    from platformdirs import user_cache_dir
    return os.path.join(user_cache_dir("byref", appauthor=False), "models", model)


@dataclass(frozen=True, slots=True)
class Table:
    """rows: int8, one a token. weights: of the rows. known: 1 for tokens that say something. mark: 16 hex digits of the files' hash."""

    tokenizer: Tokenizer
    rows: Int8
    weights: Int32
    known: NDArray[np.bool_]
    mark: str

    @property
    def width(self) -> int:
        return int(self.rows.shape[1])

    def vectors(self, texts: Sequence[str]) -> tuple[Int8, Int64]:
        """An int8 vector for each text, and its length in 1/256 (`lengths`). A text without known tokens has zeros."""
        import numpy as np
        sums = np.zeros((len(texts), self.width), np.int64)
        for number, text in enumerate(texts):  # one by one: a batch starts threads that outlive a fork
            ids = np.asarray(self.tokenizer.encode(_CAMEL.sub(" ", text), add_special_tokens=False).ids[:_TOKENS], np.int64)
            ids = ids[self.known[ids]]
            if len(ids):
                # 2,000 tokens of 127 * 4,095 add up within 32 bits
                sums[number] = (self.rows[ids] * self.weights[ids, None]).sum(axis=0, dtype=np.int64)
        return quantised(sums)

    def query(self, text: str, weights: Sequence[tuple[str, int]]) -> tuple[Int8, Int64]:
        """The vector of one text, in which words count by their weight in thousandths (`byref.proxy.query.Query.weights`)."""
        if not weights:
            return self.vectors([text])
        import numpy as np
        spans = list(weighed(text, weights))
        starts = [start for start, _, _ in spans]
        cuts = [cut.start() + number for number, cut in enumerate(_CAMEL.finditer(text))]  # where the blanks come to stand
        encoded = self.tokenizer.encode(_CAMEL.sub(" ", text), add_special_tokens=False)
        sums = np.zeros((1, self.width), np.int64)
        for one, (begin, _) in zip(encoded.ids[:_TOKENS], encoded.offsets, strict=False):
            place = begin - bisect_left(cuts, begin)
            at = bisect_right(starts, place) - 1
            weight = spans[at][2] if at >= 0 and place < spans[at][1] else AS_IT_IS
            if weight and self.known[one]:
                sums[0] += self.rows[one].astype(np.int64) * (int(self.weights[one]) * weight)
        return quantised(sums)


def missing(folder: str) -> str:
    """What is not there and how to get it, by a look at the files alone; empty where a model may be loaded."""
    from importlib.util import find_spec
    lacking = [name for name in ("numpy", "tokenizers") if find_spec(name) is None]
    if lacking:
        return f"{' and '.join(lacking)} not installed: pip install 'byref[static]'"
    if not os.path.isdir(folder):
        return f"no model in {folder}: {HOW}"
    absent = [name for name in FILES if not os.path.isfile(os.path.join(folder, name))]
    return f"the model in {folder} lacks {', '.join(absent)}: delete it; {HOW}" if absent else ""


def load(folder: str) -> Table:
    """The model of a folder, quantised. Raises `Invalid` for one that is missing, damaged or of another kind, and says what to do."""
    fault = missing(folder)
    if fault:
        raise Invalid(fault)
    from hashlib import blake2b

    import numpy as np
    from tokenizers import Tokenizer
    held = {}
    for name in FILES:
        with open(os.path.join(folder, name), "rb") as file:
            held[name] = file.read()
    hashed = blake2b(VERSION.encode(), digest_size=8)
    for name in FILES[1:]:
        hashed.update(held[name])
    try:
        numbers = _embeddings(held["model.safetensors"])
        tokenizer = Tokenizer.from_buffer(held["tokenizer.json"])
    except Exception as error:  # tokenizers raises plain ones
        raise Invalid(f"the model in {folder} is damaged or of another kind ({error}): delete it; {HOW}") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if tokenizer.get_vocab_size() != len(numbers):
        raise Invalid(f"the model in {folder} is of another kind: {len(numbers)} rows for {tokenizer.get_vocab_size()} tokens; {HOW}")
    largest = np.maximum(numbers.max(axis=1), -numbers.min(axis=1))
    if not np.isfinite(largest).all():
        raise Invalid(f"the model in {folder} is damaged (numbers that are none): delete it; {HOW}")
    # Single operations of IEEE 754 on each number, no sums: the same on every machine.
    rows = np.rint(numbers * (np.float32(_TOP) / np.where(largest > 0, largest, np.float32(1)))[:, None]).astype(np.int8)
    weights = np.rint(largest.astype(np.float64) * (_WEIGHT / max(float(largest.max()), 1e-30))).astype(np.int32)
    known = largest > 0
    unknown = tokenizer.token_to_id("[UNK]")
    if unknown is not None:
        known[unknown] = False
    return Table(tokenizer, rows, weights, known, hashed.hexdigest())


def _embeddings(data: bytes) -> NDArray[np.float32]:
    """The one matrix in a file of the format safetensors: the length of a JSON head in 8 bytes, the head, the numbers."""
    import json

    import numpy as np
    size = int.from_bytes(data[:8], "little")
    if not 2 <= size <= len(data) - 8:
        raise ValueError("model.safetensors is cut short")
    head = json.loads(data[8:8 + size])
    tensors = {name: value for name, value in head.items() if name != "__metadata__"}
    if list(tensors) != ["embeddings"]:
        raise ValueError(f"model.safetensors holds {', '.join(sorted(tensors))[:80]}, not embeddings alone")
    held = tensors["embeddings"]
    kind = {"F32": np.float32, "F16": np.float16}.get(held["dtype"])
    start, end = held["data_offsets"]
    if kind is None or len(held["shape"]) != 2:
        raise ValueError(f"embeddings are {held['dtype']} of {len(held['shape'])} dimensions")
    if 8 + size + end != len(data):
        raise ValueError("model.safetensors is cut short")
    numbers = np.frombuffer(data, kind, offset=8 + size + start, count=held["shape"][0] * held["shape"][1])
    return numbers.reshape(held["shape"]).astype(np.float32, copy=False)


def quantised(sums: Int64) -> tuple[Int8, Int64]:
    """Rows of 64-bit sums as int8 by each row's largest number, and their lengths."""
    import numpy as np
    sizes = np.abs(sums)
    largest = sizes.max(axis=1, initial=0)
    sizes //= np.maximum(1, -(-largest // _ROOM))[:, None]  # whole numbers alone: what is rounded is then the same everywhere
    top = np.maximum(1, sizes.max(axis=1, initial=0))[:, None]
    vectors = (np.sign(sums) * ((2 * _TOP * sizes + top) // (2 * top))).astype(np.int8)
    return vectors, lengths(vectors)


def lengths(vectors: Int8) -> Int64:
    """Euclidean length of each row in 1/256, rounded down: isqrt, the same on every machine."""
    import numpy as np
    squares = (vectors.astype(np.int64) ** 2).sum(axis=1) << 16
    roots: Int64 = np.sqrt(squares.astype(np.float64)).astype(np.int64)  # within one of the true root; mended in whole numbers
    roots -= roots * roots > squares
    roots += (roots + 1) * (roots + 1) <= squares
    return roots
