"""What comes in over HTTP is what it says, or is refused. The routes' own tests send real requests."""
from __future__ import annotations

import pytest

from byref.proxy.errors import Invalid
from byref.proxy.frontends.bodies import Fields


def test_fields_are_taken_by_their_type():
    fields = Fields({"a": "x", "b": 3, "c": True, "d": 1.5, "e": {"x": [1]}, "f": None, "g": None, "h": None, "i": None})
    assert (fields.text("a"), fields.number("b"), fields.flag("c"), fields.seconds("d")) == ("x", 3, True, 1.5)
    assert fields.value("e") == {"x": [1]}
    assert (fields.text("f", "default"), fields.number("g", 5), fields.optional("h"), fields.flag("i")) == ("default", None, None, False)
    assert (fields.text("none"), fields.number("none", 5), fields.optional("none"), fields.seconds("none")) == ("", 5, None, None)
    fields.done()
    assert Fields({"n": {"x": 1, "y": 0.5}}).numbers("n") == {"x": 1, "y": 0.5} and Fields({"n": None}).numbers("n") is None


@pytest.mark.parametrize(("take", "value"), [
    (Fields.text, 3), (Fields.text, ["x"]), (Fields.needed, ""), (Fields.needed, None), (Fields.optional, 0), (Fields.number, "3"),
    (Fields.number, True), (Fields.number, 1.5), (Fields.seconds, "1"), (Fields.seconds, True), (Fields.flag, 1), (Fields.flag, "true"),
    (Fields.numbers, 3), (Fields.numbers, ["x"]), (Fields.numbers, {"x": "1"}), (Fields.numbers, {"x": False})])
def test_a_wrong_type_is_refused_by_name(take, value):
    with pytest.raises(Invalid, match="name"):
        take(Fields({"name": value}), "name")


def test_a_field_that_nobody_takes_is_refused():
    fields = Fields({"tool": "x", "exit": 1})
    fields.text("tool")
    with pytest.raises(Invalid, match="'exit'"):
        fields.done()
