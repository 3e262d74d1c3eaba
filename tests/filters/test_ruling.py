"""Rules: which apply to a call, and what they change in a view."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byref.filters import ruling
from byref.filters.failures import mark, suspects
from byref.filters.lines import split
from byref.filters.render import view
from byref.filters.ruling import Page, Rule, apply, argv_of, chosen, parsed
from byref.filters.units import ALWAYS, ANCHOR, HIDDEN, MUST, PLAIN, Units
from byref.proxy.contracts import Blob, Call, Part, RuleFile, Seen, View
from byref.proxy.errors import ConfigError
from byref.proxy.store.source import BytesSource
from conformance.outputs import made
from conformance.views import check, look


def rule(name: str, body: str) -> RuleFile:
    return RuleFile(name, body, f"/rules/{name}.toml")


def shell(command: str) -> Call:
    return Call("Bash", {"command": command}, 0)


def names(command: str, *extra: RuleFile) -> list[str]:
    return [found.name for found in chosen(shell(command), extra)]


def seen(text: str, command: str, *extra: RuleFile, budget: int | None = None) -> View:
    part = Part("stdout", "text/plain", Blob("", len(text), text.count("\n")))
    return view("rk7f3qmab2x", [(part, BytesSource(text.encode()))], shell(command), Seen(), "auto", budget, extra)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in the place of filters/rules/, with two rules."""
    (tmp_path / "git.toml").write_text('argv = ["git"]\nkeep = ["^x"]\n')
    (tmp_path / "git-log.toml").write_text("# of commits\nargv = [\n  'git log',  # plain\n  \"git reflog\",\n]\n")
    monkeypatch.setattr(ruling, "FOLDER", str(tmp_path))
    ruling.builtin.cache_clear()
    ruling._table.cache_clear()
    yield tmp_path
    ruling.builtin.cache_clear()
    ruling._table.cache_clear()


# -- which rules apply --------------------------------------------------------------------------------

def test_a_longer_sequence_of_words_goes_before_a_shorter(own: Path) -> None:
    assert names("git -C /x --no-pager log -3") == names("cd /x && git reflog") == ["git-log"] and names("git status") == ["git"]


def test_each_command_of_a_line_brings_its_rule_once(own: Path) -> None:
    assert names("git log; git status; git log | head; sudo git show") == ["git-log", "git"]
    assert names("cat x | git log") == [] and names("gitk") == [] and names("") == []


def test_without_a_command_line_no_rule_applies(own: Path) -> None:
    assert chosen(Call("git", {"query": "git log"})) == [] and chosen(Call("mcp__git__log", {"input": "git log"})) == []


def test_what_python_or_node_runs_is_known_by_its_own_name() -> None:
    runner = rule("runner", 'argv = ["frobtest"]')
    module = rule("module", 'argv = ["python -m frobtest"]')
    assert names("python3 -m frobtest -q", runner) == ["runner"]
    assert names("python3 -m frobtest -q", runner, module) == ["module"]
    assert names("node node_modules/.bin/frobtest", runner) == names("./bin/frobtest", runner) == ["runner"]


def test_files_given_go_before_ours_and_the_first_before_the_next(own: Path) -> None:
    project, user = rule("mine", 'argv = ["git log"]\nkeep = ["a"]'), rule("yours", 'argv = ["git log"]\nkeep = ["b"]')
    assert names("git log", project, user) == ["mine"] and names("git log", user, project) == ["yours"]


def test_a_file_hides_ours_of_the_same_name(own: Path) -> None:
    other = rule("git-log", 'argv = ["hg log"]')
    assert names("git log", other) == ["git"] and names("hg log", other) == ["git-log"]
    assert names("git log", rule("git-log", "no argv here")) == ["git-log"]


@pytest.mark.parametrize(("body", "said"), [
    ("keep = 3", "keep: write a list"),
    ('keep = ["("]', "not RE2"), ("= 3", "no TOML"), ('must = ["(?=a)"]', "not RE2"), ("shape = 3", "shape"),
    ('must = ["a", "(?!b)"]', "(?!b)"),
])
def test_a_rule_that_cannot_be_used_is_told_of_and_the_next_one_serves(own: Path, body: str, said: str) -> None:
    told: list[str] = []
    bad = rule("bad", f'argv = ["git log"]\n{body}')
    found = chosen(shell("git log"), (bad,), told.append)
    assert [one.name for one in found] == ["git-log"] and len(told) == 1 and told[0].startswith("/rules/bad.toml: ") and said in told[0]
    assert names("git log", bad) == ["git-log"]


