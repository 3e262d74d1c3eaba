"""What an encoder gives to layers: a vector for each token, and where that token stands. One file of this folder is one encoder.

An encoder is one model under one library. It is loaded by `byref.layers.encoders.choice`, once for all scopes, and may be called
from many threads: documents wait for one another, a query for nobody. The same checkpoint gives the same vectors under every library,
to within 1e-3.
"""
from __future__ import annotations

from typing import Protocol

from byref.proxy.contracts import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]
    Spans: TypeAlias = NDArray[np.int64]
    Late: TypeAlias = Callable[[], bool]

TOLERANCE = 1e-3  # of a number of a vector: between libraries, batches and numbers of threads


@dataclass(frozen=True, slots=True)
class Encoded:
    """The tokens of a text. vectors: (n, width), rows of unit length. spans: (n, 2), characters of the text as it was given, half-open,
    ascending; (0, 0) for what stands nowhere in it, which only queries have (a model may put signs of its own around or behind them).
    tokens: n of them, as they stand in the text; of what stands nowhere, the model's name for it, such as [MASK].
    """

    vectors: Vectors
    spans: Spans
    tokens: tuple[str, ...]


class Encoder(Protocol):
    """A model that is loaded. Every method raises `Invalid`, with what to do, where the model turns out not to fit.

    name: of the model, as a user would say it. origin: the library and the kind of number it computes with. mark: 16 hex digits over
    the model's files and our version of the encoding: vectors of one mark may be compared. width: numbers of a token's vector.
    window: tokens that see one another; a longer text is encoded window by window, and none of it is left out.
    dense: numbers of a text's one vector, 0 for a model that has none.
    """

    name: str
    origin: str
    mark: str
    width: int
    window: int
    dense: int

    def query(self, text: str) -> Encoded: ...
    def documents(self, texts: Sequence[str], late: Late | None = None) -> list[Encoded] | None:
        """One for each text, in their order; a text without tokens has none. None where `late()`, asked before each batch, said stop."""
    def pooled(self, texts: Sequence[str], late: Late | None = None, query: bool = False) -> Vectors | None:
        """(texts, dense), rows of unit length: a text's one vector, pooled as the model says. query: as a question, where that differs.
        A text without tokens has zeros. None where `late()` said stop."""
    def end(self, seconds: float) -> None:
        """Encodes no document any more, and waits so long for a batch that is at work. For the end of the program."""
