"""Stack traces: what was raised and its causes stand, own frames before those of libraries, threads that are alike stand once."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.filters.detect import detect
from byref.proxy.contracts import Call, Seen
from conformance.shapes import look_as
from conformance.views import check, look

CASES = Path(__file__).parents[2] / "cases" / "trace"
# what real runtimes printed: lines that stand in every view
STAND = {
    "python_chain": ["ConfigError: settings.json is broken", "KeyError: 'missing'",
                     "The above exception was the direct cause of the following exception:", '  File "/app/chain.py", line 14, in main'],
    "python_group": ["    | ValueError: bad reply 1", "    | ConnectionError: host is down", "    | ValueError: bad reply 5",
                     "  | ExceptionGroup: unhandled errors in a TaskGroup (4 sub-exceptions)"],
    "python_lib": ["ConnectionRefusedError: [Errno 111] Connect call failed ('127.0.0.1', 9)", '  File "<string>", line 5, in get'],
    "python_rec": ["  [Previous line repeated 996 more times]", "RecursionError: maximum recursion depth exceeded"],
    "java": ["Caused by: java.lang.IllegalStateException: key 3 is locked", "\tSuppressed: java.lang.RuntimeException: close failed",
             "\tat Deep.save(Deep.java:4)", "\tat Deep$Store.put(Deep.java:3)", "\tat Deep.main(Deep.java:6)"],
    "node": ["TypeError: Cannot read properties of undefined (reading 'length')", "Error: cannot load /nope/settings.json",
             "  [cause]: Error: ENOENT: no such file or directory, open '/nope/settings.json'", "    at sync (/app/app.js:5:26)"],
    "go": ["panic: assignment to entry in nil map", "main.handle(...)", "\t/app/dump.go:5"],
    "rust": ["thread 'main' (23995) panicked at p.rs:3:112:", "no such account", "   5: p::withdraw", "  18: p::main"],
    "rust_full": ["no such account", "  19:     0x5652dc6ef86b - p::withdraw::h9efe3b6a370927e9"],
    "gdb": ["Program received signal SIGSEGV, Segmentation fault.", "#7  0x0000555555555223 in main (c=1, v=0x7fffffffe7e8) at a.c:7"],
    "asan": ["SUMMARY: AddressSanitizer: heap-use-after-free /app/a.c:7 in main", "    #0 0x5594f664b314 in main /app/a.c:7"],
    "ruby": ["\tfrom r.rb:4:in `each_row'", "r.rb:9:in `rescue in <main>': row 2 is no JSON (ArgumentError)"],
    "php": ["PHP Fatal error:  Uncaught DomainException: card 3 declined in /app/p.php:2", "#2 /app/p.php(4): Shop->pay()"],
}
NET = ("Unhandled exception. System.AggregateException: One or more errors occurred. (The given key 'tax' was not present.)\n"
       " ---> System.Collections.Generic.KeyNotFoundException: The given key 'tax' was not present in the dictionary.\n"
       "   at System.Collections.Generic.Dictionary`2.get_Item(TKey key)\n" + "".join(
           f"   at System.Linq.Enumerable.SelectListIterator`2.MoveNext{i}()\n" for i in range(30))
       + "   at Shop.Cart.Total(Rates rates) in /src/Cart.cs:line 14\n   at Shop.Orders.Close(Int32 id) in /src/Orders.cs:line 88\n"
         "   --- End of inner exception stack trace ---\n   at System.Threading.Tasks.Task.Wait(Int32 milliseconds)\n"
         "   at Shop.Program.Main(String[] args) in /src/Program.cs:line 9\n")
JSTACK = "Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1 mixed mode, sharing):\n\n" + "".join(
    f'"pool-1-thread-{i}" #{i + 12} prio=5 cpu={i}.12ms elapsed=30.{i}s tid=0x00007f1c0c0{i:02}000 nid=0x{i:x} waiting on condition\n'
    "   java.lang.Thread.State: WAITING (parking)\n\tat jdk.internal.misc.Unsafe.park(java.base@17.0.15/Native Method)\n"
    f"\t- parking to wait for  <0x00000007116{i:02}a8>\n\tat java.util.concurrent.LinkedQueue.take(java.base@17.0.15/Q.java:435)\n"
    "\tat Worker.run(Worker.java:31)\n\tat java.lang.Thread.run(java.base@17.0.15/Thread.java:840)\n\n" for i in range(1, 41))


def case(name: str) -> str:
    return (CASES / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", STAND)
@pytest.mark.parametrize(("profile", "budget"), [("auto", None), ("lean", None), ("auto", 250)])
def test_what_was_raised_and_own_frames_stand(name: str, profile: str, budget: int | None) -> None:
    shown = check(look(case(name), "run", exit_code=1, profile=profile, budget=budget))
    assert shown.view.shape == "trace" and set(STAND[name]) <= set(shown.lines)


def test_every_case_is_looked_at() -> None:
    assert {file.stem for file in CASES.iterdir()} == set(STAND)


@pytest.mark.parametrize(("name", "share"), [("python_lib", 80), ("java", 90), ("rust", 80), ("rust_full", 60), ("go", 20), ("asan", 90)])
def test_frames_of_libraries_go_first(name: str, share: int) -> None:
    raw = case(name)
    shown = look(raw, "run", exit_code=1)
    assert len(shown.text) * 100 < len(raw) * share and "frames" in shown.view.head
    assert all(gap.unit == "frames" for gap in shown.view.gaps)


def test_what_was_raised_last_stands_though_it_was_shown() -> None:
    raw = case("python_lib")
    first = look(raw, "run", exit_code=1)
    again = check(look(raw, "run", exit_code=1, seen=Seen(frozenset(row.strip() for row in raw.split("\n")), first.view.terms, True)))
    assert raw.rstrip("\n").rpartition("\n")[2] in again.lines and len(again.lines) < 12


def test_goroutines_that_are_alike_stand_once_with_their_number() -> None:
    raw = case("go")
    shown = check(look(raw, "go run .", exit_code=2))
    number = raw.count("[chan receive]:")
    assert shown.text.count("[chan receive]:") == 1 < number
    marker = next(line for line in shown.markers if line.startswith(f"«×{number} to L"))
    first, _, last = marker[:-1].rpartition("L")[2].partition("-")
    block = raw.split("\n")[int(first) - 1:int(last)]
    assert block[0] == [line for line in raw.split("\n") if "[chan receive]:" in line][-1] and block[-1].startswith("\t/app/dump.go")


def test_goroutines_that_differ_stand_each() -> None:
    shown = check(look(case("go"), "go run .", exit_code=2))
    assert "goroutine 12 [running]:" in shown.lines and "goroutine 1 [semacquire]:" in shown.lines and "main.main()" in shown.lines


def test_threads_of_a_java_dump_stand_once() -> None:
    shown = check(look(JSTACK, "jstack 1", exit_code=0))
    assert shown.view.shape == "trace" and shown.text.count("Worker.run") == 1 and any(m.startswith("«×40 to") for m in shown.markers)


def test_dotnet() -> None:
    shown = check(look(NET, "dotnet run", exit_code=134, budget=200))
    assert shown.view.shape == "trace" and len(shown.text) < len(NET) / 2
    assert {"   at Shop.Cart.Total(Rates rates) in /src/Cart.cs:line 14", "   --- End of inner exception stack trace ---",
            "   at Shop.Program.Main(String[] args) in /src/Program.cs:line 9"} <= set(shown.lines)


def test_own_code_stands_before_libraries_in_a_real_trace() -> None:
    program = ("import json\nclass Order:\n    def __init__(self, rest): self.rest = rest\n"
               "def show(x):\n    return json.dumps(x, default=lambda v: show(v.rest) if v.rest else price(v))\n"
               "def price(order): return {}[order]\nshow(Order(Order(Order(Order(Order(None))))))\n")
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    shown = check(look(ran.stderr, "python -c ...", exit_code=ran.returncode, budget=300))
    assert shown.view.shape == "trace" and ran.stderr.rstrip().rpartition("\n")[2] in shown.lines
    assert '  File "<string>", line 6, in price' in shown.lines
    assert sum("encoder.py" in line for line in shown.lines) * 4 < ran.stderr.count("encoder.py")


def test_a_message_of_some_lines_stands() -> None:
    raw = case("python_lib").rstrip("\n") + "\n  expected: 1\n  got: 2\nwith code 7\n"
    shown = check(look(raw, "run", exit_code=1))
    assert {"  expected: 1", "  got: 2", "with code 7"} <= set(shown.lines)


def test_what_is_no_trace_is_none() -> None:
    for text in ("at the end of the day (we say)\nat noon: lunch\nat home\nat 12:30\n" * 5, "#1 first\n#2 second (maybe)\n#3 third\n" * 5,
                 "1: one\n2: two\n3: three\n" * 9, "from a to b\nfrom b to c\n" * 9,
                 "#7 [2/5] RUN apt-get update\n#7 0.4 Get:1 http://deb.example.org\n#7 DONE 3.1s\n" * 9):
        assert detect(text, Call("Bash", {"command": "run"}))[0] != "trace"
    log = "".join(f"2026-11-01T10:00:{i % 60:02}Z INFO step {i} done\n" for i in range(200)) + case("python_chain")
    assert detect(log, Call("Bash", {"command": "run"}))[0] == "log"


LINES = [line for name in STAND for line in case(name).split("\n")]


@given(st.lists(st.sampled_from(LINES), max_size=60), st.sampled_from(["auto", "safe"]))
def test_lines_of_traces_in_any_order(lines: list[str], profile: str) -> None:
    look_as("trace", "\n".join(lines), "run", exit_code=1, profile=profile, budget=80)
