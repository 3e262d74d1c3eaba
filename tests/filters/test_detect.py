"""Shapes are found by file, asked by confidence, and every text finds one."""
from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.filters import detect as module
from byref.filters.detect import detect, known
from byref.filters.lines import clean
from byref.proxy.contracts import Call
from conformance.outputs import made


def test_each_file_in_the_folder_is_a_shape(root: Path) -> None:
    files = sorted(f.stem for f in (root / "filters" / "shapes").glob("*.py") if f.stem != "__init__")
    assert [shape.name for shape in known()] == files


@given(st.integers(0, 10**6), st.sampled_from(["Bash", "Read", "x"]), st.sampled_from(["cat a", "pytest", "grep -n x", ""]))
def test_every_text_has_units_that_cover_its_lines(seed: int, tool: str, command: str) -> None:
    text = made(seed, 60)
    name, units = detect(text, Call(tool, {"command": command}))
    n = len(units.texts)
    assert name in {shape.name for shape in known()} and len(units.rank) == len(units.worth) == n
    assert not units.keys or len(units.keys) == n
    for lists in (units.counts, units.labels, units.heads, units.glued, units.sizes, units.sources):
        assert lists is None or len(lists) == n


@pytest.mark.parametrize(("text", "call", "media", "name"), [
    ('{"a": 1}', Call("x"), "text/plain", "json"), ("a\nb\n", Call("Read"), "text/plain", "code"),
    ("a\nb\n", Call("x"), "text/plain", "text"),
    ("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", Call("x"), "text/plain", "diff"),
    ("a.py:1:x\na.py:2:y\nb.py:3:z\n", Call("x"), "text/plain", "matches"),
])
def test_the_most_confident_shape_that_can_cut_the_text(text: str, call: Call, media: str, name: str) -> None:
    assert detect(text, call, media)[0] == name


@given(st.integers(0, 10**6), st.sampled_from(["Bash", "Read", "x"]), st.sampled_from(["cat a", "pytest", "grep -n x", "ls", ""]))
def test_where_all_units_stand_a_shape_only_cuts_and_what_counts_as_shown_is_the_same(seed: int, tool: str, command: str) -> None:
    call = Call(tool, {"command": command})
    for text in (made(seed, 9), made(seed, 60)):
        (name, units), (same, cut) = detect(text, call), detect(text, call, whole=True)
        assert same == name and cut.keys == units.keys and cut.sources == units.sources
        assert cut.texts == units.texts


def test_where_a_shape_gives_up_the_next_best_is_asked() -> None:
    assert detect('{"a": [1, 2, this is no JSON at all, and it goes on for a while in words\n' * 3, Call("x"))[0] != "json"


def test_a_tie_goes_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        name = "aaa"

        def match(self, call: Call, media: str, sample: str) -> int:
            return 1

        def units(self, text: str, call: Call) -> object:
            return "units of aaa"

    text = next(shape for shape in known() if shape.name == "text")
    for order in ((Other(), text), (text, Other())):
        monkeypatch.setattr(module, "known", lambda order=order: order)
        assert detect("words", Call("x")) == ("aaa", "units of aaa")


def sample_of(text: str) -> str:
    """What shapes look at: the start of a text as a terminal would show it."""
    return "\n".join([clean(row) for row in text[:module.SAMPLE].split("\n")])


def in_turn(text: str, call: Call, media: str, first: str) -> str:
    """The name of the shape that is found where all are asked how sure they are."""
    sample = sample_of(text)
    sure = {shape.name: shape.match(call, media, sample) for shape in known()}
    if first:
        sure[first] = 101 if sure[first] else 29
    shapes = sorted(known(), key=lambda shape: (-sure[shape.name], shape.name))
    return next(shape.name for shape in shapes if shape.units(text, call) is not None)


@given(st.integers(0, 10**6), st.sampled_from(["Bash", "Read", "WebFetch", "grep"]),
       st.sampled_from(["cat a", "pytest", "grep -n x", "ls -l", "git diff", "kubectl get pods", "make", ""]),
       st.sampled_from(["text/plain", "text/plain", "text/csv", "text/html", "application/json"]),
       st.sampled_from(["", "", "log", "table"]))
def test_shapes_that_are_not_asked_would_have_lost(seed: int, tool: str, command: str, media: str, first: str) -> None:
    text, call = made(seed, 60), Call(tool, {"command": command})
    assert detect(text, call, media, first)[0] == in_turn(text, call, media, first)
    if media == "text/plain":
        sample = sample_of(text)
        assert all(shape.match(call, media, sample) <= getattr(shape, "most", 100) for shape in known())


def test_a_shape_looks_at_the_start_alone_to_say_how_sure_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    text = next(shape for shape in known() if shape.name == "text")

    class Watching:
        name = "zzz"

        def match(self, call: Call, media: str, sample: str) -> int:
            seen.append(len(sample))
            return 0

        def units(self, text: str, call: Call) -> None:
            return None

    monkeypatch.setattr(module, "known", lambda: (Watching(), text))
    detect("x" * 10_000, Call("x"))
    assert seen == [module.SAMPLE]
