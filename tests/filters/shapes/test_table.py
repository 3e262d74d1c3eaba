"""Tables: headings and totals stand, rows are counted as rows, and each row that reports a failing state stands."""
from __future__ import annotations

import csv
import io
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.filters.detect import detect
from byref.filters.shapes.table import SHAPE
from byref.proxy.contracts import Call
from conformance.outputs import SHARED, made
from conformance.views import Shown, check, look

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath")
RECORDS = [(n, f"{WORDS[n % 8]}-{WORDS[n * 5 % 7]}-{n * 7919 % 997}", n * n, "failed" if n in (77, 140) else "ok") for n in range(1, 201)]


def counted(shown: Shown) -> tuple[int, int]:
    """Rows of the table by the head of the view, and those that stand or are counted in gaps."""
    head = re.search(r" (\d+) of (\d+) rows\b", shown.view.head)
    assert head, shown.view.head
    return int(head[2]), int(head[1]) + sum(gap.count for gap in shown.view.gaps)


def psql(records: list[tuple[int, str, int, str]], *, border: int = 1) -> str:
    """As psql prints a query in its aligned format, which its manual describes under \\pset."""
    widths = [max(len(str(cell)) for cell in (name, *column)) for name, column in
              zip(("id", "name", "size", "state"), zip(*records, strict=True), strict=True)]
    edge = ("|", "|", "+", "+") if border == 2 else ("", "", "", "")

    def line(cells: tuple[object, ...]) -> str:
        texts = [f" {cell:>{w}} " if isinstance(cell, int) else f" {cell:<{w}} " for cell, w in zip(cells, widths, strict=True)]
        return edge[0] + "|".join(texts) + edge[1] + "\n"

    rule = edge[2] + "+".join("-" * (w + 2) for w in widths) + edge[3] + "\n"
    frame = rule if border == 2 else ""
    return frame + line(("id", "name", "size", "state")) + rule + "".join(map(line, records)) + frame + f"({len(records)} rows)\n\n"


def delimited(sign: str) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=sign, lineterminator="\n").writerows([("id", "name", "size", "state"), *RECORDS])
    return out.getvalue()


def pods(total: int = 160) -> str:
    states = {40: ("0/1", "CrashLoopBackOff", 12), 77: ("0/1", "ImagePullBackOff", 0), 90: ("0/1", "Error", 3), 91: ("0/1", "OOMKilled", 1)}
    rows = ["NAME                              READY   STATUS             RESTARTS   AGE\n"]
    for n in range(total):
        ready, state, restarts = states.get(n, ("1/1", "Running", 0))
        rows.append(f"{WORDS[n % 8]}-{n * 7919 % 99991:05x}-{n:03} {'':17} {ready:7} {state:18} {restarts:<10} {n % 9}d\n")
    return "".join(rows)


FAILING = ("77 ", "140 ")


@pytest.mark.parametrize("command", ["psql -c 'select * from jobs'", None])
@pytest.mark.parametrize("border", [1, 2])
def test_a_query_of_psql(command: str | None, border: int) -> None:
    raw = psql(RECORDS, border=border)
    shown = check(look(raw, command))
    rows = raw.split("\n")
    assert shown.view.shape == "table" and len(shown.text) < len(raw) // 2
    assert counted(shown) == (200, 200), "neither a heading nor a rule nor the total is a row"
    for budget in (None, 60):
        lines = set(check(look(raw, command, budget=budget)).lines)
        assert set(rows[border - 1:border + 1]) <= lines and "(200 rows)" in lines
        assert {row for row in rows if "failed" in row} <= lines


