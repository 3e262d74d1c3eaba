"""What the dashboard shows of a store: every output once, views with their gaps, and no gap that byref did not make."""
from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

import byref
from byref.proxy.contracts import Blob, Gap, Part
from byref.proxy.errors import Expired, Invalid, Unknown
from byref.proxy.frontends import dashboard_data as data

SCOPE, OTHER = "1000:/home/me/project", "1000:/home/me/other"
LONG = "".join(f"line {n}: value {n * 7919 % 1009}\n" for n in range(3000))


class Clock:
    def __init__(self) -> None:
        self.now = 1e9

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gateway(clock: Clock) -> Iterator[byref.Gateway]:
    with byref.open("memory:", clock=clock) as one:
        yield one


def test_pages_hold_every_output_once_and_the_newest_first(gateway, clock):
    session = gateway.session("s", scope=SCOPE)
    for number in range(23):
        clock.now += number % 2
        session.capture(tool="shell", args={"command": f"echo {number}"}, output=f"{number}\n")
    commands, before = [], None
    while True:
        page: Any = data.outputs(gateway.store, SCOPE, None, before, limit=5)
        commands += [row["command"] for row in page["outputs"]]
        before = page["next"]
        if before is None:
            break
    assert commands == [f"echo {number}" for number in range(22, -1, -1)]


def test_scopes_that_hold_something_come_newest_first_with_their_sessions(gateway, clock):
    for name, scope in (("a", SCOPE), ("b", OTHER), ("c", OTHER)):
        clock.now += 1
        gateway.session(name, scope=scope).capture(tool="shell", output=name)
    gateway.session("b", scope=OTHER).close()
    gone = gateway.session("d", scope="gone")
    gone.purge(gone.capture(tool="shell", output="d").ref)
    found: Any = data.overview(gateway.store)
    assert [(one["name"], [(row["name"], row["closed"]) for row in one["sessions"]]) for one in found["scopes"]] == [
        (OTHER, [("b", True), ("c", False)]), (SCOPE, [("a", False)])]
    assert found["store"]["outputs"] == 3


def test_a_view_comes_in_pieces_that_are_its_text_and_each_gap_can_be_fetched(gateway):
    session = gateway.session("s", scope=SCOPE)
    shown = session.capture(tool="shell", args={"command": "make"}, output={"stdout": LONG, "stderr": LONG.replace("value", "other")})
    view: Any = data.output(gateway.store, SCOPE, shown.ref)["views"]
    assert "".join(piece["text"] for piece in view[0]["pieces"]) == shown.text
    gaps = [(piece["part"], piece["at"]) for piece in view[0]["pieces"] if "at" in piece]
    assert gaps == [(gap.part, gap.address) for gap in shown.gaps] and {part for part, _ in gaps} == {"stdout", "stderr"}
    for part, at in gaps:
        page: Any = data.page(gateway.store, SCOPE, shown.ref, at, part, None, None)
        assert page["text"] and page["text"] in (LONG if part == "stdout" else LONG.replace("value", "other"))


def test_what_looks_like_a_marker_in_raw_text_is_no_gap(gateway):
    fake = "«L1-20 12 lines»\n«stderr:L3-9»\n"
    shown = gateway.session("s", scope=SCOPE).capture(tool="shell", args={"command": "make"}, output=fake + LONG + fake)
    view: Any = data.output(gateway.store, SCOPE, shown.ref)["views"]
    assert not shown.passed
    assert [piece["at"] for piece in view[0]["pieces"] if "at" in piece] == [gap.address for gap in shown.gaps]
    whole = gateway.session("s", scope=SCOPE).capture(tool="shell", args={"command": "echo"}, output=fake)
    views: Any = data.output(gateway.store, SCOPE, whole.ref)["views"]
    assert views[0]["passed"] and views[0]["pieces"] == []


def test_a_marker_whose_address_is_not_the_next_gaps_is_no_gap():
    part = Part("stdout", "text/plain", Blob("b2:0", 1, 0))
    found: Any = data.pieces_of("a\n«L5-9 x»\n«×3 to L9»\n«stdout:L10-12»\n", [Gap("stdout", "L10-12", 3, "lines")], part)
    assert [(piece["text"], piece.get("at"), piece.get("mark")) for piece in found] == [
        ("a\n", None, None), ("«L5-9 x»", None, True), ("\n", None, None), ("«×3 to L9»", None, True), ("\n", None, None),
        ("«stdout:L10-12»", "L10-12", None), ("\n", None, None)]
    longer: Any = data.pieces_of("«L10-129»", [Gap("stdout", "L10-12", 3, "lines")], part)
    assert longer == [{"text": "«L10-129»", "mark": True}]


def test_each_call_of_an_output_has_its_view_the_newest_first_and_those_of_other_scopes_have_none(gateway):
    for name in ("a", "b"):
        ref = gateway.session(name, scope=SCOPE).capture(tool="shell", args={"command": "make"}, output=LONG).ref
    gateway.session("c", scope=OTHER).capture(tool="shell", args={"command": "make"}, output=LONG)
    found: Any = data.output(gateway.store, SCOPE, ref)
    assert ([view["session"] for view in found["views"]], found["calls"]) == (["b", "a"], 2)
    with pytest.raises(Unknown):
        data.output(gateway.store, "1000:/home/me/third", ref)


