"""What `byref rules check` finds: a rule that is badly made, a pattern that earns nothing, a case that does not hold."""
from __future__ import annotations

import pytest

from byref.filters.checking import Case, cases_of, look, problems
from byref.filters.ruling import KEYS
from byref.proxy.contracts import RuleFile

OUTPUT = "".join(f"fetching part {k} of alpha{k}\n" for k in range(60)) + "BROKEN seam 3\n" + "".join(
    f"word{k} of the ordinary kind, beta{k}\n" for k in range(60)) + "verdict: 3 seams\nbye\n"
GOOD = f"""argv = ["frob", "frob run"]
always = ['''^verdict: ''']
must = ['''^BROKEN ''']
drop = ['''^fetching ''']

[[case]]
command = "cd x && frob --fast run"
exit = 3
output = '''
{OUTPUT}'''
shows = ["BROKEN seam 3", "verdict: 3"]
hides = ["fetching part 30"]
"""


def found(text: str, *others: RuleFile) -> list[str]:
    return problems(RuleFile("frob", text, "/r/frob.toml"), others)


def test_a_sound_rule_has_no_problems() -> None:
    assert found(GOOD) == []


@pytest.mark.parametrize(("old", "new", "said"), [
    ("argv = [", "argv = [[", "toml: "), ("drop =", "dorp =", "dorp: there is no such key; take argv"),
    ("always = [", "always = 3 #", "always: write a list"), ('argv = ["frob", "frob run"]\n', "", "argv: it is missing"),
    ('"frob run"]', '""]', "argv: it is missing or holds an empty"),
    ('["frob", ', '["fr\\u006fb", ', "argv: it is found before the file is parsed"),
    ("always", "shape = 'shapeless'\nalways", "shape: there is no 'shapeless'"),
    ("^BROKEN ", "^BROKEN (", "does not compile"), ("^BROKEN ", "(?=BROKEN)", "does not compile"),
    ("^BROKEN ", "^(BROKEN)*", "matches the empty text"), ("^BROKEN ", "^BORKEN ", "must: '^BORKEN ' matches no line of any case"),
    ("drop =", "group =", "captures nothing"),
    ("command = ", "comand = ", "case 1 comand: there is no such key"), ("exit = 3", "exit = '3'", "case 1 exit: write a number"),
    ("hides = [", "hides = [3, ", "case 1 hides: write a list of texts"),
    ("frob --fast run", "grop", "case 1 command: 'cd x && grop' does not"),
    ('"verdict: 3"', '"verdict: 4"', "'verdict: 4' does not stand in its output; copy"),
    ('["fetching part 30"]', '["verdict: 3"]', "hides: 'verdict: 3' stands in the view of"),
    ('"verdict: 3"', '"beta30"', "shows: 'beta30' does not"),
])
def test_a_problem_names_its_key_and_what_to_do(old: str, new: str, said: str) -> None:
    assert old in GOOD
    told = found(GOOD.replace(old, new, 1))
    assert any(said in problem for problem in told), told
    assert all(problem.split(": ")[0].split()[0] in ("toml", "argv", "shape", "case", "dorp", *KEYS) for problem in told), told


def test_a_rule_without_a_case_fails() -> None:
    assert found(GOOD.partition("[[case]]")[0])[0] == "case: there is none; add a [[case]] with a real output"


def test_an_output_that_passes_whole_hides_nothing() -> None:
    text = "argv = ['frob']\ndrop = ['^a']\n[[case]]\ncommand = 'frob'\noutput = 'abc'\nhides = ['abc']\n"
    assert found(text) == ["case 1 hides: 'abc' stands in the view of 60 tokens (outputs up to 400 bytes pass); add it to drop or group"]


def test_two_files_of_a_folder_may_not_claim_the_same_command() -> None:
    other = RuleFile("other", 'argv = ["x", "frob  run"]', "/r/other.toml")
    assert found(GOOD, other, RuleFile("frob", GOOD, "/r/frob.toml")) == [
        "argv: other.toml claims 'frob run' as well; take it out of one of the two"]


def test_a_case_is_viewed_as_the_pipeline_would_under_an_eighth_of_its_size() -> None:
    [case], wrong = cases_of({"case": [{"command": "frob", "output": OUTPUT, "exit": 2}]})
    assert wrong == [] and case == Case("frob", OUTPUT, 2) and case.budget == (3 * len(OUTPUT) + 9) // 10 // 8
    assert look(case, budget=case.budget).head.startswith("«rk7f3qmab2x frob exit 2: ")
