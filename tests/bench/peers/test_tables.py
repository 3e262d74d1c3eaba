"""Tables and plot of the comparison: matched savings are read off straight lines, and the plot has every arm, legibly."""
from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest

SVG = "{http://www.w3.org/2000/svg}"


def row(tables: ModuleType, arm: str, saved: float, data: float, need: float = 0.0, edit: float = 1.0, net: float = 0.0) -> Any:
    return tables.Measured(arm, saved, data, data, need, edit, net, net, 0, 1.0, 2.0)


@pytest.fixture
def rows(tables: ModuleType) -> list[Any]:
    return [row(tables, "raw", 0, 1), row(tables, "peer", 0.3, 0.7, need=0.5, net=-0.2), row(tables, "idle peer", 0.001, 1),
            row(tables, "head+tail 2000", 0.4, 0.8, need=0.4), row(tables, "head+tail 500", 0.8, 0.4, need=0.8),
            row(tables, "byref safe", 0.2, 1, net=0.2), row(tables, "byref auto", 0.4, 0.96, need=0.1, net=0.3)]


def test_a_figure_between_two_settings_lies_on_the_line_between_them(tables: ModuleType, rows: list[Any]) -> None:
    cuts = tables.curve(rows, "head+tail ")
    assert tables.between(cuts, 0.4, "data") == 0.8
    assert tables.between(cuts, 0.3, "data") == pytest.approx(0.85) and tables.between(cuts, 0.6, "need") == pytest.approx(0.6)
    assert tables.between(cuts, 0, "data") == 1
    assert math.isnan(tables.between(cuts, 0.81, "data")) and math.isnan(tables.between(cuts, -0.1, "data"))


def test_settings_that_save_the_same_are_no_division_by_zero(tables: ModuleType) -> None:
    same = [row(tables, "byref lean", 0.5, 0.9), row(tables, "byref lean, 2000", 0.5, 0.9)]
    assert tables.between(same, 0.5, "data") == 0.9


def test_a_curve_starts_at_raw_and_leaves_out_what_another_setting_beats(tables: ModuleType, rows: list[Any]) -> None:
    worse = row(tables, "byref odd", 0.3, 0.9)
    assert [one.arm for one in tables.curve([*rows, worse], "byref ")] == ["raw", "byref safe", "byref auto"]


def test_each_peer_stands_beside_cuts_and_byref_at_as_much_saved(tables: ModuleType, rows: list[Any]) -> None:
    head, _, *lines = tables.matched(rows)
    assert len(lines) == 1, "one that saves nothing cannot be compared, and cuts and byref are no peers"
    assert [cell.strip() for cell in lines[0].strip("|").split("|")] == [
        "peer", "0.300", "0.700", "0.850", "0.980", "0.500", "0.300", "0.050", "1.000", "1.000", "1.000", "-0.200", "0.250"]
    assert head.count("|") == lines[0].count("|")
    beyond = [*rows, row(tables, "strong peer", 0.9, 0.1)]
    assert "| – |" in tables.matched(beyond)[-1], "nothing is made up beyond what was measured"


def test_the_table_is_by_what_is_saved(tables: ModuleType, rows: list[Any]) -> None:
    lines = tables.table(rows)
    assert len(lines) == len(rows) + 2 and len({line.count("|") for line in lines}) == 1
    assert [line.split("|")[1].strip() for line in lines[2:]][:2] == ["raw", "idle peer"] and "head+tail 500" in lines[-1]
    assert "| – |" in tables.table([row(tables, "open", 0.1, 1, edit=math.nan)])[-1]


def test_the_plot_has_every_arm_and_no_label_upon_another(tables: ModuleType, rows: list[Any]) -> None:
    crowd = [row(tables, f"crowded {n}", 0.1 + n / 100, 0.45) for n in range(12)]
    picture = ElementTree.fromstring(tables.drawn([*rows, *crowd], "a file"))
    height = float(picture.attrib["viewBox"].split()[3])
    groups = picture.findall(f"{SVG}g")
    labels = [group.find(f"{SVG}text") for group in groups]
    assert sorted(label.text or "" for label in labels if label is not None) == sorted(one.arm for one in [*rows, *crowd])
    places = sorted(float(label.attrib["y"]) for label in labels if label is not None)
    assert all(b - a >= 11.9 for a, b in pairwise(places)) and places[0] > 0 and places[-1] < height
    assert len(picture.findall(f"{SVG}polyline")) == 2


def test_an_arm_without_evidence_to_lose_is_not_drawn(tables: ModuleType, rows: list[Any]) -> None:
    assert "no evidence" not in tables.drawn([*rows, row(tables, "no evidence", 0.2, math.nan)], "a file")
