"""What a shape gives: lists over pieces, with defaults that fit plain lines; ranks in the order of what stands."""
from __future__ import annotations

from byref.filters.detect import known
from byref.filters.units import ALWAYS, ANCHOR, HIDDEN, MUST, PLAIN, Units
from byref.proxy.contracts import Call


def test_ranks_rise_with_what_stands() -> None:
    assert PLAIN < ANCHOR < MUST < ALWAYS < HIDDEN


def test_plain_lines_need_nothing_else() -> None:
    units = Units(["a"], lambda i, j: "L1", bytearray(1), [0])
    assert units.name == "lines" and units.strictness == 100 and not units.rendered
    assert units.repeats == {} and units.failures == {} and units.keys == []
    assert Units([], lambda i, j: "", bytearray(), []).repeats is not units.repeats, "no two outputs share a list"


def test_a_shape_is_a_name_a_confidence_and_units() -> None:
    for shape in known():
        assert shape.name.isidentifier()
        samples = ("", "\n", "a\n" * 99, "{")
        asked = [shape.match(Call(tool, None), "text/plain", sample) for tool in ("", "Bash", "Read") for sample in samples]
        assert all(0 <= sure <= 100 for sure in asked)
        units = shape.units("", Call("x"))
        assert units is None or units.texts == [], f"{shape.name} makes nothing of nothing"
