"""Every shape there is, found as the proxy finds them, and the view of any text as if it were of one of them."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from byref.filters import render
from byref.filters.units import Shape, Units
from byref.proxy import discover
from byref.proxy.contracts import Call
from conformance.views import Shown, check, look

NAMES = discover.names("shapes")


def shape(name: str) -> Shape:
    found: Shape = discover.load("shapes", name).SHAPE
    return found


@contextmanager
def forced(name: str) -> Iterator[None]:
    """Takes every text that the shape can cut at all to be of it; others are told apart as ever."""
    detect = render.detect

    def only(text: str, call: Call, *rest: Any) -> tuple[str, Units]:
        units = shape(name).units(text, call)
        return (name, units) if units is not None else detect(text, call, *rest)

    with mock.patch.object(render, "detect", only):
        yield


def look_as(name: str, raw: str | bytes, command: str | None = None, **named: Any) -> Shown:
    """The view of an output that is taken for one of a shape, held against its bytes."""
    with forced(name):
        return check(look(raw, command, **named))
