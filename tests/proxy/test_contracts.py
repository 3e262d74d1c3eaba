"""The records that the parts exchange: frozen, comparable, with defaults, without the cost of dataclasses."""
from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from byref.proxy import contracts
from byref.proxy.contracts import Blob, Call, Gap, Part, Seen, View


def test_fields_are_given_by_place_or_name_and_have_their_defaults() -> None:
    assert Gap("stdout", "L1", count=1, unit="lines") == Gap(part="stdout", address="L1", count=1, unit="lines")
    assert Call("shell").exit_code is None and Call("shell", is_error=True).is_error and View("", ()).passed
    assert Seen().lines == frozenset() and not Seen().proven


@pytest.mark.parametrize(("make", "says"), [
    (lambda: Blob("b2:x", 1), "lacks its field 'lines'|missing 1 required positional argument: 'lines'"),
    (lambda: Blob("b2:x", 1, 1, 1), "takes 3 fields|takes 4 positional arguments"),
    (lambda: Blob("b2:x", 1, 1, color=1), "no field 'color'|unexpected keyword argument 'color'"),
])
def test_a_wrong_field_is_an_error(make: object, says: str) -> None:
    for _ in range(2 * contracts._MANY):  # the first few are made in another way than the many
        with pytest.raises(TypeError, match=says):
            make()  # type: ignore[operator]


def test_the_many_are_as_the_few() -> None:
    @contracts.dataclass(frozen=True, slots=True)
    class Pair:
        """Two fields, and what is none."""

        one: int
        two: tuple[int, ...] = ()

        @property
        def both(self) -> tuple[int, ...]:
            return (self.one, *self.two)
    first = Pair(1), Pair(1, (2,)), Pair(one=1, two=(2,))
    for _ in range(2 * contracts._MANY):
        assert (Pair(1), Pair(1, (2,)), Pair(one=1, two=(2,))) == first
    assert Pair.__init__ is not type(first[0]).__mro__[1].__init__, "its own by now"
    assert (first[1].both, Pair(3).two) == ((1, 2), ())
    with pytest.raises(AttributeError, match="frozen"):
        Pair(1).one = 2  # type: ignore[misc]


def test_a_record_is_frozen_hashable_and_survives_pickling() -> None:
    part = Part("stdout", "text/plain", Blob("b2:x", 3, 1))
    with pytest.raises(AttributeError, match="frozen"):
        part.name = "other"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        part.extra = 1  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(part)) == part and len({part, Part("stdout", "text/plain", Blob("b2:x", 3, 1))}) == 1
    assert part != Blob("b2:x", 3, 1) and "stdout" in repr(part)


def test_neither_dataclasses_nor_typing_are_loaded_for_them() -> None:
    code = "import sys; before = set(sys.modules); import byref.proxy.contracts; print(sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "dataclasses" not in loaded and "'typing'" not in loaded
