"""A GPU counts where it computes, and products are whole while ours are made."""
from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from byref.layers import gpu


def test_without_torch_there_is_none_and_it_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert not gpu.there() and "torch" not in sys.modules


@pytest.fixture
def torch() -> Iterator[Any]:
    found = pytest.importorskip("torch", reason="torch is not here: pip install 'byref[late]'")
    gpu._tried.cache_clear()
    yield found
    gpu._tried.cache_clear()
    found.backends.cuda.matmul.fp32_precision = "ieee"
    found.set_float32_matmul_precision("highest")


def test_one_that_is_seen_and_does_not_compute_is_none(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def ones(*given: Any, **named: Any) -> Any:
        raise RuntimeError("CUDA error: no kernel image is available for execution on the device")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch, "ones", ones)
    assert not gpu.there()


def test_one_that_computes_is_one(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = torch.ones
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch, "ones", lambda count, device: real(count))
    assert gpu.there()


@pytest.mark.parametrize("before", ["highest", "high", "medium"])
def test_products_are_whole_meanwhile_and_as_they_were_afterwards(torch: Any, before: str) -> None:
    torch.set_float32_matmul_precision(before)
    with pytest.raises(ZeroDivisionError), gpu.whole():
        assert torch.get_float32_matmul_precision() == "highest"
        raise ZeroDivisionError
    assert torch.get_float32_matmul_precision() == before


def test_what_was_set_for_a_part_alone_is_put_back_so(torch: Any) -> None:
    part = torch.backends.cuda.matmul
    part.fp32_precision = "tf32"
    with gpu.whole():
        assert part.fp32_precision == "ieee"
    assert part.fp32_precision == "tf32"