@pytest.mark.parametrize("mode", ["box", "table", "column", "markdown", "csv", "tabs", "list"])
def test_what_sqlite_prints(tmp_path: Path, mode: str) -> None:
    if shutil.which("sqlite3") is None:
        pytest.skip("no sqlite3 here")
    with sqlite3.connect(tmp_path / "x.db") as database:
        database.execute("create table t(id integer, name text, size integer, state text)")
        database.executemany("insert into t values(?, ?, ?, ?)", RECORDS)
    argv = ["sqlite3", "-header", f"-{mode}", str(tmp_path / "x.db"), "select * from t"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"this sqlite3 has no mode {mode}")
    shown = check(look(done.stdout, "sqlite3 x.db 'select * from t'"))
    assert shown.view.shape == "table" and len(shown.text) < len(done.stdout) and counted(shown) == (200, 200)
    heading = next(row for row in done.stdout.split("\n") if "state" in row)
    assert heading in shown.lines and sum("failed" in line for line in shown.lines) == 2


@pytest.mark.parametrize("sign", [",", ";", "\t"])
@pytest.mark.parametrize("command", ["cat jobs.csv", "python report.py"])
def test_values_with_a_sign_between_them(sign: str, command: str) -> None:
    raw = delimited(sign)
    shown = check(look(raw, command))
    assert shown.view.shape == "table" and counted(shown) == (200, 200)
    assert sign.join(("id", "name", "size", "state")) in shown.lines and sum(line.endswith(f"{sign}failed") for line in shown.lines) == 2


def test_a_cell_of_several_lines_is_one_row() -> None:
    out = io.StringIO()
    notes = [(n, f"first, {n}\nsecond \"{n}\"\nthird", "ok") for n in range(120)]
    csv.writer(out, lineterminator="\n").writerows([("id", "note", "state"), *notes])
    assert counted(check(look(out.getvalue(), "cat notes.csv"))) == (120, 120)
    raw = " id |   note    \n----+-----------\n" + "".join(f" {n:2} | first    +\n    | second {n:2}\n" for n in range(90)) + "(90 rows)\n"
    assert counted(check(look(raw, "psql -c x"))) == (90, 90)


def test_records_one_below_the_other() -> None:
    raw = "".join(f"-[ RECORD {n} ]----------\nid    | {n}\nname  | {name}\nstate | {state}\n" for n, name, _, state in RECORDS)
    shown = check(look(raw, "psql -x -c 'select * from jobs'"))
    assert counted(shown) == (200, 200) and "state | failed" in shown.lines


@pytest.mark.parametrize("command", ["kubectl get pods", "make status"])
@pytest.mark.parametrize("budget", [None, 60])
def test_pods_that_do_not_run_stand(command: str, budget: int | None) -> None:
    raw = pods()
    shown = check(look(raw, command, budget=budget))
    text = "\n".join(shown.lines)
    assert shown.view.shape == "table" and counted(shown) == (160, 160) and len(shown.text) < len(raw) // 2
    assert raw.split("\n")[0] in shown.lines
    assert all(state in text for state in ("CrashLoopBackOff", "ImagePullBackOff", "Error", "OOMKilled"))


@pytest.mark.parametrize("state", ["Exited (1) 3 hours ago", "Restarting (137) 2 seconds ago", "Up 2 hours (unhealthy)", "Dead"])
def test_containers_that_do_not_run_stand(state: str) -> None:
    rows = [f"{n * 7919:012x}   registry.local/{WORDS[n % 8]}:1.{n}   \"/bin/serve {n}\"   {n % 9} days ago   {{}}   {WORDS[n % 7]}-{n}\n"
            for n in range(90)]
    raw = "CONTAINER ID   IMAGE   COMMAND   CREATED   STATUS   NAMES\n" + "".join(
        row.format(state if n == 50 else "Exited (0) 3 days ago" if n % 3 else "Up 2 hours") for n, row in enumerate(rows))
    shown = check(look(raw, "docker ps -a", budget=60))
    assert rows[50].format(state).rstrip() in shown.lines and "failure" not in shown.view.head
    assert sum("Exited (0)" in line for line in shown.lines) < 5, "a container that is done is no failure"


