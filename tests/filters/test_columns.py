"""How a table is written is told from its first lines, and what only looks like one is none."""
from __future__ import annotations

import pytest

from byref.filters.columns import ALIGNED, RECORDS, ROWS, RULED, form_of, in_capitals, is_rule
from byref.proxy.contracts import Call

NONE = Call("Bash", {"command": "make report"})
PSQL = " id |  name  \n----+--------\n  1 | Ada\n  2 | Grace\n(2 rows)\n"
BOX = "┌────┬───────┐\n│ id │ name  │\n├────┼───────┤\n│ 1  │ Ada   │\n│ 2  │ Grace │\n└────┴───────┘\n"
MYSQL = "+----+-------+\n| id | name  |\n+----+-------+\n|  1 | Ada   |\n|  2 | Grace |\n+----+-------+\n2 rows in set (0.00 sec)\n"
MARKDOWN = "| id | name |\n|----|:----:|\n| 1 | Ada |\n| 2 | Grace |\n"
BARE = "id | name\n--- | ---\n1 | Ada\n2 | Grace\n"
PIP = "Package    Version\n---------- -------\nblinker    1.9.0\ncertifi    2026.10\nclick      8.5\n"
PODS = "NAME          READY   STATUS    RESTARTS   AGE\nweb-7d6b8c9   1/1     Running   0          2d\n" \
    "db-0          1/1     Running   0          7d\n"
EXPANDED = "-[ RECORD 1 ]----\nid   | 1\nname | Ada\n-[ RECORD 2 ]----\nid   | 2\nname | Grace\n"
CSV = "id,name,born\n1,Ada,1815\n2,\"Hopper, Grace\",1906\n3,Barbara,1939\n"
FRAME = "       city  count  share\n0     Delft     14    1.5\n1  Hannover      3   12.0\n2     Turin    120    0.1\n"
COVERAGE = "Name         Stmts   Miss  Cover\n--------------------------------\nsrc/a.py        10      0   100%\n" \
    "src/b.py        20     10    50%\n" \
    "--------------------------------\nTOTAL           30     10    67%\n"
DPKG = "Desired=Unknown/Install/Remove\n| Status=Not/Inst\n||/ Name     Version  Description\n+++-========-========-==========\n" \
    "ii  adduser  3.134    add and remove users\nii  apt      2.6.1    package manager\n"


@pytest.mark.parametrize(("text", "between", "first", "after"), [
    (PSQL, RULED, 0, 2), (BOX, RULED, 0, 3), (MYSQL, RULED, 0, 3), (MARKDOWN, RULED, 0, 2), (BARE, RULED, 0, 2), (PIP, ALIGNED, 0, 2),
    (PODS, ALIGNED, 0, 1), (EXPANDED, RECORDS, 0, 0), (CSV, ",", 0, 1), (CSV.replace(",", ";"), ";", 0, 1), (FRAME, ALIGNED, 0, 1),
    (COVERAGE, ALIGNED, 0, 2), (DPKG, ALIGNED, 0, 4), ("a\tb\tc\n1\t2\t3\n1\t2\t3\n", "\t", 0, 1),
    ("Password for user ada:\nTable \"public.people\"\n" + PSQL, RULED, 2, 4), ("\n\n" + PIP, ALIGNED, 2, 4),
])
def test_the_heading_is_found_in_each_way_a_table_is_written(text: str, between: str, first: int, after: int) -> None:
    form = form_of(text.split("\n"), NONE, "")
    assert form is not None and (form.between, form.first, form.after) == (between, first, after)


