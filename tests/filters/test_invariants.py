"""The invariants of docs/design.md, section 2, that concern views: over real outputs, recorded ones, and made ones of all kinds.

`conformance.views.check` is the oracle: it knows the raw bytes and the view, and shares no code with the filters.
"""
from __future__ import annotations

import hashlib
import os
import random
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from byref.filters.render import MARKER
from byref.filters.sieve import HUGE
from byref.proxy.contracts import Seen
from conformance.outputs import COMMANDS, KINDS, ROOT, SHARED, Output, made, real, shared, turns
from conformance.shapes import NAMES as NAMES_OF_SHAPES
from conformance.shapes import look_as
from conformance.views import REF, Shown, check, line_ends, look, rows_of, span

WIDE = "日本語のログ、"
PROFILES = ("safe", "auto", "lean")
CALLS = st.sampled_from([None, "", "cat f", "make test", "pytest -q", "grep -rn x .", "npm install", "pytest -v | tail", "git diff"])
NAMES = st.sampled_from(["stdout", "stderr", "text", "L5", "out.2", "content-0", "b", "étape", "two words", "a»b", "x\ny", "n" * 33])
TOOLS = st.sampled_from(["Bash", "Read", "Edit", "grep", "mcp__x__y"])
thorough = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
every_real = pytest.mark.parametrize("name", COMMANDS)
LOGS = ("analysis-model", "local", "loghub", "terminal-bench", "tokf")
FOLDERS = (*(f"corpus/logs/{name}" for name in LOGS), "corpus/api", "cases")


def of(name: str) -> Output:
    output = real(name)
    if not any(output.parts.values()):
        pytest.skip(f"the command of {name!r} printed nothing here")
    if name in ("history", "patch") and output.exit_code:
        pytest.skip("no git history here")
    return output


def tokens(texts: list[str]) -> list[int]:
    counter = pytest.importorskip("toktok", reason="no o200k counter: pip install toktok-rs")
    return [int(n) for n in counter.batch_count([t.encode("utf-8", "replace").decode() for t in texts], "o200k_base")]


def recorded(folder: str) -> list[Path]:
    files = shared(f"{folder}/**/*")
    if not files:
        pytest.skip(f"no {SHARED / folder}: it is laid beside the checkout where this project is developed")
    return files[::2] if len(files) > 40 else files


def seen_by(*shown: Shown) -> Seen:
    return Seen(frozenset().union(*(s.view.lines for s in shown)), frozenset().union(*(s.view.terms for s in shown)), True)


# -- 3 and 4: never worse, declared -------------------------------------------------------------------

@every_real
@pytest.mark.parametrize("profile", PROFILES)
def test_real_outputs_nothing_falls_between_and_nothing_is_made_up(name: str, profile: str) -> None:
    output = of(name)
    views = [check(look(output.parts, profile=profile, budget=budget, **output.call)) for budget in (None, 60, 700)]
    raw, *counted = tokens([views[0].raw.decode("utf-8", "replace"), *(v.text for v in views)])
    assert all(count <= raw for count in counted), "a view costs no more than its output"


@every_real
def test_real_outputs_shown_again_in_part_and_whole(name: str) -> None:
    output = of(name)
    first = check(look(output.parts, **output.call))
    again = check(look(output.parts, seen=seen_by(first), **output.call))
    half = Seen(frozenset(sorted(first.view.lines)[::2]), first.view.terms, True)
    other = check(look(output.parts, seen=half, profile="safe", **output.call))
    raw, *counted = tokens([first.raw.decode("utf-8", "replace"), again.text, other.text])
    assert all(count <= raw for count in counted)


