"""The rows with the largest values of what a table measures."""
from __future__ import annotations

import subprocess

import pytest

from byref.filters.columns import ALIGNED, RECORDS, RULED
from byref.filters.extremes import extremes, largest
from conformance.views import check, look

PS = [f"root {i + 100:>8} {i % 7}.{i % 10}  0.{i % 5} {i * 3:>8} ?        S    09:{i:02}   0:00 [kworker/{i}:0-events]" for i in range(60)]
PS[41] = "web       141 0.0 71.3   9 ?        S    09:41   0:00 /usr/bin/python3 serve.py --port 80"
HEADING = "USER       PID %CPU %MEM      RSS TTY      STAT START   TIME COMMAND"


def numbered(rows: list[str]) -> list[tuple[int, str]]:
    return list(enumerate(rows))


def test_columns_with_one_blank_between_them() -> None:
    found = extremes(HEADING, numbered(PS), ALIGNED)
    assert 41 in found and 59 in found and len(found) <= 8


@pytest.mark.parametrize(("heading", "row", "between"), [
    ("NAME        CPU(cores)   MEMORY(bytes)", "api-{i}       {v}           {i}Mi", ALIGNED),
    ("import time: self [us] | cumulative | imported package", "import time:  {i} |  {v} | module_{i}", RULED),
    ("id,name,amount", "{i},someone,{v}.25", ","), ("id\tsize", "{i}\t{v}.5M", "\t")])
def test_however_cells_are_told_apart(heading: str, row: str, between: str) -> None:
    rows = [row.format(i=i, v=9000 if i == 17 else 10 + i * 7 % 13) for i in range(30)]
    assert 17 in extremes(heading, numbered(rows), between)


def test_units_count() -> None:
    rows = [f"pod-{i}   {i + 1}Ki" for i in range(20)]
    rows[3], rows[9] = "pod-3   2Gi", "pod-9   900Mi"
    assert extremes("NAME   MEMORY", numbered(rows), ALIGNED) == {3, 9}


@pytest.mark.parametrize(("heading", "rows", "between"), [
    ("NAME   STATUS", [f"pod-{i}   Running" for i in range(40)], ALIGNED), ("id,size", [f"{i},{i}" for i in range(5)], ","),
    ("id,size", [f"{i},7" for i in range(50)], ","), ("id,size", [f"{i},none" for i in range(50)], ","), ("size", ["1"] * 50, RECORDS)])
def test_what_measures_nothing_has_none(heading: str, rows: list[str], between: str) -> None:
    assert not extremes(heading, numbered(rows), between)


def test_the_view_of_a_list_of_processes_shows_the_largest() -> None:
    shown = check(look(HEADING + "\n" + "\n".join(PS * 3) + "\n", "ps aux"))
    assert any("serve.py" in line for line in shown.lines)


def test_the_largest_files_of_a_long_list_stand() -> None:
    rows = [f"-rw-r--r-- 1 me me {7000000 if i == 23 else 100 + i * 37 % 91:>8} Nov 29 22:{i % 60:02} module_{i}.py" for i in range(150)]
    assert 23 in largest(numbered(rows)) and not largest(numbered(rows[:8]))
    shown = check(look("total 999\n" + "\n".join(rows) + "\n", "ls -l"))
    assert any("module_23.py" in line for line in shown.lines) and len(shown.lines) < 100


def test_real_processes() -> None:
    raw = subprocess.run(["ps", "aux"], capture_output=True, text=True, check=True).stdout
    rows = raw.splitlines()
    largest = max(rows[1:], key=lambda row: int(row.split()[5]))
    if len(rows) > 20:
        assert rows.index(largest) in extremes(rows[0], list(enumerate(rows))[1:], ALIGNED)


@pytest.mark.parametrize("cell", ["9" * 5000, "9," * 5000, "9" * 5000 + ".5K", "²", "٣"])
def test_a_cell_that_no_number_can_be_is_none(cell: str) -> None:
    rows = [f"pod-{i}   {i + 1}Ki" for i in range(20)]
    rows[4] = f"pod-4   {cell}"
    assert 19 in extremes("NAME   MEMORY", numbered(rows), ALIGNED)
    assert largest([(i, f"-rw-r--r-- 1 a b {cell if i == 3 else i} Nov 30 09:00 f{i}") for i in range(20)])
