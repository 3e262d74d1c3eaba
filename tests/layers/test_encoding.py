"""Blobs become token vectors: every token with the bytes it stands at, whatever the text is written in."""
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.layers import encoding
from byref.layers.encoding import Knobs, Text, encoded, piece, pooled, unit
from byref.layers.maxsim import BF16, INT8
from byref.layers.sidecar import Sidecar
from byref.proxy.store.source import BytesSource
from late_worlds import WIDTH, Wordy

KNOBS = Knobs()


def taken(data: bytes, knobs: Knobs = KNOBS) -> Sidecar:
    made = encoded(Wordy(), knobs, [piece("b2:0", BytesSource(data), "text", 0)], lambda: False)
    assert made is not None
    return made[0]


def words(data: bytes, one: Sidecar) -> list[bytes]:
    return [data[one.start + start:one.start + end] for start, end in one.places.tolist()]


@given(st.text(max_size=60) | st.sampled_from(["naïve 日本 😀 tail", "a\u0300 \udcff b", "\r\n x"]))
def test_characters_find_their_bytes(text: str) -> None:
    data = text.encode("utf-8", "surrogateescape" if all("\udc80" <= sign <= "\udcff" for sign in text if "\ud800" <= sign <= "\udfff")
                       else "replace")
    made = Text(data)
    spans = np.array([(number, number + 1) for number in range(len(made.text))], np.int64).reshape(-1, 2)
    found = made.bytes_of(spans).tolist()
    assert [data[start:end].decode("utf-8", "replace") for start, end in found] == list(made.text)
    assert not found or (found[0][0], found[-1][1]) == (0, len(data))


@pytest.mark.parametrize("data", [b"one two\nthree\n", "größe der Datei\n日本 語\n".encode(),
                                  b"bad \xff\xfe bytes\nthen more\n", b"\n\n  x\n"])
@pytest.mark.parametrize("whole", [False, True])
def test_every_token_stands_where_it_says(data: bytes, whole: bool) -> None:
    import re
    one = taken(data, Knobs(whole=whole))
    assert words(data, one) == [word.encode() for word in re.findall(r"\w+", data.decode("utf-8", "replace"))]
    assert one.tokens.bounds[0] == 0 and one.tokens.bounds[-1] == len(one.places)
    for number, (start, end) in enumerate(one.chunks.tolist()):
        for a, b in one.places[one.tokens.bounds[number]:one.tokens.bounds[number + 1]].tolist():
            assert start <= a < b <= end, "a chunk has its own tokens and no other"


def test_a_long_blob_comes_in_stretches_of_whole_lines_that_leave_out_nothing() -> None:
    data = b"".join(b"line %d of a long log\n" % number for number in range(3000))
    start, stretches = 0, []
    while start < len(data):
        stretches.append(piece("b2:0", BytesSource(data), "text", start))
        start += len(stretches[-1].data)
    assert b"".join(one.data for one in stretches) == data and len(stretches) > 3
    assert all(one.data.endswith(b"\n") and len(one.data) <= encoding.STRETCH for one in stretches)


def test_a_line_without_an_end_is_cut_between_characters() -> None:
    data = "ä".encode() * encoding.STRETCH
    first = piece("b2:0", BytesSource(data), "text", 1)
    assert first.data[-1] & 0xC0 != 0x80 or first.data.decode("utf-8", "strict") is not None
    assert b"".join(first.data[a:b] for a, b in first.spans) == first.data


def test_what_is_binary_has_no_chunks() -> None:
    assert piece("b2:0", BytesSource(bytes(range(256)) * 20 + b"\0" * 900), "text", 0).spans == []
    assert len(taken(b"\0" * 500).tokens.vectors) == 0


def test_texts_of_several_blobs_are_encoded_at_once_and_come_apart_again() -> None:
    texts = [b"one\n", b"", b"two words\n" * 300, b"three\n"]
    pieces = [piece(f"b2:{number}", BytesSource(text), "text", 0) for number, text in enumerate(texts)]
    encoder = Wordy()
    together = encoded(encoder, Knobs(), pieces, lambda: False)
    assert together is not None and [one.blob for one in together] == ["b2:0", "b2:1", "b2:2", "b2:3"]
    for one, alone in zip(together, pieces, strict=True):
        apart = encoded(Wordy(), Knobs(), [alone], lambda: False)
        assert apart is not None and np.array_equal(one.tokens.vectors, apart[0].tokens.vectors)
    assert encoded(encoder, Knobs(), pieces, lambda: True) is None


@pytest.mark.parametrize("factor", [2, 3])
def test_neighbours_are_pooled_within_their_chunk(factor: int) -> None:
    data = b"a b c d e\n" + b"\n" * 3 + b"filler " * 60 + b"\n\nf\n"
    full, fewer = taken(data), taken(data, Knobs(pooling=factor))
    sizes = np.diff(full.tokens.bounds)
    assert np.diff(fewer.tokens.bounds).tolist() == (-(-sizes // factor)).tolist()
    assert words(data, fewer)[0] == data[0:2 * factor - 1], "a pooled token stands where its neighbours stood together"
    assert words(data, fewer)[-1] == b"f"


@given(st.lists(st.integers(0, 7), max_size=6), st.sampled_from([2, 3, 5]))
def test_pooling_is_the_mean_of_runs(sizes: list[int], factor: int) -> None:
    rows = unit(np.random.default_rng(1).standard_normal((sum(sizes), 8)).astype(np.float32))
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    made, _, cuts = pooled(rows, np.zeros((len(rows), 2), np.int64), bounds, factor)
    want = [rows[at:min(at + factor, int(end))].mean(axis=0)
            for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True) for at in range(start, end, factor)]
    assert len(made) == len(want) == cuts[-1]
    for row, mean in zip(made, want, strict=True):
        assert np.allclose(row, mean / max(float(np.linalg.norm(mean)), 1e-12), atol=1e-6)


def test_axes_keep_what_rows_have_in_common() -> None:
    rng = np.random.default_rng(2)
    flat = rng.standard_normal((400, 4)) @ rng.standard_normal((4, WIDTH))
    rows = unit((flat + 0.01 * rng.standard_normal((400, WIDTH))).astype(np.float32))
    axes = encoding.axes_of(rows, 4)
    near, true = unit(rows @ axes) @ unit(rows @ axes).T, rows @ rows.T
    assert axes.shape == (WIDTH, 4) and np.abs(near - true).max() < 0.01
    assert taken(b"one two\n", Knobs(axes=np.eye(WIDTH, 8, dtype=np.float32), axes_name="x")).tokens.vectors.shape == (2, 8)


def test_other_knobs_are_another_version() -> None:
    made = [Knobs(), Knobs(BF16), Knobs(pooling=2), Knobs(axes_name="a"), Knobs(whole=True)]
    assert len({one.version for one in made}) == len(made) and Knobs(INT8).version == Knobs().version