def test_units_of_systemd() -> None:
    rows = ["  UNIT                  LOAD      ACTIVE SUB     DESCRIPTION\n"]
    rows += [f"  {WORDS[n % 8]}-{n:<12} loaded    active running Service number {n} that tells of an error\n" for n in range(120)]
    rows[60] = "● backup.service        loaded    failed failed  Nightly copies\n"
    rows[61] = "● lost.service          not-found inactive dead lost.service\n"
    rows.append("\nLOAD = Reflects whether the unit was properly loaded.\n121 loaded units listed.\n")
    shown = check(look("".join(rows), "systemctl list-units", budget=80))
    assert {rows[60].rstrip(), rows[61].rstrip(), rows[0].rstrip("\n"), "121 loaded units listed."} <= set(shown.lines)
    assert sum("tells of an error" in line for line in shown.lines) < 30, "what describes a thing may name errors"


def test_packages() -> None:
    argv = [sys.executable, "-m", "pip", "list", "--disable-pip-version-check"]
    raw = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    if raw.count("\n") < 12:
        pytest.skip("few packages here")
    shown = check(look(raw, "pip list", profile="lean", budget=80))
    assert detect(raw, Call("Bash", {"command": "pip list"}))[0] == "table"
    if not shown.view.passed:
        assert {line.rstrip() for line in raw.split("\n")[:2]} <= {line.rstrip() for line in shown.lines}
        assert counted(shown) == (raw.count("\n") - 2,) * 2


@pytest.mark.parametrize("argv", [("ps", "aux"), ("ps", "-ef"), ("df", "-h"), ("dpkg", "-l")])
def test_what_the_system_prints(argv: tuple[str, ...]) -> None:
    if shutil.which(argv[0]) is None:
        pytest.skip(f"no {argv[0]} here")
    raw = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    if raw.count("\n") < 6:
        pytest.skip("too short a table here")
    for budget in (None, 100):
        shown = check(look(raw, " ".join(argv), budget=budget))
        assert shown.view.passed or raw.split("\n")[0] in shown.lines
    assert detect(raw, Call("Bash", {"command": " ".join(argv)}))[0] == "table"


def test_a_gap_names_packages_and_not_what_describes_them() -> None:
    raw = "Package     Description\n----------- ------------------------------\n" + "".join(
        f"lib{WORDS[n % 8]}{chr(97 + n % 26)}-{n}   renders {WORDS[n % 7]}{chr(97 + n % 26)}_{chr(97 + n // 26)} documents\n"
        for n in range(200))
    gaps = " ".join(check(look(raw, "dpkg-query -W", budget=80)).markers)
    assert "lib" in gaps and not re.search(r"_[a-z]\b|documents", gaps)


def test_several_tables_in_one_output() -> None:
    service = "NAME               TYPE        CLUSTER-IP     PORT(S)   AGE\n"
    raw = pods(80) + "\n" + service + "".join(f"{WORDS[n % 8]}-{n:<12} ClusterIP   10.0.{n}.7   80/TCP   3d\n" for n in range(60))
    for budget in (None, 80):
        shown = check(look(raw, "kubectl get all", budget=budget))
        assert {raw.split("\n")[0], service.rstrip()} <= set(shown.lines) and counted(shown) == (140, 140)
    shown = check(look(psql(RECORDS) + psql(RECORDS[:90]), "psql -f report.sql"))
    assert counted(shown) == (290, 290) and {"(200 rows)", "(90 rows)"} <= set(shown.lines)


def test_an_error_beside_a_table_stands() -> None:
    raw = psql(RECORDS) + "ERROR:  relation \"missing\" does not exist\nLINE 1: select * from missing;\n"
    assert 'ERROR:  relation "missing" does not exist' in check(look(raw, "psql -f report.sql", budget=60)).lines


def test_a_table_that_the_caller_narrowed_stands_whole() -> None:
    assert not check(look(psql(RECORDS), "psql -c 'select 1' | head -300")).view.gaps


