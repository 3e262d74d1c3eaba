"""Test runs of any runner: what failed, why, and the summary stand; what passed is counted by its lines."""
from __future__ import annotations

import re

import pytest

from byref.filters.detect import detect
from byref.filters.shapes.tests import SHAPE
from byref.filters.units import MUST
from byref.proxy.contracts import Call, Seen
from conformance.outputs import real
from conformance.views import check, look

GO = ("".join(f"=== RUN   TestAdd/case_{i}\n--- PASS: TestAdd/case_{i} (0.00s)\n" for i in range(120)) + """=== RUN   TestExpiry
    auth_test.go:41: token is old
    auth_test.go:42: got 3600, want 0
--- FAIL: TestExpiry (0.01s)
=== RUN   TestPanic
--- FAIL: TestPanic (0.00s)
panic: runtime error: invalid memory address or nil pointer dereference [recovered]
FAIL
FAIL\tgithub.com/acme/auth\t0.412s
ok  \tgithub.com/acme/store\t(cached)
FAIL
""")
CARGO = ("\nrunning 122 tests\n" + "".join(f"test parse::case_{i} ... ok\n" for i in range(120)) + """test parse::empty ... FAILED
test parse::nested ... FAILED

failures:

---- parse::empty stdout ----
thread 'parse::empty' panicked at src/parse.rs:88:9:
assertion `left == right` failed
  left: 0
 right: 1

failures:
    parse::empty
    parse::nested

test result: FAILED. 120 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.02s

error: test failed, to rerun pass `--lib`
""")
JEST = ("PASS src/store.test.ts\nFAIL src/auth.test.ts\n"
        + "".join(f"    ✓ adds {i} to the cart ({i} ms)\n" for i in range(120))
        + """    ✕ expires (3 ms)

  ● auth › expires

    expect(received).toBe(expected) // Object.is equality

    Expected: 0
    Received: 3600

      at Object.<anonymous> (src/auth.test.ts:12:20)

Test Suites: 1 failed, 1 passed, 2 total
Tests:       1 failed, 120 passed, 121 total
Snapshots:   0 total
Time:        1.2 s
""")
UNITTEST = ("".join(f"test_case_{i} (test_cart.Cart.test_case_{i}) ... ok\n" for i in range(120))
            + """test_expiry (test_auth.Auth.test_expiry) ... FAIL

======================================================================
FAIL: test_expiry (test_auth.Auth.test_expiry)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/app/test_auth.py", line 12, in test_expiry
    self.assertEqual(lifetime, 0)
AssertionError: 3600 != 0

----------------------------------------------------------------------
Ran 121 tests in 0.412s

FAILED (failures=1)
""")
TAP = ("TAP version 14\n" + "".join(f"ok {i} - adds item {i} to the cart\n" for i in range(1, 121)) + """not ok 121 - token expires
  ---
  message: expected 0, got 3600
  ...
1..121
# tests 121
# pass 120
# fail 1
""")
RUNS: dict[str, tuple[str, str, list[str], str]] = {  # command, output, what stands in every view, what no view needs
    "go": ("go test ./...", GO, ["--- FAIL: TestExpiry (0.01s)", "--- FAIL: TestPanic (0.00s)",
                                 "panic: runtime error: invalid memory address or nil pointer dereference [recovered]",
                                 "FAIL\tgithub.com/acme/auth\t0.412s"], "--- PASS"),
    "cargo": ("cargo test", CARGO, ["test parse::empty ... FAILED", "test parse::nested ... FAILED", "---- parse::empty stdout ----",
                                    "thread 'parse::empty' panicked at src/parse.rs:88:9:",
                                    "test result: FAILED. 120 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.02s"],
              "... ok"),
    "jest": ("npx jest", JEST, ["    ✕ expires (3 ms)", "  ● auth › expires", "Test Suites: 1 failed, 1 passed, 2 total",
                                "Tests:       1 failed, 120 passed, 121 total"], "✓"),
    "unittest": ("python -m unittest -v", UNITTEST, ["FAIL: test_expiry (test_auth.Auth.test_expiry)", "AssertionError: 3600 != 0",
                                                     '  File "/app/test_auth.py", line 12, in test_expiry', "Ran 121 tests in 0.412s",
                                                     "FAILED (failures=1)"], "... ok"),
    "tap": ("prove -v", TAP, ["not ok 121 - token expires", "# fail 1", "# tests 121"], "- adds item"),
}


@pytest.mark.parametrize("runner", RUNS)
@pytest.mark.parametrize("budget", [None, 60])
def test_failures_their_reasons_and_the_summary_stand(runner: str, budget: int | None) -> None:
    command, output, stand, passed = RUNS[runner]
    shown = check(look(output, command, exit_code=1, budget=budget))
    assert shown.view.shape == "tests" and set(stand) <= set(shown.lines)
    assert sum(passed in line for line in shown.lines) < 40
    assert "exit 1" in shown.view.head


def test_what_a_test_logged_before_it_failed_comes_along() -> None:
    assert "    auth_test.go:42: got 3600, want 0" in check(look(GO, "go test ./...", exit_code=1)).lines


@pytest.mark.parametrize("runner", RUNS)
def test_they_stand_again_though_they_were_shown(runner: str) -> None:
    command, output, stand, _ = RUNS[runner]
    first = look(output, command, exit_code=1, profile="safe")
    again = check(look(output, command, exit_code=1, profile="safe", seen=Seen(first.view.lines, first.view.terms, True)))
    assert set(stand[:1]) <= set(again.lines) and len(again.text) < len(first.text) / 2


@pytest.mark.parametrize("runner", RUNS)
def test_a_run_is_known_by_its_lines_alone(runner: str) -> None:
    assert detect(RUNS[runner][1], Call("run_task", {"task": "check"}))[0] == "tests"


def test_a_real_run_of_pytest() -> None:
    output = real("pytest")
    shown = check(look(output.parts, budget=60, **output.call))
    text = output.parts["stdout"].decode()
    must = [line for line in text.split("\n") if re.match(r"FAILED |E  |=+ .*(?:failed|passed)|>  |.* FAILED\b", line)]
    assert len(must) > 6 and set(must) <= set(shown.lines)
    cut = SHAPE.units(text, Call("Bash", {"command": "pytest"}))
    assert cut and all(cut.rank[i] >= MUST for i, line in enumerate(cut.texts) if line in must), "under any budget"
    assert "token is old" in check(look(output.parts, **output.call)).text, "what a test logged before it failed"
    assert sum("PASSED" in line for line in shown.lines) < 15 and len(shown.text) < len(text) / 3


def test_a_run_that_passed_keeps_its_summary() -> None:
    output = "".join(f"tests/test_cart.py::test_add[{i}] PASSED   [{i // 3:3}%]\n" for i in range(300))
    assert "===== 300 passed in 1.21s =====" in check(look(output + "===== 300 passed in 1.21s =====\n", "pytest -v")).lines


@pytest.mark.parametrize("text", [
    "".join(f"ERROR: order={i} could not be written to the ledger\n" for i in range(400)),
    "".join(f"2026-11-01 10:00:{i % 60:02} ERROR something failed {i}\n" for i in range(400)),
    "".join(f"def test_{i}():\n    assert add({i}, 1) == {i + 1}\n" for i in range(200)),
])
def test_what_only_speaks_of_errors_or_tests_is_no_run(text: str) -> None:
    assert detect(text, Call("Bash", {"command": "cat x"}, 1))[0] != "tests"
