"""A blob in stretches: all of its bytes in order, whole lines where there are any, whole characters everywhere, and no binary."""
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from byref.layers.chunking import chunks
from byref.layers.stretches import stretches
from byref.proxy.store.source import BytesSource

Cut = list[tuple[tuple[int, int], list[tuple[int, int]], list[str]]]


def cut(data: bytes, length: int, start: int = 0) -> Cut:
    return [((one.start, one.end), spans, texts) for one, spans, texts in stretches("b", BytesSource(data), "text", start, length)]


@given(st.lists(st.text("aé日🦀 \n", max_size=40), max_size=30).map("\n".join), st.integers(8, 200))
def test_stretches_are_all_of_a_blob_in_order(text: str, length: int) -> None:
    data = text.encode()
    found = cut(data, length)
    assert b"".join(data[start:end] for (start, end), _, _ in found) == data
    assert all(end - start <= length for (start, end), _, _ in found)
    assert all("\ufffd" not in piece for *_, texts in found for piece in texts), "no character is cut in two"
    for (start, end), spans, texts in found:
        assert all(start <= a < b <= end for a, b in spans) and [data[a:b].decode() for a, b in spans] == texts


def test_lines_stay_whole_and_chunks_are_those_of_the_shape() -> None:
    data = b"".join(b"line %04d of it\n" % number for number in range(500))
    found = cut(data, 1000)
    assert len(found) > 5 and all(data[end - 1:end] == b"\n" for (_, end), *_ in found)
    assert cut(data, 1 << 20)[0][1] == list(chunks(data, "text"))


def test_it_goes_on_where_it_stopped_and_takes_nothing_of_binary() -> None:
    data = b"words and words\n" * 100
    assert cut(data, 500, 496)[0] == cut(data, 500)[1] and cut(data, 500, len(data)) == []
    assert cut(bytes(1000) + b"words\n", 1 << 20) == [((0, 1006), [], [])]
