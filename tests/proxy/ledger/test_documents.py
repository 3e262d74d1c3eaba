"""Documents are what the standard library makes of them, wherever the file is cut into pieces, and lists come by element."""
from __future__ import annotations

import io
import json
import resource

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.contracts import Json
from byref.proxy.ledger import documents
from byref.proxy.ledger.documents import Documents, Fault

ATOMS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
VALUES = st.recursive(ATOMS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
                      max_leaves=12)


def read(data: bytes, largest: int = 1 << 29) -> tuple[list[Json], Documents]:
    """All documents, lists put together again."""
    found, stream = [], Documents(io.BytesIO(data), largest)
    while not stream.fault and (sign := stream.sign()):
        found.append(list(stream.elements()) if sign == "[" else stream.value())
    return found, stream


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read a few bytes at a time."""
    monkeypatch.setattr(documents, "CHUNK", 3)


@given(st.lists(VALUES, max_size=4), st.sampled_from([None, 1]), st.booleans(), st.sampled_from([1, 2, 7, 1 << 20]))
def test_they_are_what_the_standard_library_reads(values: list[Json], indent: int | None, plain: bool, chunk: int) -> None:
    text = "\n".join(json.dumps(value, indent=indent, ensure_ascii=plain) for value in values)
    before, documents.CHUNK = documents.CHUNK, chunk
    try:
        assert read(text.encode("utf-8", "surrogatepass"))[0] == [
            json.loads(json.dumps(value).encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")) for value in values]
    finally:
        documents.CHUNK = before


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("text", [
    '{"a": "\\ud83d\\ude00 \\n", "b": [1.5e-7, true]}', '[{"a": -12.25}, [], "\\u00e9", 7]', " [ ] ", "12345"])
def test_a_document_that_is_cut_anywhere_is_a_fault_and_never_another_document(text: str) -> None:
    whole = json.loads(text)
    assert read(text.encode())[0] == [whole]
    for size in range(1, len(text.strip())):
        cut = text.strip()[:size].encode()
        if text.startswith("1"):
            assert read(cut)[0] == [int(cut)], "nobody can know that of a number"
            continue
        try:
            found, stream = read(cut)
        except Fault:
            continue
        assert stream.fault and found[0] == whole[:len(found[0])], "the elements before the cut are read"


def test_a_fault_names_its_line() -> None:
    _, stream = read(b'[{"a": 1},\n{"a": 2},\n{"a" 3}]')
    assert stream.fault == "no JSON, or half of one: Expecting ':' delimiter in line 3"
    assert read(b'[1 2]')[1].fault.endswith("Expecting ',' delimiter in line 1")
    with pytest.raises(Fault, match="in line 4"):
        read(b'{"a": 1}\n{"b": 1,\n\n?}')


def test_bytes_that_are_no_utf_8_are_kept() -> None:
    assert read(b'{"a": "\xff"}')[0] == [{"a": "\udcff"}]


def test_a_value_that_is_larger_than_may_be_held_is_a_fault_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "CHUNK", 100)
    found, stream = read(json.dumps(["x" * 50, "x" * 5000, "y"]).encode(), 1000)
    assert found == [["x" * 50]] and "more than 1000 characters is more than is held at once" in stream.fault


def test_a_long_list_streams() -> None:
    class Endless(io.RawIOBase):
        """A list of 100 MB, made as it is read."""

        left = 100

        def read(self, size: int = -1) -> bytes:
            self.left -= 1
            return b"[" * (self.left == 99) + (b'"' + b"x" * 99_997 + b'",') * 10 if self.left > 0 else b'"x"]' * (self.left == 0)
    stream = Documents(Endless(), 1 << 29)  # type: ignore[arg-type]
    assert stream.sign() == "["
    elements = stream.elements()
    next(elements)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert sum(1 for _ in elements) == 990 and not stream.fault
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000, "100 MB passed, and none of it stayed (KiB)"


def test_lines_are_told_from_a_document() -> None:
    for text, lines in (("{ half\n{}\n", True), ("{\n \"a\": ?\n", False)):
        stream = Documents(io.BytesIO(text.encode()), 1 << 29)
        stream.sign()
        with pytest.raises(Fault):
            stream.value()
        assert stream.like_lines() is lines
