"""What a branch adds, by profile."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.layers.fusion import CASCADE, EMPHASES, PROFILES, RECIPROCAL, STEPS, fused, of_late, points
from byref.layers.weighted import SYNONYM


def test_in_the_cascade_a_branch_adds_its_share_of_the_best_score_and_of_two_of_one_signal_the_better_counts() -> None:
    half = points(CASCADE, "balanced", "bm25", "words", 3, 50, 100, "original")
    assert half == 4 * 10_000 // 2 and points(CASCADE, "balanced", "text", "words", 3, 100, 100, "original") == half
    assert points(CASCADE, "balanced", "bm25", "words", 3, 50, 100, SYNONYM) == half * 7 // 10
    assert fused(CASCADE, "balanced", [("words", half), ("words", half - 1), ("static", 7)], False) == half + 7


def test_late_interaction_goes_before_all_else_and_its_ties_go_by_the_rest() -> None:
    assert points(CASCADE, "balanced", "late", "late", 1, 5000, 5000, "original") == STEPS
    most = [(signal, 10_000 * weight) for signal, weight in EMPHASES["balanced"].items()]
    assert fused(CASCADE, "balanced", [("late", 10), *most], True) < fused(CASCADE, "balanced", [("late", 11), ("static", 1)], True)
    least = fused(CASCADE, "balanced", [("late", 10), ("static", 1)], True)
    assert fused(CASCADE, "balanced", [("late", 10), ("words", 9000)], True) > least
    assert fused(CASCADE, "balanced", [("late", STEPS)], True) < least, "what late interaction alone found was chosen by nobody"
    assert of_late("late") and of_late("late-other") and not of_late("later")


def test_reciprocal_ranks_are_the_first_twenty() -> None:
    assert points(RECIPROCAL, "balanced", "static", "static", 1, 9, 9, "original") == 1_000_000 * EMPHASES["balanced"]["static"] // 61
    assert points(RECIPROCAL, "balanced", "static", "static", 21, 9, 9, "original") == 0


@pytest.mark.parametrize("profile", PROFILES)
@given(st.sampled_from(sorted(EMPHASES)), st.integers(1, 300), st.integers(-5, 10**9), st.integers(0, 10**9))
def test_a_branch_never_takes_away(profile: str, emphasis: str, rank: int, score: int, best: int) -> None:
    assert points(profile, emphasis, "late", "late", rank, score, max(score, best), "original") >= 0
