"""Recordings that are packed: by gzip, bzip2, xz or zstd, told by their magic, or files of a zip archive. They are read as they unpack."""
from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import struct
import zipfile
import zlib
from typing import BinaryIO, cast

import zstandard

SUFFIXES = (".gz", ".bz2", ".xz", ".zst")  # of names, after that of the recording
DAMAGED = (EOFError, OSError, zlib.error, lzma.LZMAError, zstandard.ZstdError, zipfile.BadZipFile)  # what reading may raise
_GZIP, _BZIP2, _XZ, _ZSTD = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"(\xb5/\xfd"
_SKIPPED = tuple(bytes([0x50 + n]) + b"\x2a\x4d\x18" for n in range(16))  # a frame of zstd's format that holds none of the data
MAGIC = (_GZIP, _BZIP2, _XZ, _ZSTD, *_SKIPPED)
_ZIP = b"PK\x03\x04"
_ZIP_ZSTD = 93  # the method of zstd; zipfile knows it from Python 3.14 on
_HEADER = struct.Struct("<26xHH")  # of a file in an archive (APPNOTE.TXT 4.3.7): ends with the lengths of its name and of what follows that
_CHUNK = 256  # packed bytes of zstd that are unpacked at once: four may be a block of 128 KiB (RFC 8878 3.1.1.2)
_BUFFER = 1 << 16


class _Part(io.RawIOBase):
    """Bytes of a file from start to end."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file, self._start, self._size, self._at = file, start, size, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + (self._at if whence == os.SEEK_CUR else 0)
        return self._at

    def readinto(self, into: bytearray | memoryview) -> int:  # type: ignore[override]  # typeshed has a private name for it
        self._file.seek(self._start + self._at)
        data = self._file.read(min(len(into), self._size - self._at))
        into[:len(data)] = data
        self._at += len(data)
        return len(data)


class _Zstd(io.RawIOBase):
    """What frames of zstd hold. Raises EOFError where the last one is cut: the reader of `zstandard` ends there without a word."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._begin()

    def _begin(self) -> None:
        self._file.seek(0)
        self._frame, self._began, self._rest, self._at = zstandard.ZstdDecompressor().decompressobj(), False, b"", 0
        self._data = memoryview(b"")

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        target = offset + (self._at if whence == os.SEEK_CUR else 0)
        if target < self._at:
            self._begin()
        while self._at < target and self.readinto(bytearray(min(_BUFFER, target - self._at))):
            pass
        return self._at

    def readinto(self, into: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._data:
            if self._frame.eof:
                self._rest = self._frame.unused_data
                self._frame, self._began = zstandard.ZstdDecompressor().decompressobj(), False
            packed = self._rest or self._file.read(_CHUNK)
            self._rest = b""
            if not packed:
                if self._began:
                    raise EOFError("a frame of zstd is cut")
                return 0
            self._data, self._began = memoryview(self._frame.decompress(packed)), True
        size = min(len(into), len(self._data))
        into[:size], self._data = self._data[:size], self._data[size:]
        self._at += size
        return size


class Unpacked(io.BufferedReader):
    """What a packed file holds, from its beginning on and as far as it can be read. fault: why it ends before its end."""

    def __init__(self, raw: io.RawIOBase | io.BufferedIOBase) -> None:
        self._inner = _Told(raw)
        super().__init__(self._inner, _BUFFER)

    @property
    def fault(self) -> str:
        return self._inner.fault


class _Told(io.RawIOBase):
    def __init__(self, inner: io.RawIOBase | io.BufferedIOBase) -> None:
        self._inner, self.fault = inner, ""

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._inner.seek(offset, whence)

    def readinto(self, into: bytearray | memoryview) -> int:  # type: ignore[override]
        try:
            return self._inner.readinto(into) or 0
        except DAMAGED as fault:
            self.fault = str(fault)
            return 0


def unpacked(file: BinaryIO) -> Unpacked | None:
    """What a file holds; None where it is not packed. It can be read again from its beginning, too."""
    start = file.read(max(map(len, MAGIC)))
    file.seek(0)
    if start.startswith(_GZIP):
        return Unpacked(gzip.GzipFile(fileobj=file))
    if start.startswith(_BZIP2):
        return Unpacked(bz2.BZ2File(file))
    if start.startswith(_XZ):
        return Unpacked(lzma.LZMAFile(file))
    if start.startswith((_ZSTD, *_SKIPPED)):
        return Unpacked(_Zstd(file))
    return None


def inside(path: str) -> list[str] | None:
    """The names of a zip archive's files, the oldest first; None for what is no archive. Raises those of `DAMAGED`."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        if file.read(len(_ZIP)) != _ZIP:
            return None
        with zipfile.ZipFile(file) as archive:
            held = [one for one in archive.infolist() if not one.is_dir()]
    return [one.filename for one in sorted(held, key=lambda one: (one.date_time, one.filename))]


def member(file: BinaryIO, name: str) -> Unpacked:
    """A file of an archive. Raises those of `DAMAGED`."""
    archive = zipfile.ZipFile(file)
    info = archive.getinfo(name)
    if info.compress_type == _ZIP_ZSTD:
        file.seek(info.header_offset)
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size:
            raise EOFError("the archive is cut")
        start = info.header_offset + _HEADER.size + sum(_HEADER.unpack(header))
        return Unpacked(_Zstd(io.BufferedReader(_Part(file, start, info.compress_size))))
    try:
        return Unpacked(cast(io.BufferedIOBase, archive.open(info)))
    except (NotImplementedError, RuntimeError) as fault:  # another method; a password
        raise OSError(f"{fault}: unpack it first") from None
