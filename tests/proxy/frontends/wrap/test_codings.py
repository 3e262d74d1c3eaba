"""Whatever encoding a body comes in, it can be read as far as it has come, and what cannot be read is known as such."""
from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard

from byref.proxy.frontends.wrap import codings

TEXT = "".join(f"{n}: résumé 東京 🚀\n" for n in range(3000)).encode()


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


ENCODERS: dict[str, list[Callable[[bytes], bytes]]] = {
    "gzip": [gzip.compress, lambda data: gzip.compress(data[:999]) + gzip.compress(data[999:])],
    "x-gzip": [gzip.compress], "deflate": [zlib.compress, raw_deflate], "br": [brotli.compress],
    "zstd": [zstandard.compress, lambda data: zstandard.compress(data[:999]) + zstandard.compress(data[999:])],
    "identity": [bytes], "": [bytes], "deflate, gzip": [lambda data: gzip.compress(zlib.compress(data))], "GZIP": [gzip.compress]}


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("step", [1, 7, 4096, 1 << 20])
def test_a_body_cut_anywhere_is_read_whole(name: str, step: int) -> None:
    for encode in ENCODERS[name]:
        undo = codings.decoder(name)
        assert undo is not None
        data = encode(TEXT if step > 1 else TEXT[:5000])
        assert b"".join(undo.decode(data[at:at + step]) for at in range(0, len(data), step)) == (TEXT if step > 1 else TEXT[:5000])


@pytest.mark.parametrize("name", [name for name in ENCODERS if name not in ("identity", "")])
def test_a_body_whose_end_is_missing_is_known_as_such(name: str) -> None:
    for encode in ENCODERS[name]:
        data = encode(TEXT)
        for end, whole in ((len(data), True), (len(data) - 1, False), (len(data) // 2, False)):
            undo = codings.decoder(name)
            assert undo is not None
            undo.decode(data[:end])
            assert undo.whole == whole


def test_what_was_flushed_can_be_read_before_the_rest_comes() -> None:
    packers = {"gzip": zlib.compressobj(wbits=31), "deflate": zlib.compressobj()}
    for name, packer in packers.items():
        undo = codings.decoder(name)
        assert undo is not None and undo.decode(packer.compress(b"first") + packer.flush(zlib.Z_SYNC_FLUSH)) == b"first"
    undo, brotlied = codings.decoder("br"), brotli.Compressor()
    assert undo is not None and undo.decode(brotlied.process(b"first") + brotlied.flush()) == b"first"
    undo, packed = codings.decoder("zstd"), zstandard.ZstdCompressor().compressobj()
    assert undo is not None
    assert undo.decode(packed.compress(b"first") + packed.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)) == b"first"


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_what_is_in_no_such_encoding_is_a_fault(name: str) -> None:
    undo = codings.decoder(name)
    assert undo is not None
    with pytest.raises(ValueError):
        undo.decode(b"\x07this is no such thing at all" * 100)


def test_an_encoding_that_nobody_knows_is_left_alone_and_never_asked_for() -> None:
    assert codings.decoder("gzip, compress") is None
    assert codings.accepted("gzip;q=0.5, compress, br, *;q=0.1") == "gzip;q=0.5, br"
    assert codings.accepted("compress") == codings.accepted("") == "identity"
