"""Whether there is a GPU that computes: one that is seen may be too old for this torch, full, or taken away by a driver."""
from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_IEEE = "highest"


def there() -> bool:
    """Whether torch is loaded anyway, and has a GPU that adds up. Tried once."""
    return "torch" in sys.modules and _tried()


@cache
def _tried() -> bool:
    import torch
    try:
        return bool(torch.cuda.is_available() and float(torch.ones(2, device="cuda").sum()) == 2.0)
    except Exception:  # RuntimeError, AssertionError, what a driver raises: the processor does it then
        return False


@contextmanager
def whole() -> Iterator[None]:
    """Products of float32 in all of their bits meanwhile: some libraries let torch round what it multiplies to ten (TF32) or seven (bf16).

    The setting is that of the process.
    """
    import torch
    part = torch.backends.cuda.matmul
    try:
        before, set_to = torch.get_float32_matmul_precision(), torch.set_float32_matmul_precision
    except RuntimeError:  # it was set for each part by itself, and has to be put back so
        before, set_to = part.fp32_precision, lambda kind: setattr(part, "fp32_precision", "ieee" if kind == _IEEE else kind)
    if before == _IEEE:
        yield
        return
    set_to(_IEEE)
    try:
        yield
    finally:
        set_to(before)
