"""The plot of times beside references: every figure that is one, with its bar, to scale."""
from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from types import ModuleType

import pytest

SVG = "{http://www.w3.org/2000/svg}"
PRINTED = {"hooks": "hook over an empty call: 2.5 times python -c pass (bar 2.0); at 100 KB p50 20 ms (bar 60), p99 30 ms (bar 150)\n",
           "store": "take in 100 MB, each of 3    200, 100, 150 MB/s\n  of zstd alone    0.9, 0.5, 0.4\n", "young": "1 times 2\n",
           "reverse": "direct         p50   0.50   p99   0.98 ms\nbyref          p50   2.50   p99   4.71 ms\n"}


@pytest.fixture
def beside(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("beside")


def test_figures_are_times_of_their_reference(beside: ModuleType) -> None:
    found = {point.label.split(":")[0]: (point.times, point.bar) for point in beside.points(PRINTED)}
    assert found == {"Hooks": (2.5, 2), "The store": (2, None), "APIs through byref serve --upstream": (5, None)}


def test_each_is_a_row_to_scale_and_a_missed_bar_has_another_colour(beside: ModuleType) -> None:
    rows = [beside.Point("good <b>", 1.0, 2.0), beside.Point("ten", 10.0, None), beside.Point("bad", 100.0, 20.0)]
    picture = ElementTree.fromstring(beside.drawn(rows))
    places = [float(circle.attrib["cx"]) for circle in picture.findall(f"{SVG}circle")]
    assert len(places) == 3 and places[2] - places[1] == pytest.approx(places[1] - places[0], abs=0.2)
    assert len({circle.attrib["fill"] for circle in picture.findall(f"{SVG}circle")}) == 3
    assert "good <b>" in [text.text for text in picture.findall(f"{SVG}text")]
    assert all(not math.isnan(place) for place in places)


def test_nothing_measured_is_an_empty_plot(beside: ModuleType) -> None:
    assert ElementTree.fromstring(beside.drawn([])).findall(f"{SVG}circle") == []