def test_the_start_of_a_file_tells_its_argv_as_toml_does() -> None:
    body = "# argv = ['no']\n\n\targv=['x']\nargv = [ # first\n 'a  b', \"c\", # 'd'\n]\nkeep = ['e']\n"
    assert argv_of(body) == (("a", "b"), ("c",))
    assert argv_of("keep = ['argv']\n") == argv_of("argv = 'a'\n") == argv_of("argv = [\"a\\\"b\"]\n") == ()
    assert parsed(rule("x", 'argv = ["a  b"]\n[[case]]\nthis is no TOML')).argv == (("a", "b"),)
    with pytest.raises(ConfigError):
        parsed(rule("x", "argv = [3]"))


def test_no_file_is_parsed_before_a_command_is_its_business(own: Path) -> None:
    ruling.parsed.cache_clear()
    names("make all")
    assert ruling.parsed.cache_info().misses == 0 and names("git log") == ["git-log"] and ruling.parsed.cache_info().misses == 1


# -- what they change ---------------------------------------------------------------------------------

def units_of(*lines: str) -> Units:
    return split("".join(line + "\n" for line in ("first", *lines, "last"))).units()


def ranks(units: Units) -> list[int]:
    return list(units.rank)[1:-1]


def test_a_key_ranks_the_lines_that_its_patterns_match() -> None:
    units = units_of("total 5", "bad a", "head b", "noise c", "plain")
    apply(units, [Rule("x", (), always=("^total",), must=("^bad",), keep=("^head",), drop=("^noise",))])
    assert ranks(units) == [ALWAYS, MUST, ANCHOR, PLAIN, PLAIN] and units.worth[4] == ruling.NOISE and units.worth[5] == 0
    assert units.failures == {2: 1}


def test_where_several_keys_match_a_line_what_shows_more_wins() -> None:
    both = Rule("x", (), always=("A",), must=("B",), group=("(C)",), keep=("D",), drop=("^",  "[A-E]"))
    units = units_of("A B", "B C", "C D 1", "C D 2", "C 3", "C 4", "D E", "E")
    units.worth[7] = 6
    apply(units, [both])
    assert ranks(units) == [ALWAYS, MUST, ANCHOR, PLAIN, PLAIN, ANCHOR, ANCHOR, PLAIN]
    assert units.repeats == {3: (4, "L7")} and units.worth[7] == 6 and units.worth[8] == ruling.NOISE


def test_lines_alike_in_what_is_captured_stand_with_both_ends_and_their_number() -> None:
    units = units_of("Get:1 a", "Get:2 b", "Put:1 c", "Get:3 d", "Put:2 e", "Get:4 f")
    apply(units, [Rule("x", (), group=(r"^(Get|Put):\d",))])
    assert units.repeats == {1: (4, "L7")} and ranks(units) == [ANCHOR, PLAIN, PLAIN, PLAIN, PLAIN, ANCHOR], "two are no group"


def test_failures_that_say_the_same_are_counted_once_and_distinct_ones_stand() -> None:
    lines = ["12:00:01 broken a", "12:00:02 broken b", "12:00:03 broken a", "12:00:04 broken a", "error: x 1", "error: x 1", "error: x 1"]
    units = split("first\n" + "\n".join(lines) + "\nlast\n").units()
    mark(units, suspects(units.texts))
    apply(units, [Rule("x", (), must=("broken", "^error: x"))])
    assert units.failures == {1: 1, 2: 1, 5: 1} and units.repeats == {1: (3, "L5"), 5: (3, "L8")}
    assert [k for k, level in enumerate(units.rank) if level == MUST] == [1, 2, 4, 5, 7]


def test_a_failure_that_only_a_rule_knows_counts_with_those_known_anyway() -> None:
    units = split("\n".join(["error: a", "x", "error: a", "y", "error: a"])).units()
    mark(units, [2, 4])  # as by a shape that overlooks the first
    apply(units, [Rule("x", (), must=("^error",))])
    assert units.failures == {0: 1} and units.repeats == {0: (3, "L5")}


def test_what_says_that_something_failed_is_never_dropped_nor_grouped() -> None:
    units = units_of(*["step error: disk full"] * 9)
    apply(units, [Rule("x", (), drop=("step",), group=("^(step)",))])
    assert units.repeats == {} and set(units.worth) == {0}


def test_where_failures_are_too_many_those_that_a_rule_alone_knows_go_first() -> None:
    warnings = [f"unit_{k}: unused variable of kind_{k}" for k in range(300)]
    text = "\n".join(["begin", *warnings[:150], "unit: error: no such kind", *warnings[150:], "end"]) + "\n"
    shown = seen(text, "frob", rule("frob", 'argv = ["frob"]\nmust = ["unused variable"]'), budget=100).texts[0]
    assert "error: no such kind" in shown and warnings[0] in shown and warnings[-1] in shown and warnings[100] not in shown