def test_bytes_come_whole_page_by_page_and_say_what_is_no_text(gateway):
    raw = (LONG + LONG).encode() + b"caf\xe9\n"
    ref = gateway.session("s", scope=SCOPE).capture(tool="shell", output=raw).ref
    got, cursor = "", None
    while True:
        page: Any = data.page(gateway.store, SCOPE, ref, None, "stdout", cursor, None)
        assert page["exact"]
        got, cursor = got + page["text"], page["cursor"]
        if cursor is None:
            break
    assert got.encode("utf-8", "surrogateescape") == raw
    binary = gateway.session("s", scope=SCOPE).capture(tool="shell", output=bytes(range(256)) * 9).ref
    page = data.page(gateway.store, SCOPE, binary, None, None, None, None)
    assert page["binary"] and not page["exact"]
    assert data.page(gateway.store, SCOPE, binary, None, None, None, "base64")["text"].startswith("AAECAwQF")


def test_an_output_that_is_too_old_says_so(gateway, clock):
    ref = gateway.session("s", scope=SCOPE).capture(tool="shell", args={"command": "make"}, output="x").ref
    clock.now += 40 * 86400
    with pytest.raises(Expired):
        data.output(gateway.store, SCOPE, ref)
    assert data.overview(gateway.store)["scopes"] == []


def test_outputs_are_narrowed_by_tool_shape_day_and_outcome_page_by_page(gateway, clock):
    session = gateway.session("s", scope=SCOPE)
    start = clock.now = 86400.0 * 20_000
    for number in range(24):
        session.capture(tool=("shell", "Read")[number % 2], args={"command": f"echo {number}"}, output=f"{number}\n", exit_code=number % 3)
        clock.now += 3600 * 2  # two days

    def commands(limit: int = 50, **wanted: Any) -> list[str]:
        got, before = [], None
        while True:
            page: Any = data.outputs(gateway.store, SCOPE, None, before, data.Wanted(**wanted), limit)
            got += [one["command"].removeprefix("echo ") for one in page["outputs"]]
            before = page["next"]
            if before is None:
                return got

    every = [str(number) for number in range(23, -1, -1)]
    assert commands() == commands(5) == every
    assert commands(tool="Read") == commands(5, tool="Read") == every[::2]
    assert commands(failed=True) == [one for one in every if int(one) % 3]
    assert commands(day="2024-10-04") == commands(5, day="2024-10-04") == every[12:] and commands(day="2024-10-05") == every[:12]
    assert commands(day="2024-10-05", tool="shell", failed=True) == ["22", "20", "16", "14"]
    assert commands(shape="none such") == commands(day="2024-10-06") == commands(day="1999-01-01") == []
    assert time.gmtime(start)[:3] == (2024, 10, 4)
    with pytest.raises(Invalid, match="YYYY-MM-DD"):
        commands(day="4.10.2024")


def test_a_page_of_few_among_many_ends_and_says_how_far_back_it_looked(gateway, monkeypatch):
    monkeypatch.setattr(data, "LOOKED", 10)
    monkeypatch.setattr(data, "STEP", 5)
    session = gateway.session("s", scope=SCOPE)
    for number in range(32):
        session.capture(tool="shell" if number else "Read", args={"command": f"echo {number}"}, output=f"{number}\n")
    pages, before = [], None
    while True:
        page: Any = data.outputs(gateway.store, SCOPE, None, before, data.Wanted(tool="Read"))
        pages.append((len(page["outputs"]), page["back"] is not None))
        before = page["next"]
        if before is None:
            break
    assert pages == [(0, True), (0, True), (0, True), (1, False)]


@pytest.mark.parametrize("media, sample, ending", [
    ("text/plain", b"text", ".txt"), ("application/json", b"{}", ".json"), ("image/png", b"\x89PNG", ".png"), ("", b"x", ".bin"),
    ("text/plain", bytes(range(32)), ".bin"), ('text/plain"\r\nX: y', b"x", ".bin"), ("text/x-none-such", b"x", ".bin")])
def test_a_file_has_the_name_and_type_of_its_part(media, sample, ending):
    kind, name = data.as_file("rabc", Part('std"out/\r\n..', media, Blob("b2:0", 1, 0)), sample)
    assert name == "rabc-std-out" + ending and "\n" not in kind and '"' not in kind
    assert data.as_file("rabc", Part("page.json", "application/json", Blob("b2:0", 1, 0)), b"{}")[1] == "rabc-page.json"


@pytest.mark.parametrize("before", ["", "x", "1", "1:y", "nan:", ":"])
def test_a_page_that_none_named_is_invalid(gateway, before):
    with pytest.raises(Invalid):
        data.outputs(gateway.store, SCOPE, None, before)
