"""Which lines say that something went wrong, and which of them say the same."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.filters.failures import is_failure, is_summary, mark, mark_summary, masked, masks, suspects
from byref.filters.lines import split
from byref.filters.units import ALWAYS, ANCHOR, MUST, PLAIN, Units

FAULTS = [
    "ERROR: disk full", "error[E0308]: mismatched types", "E   assert 1 == 2", "FAILED tests/a.py::test_b - KeyError",
    "--- FAIL: TestX (0.00s)",
    "Traceback (most recent call last):", "ValueError: bad input", "java.lang.NullPointerException: x", "make: *** [all] Error 2",
    "fatal: not a git repository", "bash: foo: command not found", "ls: cannot access 'x': No such file or directory", "Permission denied",
    "panic: runtime error", "Segmentation fault (core dumped)", "Killed", "npm ERR! code ERESOLVE", "ld: undefined reference to `main'",
    "CONFLICT (content): Merge conflict in a.py", "not ok 3 - closes", "process exited with code 137", "src/a.c:3:5: error: expected ';'",
    "2026-11-01 10:00:01 CRITICAL db: connection refused", "  ✗ closes the door", "OutOfMemoryError: heap",
    "thread 'main' panicked at src/a.rs:1:1:",
    "11-29 22:15:03.112  1204  1377 E ActivityManager: no such animation",
    "error: test failed, to rerun pass `--lib`", "<3>kernel: Out of memory: Killed process 77", "HTTP timeout: timed out after 30 s",
]
FINE = [
    "11-29 22:15:03.112  1204  1377 D ActivityManager: resumed",
    "0 errors, 0 warnings", "no errors found", "errors: 0", "compiled error_handler.py", "tests/test_errors.py::test_ok PASSED",
    "failover is ready", "Established session 0x14ed with negotiated timeout 10000 for client", "wait with a timeout of 30 s",
    "Found 0 failures", "import exceptions", "exit code 0", "process exited with code 0", "",
    "the error-prone step was skipped by hand-fail-safe",
    "loading src/fatal/index.ts", "12 passed, 0 failed", "no error", "failed=0", "error: 0", "ok, without failure",
]


@pytest.mark.parametrize("line", FAULTS)
def test_what_is_a_failure(line: str) -> None:
    assert is_failure(line) and suspects(["fine", line, "fine"]) == [1]


@pytest.mark.parametrize("line", FINE)
def test_what_only_names_one_or_counts_none(line: str) -> None:
    assert not is_failure(line) and suspects([line, line]) == []


def test_suspects_are_those_lines_that_are_failures_wherever_characters_are_wide_or_broken() -> None:
    rows = ["İstanbul ẞ 日本", *FAULTS, "\udcff\udcfe", *FINE, "é ERROR: x", "\udcff ERROR: y", "Σίσυφος", "ERROR"]
    assert suspects(rows) == [i for i, row in enumerate(rows) if is_failure(row)]


@pytest.mark.parametrize(("one", "other"), [
    ("2026-11-01T10:00:01.123Z ERROR x", "2026-11-02T11:30:09Z ERROR x"), ("10:00:01 ERROR x", "11:00:02 ERROR x"),
    ("Nov  1 10:00:01 a: x", "Nov 12 11:11:11 a: x"),
    ("ERROR id=3f2a1c1e-1b2c-4d5e-8f90-a1b2c3d4e5f6", "ERROR id=7f2a1c1e-1b2c-4d5e-8f90-a1b2c3d4e5f7"), ("fault at 0x7f", "fault at 0x8e"),
    ("object <A at 0x7f6b0c51a3d0>", "object <A at 0x7f6b0c51b3d0>"),
    ("commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "commit 1fceb02d0ae598e95dc970b74767f19372d61af9"),
    ("sshd[2417]: error: x", "sshd[31217]: error: x"), ("pid 12 died", "pid 9999 died"), ("took 12 ms", "took 3.5 ms"),
    ("/tmp/tmpk3x9q2ab/x lost", "/tmp/tmp8fj2abcd/x lost"), ("/tmp/TestFetch001507069464/001/x lost", "/tmp/TestFetch997/002/x lost"),
    ("/tmp/go-build1343071420/b087/a.test died", "/tmp/go-build3315821582/b087/a.test died"),
    ("in /tmp/a.rT5xQ2, x", "in /tmp/a.k3LmN8, x"),
    ("/tmp/pytest-of-me/pytest-12/db: locked", "/tmp/pytest-of-me/pytest-13/db: locked"),
    ("at 1767225600 x", "at 1767225999 x"), ("from 10.0.0.1 port 51234 x", "from 10.0.0.1 port 40001 x"),
])
def test_times_ids_and_addresses_make_no_difference(one: str, other: str) -> None:
    assert masked(one) == masked(other)


@pytest.mark.parametrize(("one", "other"), [
    ("ERROR order=1 failed", "ERROR order=2 failed"), ("a.py:3: error: x", "a.py:4: error: x"),
    ("FAILED test_order[1]", "FAILED test_order[2]"),
    ("spec.containers[0]: Required value", "spec.containers[1]: Required value"), ("error 0x80070005", "error 0x80070002"),
    ("E0308", "E0309"),
    ("cannot bind port 8080", "cannot bind port 8081"), ("exit code 1", "exit code 2"), ("HTTP 404", "HTTP 500"), ("item 12", "item 13"),
    ("/tmp/work/a.py:3: error: x", "/tmp/work/a.py:4: error: x"), ("/tmp/work/a.c:3:1: error: x", "/tmp/work/b.c:3:1: error: x"),
    ("/tmp/tmp8fj2abcd/app/a.go:3:1: x", "/tmp/tmp8fj2abcd/app/a.go:4:1: x"), ("open /tmp/x/a.json: failed", "open /tmp/x/b.json: failed"),
    ("expected 3 got 4", "expected 3 got 5"), ("v1.2.3 is broken", "v1.2.4 is broken"), ("host 10.0.0.1 refused", "host 10.0.0.2 refused"),
])
def test_other_numbers_do(one: str, other: str) -> None:
    assert masked(one) != masked(other)


# What each mask is for, beside lines that only look alike: joined with anything, each kind of volatile text has to be found.
VOLATILE = [
    "2026-11-01", "2026/11/01 10:00", "10:00:01,5", "[17]", "[4711]: x", "/tmp/x", "0x7f6b0c51a3d0", "at 0x1", "1767225600",
    "1767225600123", "3 ms", "2.5s", "7 µs", "4 seconds", "3f2a1c1e-1b2c-4d5e-8f90-a1b2c3d4e5f6", "9fceb02d0a", "Nov  1", "november 12",
    "Mon, ", "SAT ", "pid=12", "TID 9", "thread #4", "port 51234", "PORT=40001", "words", "0", "x1", "dead", "beef12", "march",
    "sunday", "é", "日本", "\udcff", "\u2126", "ſ", "12ſ", "port", "error", "  ", "v1.2.3", "at", ":", "-", "/",
]


@given(st.lists(st.lists(st.tuples(st.sampled_from(VOLATILE), st.sampled_from(["", " ", ": ", "\t", "_", "/"])), max_size=5), max_size=9))
def test_lines_are_masked_together_as_each_alone(made: list[list[tuple[str, str]]]) -> None:
    lines = ["".join(map("".join, row)) for row in made]
    assert masks(lines) == [masked(line) for line in lines]


def units(texts: list[str]) -> Units:
    return Units(texts, lambda i, j: f"L{i + 1}" if i == j else f"L{i + 1}-{j + 1}", bytearray(len(texts)), [0] * len(texts))


def test_of_those_that_say_the_same_both_ends_stand_with_their_number() -> None:
    texts = ["10:00:01 ERROR x", "fine", "10:00:02 ERROR x", "ERROR y", "10:00:03 ERROR x"]
    cut = units(texts)
    mark(cut, suspects(texts))
    assert list(cut.rank) == [MUST, PLAIN, PLAIN, MUST, MUST]
    assert cut.repeats == {0: (3, "L5")} and cut.failures == {0: 1, 3: 1}


def test_two_reports_of_one_text_at_two_places_are_two_failures() -> None:
    eslint = ["src/a.js", "  1:11  error  Missing semicolon  semi", "  4:2   error  Missing semicolon  semi", "", "src/b.js",
              "  1:11  error  Missing semicolon  semi", "  1:11  error  Missing semicolon  semi"]
    cut = units(eslint)
    mark(cut, [1, 2, 5, 6])
    assert cut.failures == {1: 1, 2: 1, 5: 1} and [i for i, level in enumerate(cut.rank) if level == MUST] == [1, 2, 5, 6]

    rustc = ["error[E0308]: mismatched types", "  --> src/a.rs:3:9", "error[E0308]: mismatched types", "  --> src/a.rs:8:9"]
    cut = units(rustc * 2)
    mark(cut, [0, 2, 4, 6])
    assert cut.failures == {0: 1, 2: 1}

    cut = units(["3: error: no x"] * 3)
    cut.heads = ["a.c:", "b.c:", "b.c:"]
    mark(cut, [0, 1, 2])
    assert cut.failures == {0: 1, 1: 1}


@pytest.mark.parametrize(("said", "lines"), [
    ("miette", ["  × eslint(no-debugger): not allowed", "   ╭─[src/a{}.js:3:5]", " 3 │ debugger;", "   ╰────", ""]),
    ("codespan", ["error: Unknown variable", "  ┌─ /srv/d/a{}.gleam:3:5", "  │", ""]),
    ("esbuild", ['✘ [ERROR] Could not resolve "./gone"', "", "    src/a{}.ts:3:7:", "      3 │ import x", ""]),
    ("terraform", ["Error: Unsupported argument", "", "  on a{}.tf line 3:", "   3:   size = 1", ""]),
    ("a frame", ["Error: socket hang up", "    at connect (/srv/a{}.js:3:5)", ""]),
    ("a module's frame", ["Error: socket hang up", "    at async connect (file:///srv/a{}.mjs:3:5)", ""]),
    ("a Java frame", ["java.io.IOException: gone", "\tat com.x.A{0}.f(A{0}.java:3)", ""]),
    ("TAP", ["#   Failed test 'x'", "#   at t/a{}.t line 3."]),
    ("OCaml", ['File "lib/a{}.ml", line 3, characters 5-9:', "3 | let x = foo in", "            ^^^", "Error: Unbound value foo"]),
    ("Biome", ["src/a{}.js:3:5 lint/suspicious/noDoubleEquals  FIXABLE  ━━━━", "", "  × Using == may be unsafe.", ""]),
    ("Svelte", ["/srv/d/A{}.svelte:3:5", "Error: Cannot find name 'foo'. (ts)", ""]),
    ("ShellCheck", ["In a{}.sh line 3:", "if [ $x == 1 ];", "     ^-- SC2086 (error): Double quote."]),
    ("Python", ['  File "/app/a{}.py", line 3, in run', "    total = d['x']", "KeyError: 'x'", "12:00 next"]),
])
def test_where_a_failure_is_may_stand_beside_its_line_and_stands_with_it(said: str, lines: list[str]) -> None:
    texts = [line.format(k) for k in (1, 2, 3, 2) for line in lines]
    cut = units(texts)
    mark(cut, suspects(texts))
    assert cut.failing == 4 and len(cut.failures) == 3, f"{said}: those at one place are one"
    named = [level for row, level in zip(texts, cut.rank, strict=True) if any(f"{k}." in row for k in (1, 2, 3))]
    assert min(named) == MUST


def test_a_line_that_a_program_logged_before_a_failure_is_no_place() -> None:
    texts = [row for k in range(3) for row in (f"12:0{k} INFO a{k}.py:{k} started the job", "ERROR no route to host", "done")]
    cut = units(texts)
    mark(cut, suspects(texts))
    assert len(cut.failures) == 1


def test_a_blank_line_before_a_failure_is_none() -> None:
    assert suspects(["fine", "", "", "  × not allowed"]) == [3]


def test_the_indented_lines_around_a_failure_come_along_and_no_others() -> None:
    texts = ["start", "  waited", "  logged", "ERROR x", "    at a.py", "    at b.py", "next", "  other"]
    cut = units(texts)
    mark(cut, [3])
    assert [i for i, level in enumerate(cut.rank) if level == ANCHOR] == [1, 2, 4, 5]


def test_of_many_that_differ_in_ids_alone_both_ends_and_each_kind_of_code_stand() -> None:
    texts = [f"ERROR gateway timeout order={8000 + i * 7} code={(51, 51, 54)[i % 3]} host=gw-{i % 2}" for i in range(120)]
    cut = units([*texts, "ERROR disk full"])
    mark(cut, suspects(cut.texts))
    assert [i for i, level in enumerate(cut.rank) if level == MUST] == [0, 1, 2, 119, 120]
    assert sum(cut.failures.values()) == cut.failing == 121, "each is counted"


@pytest.mark.parametrize("form", ["src/a.c:{}: error: unknown type", "FAILED tests/test_a.py::test_b[{}] - error",
                                  "ERROR at line {} of the script"])
def test_what_is_placed_is_another_however_many_there_are(form: str) -> None:
    cut = units([form.format(i) for i in range(120)])
    mark(cut, suspects(cut.texts))
    assert list(cut.rank) == [MUST] * 120


def test_a_summary_is_one_near_the_end() -> None:
    assert all(map(is_summary, ["BUILD FAILED in 3s", "=== 3 failed, 2 passed ===", "Successfully installed x", "2 errors",
    "added 12 packages in 3s"]))
    assert not any(map(is_summary, ["the build is old", "error", "12 packages"[:2]]))
    cut = units(["3 passed", *["line"] * 30, "3 passed", "bye"])
    mark_summary(cut)
    assert [i for i, level in enumerate(cut.rank) if level == ALWAYS] == [31]


@pytest.mark.parametrize("line", [
    "make[1]: *** [Makefile:12: needle.o] Error 1", "make: *** No rule to make target 'missing.c', needed by 'needle'.",
    "*** buffer overflow detected ***",
    " ! [rejected]        main -> main (fetch first)", "==12== Invalid read of size 4", "pod/web-1   0/1   CrashLoopBackOff   5   3m",
    "E0301 12:00:01.000000       1 server.go:12] could not bind", "src/a.py:3:1: F401 `os` imported but unused",
    '10.0.0.1 - - [01/May/2026] "GET /x HTTP/1.1" 500 312', " × renders the page", "a.rb:3:in `x': undefined (NoMethodError)"])
def test_what_common_tools_say_of_failures(line: str) -> None:
    assert is_failure(line) and suspects(["fine", line, "fine"]) == [1]


@pytest.mark.parametrize("line", ['10.0.0.1 - - "GET /x HTTP/1.1" 200 500', "*important*", "3 × 4 = 12",
                                  "src/a.py:3:1: def f():", "an invalid reader", "4: Test timeout computed to be: 10000000"])
def test_what_looks_like_one_and_is_none(line: str) -> None:
    assert not is_failure(line)


@pytest.mark.parametrize("line", [
    "  ✘  141 [chromium] › cart.spec.ts:310:5 › adds tax (5.1s)",
    "black....................................................................Failed", "- files were modified by this hook",
    "no tests ran in 0.01s",
    "Failing scenarios:", ";; ->>HEADER<<- opcode: QUERY, status: NXDOMAIN, id: 4411", "5 sent, 0 received, 100% packet loss, time 4099ms",
    "would reformat app/cart.py", "Diff in /src/main.rs at line 3:", "sha256sum: WARNING: 1 computed checksum did NOT match", "Aborting",
    "Table 'shop.orders' doesn't exist", "manifest for x:latest not found: manifest unknown", "Terminated", "No package 'libfoo' found",
    'The deployment "api" exceeded its progress deadline', "ld: symbol(s) not found for architecture arm64",
    "ld: library not found for -lfoo",
    "a.c:3: multiple definition of `foo'", "foo is not defined", "Test timeout of 30000ms exceeded.", "sudo: a password is required",
    "'foo' is not recognized as an internal or external command,", "E: Package 'foo' has no installation candidate",
    "* What went wrong:",
    "no required module provides package x; to add it:", "WARNING: DATA RACE", "Terraform encountered problems during initialisation",
    "ROLLBACK_COMPLETE", 'CREATE_FAILED  AWS::Lambda::Function  Fn  returned "x"', "database is locked", "Stale file handle",
    "Text file busy",
    "Device or resource busy", "Argument list too long", "No such container: x", '"status": 500', "corrupted size vs. prev_size",
    "Model did not converge", "(node:123) UnhandledPromiseRejectionWarning: x", "Bail out! no db",
    "unexpected success", "INTERNALERROR> x",
    "3 vulnerabilities found", "peer dep missing: x", "Refusing to delete /x", "gzip: stdin: not in gzip format",
    "container x is unhealthy",
    "patch: **** malformed patch at line 3", "hint: Updates were rejected because the remote contains work", 'gpg: BAD signature from "x"',
    "Main process exited, code=exited, status=1/FAILURE", "foo.service: Start request repeated too quickly.",
    "port is already allocated",
    'exec: "foo": executable file not found in $PATH', "The connection to the server localhost:8080 was refused - is the host right?",
])
def test_what_tools_say_of_failures_in_words_of_their_own(line: str) -> None:
    assert is_failure(line)


@pytest.mark.parametrize("line", [
    "# Create the folder if it doesn't exist", "whenever a subexpression is undefined, it is", "test with malformed data, too",
    "loading...",
    "the files were modified by hand", "found 0 vulnerabilities", "timeout: 30000ms", "black.............................Passed",
    "0% packet loss", '"status": 200', "status=0/SUCCESS", "3 checks, a limit of 10", "what it refuses", "no package of ours", "is healthy",
])
def test_what_such_words_mean_elsewhere_is_none(line: str) -> None:
    assert not is_failure(line)


@pytest.mark.parametrize("line", [
    "sh: 1: wget: not found", "./a.out: version `GLIBC_2.34' not found", "main.go:10:2: undefined: foo",
    "curl: (6) Could not resolve host: x", "ssh: x: Name or service not known", "connect: Network is unreachable",
    "read: Connection reset by peer", "write: Broken pipe", "cp: x: Read-only file system", "open: Too many open files",
    "bind: Address already in use", "mkdir: Operation not permitted", "double free or corruption (fasttop)",
    "*** stack smashing detected ***: terminated", "Illegal instruction", "Trace/breakpoint trap", "E: x Hash Sum mismatch",
    "unexpected EOF while looking for `)'", "deadlock detected", "ECONNREFUSED 127.0.0.1:5432", "KeyboardInterrupt",
    "SSL certificate problem: self signed certificate", "loss=nan at step 300", "[INFO] Tests run: 3, Failures: 1, Errors: 0",
    "2 failing", "Found 3 errors in 2 files", "FAILURES!!!", "! Undefined control sequence.",
    "Overfull \\hbox, and ! LaTeX Error: x", "  ● Foo › adds", "< HTTP/2 401 ", "HTTP/1.1 502 Bad Gateway",
    "404  Not Found [IP: 1.2.3.4 80]", '{"level":50,"msg":"boom"}', "kernel: BUG: soft lockup - CPU#1 stuck for 22s!",
    "Warning  FailedScheduling  2m", "SUMMARY: UndefinedBehaviorSanitizer: a.c:3",
    "The command '/bin/sh -c x' returned a non-zero code: 127", "ORA-00942: table or view does not exist",
    "x.py:3:4: C0114: Missing docstring", "terminate called after throwing an instance of 'x'", "the step did not complete",
    "Deployment was unsuccessful", "💥 crash", "FEHLER: Datei nicht gefunden", "错误:无法连接数据库", "エラー: ファイルが見つかりません",
    "ошибка: файл не найден", "ssl_error: bad record", "Segfault at 0", "pagefault: Page fault in kernel"])
def test_what_other_tools_say_of_failures(line: str) -> None:
    assert is_failure(line) and suspects(["fine", line, "fine"]) == [1]


@pytest.mark.parametrize("line", [
    "the default value", "  default: 3", "pgfault 123", "by default (yes)", "plt.set_default(x)", "self.try_after_error(1)",
    "Partition rdd_42_30 not found, computing it", "C:\\x\\BackOffice\\a.cs", "BUG: deep copying is slow", "0 failures, 0 errors",
    '<testsuite errors="0" failures="0">', "HTTP/1.1 204 No Content", '{"level":30,"msg":"fine"}', "src/main.go:10: func main()"])
def test_what_names_no_failure(line: str) -> None:
    assert not is_failure(line)


@pytest.mark.parametrize("before", ["", "  ", "    | ", "[w] "])
def test_under_a_traceback_stands_what_was_raised_whatever_its_name_and_indentation(before: str) -> None:
    rows = ["start", *(before + row for row in ("Traceback (most recent call last):", '  File "a.py", line 1, in f', "    g()", "Stop: 4")),
            "", "end"]
    assert suspects(rows) == [1, 4]


def test_a_traceback_that_a_log_stamps_once_ends_where_it_does() -> None:
    rows = ["10:00 worker Traceback (most recent call last):", '  File "a.py", line 1, in f', "    g()", "Stop: 4", "10:01 worker fine"]
    assert suspects(rows) == [0, 3]
    assert suspects(["Traceback (most recent call last):", '  File "a.py", line 1, in f', "", "fine"]) == [0], "nothing was raised in sight"


def test_a_failure_counts_once_however_many_lines_say_it() -> None:
    texts = ["E   AssertionError: x", "E   assert 1 == 2", "E    +  where 1 = f()", "Traceback (most recent call last):",
             '  File "a.py", line 1, in f', "    raise KeyError(4)", "KeyError: 4"]
    cut = units(texts)
    mark(cut, [0, 1, 2, 3, 5, 6])
    assert cut.failures == {0: 1, 6: 1} and cut.failing == 2 and [cut.rank[i] for i in (0, 1, 2, 3, 5, 6)] == [MUST] * 6


def test_a_warning_that_a_rule_wants_to_stand_is_no_failure() -> None:
    cut = units(["a.c:3:5: warning: unused variable", "a.c:4:5: undefined x"])
    cut.ruled = {0, 1}
    mark(cut, [0, 1])
    assert cut.failures == {1: 1} and cut.failing == 1 and list(cut.rank) == [MUST, MUST]


def test_what_a_long_line_says_beside_the_sign_of_its_failure_comes_along() -> None:
    text = "word " * 200 + "ERROR disk full " + "more " * 500 + "\nfine\n"
    cut = split(text).units()
    mark(cut, suspects(cut.texts))
    at = next(i for i, row in enumerate(cut.texts) if "ERROR" in row)
    assert cut.rank[at] == MUST and all(cut.rank[i] == ANCHOR for i in (*range(at - 3, at), *range(at + 1, at + 4)))
    assert cut.rank[at + 4] == PLAIN, "no more of it than that"


@pytest.mark.parametrize(("last", "failed", "level"), [("bye", True, ALWAYS), ("bye", False, MUST), ("2 errors", True, MUST)])
def test_why_a_call_failed_stands_however_often_it_was_said_where_no_summary_does(last: str, failed: bool, level: int) -> None:
    cut = units([*["line"] * 30, "ValueError: boom", last])
    mark(cut, [30])
    mark_summary(cut, failed)
    assert cut.rank[30] == level
