"""Which units stand: failures always, what is new and asked for before what is not, under a cap, the same on every machine."""
from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byref.filters.detect import detect
from byref.filters.select import PLANS, Plan, Selection, names, select
from byref.filters.units import ALWAYS, ANCHOR, HIDDEN, MUST, PLAIN, Units
from byref.filters.worth import UNPOINTED
from byref.proxy.contracts import Call, Seen
from conformance.outputs import made

CALL = Call("Bash", {"command": "cat x"}, 0)
ROWS = [f"handled request {i % 7} of worker alpha in the usual way" for i in range(400)]


def units(texts: list[str], rank: dict[int, int] | None = None, **named: object) -> Units:
    ranks = bytearray(len(texts))
    for i, level in (rank or {}).items():
        ranks[i] = level
    return Units(texts, lambda i, j: f"L{i + 1}-{j + 1}", ranks, [0] * len(texts), keys=[t.strip() for t in texts], **named)  # type: ignore[arg-type]


def standing(cut: Units, call: Call = CALL, seen: Seen | None = None, plan: Plan = PLANS["auto"]) -> list[int]:
    return [i for i, flag in enumerate(select(cut, call, seen or Seen(), plan).keep) if flag]


def test_nothing_of_nothing() -> None:
    assert standing(units([])) == []


@pytest.mark.parametrize("profile", PLANS)
@pytest.mark.parametrize("cap", [200, 2000])
def test_failures_stand_under_any_profile_and_cap(profile: str, cap: int) -> None:
    plan = Plan(PLANS[profile].threshold, cap)
    kept = standing(units(ROWS, {100: MUST, 200: ALWAYS, 300: MUST}), plan=plan)
    assert {100, 200, 300} <= set(kept) and len(kept) < 400


def test_safe_leaves_nothing_out_that_fits() -> None:
    assert standing(units(ROWS[:200]), plan=PLANS["safe"]) == list(range(200))


def test_profiles_show_less_and_less() -> None:
    text = "".join(f"value_{i * 37 % 91} of gauge_{i % 13} stands at {i * i % 977} in hall {i % 5}\n" for i in range(220))
    shown = [len(select(detect(text, CALL)[1], CALL, Seen(), PLANS[name]).keep.replace(b"\0", b"")) for name in ("safe", "auto", "lean")]
    assert shown[0] == 220 and shown == sorted(shown, reverse=True) and shown[2] < 220


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(sorted(PLANS)), st.sampled_from([200, 900, 5000]), st.booleans())
def test_what_stands_is_bounded_by_the_cap_and_the_failures(seed: int, profile: str, cap: int, known: bool) -> None:
    text = made(seed)
    cut = detect(text, CALL)[1]
    seen = Seen(frozenset(line.strip() for line in text.split("\n")[::2]), frozenset(), True) if known else Seen()
    keep = select(cut, CALL, seen, Plan(PLANS[profile].threshold, cap)).keep
    sizes = cut.sizes or [len(t) + 1 for t in cut.texts]
    assert len(keep) == len(cut.texts) and not any(keep[i] for i, level in enumerate(cut.rank) if level == HIDDEN)
    closed = 200 * (1 + sum(bool(flag) for flag in keep))  # what a gap would not pay for
    must = sum(size for size, level in zip(sizes, cut.rank, strict=True) if level in (MUST, ALWAYS))
    assert sum(size for size, flag in zip(sizes, keep, strict=True) if flag) <= max(cap, min(must, 4 * cap) + cap) + closed


@pytest.mark.parametrize("text", ["".join(f'{{\n  "id": {i},\n  "state": "open"\n}},\n' for i in range(300)), "f(a,b);" * 3000, "x" * 9000],
                         ids=["indented JSON", "minified code", "one word"])
def test_of_what_is_worth_little_to_anyone_the_opening_stands(text: str) -> None:
    cut = detect(text, CALL)[1]
    kept = standing(cut)
    assert kept == list(range(len(kept))) and kept and sum(len(cut.texts[i]) for i in kept) <= 320
    known = Seen(frozenset(cut.keys), frozenset(), True)
    assert len(standing(cut, seen=known)) < 2, "unless the context holds it"
    assert sum(len(cut.texts[i]) for i in standing(cut, plan=Plan(PLANS["auto"].threshold, 200))) <= 200


def test_what_is_too_long_for_a_name_is_none() -> None:
    rows = ["start", "x" * 200, *ROWS, "y" * 150, *ROWS]
    chosen = select(units(rows), CALL, Seen(), PLANS["lean"])
    chosen.keep[:] = bytes(len(rows))
    assert "y" * 150 in names(chosen) and "x" * 200 not in names(chosen)


def test_lines_with_what_the_call_looks_for_come_first() -> None:
    rows = [*ROWS[:150], "the quarantine_policy of tenant blue was changed", *ROWS[150:300], "the retention of tenant red was changed"]
    for call in (Call("Bash", {"command": "cat x"}, 0, intent="quarantine_policy"), Call("Bash", {"query": "quarantine policy"}, 0)):
        kept = standing(units(rows), call, plan=Plan(165, 600, gap=1))
        assert 150 in kept and len(kept) < 40


def test_an_identifier_of_the_task_is_meant_where_it_is_a_part_of_a_dotted_name_too() -> None:
    rows = [*ROWS[:150], "    return [one for one in rows if one.quarantine_policy != 3]", *ROWS[150:300]]
    plan = Plan(165, 600, gap=1)
    for task, yes in (("mend quarantine_policy", True), ("mend the retention_policy", False), ("mend one thing", False)):
        assert (150 in standing(units(rows), Call("Read", {"file_path": "x.py"}, 0, task=task), plan=plan)) is yes, task


