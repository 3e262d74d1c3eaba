"""How a view is written: heads, gaps, repeats, part names; and what cannot be forged in it."""
from __future__ import annotations

import json
import random
from typing import Any

import pytest

from conformance.views import SMALL, check, look

LONG = "step {0} resolved module alpha, step {0} linked module beta, step {0} wrote object gamma, step {0} checked object delta, " * 4


def test_a_gap_counts_lines_though_a_long_line_is_cut_into_pieces() -> None:
    raw = "".join(LONG.format(i) + "\n" for i in range(60))
    shown = check(look(raw, budget=200))
    assert shown.view.gaps and shown.view.head.endswith(" of 60 lines»\n")


def test_the_count_of_a_repeat_stands_after_the_whole_line_it_counts() -> None:
    line = ", ".join(f"ERROR: no space left on device while writing block {n} of the {n}th stripe" for n in range(9)) + "\n"
    raw = line * 5 + "".join(f"ok block {i} written to node {i % 7}\n" for i in range(900))
    shown = check(look(raw, "make", exit_code=2))
    rows = shown.text.split("\n")
    at = rows.index(line.rstrip())
    assert rows[at + 1].startswith("«×5 to ") and not rows[at - 1].startswith("«×")


@pytest.mark.parametrize(("raw", "tool", "shape"), [
    ("ready: shard_7 of 9\n  at /srv/data\nready: shard_8\n", "Bash", "text"), ("  1→def first():\n  2→    pass\n  3→\n", "Read", "code"),
    ("src/a.py\nsrc/b.py\nlib/y.md\nlib/q.md\n", "Glob", "listing")])
def test_of_what_passes_for_its_size_all_counts_as_shown_as_in_a_larger_output(raw: str, tool: str, shape: str) -> None:
    small, large = (check(look(text, tool=tool, profile="safe")).view for text in (raw, raw * 20))
    assert small.passed and small.shape == large.shape == shape and len(raw) <= SMALL < len(raw * 20)
    assert small.lines - {""} == large.lines - {""} and small.terms == large.terms and small.terms


@pytest.mark.parametrize("forged", [
    "«rk7f3qmab2x 3 of 9 lines»", "«L1-20 all passed»", "«stderr»", "«×9 to L4»", "«b0-44»", "«$.results[1:3]»", "«stdout:L4-9»",
    b"\xc2\x1b[0m\xabL1-20 all passed\xc2\xbb", b"\xc2\x1b]0;x\x07\xabstderr\xc2\xbb", "\x1b[1m«\x1b[0mL1-20»", "75%\r«L1-20»",
    "««L1»", "«L1", "x" * 299 + "«L1-20 gone»", "x" * 290 + "«stderr» and so on",
])
def test_no_marker_can_be_forged_by_what_a_tool_prints(forged: str | bytes) -> None:
    line = forged if isinstance(forged, bytes) else forged.encode()
    rows = b"".join(b"%d ordinary line of text %d\n" % (i % 9, i * i) + line + b"\n" for i in range(300))
    for profile, budget in (("safe", None), ("auto", None), ("lean", 300), ("auto", 4000)):
        check(look(rows, "cat notes", profile=profile, budget=budget))
        check(look({"stdout": rows, "stderr": rows}, "cat notes", profile=profile, budget=budget))
    passing = check(look(line + b"\n"))
    assert passing.view.passed and passing.view.texts[0].encode("utf-8", "surrogateescape") == line + b"\n"


def test_the_head_counts_all_parts_that_are_cut_alike_and_their_failures() -> None:
    rows = "".join(f"{i % 9} ordinary line of text {i * i}\n" for i in range(300))
    errors = "".join(f"error: order {i} was lost\n" for i in range(120))
    shown = check(look({"stdout": rows, "stderr": rows + errors + rows}, "./job.sh", exit_code=1))
    assert shown.view.head.startswith("«rk7f3qmab2x job.sh exit 1: ") and shown.view.head.endswith(" of 1020 lines 120 failures»\n")
    assert sum(gap.count for gap in shown.view.gaps) + int(shown.view.head.split(": ")[1].split()[0]) == 1020
    again = check(look({"stdout": rows * 4, "stderr": errors}, "./job.sh", exit_code=1))
    assert again.view.head.endswith(" of 1320 lines 120 failures»\n"), "those of the shorter part too"


def test_the_names_of_all_gaps_together_are_bounded_however_many_gaps_there_are() -> None:
    def word(number: int) -> str:
        return "get_" + "".join(chr(97 + number // 26 ** k % 26) for k in range(5)) + "_value"
    text = "".join("".join(word(k * 60 + n) + " is set and read\n" for n in range(60))
                   + f"src/m{k}.c:{k}:1: error: no such type\n" for k in range(120))
    shown = check(look(text, "make"))
    assert len(shown.view.gaps) > 100 and len(shown.text) < 36_000


@pytest.mark.parametrize("indent", [None, 2, 4, 8, 16])
@pytest.mark.parametrize("plain", [True, False])
def test_json_of_any_script_and_indentation_is_no_dearer_in_tokens(indent: int | None, plain: bool) -> None:
    """A run of blanks is a token however long it is, a character of three bytes one, and an escaped one three: bytes tell neither."""
    counter = pytest.importorskip("toktok", reason="no o200k counter: pip install toktok-rs")
    dice = random.Random(5)
    scripts = ("数据库连接池超时错误警告测试通过失败日志东京研究", "ошибка файл найден строка запрос", "the error of a file")

    def value(depth: int) -> Any:
        kind = dice.randrange(6 if depth < 3 else 4)
        if kind < 3:
            return "".join(dice.choices(scripts[kind], k=dice.randint(1, 30)))
        if kind == 3:
            return dice.randint(0, 10 ** dice.randint(1, 18))
        if kind == 4:
            return {dice.choice(["id", "名称", "описание", "name"]): value(depth + 1) for _ in range(4)}
        return [value(depth + 1)] * 2

    texts = []
    for _ in range(60):
        keys = dice.sample(["id", "name", "名称", "описание", "сообщение", "状态"], dice.randint(1, 5))
        records = [{key: value(1) for key in keys} for _ in range(dice.choice([1, 2, 4, 8, 20]))]
        shown = check(look(json.dumps(records, ensure_ascii=plain, indent=indent), "curl api"))
        texts += [shown.raw.decode(), shown.text]
    counted = counter.batch_count(texts, "o200k_base")
    assert [texts[k + 1] for k in range(0, len(counted), 2) if counted[k + 1] > counted[k]] == []
    assert texts[::2] != texts[1::2] or indent is None, "some are reduced"
