"""The fitted table: integers alone, whole, and in the order that its words promise."""
from __future__ import annotations

from byref.filters import weights
from byref.filters.detect import known
from byref.filters.select import PLANS


def integers(value: object) -> bool:
    """Whether nothing but integers stands in a constant, beside the names that lead to them."""
    if isinstance(value, dict):
        return all(integers(item) for item in value.values())
    return all(map(integers, value)) if isinstance(value, tuple) else type(value) is int


def test_it_holds_integers_alone() -> None:
    assert all(integers(value) for name, value in vars(weights).items() if name.isupper())


def test_profiles_differ_in_how_much_they_show() -> None:
    (safe, safe_cap), (auto, auto_cap), (lean, lean_cap) = (weights.PROFILES[name] for name in ("safe", "auto", "lean"))
    assert safe < 0 < auto < lean and safe_cap > auto_cap > lean_cap
    assert {name: (plan.threshold, plan.cap) for name, plan in PLANS.items()} == weights.PROFILES


def test_strictness_is_of_shapes_that_there_are() -> None:
    assert {*weights.STRICTNESS, *weights.NARROWED} <= {shape.name for shape in known()}


def test_larger_outputs_come_first_so_that_the_first_that_fits_is_meant() -> None:
    sizes = [size for size, _ in weights.LARGE]
    assert sizes == sorted(sizes, reverse=True) and weights.WHOLE < weights.FULL