def test_an_identifier_of_the_task_is_sought_in_more_lines_of_a_longer_output() -> None:
    at = range(100, 1100, 166)
    rows = [f"    {('seen', 'kept', 'told')[i % 3]}_{i % 7} = another(value_{i}, 'of page {i}')" for i in range(1100)]
    for i in at:
        rows[i] = f"        if row.garden_id != harbour_{i}.place:"
    call = Call("Read", {"file_path": "harbour.py"}, 0, task="mend garden_id in harbour.py")
    assert set(at) <= set(standing(units(rows), call))
    for i in range(5, 1100, 40):  # in every fortieth line it is a name like others, but where it begins is shown
        rows[i] = f"        if row.garden_id != harbour_{i}.place:"
    kept = standing(units([row.replace("row.", "row ") for row in rows]), call)
    assert 5 in kept and not set(range(5, 1100, 40)) <= set(kept)


def test_gaps_name_first_what_the_task_names_where_no_line_that_stands_holds_it() -> None:
    rows = [*ROWS[:300], "status of the account: suspended", *ROWS[:300]]
    call = Call("Bash", {"command": "cat x"}, 0, task="which users are suspended, of worker alpha")
    selection = select(units(rows), call, Seen(), Plan(400, 20_000))
    assert not selection.keep[300] and next(iter(names(selection))) == "suspended"
    assert "alpha" not in names(selection), "a line that stands says it"


def test_lines_shown_before_collapse_only_where_the_context_is_proven() -> None:
    known = frozenset(ROWS[100:200])
    rows = [f"{row} {i}" if not 100 <= i < 200 else row for i, row in enumerate(ROWS[:300])]
    plan = PLANS["safe"]
    assert standing(units(rows), seen=Seen(known, frozenset(), False), plan=plan) == list(range(300))
    kept = standing(units(rows), seen=Seen(known, frozenset(), True), plan=plan)
    assert kept == [i for i, row in enumerate(rows) if row not in known]


def test_names_and_summaries_stand_though_they_were_shown_and_failures_need_not() -> None:
    seen = Seen(frozenset(ROWS), frozenset(), True)
    for plan in PLANS.values():
        kept = standing(units(ROWS, {100: MUST, 200: ALWAYS}), seen=seen, plan=plan)
        assert 200 in kept and 100 not in kept


def test_a_gap_dearer_than_its_content_is_shown() -> None:
    rows = [f"alpha_{i} beta_{i} gamma_{i} delta_{i} epsilon_{i} zeta_{i} eta_{i} theta_{i} iota_{i} kappa_{i}" for i in range(60)]
    seen = Seen(frozenset([*rows[10:11], *rows[20:40]]), frozenset(), True)
    short = [row if i != 10 else "short one" for i, row in enumerate(rows)]
    kept = standing(units(short), seen=Seen(frozenset([*seen.lines, "short one"]), frozenset(), True), plan=PLANS["safe"])
    assert 10 in kept and 25 not in kept


def test_hidden_units_never_stand() -> None:
    cut = units(["first", "", "last"], {0: ANCHOR, 1: HIDDEN, 2: ANCHOR}, sizes=[6, 50, 5])
    assert standing(cut) == [0, 2], "however small"


def test_beyond_four_budgets_the_first_and_last_failures_stand() -> None:
    rows = [f"ERROR {i} of the run" for i in range(2000)]
    kept = standing(units(rows, dict.fromkeys(range(2000), MUST)), plan=Plan(44, 500))
    assert kept[0] == 0 and kept[-1] == 1999 and len(kept) < 150
    assert sum(b != a + 1 for a, b in pairwise(kept)) == 1, "one gap between them"


@pytest.mark.parametrize(("term", "worth", "yes"), [
    ("get_value", 2, True), ("12345", 1, False), ("12345", UNPOINTED["number"], False), ("12345", UNPOINTED["number"] + 1, True),
    ("/tmp/x1", 1, False),
    ("\udcff\udcfe_abc", 9, False), ("a\u202eb_c", 9, False), ("日本語です", 9, True),
])
def test_what_a_gap_may_name(term: str, worth: int, yes: bool) -> None:
    assert (term in names(Selection(bytearray(1), [[term]], {term: worth}))) == yes
    assert names(Selection(bytearray(b"\1"), [[term]], {term: worth})) == {}, "what the view shows needs no name"


def test_names_are_ordered_by_worth_a_character_then_by_themselves() -> None:
    worth = {"beta_one": 9, "alpha_on": 9, "a_very_long_name_of_little_use": 9, "gold": 90}
    assert list(names(Selection(bytearray(1), [list(worth)], worth))) == ["gold", "alpha_on", "beta_one", "a_very_long_name_of_little_use"]


def test_ranks_and_scores_are_integers_all_the_way() -> None:
    cut = units(ROWS)
    assert all(type(value) is int for value in select(cut, CALL, Seen(), PLANS["auto"]).worth.values())
    assert PLAIN == 0


def test_a_code_fence_stands_with_its_other_end() -> None:
    rows = [row for i in range(60)
            for row in ("```", f"connect(pool_{i % 3}, idle_handles_{i})", "```", f"paragraph {i} of the handbook says little")]
    for plan in (Plan(150, 900), Plan(400, 900), Plan(150, 300)):
        kept = [rows[i] for i in standing(units(rows), plan=plan)]
        assert kept.count("```") % 2 == 0 and len(kept) < len(rows)