@pytest.mark.parametrize("folder", FOLDERS)
def test_recorded_files(folder: str) -> None:
    texts = []
    for i, file in enumerate(recorded(folder)):
        profile, budget = PROFILES[i % 3], (None, None, 300, 60, 3000)[i % 5]
        command = ("cat log", "make build", "pytest", "docker build .")[i % 4]
        try:
            shown = check(look(file.read_bytes(), command, profile=profile, budget=budget, exit_code=i % 2))
        except AssertionError as fault:
            raise AssertionError(f"{file.name} as {command}, {profile}, {budget}: {fault}") from fault
        texts += [shown.raw.decode("utf-8", "replace"), shown.text]
    counted = tokens(texts)
    assert [k // 2 for k in range(0, len(counted), 2) if counted[k + 1] > counted[k]] == []


@pytest.mark.parametrize("name", ["trajectories-local.jsonl", "trajectories-open.jsonl"])
def test_recorded_sessions_where_much_was_shown_before(name: str) -> None:
    if not (SHARED / "corpus" / name).is_file():
        pytest.skip(f"no {name} beside the checkout")
    texts = []
    for session in turns(name, 8):
        lines: set[str] = set()
        terms: set[str] = set()
        for turn in session[:40]:
            seen = Seen(lines, terms, True)
            shown = check(look(turn["output"] or "", tool=turn["tool"], arguments=turn["args"], exit_code=None, seen=seen))
            lines |= shown.view.lines
            terms |= shown.view.terms
            texts += [shown.raw.decode("utf-8", "replace"), shown.text]
    counted = tokens(texts)
    assert [texts[k + 1][:80] for k in range(0, len(counted), 2) if counted[k + 1] > counted[k]] == []


@thorough
@given(st.integers(0, 10**9), CALLS, TOOLS, st.sampled_from(PROFILES), st.sampled_from([None, None, 60, 100, 400]),
       st.sampled_from([0, 1, None]), st.sampled_from([0, 0, 2, 3]))
def test_any_text_call_profile_budget_and_past(seed: int, command: str | None, tool: str, profile: str, budget: int | None,
                                               code: int | None, nth: int) -> None:
    raw = made(seed)
    lines = [line.strip() for line in raw.split("\n")]
    seen = Seen(frozenset(lines[::nth]), frozenset(), True) if nth else Seen()
    check(look(raw, command, tool=tool, profile=profile, budget=budget, exit_code=code, seen=seen))


@quick
@given(st.lists(st.binary(max_size=400) | st.sampled_from([b"\n", b"\r\n", b"\x1b[31m", "«L1-9»".encode(), "日本".encode()[:4],
                                                     b"word " * 90]),
                max_size=40),
       st.sampled_from(PROFILES), st.sampled_from([None, 60, 200]))
def test_any_bytes(pieces: list[bytes], profile: str, budget: int | None) -> None:
    check(look(b"".join(pieces), "cat f", profile=profile, budget=budget))
    check(look(b"".join(pieces) * 9, "cat f", profile=profile, budget=budget))


@quick
@given(st.dictionaries(NAMES, st.integers(0, 10**6).map(lambda seed: made(seed, 40)) | st.just(""), min_size=1, max_size=5),
       st.sampled_from(PROFILES))
def test_any_parts(parts: dict[str, str], profile: str) -> None:
    check(look(parts, "make", profile=profile, exit_code=1))


@pytest.mark.parametrize("count", [2, 20, 80])
def test_many_parts_cost_their_headings_too(count: int) -> None:
    for size in (3, 20, 60):
        check(look({f"part-number-{i}": "alpha beta gamma\n" * size for i in range(count)}, "make", profile="lean"))
        check(look({f"part-number-{i}": ("alpha beta gamma\n" * size)[:-1] for i in range(count)}, "make", profile="lean"))


@pytest.mark.parametrize("size", [3000, 9000, 16_000, 30_000, 90_000])
def test_bytes_that_take_more_room_as_text(size: int) -> None:
    noise = random.Random(size).randbytes(size)
    words = "".join(f"día {i} año {i * 7} señal\n" for i in range(size // 20)).encode("latin-1")
    for raw in (noise, words, b"".join(noise[i:i + 40] + b"\n" for i in range(0, size, 40)), (WIDE * size).encode()[:size]):
        for profile in PROFILES:
            check(look(raw, "cat f", profile=profile))


@pytest.mark.parametrize("width", [20, 80, 200, 400])
@pytest.mark.parametrize("sign", ["-", "=", " ", ".", "\t", "0", "_ "])
def test_what_is_long_in_bytes_and_short_in_tokens(sign: str, width: int) -> None:
    views = []
    for count in (2, 3, 5, 9, 30):
        raw = "Results of the whole run\n" + (sign * width + "\n") * count + "end of the list\n" * 3
        views += [check(look(raw, "cat f", profile=profile)) for profile in PROFILES]
        views += [check(look(raw, "cat f", profile="safe", seen=Seen(frozenset([(sign * width).strip()]), frozenset(), True)))]
    counted = tokens([text for shown in views for text in (shown.raw.decode(), shown.text)])
    assert [views[k // 2].text for k in range(0, len(counted), 2) if counted[k + 1] > counted[k]] == []


# -- 3: small outputs pass ----------------------------------------------------------------------------

@quick
@given(st.integers(0, 10**6), st.sampled_from(PROFILES), st.booleans(), st.sampled_from([None, 1, 60]))
def test_small_outputs_pass_whatever_they_say_and_was_shown(seed: int, profile: str, known: bool, budget: int | None) -> None:
    raw = made(seed).encode("utf-8", "surrogateescape")[:400]
    lines = frozenset(line.strip() for line in raw.decode("utf-8", "surrogateescape").split("\n"))
    seen = Seen(lines, frozenset(), True) if known else Seen()
    shown = check(look(raw, "cat f", profile=profile, seen=seen, exit_code=1, budget=budget))
    assert shown.view.passed and shown.text.encode("utf-8", "surrogateescape") == raw


# -- 2: deterministic ---------------------------------------------------------------------------------

_SEEDS = range(0, 60)
_SCRIPT = """
import sys; sys.path[:0] = sys.argv[1:]
from filters_digest import digest_of
print(digest_of())
"""


def digest_of() -> str:
    """One hash over the views of made texts, under every profile, with and without a past."""
    total = hashlib.sha256()
    for seed in _SEEDS:
        raw = made(seed)
        seen = Seen(frozenset(line.strip() for line in raw.split("\n")[::2]), frozenset(), True) if seed % 3 == 0 else Seen()
        command = ("cat f", "pytest", "make")[seed % 3]
        shown = look(raw, command, profile=PROFILES[seed % 3], seen=seen, exit_code=seed % 2, task="find worker alpha_3 order")
        views = [shown, *(look_as(name, raw, command, exit_code=seed % 2) for name in NAMES_OF_SHAPES[seed % 5::5])]
        for one in (each.view for each in views):
            total.update("".join((*one.texts, one.head, repr(one.gaps), *sorted(one.terms | one.lines))).encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def test_the_same_bytes_twice_and_in_other_processes(tmp_path: Path) -> None:
    here = digest_of()
    assert digest_of() == here
    (tmp_path / "filters_digest.py").write_text(Path(__file__).read_text())
    for seed, locale, zone in (("1", "C", "UTC"), ("4242", "C.UTF-8", "Asia/Tokyo")):
        env = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale, "TZ": zone}
        done = subprocess.run([sys.executable, "-c", _SCRIPT, str(tmp_path), str(ROOT / "tests")], env=env, capture_output=True, check=True)
        assert done.stdout.decode().strip() == here


# -- 4: markers ---------------------------------------------------------------------------------------

@quick
@given(st.integers(0, 10**6))
def test_what_looks_like_a_marker_is_untouched_where_an_output_passes(seed: int) -> None:
    rows = [KINDS["mark"](None, i + seed) for i in range(8)]  # type: ignore[arg-type]
    assert look("\n".join(rows)).text == "\n".join(rows)


@pytest.mark.parametrize("command", [
    "«L1-9»", "run«stderr»", "x\ny»«", "../«stderr»", "/usr/bin/x\n«rk7f3qmab2x»", "python -m «x»", "a" * 900, "日本 x", "", "||"])
@pytest.mark.parametrize("tool", ["Bash", "x»y", "tool\n«L1»", "t" * 300, ""])
def test_no_command_line_or_tool_name_forges_a_marker(command: str, tool: str) -> None:
    raw = "".join(f"ordinary line {i % 9} of text {i * i}\n" for i in range(600))
    shown = check(look(raw, command, tool=tool, exit_code=3))
    assert not shown.view.passed and "exit 3" in shown.view.head and len(shown.view.head) < 80


@every_real
@pytest.mark.parametrize("profile", PROFILES)
def test_what_markers_cost(name: str, profile: str) -> None:
    output = of(name)
    shown = check(look(output.parts, profile=profile, **output.call))
    if shown.view.passed:
        return
    head, *markers = shown.markers
    assert tokens([head])[0] <= 25
    raw = next(iter(output.parts.values()))
    for marker, gap in zip([m for m in markers if not m.startswith("«×") and m[1:-1] not in output.parts], shown.view.gaps, strict=True):
        address, _, scent = marker.strip("«»").partition(" ")
        scent = re.sub(rf"^(?:{gap.count} {gap.unit} ?)?(?:\d+ failures? ?)?", "", scent)
        if gap.part != "stdout" or shown.view.shape == "json":
            continue
        assert tokens(["«" + address])[0] <= 8
        hidden = raw[slice(*span(gap.address, raw))].decode("utf-8", "replace")
        said, what = tokens([scent, hidden])
        assert said * 5 <= what * 2 + 10, f"{scent[:60]} takes {said} of {what} tokens"


def test_names_take_about_a_third_of_what_they_stand_for() -> None:
    names = sorted({name for module in (os, subprocess, re, random) for name in dir(module) if len(name) > 6 and not name.startswith("__")})
    raw = "".join(" ".join(names[k:k + 6]) + "\n" for k in range(0, len(names), 6))
    known = "".join(" ".join(names[k:k + 6]) + "\n" for k in range(60, 300, 6))
    again = look(raw, "cat names", profile="safe", seen=Seen(frozenset(known.split("\n")), frozenset(), True))
    assert not again.view.passed
    for shown in (check(again), *(check(look(raw, "cat names", budget=budget, profile="lean")) for budget in (60, 300, 900))):
        for marker, gap in zip(shown.markers[1:], shown.view.gaps, strict=True):
            hidden = raw.encode()[slice(*span(gap.address, raw.encode()))].decode()
            said, what = tokens([marker.partition(" ")[2], hidden])
            assert said * 5 <= what * 2


# -- 4: text that is no UTF-8 -------------------------------------------------------------------------

@pytest.mark.parametrize("raw", [
    "日本語のログ、終わり\n" * 400, "".join(f"naïve café {i} élève\n" for i in range(400)), "é" * 9000, "日本、" * 3000, "🙂 ok, " * 2000,
    b"\xe6\x97 half a character \xe6\x97\xa5\n" * 400, b"\xff\xfe" * 6000, b"\xed\xa0\x80 a surrogate in UTF-8\n" * 400,
    ("x" * 299 + "日").encode() * 40, "".join(f"línea {i}\n" for i in range(3000)).encode("latin-1"),
    "".join(f"line {i}\n" for i in range(3000)).encode("utf-16"),
], ids=range(11))
def test_a_view_is_valid_text_at_every_budget(raw: str | bytes) -> None:
    for budget in range(60, 401, 17):
        check(look(raw, "cat f", budget=budget))


# -- 5: failures --------------------------------------------------------------------------------------

NOISE = [f"worker-{i % 5} handled request {i * 7919 % 1000} of queue alpha" for i in range(1500)]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("kind", ["make all", "cat log", "npm install", "pytest"])
def test_each_distinct_failure_stands_and_the_exit_code(kind: str, profile: str) -> None:
    faults = [f"ERROR: order={i} could not be written: disk quota exceeded" for i in range(40)]
    rows = [*NOISE[:700], *faults[:20], *NOISE[700:1100], *faults[20:], *NOISE[1100:]]
    shown = check(look("\n".join(rows) + "\n", kind, exit_code=2, profile=profile))
    assert "exit 2" in shown.view.head
    if kind != "cat log":
        assert set(faults) <= set(shown.lines), "they differ in digits alone, and are forty"
    assert not any(row in faults and after.startswith("«×") for row, after in pairwise(shown.text.split("\n"))), "no two say the same"


@pytest.mark.parametrize("one", [
    "2026-11-0{d}T10:0{d}:11.{d}27Z ERROR db: connection lost", "ERROR request id 3f2a{d}c1e-1b2c-4d5e-8f90-a1b2c3d4e5f6 failed",
    "ERROR at 0x7f3{d}a0", "ERROR in <Pool object at 0x7f6b0c51{d}3d0>",
    "ERROR pid={d}417 worker died", "sshd[2{d}17]: error: no more sessions", "Failed login from 10.0.0.9 port 5{d}112",
    "[{d}31] FATAL: out of memory", "Nov  {d} 10:11:1{d} host app: error: disk full", "ERROR took {d}17 ms",
    "fatal: /tmp/tmpq7x{d}w2e/lock: no such file",
])
def test_failures_that_differ_in_volatile_fields_are_one_with_count_and_both_ends(one: str) -> None:
    rows = [row for i in range(8) for row in (*NOISE[i * 100:i * 100 + 100], one.format(d=i + 1))]
    shown = check(look("\n".join(rows) + "\n", "make", exit_code=1, budget=60))
    assert one.format(d=1) in shown.lines and one.format(d=8) in shown.lines
    assert one.format(d=4) not in shown.lines
    assert "«×8 to L808»" in shown.markers


def claims(shown: Shown) -> list[int]:
    """How many failures each gap says it holds."""
    gaps = [marker for marker in shown.markers[1:] if not marker.startswith("«×") and marker[1:-1] not in shown.parts]
    return [int((re.search(r" (\d+) failures?\b", marker) or [0, 0])[1]) for marker in gaps]


@pytest.mark.parametrize(("size", "times"), [(900, 1), (1300, 2), (800, 3), (13_000, 1), (5000, 3)])  # below and above what is sieved
@pytest.mark.parametrize("form", ["ERROR: order={} could not be written because the disk quota of volume 7 is exceeded",
                                  "FAILED tests/test_orders.py::test_order[{}] - AssertionError: the quota of volume 7 is exceeded"])
def test_failures_beyond_four_budgets_are_counted_exactly(form: str, times: int, size: int) -> None:
    summary = b"=== 7 failed, 1 passed in 3.21s ==="
    faults = [*(form.format(i).encode() for i in range(size)), summary]
    raw = b"".join(fault + b"\n" for fault in faults[:-1] for _ in range(times)) + summary + b"\n"
    assert (len(raw) < HUGE) == (size < 3000)
    shown = check(look(raw, "make", exit_code=2))
    assert len(shown.text) < 8 * 12_000 and {faults[0].decode(), summary.decode()} <= set(shown.lines)
    assert "exit 2" in shown.view.head
    ends = line_ends(raw)
    firsts = [ends[k * times] for k in range(size + 1)]
    for gap, claim in zip(shown.view.gaps, claims(shown), strict=True):
        begin, end = span(gap.address, raw)
        assert claim == sum(begin <= first < end for first in firsts), "so many failures are reported there first"


@pytest.mark.parametrize("name", ["search", "patch", "read", "listing", "sizes"])
def test_what_is_no_failure_is_not_counted_as_one(name: str) -> None:
    output = of(name)
    first = look(output.parts, profile="safe", **output.call)
    again = check(look(output.parts, seen=seen_by(first), **output.call))
    assert not again.view.passed and not any(claims(again))


def test_failing_names_and_summary_stand_though_they_were_shown() -> None:
    output = of("pytest")
    first = check(look(output.parts, **output.call))
    must = [line for line in output.parts["stdout"].decode().split("\n") if re.match(r"FAILED |=+ .*2 failed", line)]
    assert len(must) == 3
    for profile, budget in (("auto", None), ("auto", 60), ("safe", None)):
        again = check(look(output.parts, seen=seen_by(first), profile=profile, budget=budget, **output.call))
        assert set(must) <= set(again.lines) and (again.view.passed or "exit 1" in again.view.head)
        assert profile == "safe" or "test_add[7]" not in " ".join(again.lines)


# -- already shown ------------------------------------------------------------------------------------

@quick
@given(st.integers(0, 10**6), st.sampled_from(PROFILES))
def test_nothing_collapses_in_a_context_that_is_not_proven(seed: int, profile: str) -> None:
    raw = made(seed)
    lines = frozenset(line.strip() for line in raw.split("\n"))
    call: dict[str, Any] = {"command": "cat f", "profile": profile, "exit_code": 0}
    assert look(raw, seen=Seen(lines, frozenset(), False), **call).text == look(raw, **call).text


@every_real
def test_only_lines_that_were_shown_collapse(name: str) -> None:
    output = of(name)
    raw = output.parts["stdout"]
    lines = [row.decode("utf-8", "replace").strip() for row in rows_of(raw)]
    known = frozenset(lines[len(lines) // 3:len(lines) * 2 // 3])
    shown = check(look({"stdout": raw}, profile="safe", seen=Seen(known, frozenset(), True), **{**output.call, "exit_code": 0}))
    if shown.view.passed or shown.view.shape in ("json", "binary") or len(raw) > 20_000:
        return
    gone = b"".join(raw[slice(*span(gap.address, raw))] for gap in shown.view.gaps).decode("utf-8", "replace")
    assert all(line.strip() in known or len(re.sub(r"^\s*\d+\t", "", line).strip()) < 3 for line in gone.split("\n"))


def test_the_view_says_what_it_showed_and_nothing_else() -> None:
    output = of("read")
    shown = check(look(output.parts, budget=300, **output.call))
    assert not shown.view.passed
    bare = {re.sub(r"^\s*\d+\t", "", line).strip() for line in shown.lines}
    assert shown.view.lines <= bare, "an elided line does not count as shown"


def test_the_pattern_takes_all_of_ours_and_nothing_else() -> None:
    output = of("search")
    shown = check(look(output.parts, budget=300, **output.call))
    raw = shown.raw.decode()
    left = [line for line in MARKER.sub("", shown.text).split("\n") if line]
    assert left and all(line in raw for line in left) and REF not in "".join(left)