def test_a_match_marks_each_line_that_it_covers_and_no_other() -> None:
    units = units_of("begin", "  a", "  b", "end", "begin", "x")
    apply(units, [Rule("x", (), keep=(r"^begin\n(?:  .*\n)+",))])
    assert ranks(units) == [ANCHOR, ANCHOR, ANCHOR, PLAIN, PLAIN, PLAIN]


def test_a_pattern_that_matches_nothing_at_a_place_marks_nothing() -> None:
    units = units_of("a", "b")
    apply(units, [Rule("x", (), keep=("z*", "^", "$"))])
    assert ranks(units) == [PLAIN, PLAIN]


def test_a_long_line_is_one_line_for_patterns() -> None:
    long = "noise " + "word " * 300
    units = units_of(long, *["Get: " + "a " * 400] * 3)
    first = next(k for k, text in enumerate(units.texts) if text.startswith("noise"))
    apply(units, [Rule("x", (), drop=("^noise .* word $",), group=("^(Get): a",), keep=("^word",))])
    pieces = Page(units).line(first)
    assert len(pieces) > 3 and {units.worth[k] for k in pieces} == {ruling.NOISE}
    [(count, last)] = units.repeats.values()
    assert (count, last) == (3, "L5")
    assert ANCHOR not in {units.rank[k] for k in pieces}, "a line starts at its start"


def test_patterns_see_the_line_numbers_and_paths_that_a_shape_takes_away() -> None:
    units = units_of("12", "13")
    units.labels, units.heads = ["", "a:", "b:", ""], None
    apply(units, [Rule("x", (), keep=("^a:12$",))])
    assert ranks(units) == [ANCHOR, PLAIN]


def test_patterns_are_over_bytes_and_any_text_has_its_lines() -> None:
    units = units_of("é" * 50, "\udcff\udcfe naïve", "日本 x", "x")
    apply(units, [Rule("x", (), keep=("^日本", "naïve"))])
    assert ranks(units) == [PLAIN, ANCHOR, ANCHOR, PLAIN]


def test_what_is_hidden_or_rendered_anew_is_left_alone() -> None:
    units = units_of("", "a")
    units.rank[1] = HIDDEN
    apply(units, [Rule("x", (), always=(r"(?s).+",))])
    assert ranks(units) == [HIDDEN, ALWAYS]
    units = units_of("a")
    units.rendered = True
    apply(units, [Rule("x", (), always=("a",))])
    assert ranks(units) == [PLAIN]


def test_a_shape_that_a_rule_names_is_asked_first() -> None:
    text = "".join(f"ok {k} - case number {k}\n" for k in range(40))
    plain = rule("tap", 'argv = ["prover"]\nshape = "text"')
    assert look(text, "prover").view.shape == "tests"
    assert seen(text, "prover", plain).shape == "text"
    other = rule("other", 'argv = ["second"]\nshape = "log"')
    assert seen(text, "prover && second", plain, other).shape == "tests", "where rules differ, the text decides"


WORDS = st.sampled_from([
    "line", "error", r"\d+", "^.*$", "(a|b)", r"^\s+", "[^x]*", r"\n", "(?s)a.*b", "beta(.)", "é", "$", "^", ".", "(?i)FAIL"])


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.dictionaries(st.sampled_from(ruling.KEYS), st.lists(WORDS, min_size=1, max_size=4).map(tuple)),
       st.sampled_from([None, 60, 200]), st.sampled_from(["safe", "auto", "lean"]))
def test_no_rule_costs_a_view_what_it_promises(seed: int, lists: dict[str, tuple[str, ...]], budget: int | None, profile: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("byref.filters.render.chosen", lambda *_: [Rule("x", (), **lists)])
        shown = [check(look(made(seed, 80), "x", profile=profile, budget=budget)) for _ in range(2)]
        assert shown[0].text == shown[1].text


def test_what_rules_speak_of_stands_in_huge_outputs() -> None:
    lines = [f"{'step' if k % 2 else 'copy'} {k} of many words that are all alike" for k in range(9000)]
    lines[4000:4000] = ["GRUMBLE at part 7", "note: the verdict is 12"]
    lines[6000:6000] = ["GRUMBLE at part 8", "GRUMBLE at part 7", "GRUMBLE at part 7"]
    text = "\n".join(lines) + "\n"
    file = rule("x", 'argv = ["grumble"]\nmust = ["^GRUMBLE"]\nalways = ["verdict"]')
    assert len(text) > 1 << 18
    shown = seen(text, "grumble", file, budget=200).texts[0]
    assert "GRUMBLE at part 8" in shown and "verdict is 12" in shown and "GRUMBLE at part 7\n«×3 to L6003»\n" in shown
