"""Content encodings of HTTP, undone piece by piece: what has come can be read before the rest is there.

gzip and deflate by zlib, zstd by zstandard; br where the package brotli is installed, as it is with the extra `serve`.
"""
from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Protocol

try:
    import brotli
except ImportError:  # then nobody is asked for br
    brotli = None


class Decoder(Protocol):
    """Undoes one encoding of one body."""

    def decode(self, data: bytes) -> bytes:
        """What can be read after some more bytes. Raises ValueError for what is not in this encoding."""

    @property
    def whole(self) -> bool:
        """Whether the encoding itself says that nothing is missing of what has come."""


class _Zlib:
    """gzip, of one member or several; or deflate, with the wrapper that RFC 9110 8.4.1.2 asks for or without, as some send it."""

    def __init__(self, bits: int) -> None:
        self._bits, self._begun = bits, bytearray()
        self._undo = zlib.decompressobj(bits)

    def decode(self, data: bytes) -> bytes:
        if self._begun is not None and self._bits == zlib.MAX_WBITS:
            self._begun += data
            if len(self._begun) < 2:
                return b""
            data = bytes(self._begun)
            if data[0] & 15 != 8 or int.from_bytes(data[:2], "big") % 31:  # no header of RFC 1950
                self._undo = zlib.decompressobj(-zlib.MAX_WBITS)
            self._bits = 0
        try:
            found = self._undo.decompress(data)
            while self._undo.eof and self._bits and self._undo.unused_data.strip(b"\0"):
                rest = self._undo.unused_data
                self._undo = zlib.decompressobj(self._bits)
                found += self._undo.decompress(rest)
        except zlib.error as fault:
            raise ValueError(str(fault)) from None
        return found

    @property
    def whole(self) -> bool:
        return self._undo.eof


class _Brotli:
    def __init__(self) -> None:
        self._undo = brotli.Decompressor()

    def decode(self, data: bytes) -> bytes:
        try:
            found: bytes = self._undo.process(data)
        except brotli.error as fault:
            raise ValueError(str(fault)) from None
        return found

    @property
    def whole(self) -> bool:
        return bool(self._undo.is_finished())


class _Zstd:
    def __init__(self) -> None:
        import zstandard
        self._fault: type[Exception] = zstandard.ZstdError
        self._make = zstandard.ZstdDecompressor().decompressobj
        self._undo = self._make()

    def decode(self, data: bytes) -> bytes:
        found = b""
        try:
            while data:
                if self._undo.eof:  # one frame may follow another
                    self._undo = self._make()
                found += self._undo.decompress(data)
                data = self._undo.unused_data
        except self._fault as fault:
            raise ValueError(str(fault)) from None
        return found

    @property
    def whole(self) -> bool:
        return self._undo.eof


class _Chain:
    def __init__(self, links: Sequence[Decoder]) -> None:
        self._links = links

    def decode(self, data: bytes) -> bytes:
        for link in self._links:
            data = link.decode(data)
        return data

    @property
    def whole(self) -> bool:
        return all(link.whole for link in self._links)


def known(name: str) -> bool:
    """Whether an encoding of this name can be undone here."""
    return name in ("identity", "gzip", "x-gzip", "deflate", "zstd") or (name == "br" and brotli is not None)


def decoder(encodings: str) -> Decoder | None:
    """What undoes the encodings of a header Content-Encoding, the last one first. None where one of them is not known here."""
    names = [name.strip().lower() for name in encodings.split(",") if name.strip()]
    if not all(map(known, names)):
        return None
    return _Chain([_one(name) for name in reversed(names) if name != "identity"])


def _one(name: str) -> Decoder:
    if name == "br":
        return _Brotli()
    return _Zstd() if name == "zstd" else _Zlib(zlib.MAX_WBITS if name == "deflate" else zlib.MAX_WBITS + 16)


def accepted(asked: str) -> str:
    """A header Accept-Encoding without what could not be undone here."""
    return ", ".join(one.strip() for one in asked.split(",") if known(one.partition(";")[0].strip().lower())) or "identity"
