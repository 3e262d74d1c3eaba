"""Addresses as agents write them."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.address import Bytes, Lines, Match, Path, Records, parse
from byref.proxy.errors import Invalid


@pytest.mark.parametrize(("at", "address"), [
    ("L120-180", Lines(120, 180)),
    ("L5", Lines(5, 5)),
    ("l5-L9", Lines(5, 9)),
    ("L7-", Lines(7, None)),
    ("120-180", Lines(120, 180)),
    ("b0-4096", Bytes(0, 4096)),
    ("b12-", Bytes(12, None)),
    ("b12", Bytes(12, 13)),
    ("b4-4", Bytes(4, 4)),
    ("records 3-9", Records(3, 9)),
    ("records 3", Records(3, 3)),
    ("/warn|error/", Match("warn|error", 0)),
    ("/a/b/±2", Match("a/b", 2)),
    (r"/a\/b/ 3", Match("a/b", 3)),
    ("/Error/i±1", Match("(?i:Error)", 1)),
    ("/x/±99999", Match("x", 1000)),
    ("results[3].title", Path("results[3].title")),
    ("$.results[3:9]", Path("$.results[3:9]")),
    ("Labels[0]", Path("Labels[0]")),
    ("b2[0].x", Path("b2[0].x")),
    ("L2.x", Path("L2.x")),
    ("records[3]", Path("records[3]")),
    ('["odd: key"]', Path('["odd: key"]')),
])
def test_every_form_is_understood_as_it_is_written(at: str, address: object) -> None:
    assert parse(at, ["stdout"]) == (None, address)
    assert parse(f" stdout:{at} ", ["stdout", "stderr"]) == ("stdout", address)


def test_a_part_is_named_only_by_a_name_that_exists() -> None:
    assert parse("stderr:", ["stdout", "stderr"]) == ("stderr", None)
    assert parse("", ["text"]) == (None, None)
    assert parse("content.1:L2", ["content", "content.1"]) == ("content.1", Lines(2, 2))
    assert parse("rows[3:9]", ["stdout"]) == (None, Path("rows[3:9]"))


@pytest.mark.parametrize("at", [
    "L0", "L9-5", "L", "b9-5", "b", "L1-2-3", "L1-99999999999999999", "records 5-2", "//", "/x", "/x/y", "/x/±", "/x/++3", "a\nb",
    "x" * 5000, "L٣",
])
def test_what_cannot_be_meant_is_invalid_and_says_so(at: str) -> None:
    named, address = None, None
    with pytest.raises(Invalid, match=r"^invalid: .{10,}"):
        named, address = parse(at, ["stdout"])
        if isinstance(address, Path):  # a path is judged against the JSON it leads into
            raise Invalid(f"the path {address.path} leads nowhere")
    assert named is None


@given(st.text(max_size=40))
def test_no_text_does_anything_but_parse_or_be_invalid(at: str) -> None:
    try:
        parse(at, ["stdout", "stderr"])
    except Invalid:
        pass


@pytest.mark.parametrize("at", ["L-5", "L1-2,5-6", "b-3", "L5-b9"])
def test_what_looks_like_a_range_and_is_none_is_told_as_such(at: str) -> None:
    with pytest.raises(Invalid, match="is no range"):
        parse(at, [])


def test_a_short_key_is_a_path() -> None:
    assert isinstance(parse("b", [])[1], Path) and isinstance(parse("L.b", [])[1], Path)