def test_what_was_asked_for_stands() -> None:
    raw = psql(RECORDS)
    name = RECORDS[120][1]
    assert name in "\n".join(check(look(raw, "psql -c x", intent=name)).lines)


@pytest.mark.parametrize(("text", "shape"), [
    ("".join(f"2026-11-01 10:00:{n % 60:02},{n:03} INFO worker, {n} took  a job\n" for n in range(40)), "log"),
    ("class A:\n" + "".join(f"    def f_{n}(self, a, b, c):\n        return  a\n" for n in range(40)), "code"),
    ("".join(f"src/a.py:{n}:a  =  {n}, {n}, {n}\n" for n in range(40)), "matches"),
    ("".join(f"tests/test_a.py::test_{n} PASSED   [ {n}%]\n" for n in range(40)), "tests"),
])
def test_other_outputs_are_left_to_their_shapes(text: str, shape: str) -> None:
    assert detect(text, Call("Bash", {"command": "./run"}))[0] == shape


@given(st.integers(0, 10**6), st.sampled_from(["psql -c x", "kubectl get pods", "cat a.csv", "ps aux"]),
       st.sampled_from(["safe", "auto", "lean"]),
       st.sampled_from(["", "NAME   READY   STATUS\n", "a,b\n", " a | b \n---+---\n", "+---+\n| a |\n+---+\n", "-[ RECORD 1 ]-\n",
                        "a  b\n-- --\n"]))
def test_whatever_stands_below_a_heading(seed: int, command: str, profile: str, heading: str) -> None:
    check(look(heading + made(seed, 40), command, profile=profile))


def test_many_rows_and_long_rows() -> None:
    for raw in (psql(RECORDS) * 400, "a,b,c\n" + "x," * 1_000_000 + "\n1,2,3\n" * 9,
                "A  B\n" + "x  " * 900_000 + "\n" + "y  1\n" * 9):
        units = SHAPE.units(raw, Call("Bash", {"command": "psql"}))
        assert units is None or len(units.texts) > 9


@pytest.mark.parametrize(("name", "command"), [
    ("logs/local/dpkg_l.txt", "dpkg -l"), ("logs/loghub/Apache_2k.log_structured.csv", "cat log.csv"),
    ("api/livemcp/customers-100.csv", "cat customers.csv")])
def test_recorded_tables(name: str, command: str) -> None:
    file = SHARED / "corpus" / name
    if not file.is_file():
        pytest.skip(f"no {file.name}: it is laid beside the checkout where this project is developed")
    raw = file.read_bytes()
    shown = check(look(raw, command))
    assert shown.view.shape == "table" and len(shown.text.encode()) < len(raw) * 9 // 10
    assert raw.decode().splitlines()[0] in shown.lines and len(set(counted(shown))) == 1


def test_a_line_with_few_cells_is_no_row_and_may_say_that_something_failed() -> None:
    rows = [f"root     {i:6}  0.{i % 9}  0.1  {i * 37 % 9999:6}  S   0:0{i % 9}   worker --slot {i}" for i in range(300)]
    rows[200:200] = ["cat: notes.txt: No such file or directory"]
    shown = check(look("USER        PID  %CPU  %MEM     RSS  STAT  TIME   COMMAND\n" + "\n".join(rows) + "\n", "ps aux"))
    assert shown.view.shape == "table" and "cat: notes.txt: No such file or directory" in shown.lines and shown.view.gaps


def test_what_has_a_heading_and_no_row_is_no_table() -> None:
    text = "COMMON COMMANDS\n\n" + "".join(f"  tool --flag-{n}\n  Does the thing number {n}, and says so\n\n" for n in range(60))
    name, units = detect(text, Call("Bash", {"command": "tool --help"}), first="table")
    assert name != "table" or sum(units.counts or ()) > 0
    assert SHAPE.units("NAME   READY   STATUS\n\nno resources here\n", Call("Bash", {"command": "kubectl get pods"})) is None
