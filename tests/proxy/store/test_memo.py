"""The memo keeps no text that the bytes can give back, and gives back every text as it was."""
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.contracts import Blob, Capture, Manifest, Part, View
from byref.proxy.store.memo import decode, first_of, texts_to_keep
from byref.proxy.store.source import BytesSource
from byref.proxy.text import digest


def manifest_of(*contents: bytes) -> Manifest:
    return Manifest("shell", "{}", tuple(Part("stdout", "text/plain", Blob(digest(c), len(c), c.count(b"\n"))) for c in contents))


def test_nothing_is_kept_of_a_view_that_is_the_raw_text() -> None:
    manifest = manifest_of(b"out\n", b"caf\xe9")
    assert texts_to_keep(View("", ("out\n", "caf\udce9")), manifest) is None
    for texts in ((), ("out\n",), ("out\n", "caf�"), ("out", "caf\udce9"), ("out\n", "\ud800")):
        assert texts_to_keep(View("", texts), manifest) == texts
    assert texts_to_keep(View("head", ("out\n", "caf\udce9"), passed=False), manifest) == ("out\n", "caf\udce9")


@given(st.lists(st.binary(max_size=50), max_size=3),
       st.lists(st.text(st.characters(codec=None, exclude_categories=()), max_size=20), max_size=3), st.booleans(), st.booleans())
def test_every_text_comes_back(contents: list[bytes], texts: list[str], raw: bool, passed: bool) -> None:
    held = {digest(content): content for content in contents}
    manifest = manifest_of(*contents)
    view = View("", tuple(map(decode, contents) if raw else texts), passed=passed)
    kept = texts_to_keep(view, manifest)
    bare = Capture("s", "s", "c", "1", "r1", manifest, "", View("", (), passed=passed))
    assert first_of(bare, kept, lambda name: BytesSource(held[name])).view == view