@pytest.mark.parametrize("text", [
    "def f(x):\n    a  = 1\n    bc = 22\n    return a,  bc\n", "INFO: one, two\nINFO: three\nINFO: four, five\nINFO: six\n",
    "==================\nANALYSIS:\n==================\nall is well\nand more\n",
    "Title\n=====\n\nSome words, and more of them.\nA second line.\n",
    "ERROR: FAILED\nsomething went wrong\nin a way that\nnobody knew\n", "- one\n- two\n- three\n", "a\nb\n", "",
    "e06b4d347ce (Ada Lovelace  2017-12-25 23:19:20 +0530 1009)     def f(self):\n"
    "798401affb6 (Grace Hopper  2019-01-29 08:56:24 +0100 1010)         return self\n"
    "798401affb6 (Grace Hopper  2019-01-29 08:56:24 +0100 1011)         return  1\n"
    "798401affb6 (Grace Hopper  2019-01-29 08:56:24 +0100 1012)         return  2\n",
    "web_1  | GET /a 200\nweb_1  | GET /b 200\ndb_1   | ready\nweb_1  | GET /c 404\n",
    "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a, b, c\n+a, b, d\n",
    "x = [\n    1, 2, 3,\n    4, 5, 6,\n    7, 8, 9,\n]\n", "    1, 2, 3,\n    4, 5, 6,\n    7, 8, 9,\n    7, 8, 9,\n",
])
def test_what_only_looks_like_a_table_is_none(text: str) -> None:
    assert form_of(text.split("\n"), NONE, "") is None


def test_a_file_or_a_media_type_says_that_its_first_line_may_be_data() -> None:
    rows = ["1,Ada,1815", "2,Grace,1906", "3,Barbara,1939"]
    assert form_of(rows, NONE, "") is None
    for call, media in ((Call("Bash", {"command": "cat people.csv"}), ""), (NONE, "text/csv; charset=utf-8")):
        form = form_of(rows, call, media)
        assert form is not None and form.first == form.after == 0


def test_a_table_among_words_is_no_table_unless_a_program_prints_tables() -> None:
    page = BARE + "\n" + "".join(f"Paragraph {n} tells at length what the table above leaves out.\n" for n in range(20))
    assert form_of(page.split("\n"), NONE, "") is None
    assert form_of(page.split("\n"), Call("Bash", {"command": "psql -f report.sql"}), "") is not None
    assert form_of((PSQL + "\n" + PSQL + "\n" + PSQL).split("\n"), NONE, "") is not None, "three tables"


def test_a_known_program_is_surer() -> None:
    surely = form_of(PODS.split("\n"), Call("Bash", {"command": "kubectl get pods"}), "")
    perhaps = form_of(PODS.split("\n"), NONE, "")
    assert surely is not None and perhaps is not None and surely.sure > perhaps.sure


@pytest.mark.parametrize(("row", "drawn"), [("----+----", True), ("├───┼───┤", True), ("=== ===", True), ("|---|:--:|", True),
                                            ("", False), ("-", False), ("- a", False), ("+ +", False), ("a--b", False)])
def test_rules(row: str, drawn: bool) -> None:
    assert is_rule(row) is drawn


@pytest.mark.parametrize(("row", "names"), [
    ("NAME   READY   STATUS", True), ("USER  PID %CPU COMMAND", True), ("NAME  MAJ:MIN RM SIZE", True), ("CONTAINER ID   IMAGE", True),
    ("Name  Ready", False), ("ERROR: FAILED", False), ("TOTAL", False), ("A   B", False), ("### BUILD ###", False)])
def test_names_in_capitals(row: str, names: bool) -> None:
    assert in_capitals(row) is names


def test_long_lines_cost_no_more_than_their_length() -> None:
    for row in ("a  " * 700_000, "-" * 2_000_000, "a," * 1_000_000, "| " * 1_000_000, "A " * 1_000_000, " " * 2_000_000 + "x"):
        form_of([row] * 4, NONE, "")
    form_of(["x  1"] * ROWS, NONE, "")


@pytest.mark.parametrize("count", [4, 5, 8, 13, 58])
@pytest.mark.parametrize("cell", ["abc", "é→", "東京", "\udc80x", "a\u00a0b"])
def test_columns_line_up_whatever_their_cells_hold(count: int, cell: str) -> None:
    rows = ["name      size  owner", *(f"{cell:<9} {i * 7:>4}  {cell}" for i in range(count))]
    form = form_of(rows, Call("x"), "")
    assert form is not None and (form.between, form.first, form.after) == ("", 0, 1)
    assert form_of([*rows, "words through all of it"], Call("x"), "") is None
