"""Takes in what a tool returned: text, bytes, a file, a stream or several named parts, and keeps a way back to the raw bytes.

A stream goes straight into the store's writer. Beside that, up to `HOLD` bytes stay in memory and the rest in a file
without a name, so that the raw output can pass even when the store gives up half-way.
"""
from __future__ import annotations

import os
import stat
from _thread import allocate_lock, start_new_thread

from byref.proxy.contracts import Blob, Buffer
from byref.proxy.errors import Corrupt, Invalid
from byref.proxy.text import digest
from byref.proxy.text import to_text as to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Protocol, TypeAlias

    from byref.proxy.contracts import Source, Store

    class Readable(Protocol):
        """A file or pipe, binary or text."""

        def read(self, size: int = -1, /) -> bytes | str | None: ...

    Stream: TypeAlias = Readable | Iterable[bytes] | Iterable[str]
    Content: TypeAlias = str | Buffer | Stream
    Output: TypeAlias = Content | Mapping[str, Content]

BLOCK = 1 << 20  # bytes read at a time
INLINE = 16 << 10  # bytes that a file store keeps in its catalog; more go to files
HOLD = 8 << 20  # bytes of a stream that stay in memory beside the store
_CONTINUATION = bytes(range(0x80, 0xC0))  # UTF-8 bytes that start no character
_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"  # what an address in a marker can carry
_MEDIA = {"structuredContent": "application/json"}


def to_bytes(text: str) -> bytes:
    """UTF-8. A surrogate that stands for a raw byte becomes that byte, any other its three-byte form (surrogatepass)."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        pass
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return b"".join(bytes([ord(c) - 0xDC00]) if "\udc80" <= c <= "\udcff" else c.encode("utf-8", "surrogatepass") for c in text)


class Writing:
    """Bytes on their way into the store while something else is computed: compression and the disk need no interpreter."""

    def __init__(self, store: Store, data: bytes, blob: Blob) -> None:
        self._done = allocate_lock()
        self._done.acquire()
        self._fault: BaseException | None = None
        start_new_thread(self._run, (store, data, blob))

    def _run(self, store: Store, data: bytes, blob: Blob) -> None:
        try:
            writer = store.writer()
            try:
                writer.write(data)
                if writer.finish() != blob:
                    raise Corrupt(blob.digest, "it was written as something else")
            except BaseException:
                writer.abort()
                raise
        except BaseException as fault:
            self._fault = fault
        finally:
            self._done.release()

    def join(self) -> None:
        """Waits for the end. Raises what went wrong."""
        with self._done:
            pass
        if self._fault is not None:
            raise self._fault


class Raw:
    """One part of an output on its way in. `store` reads it once; `blocks` gives its bytes whatever became of the store."""

    def __init__(self, name: str, content: Content, media: str | None = None) -> None:
        self.name = name
        self.media = media or _MEDIA.get(name, "text/plain")
        self.blob: Blob | None = None
        self.size = 0
        self.tokens = 0  # by the size estimate, once stored
        self._characters = 0
        self._data: bytes | None = None
        self._stored: Store | None = None
        self._writing: Writing | None = None
        self._fd = -1
        self._start = self._spooled = 0
        self._tail: list[bytes] = []
        self._rest: Iterator[bytes] | None = None
        self.broken: Exception | None = None  # what the stream raised: a fault of the tool, and not of ours
        if isinstance(content, str):
            self._data = to_bytes(content)
        elif isinstance(content, (bytes, bytearray, memoryview)):
            self._data = bytes(content)
        else:
            self._open(content)

    def _open(self, content: Stream) -> None:
        fd, start = _regular_file(content)
        if fd >= 0:
            self._fd, self._start = fd, start
        elif _is_stream(content):
            self._rest = self._pulled(content)
        else:
            raise TypeError(f"an output is text, bytes, a stream of them, or named parts; {self.name} is {type(content).__name__}")

    def _pulled(self, content: Stream) -> Iterator[bytes]:
        try:
            yield from _pieces(content)
        except Exception as fault:
            self.broken = fault
            raise

    def begin(self, store: Store, beside: bool) -> None:
        """As `store`; with beside, bytes in memory that go to a file are written by a thread, and `written` waits for it."""
        data = self._data
        if not beside or data is None or len(data) <= INLINE:
            self.store(store)
            return
        self.blob, self.size = Blob(digest(data), len(data), data.count(b"\n")), len(data)
        self._characters = len(data) if data.isascii() else len(data.translate(None, _CONTINUATION))
        self.tokens = _estimate(self._characters, self.size)
        self._writing = Writing(store, data, self.blob)

    def written(self) -> None:
        """Returns once all bytes are durable. Raises what the store raises."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.join()

    def abandon(self) -> None:
        """Waits until nothing is written any more."""
        try:
            self.written()
        except Exception:
            pass  # told already, or the caller has a fault of its own to tell

    def store(self, store: Store) -> Blob:
        """Writes all bytes and makes them durable. Raises what the store raises, or the stream."""
        writer = store.writer()
        try:
            for block in self._incoming():
                writer.write(block)
                self.size += len(block)
                self._characters += len(block) if block.isascii() else len(block.translate(None, _CONTINUATION))
            self.blob = writer.finish()
        except BaseException:
            writer.abort()
            raise
        self.tokens = _estimate(self._characters, self.size)
        return self.blob

    @property
    def stored(self) -> Blob:
        """The blob that `store` gave."""
        assert self.blob is not None, "not stored yet"
        return self.blob

    def _incoming(self) -> Iterator[bytes]:
        if self._data is not None:
            yield self._data
        elif self._rest is None:
            held: list[bytes] | None = []
            for block in self._from_file(None):
                if held is not None:
                    held.append(block)
                    held = held if len(held) * BLOCK <= HOLD else None
                yield block
            if held is not None:
                self._data = b"".join(held)
        else:
            size = 0
            for block in self._rest:
                size += len(block)
                self._keep(block, size)
                yield block
            self._rest = None
            if self._fd < 0:
                self._data, self._tail = b"".join(self._tail), []

    def _keep(self, block: bytes, size: int) -> None:
        """Holds a block of a stream: in memory, and once that is much, in a file without a name."""
        self._tail.append(block)
        if size <= HOLD:
            return
        if self._fd < 0:
            self._fd = _nameless_file()
        if self._fd < 0:
            return
        try:
            while self._tail:
                done = os.pwrite(self._fd, self._tail[0], self._spooled)
                self._spooled += done
                self._tail[0] = self._tail[0][done:]
                if not self._tail[0]:
                    self._tail.pop(0)
        except OSError:
            pass  # that disk is full too: the rest stays in memory

    def _from_file(self, end: int | None) -> Iterator[bytes]:
        at = self._start
        while end is None or at < end:
            block = os.pread(self._fd, BLOCK if end is None else min(BLOCK, end - at), at)
            if not block:
                return
            at += len(block)
            yield block

    def source(self, store: Store, held: type[Held]) -> Source:
        """Random access to what was stored, from memory where it is still there."""
        return held(self._data) if self._data is not None else store.open(self.stored.digest)

    def settle(self, store: Store) -> None:
        """The output is committed: the store has the bytes from now on, so the copy on disk can go."""
        if self._data is None:
            self._stored = store
            self.close()

    def blocks(self) -> Iterator[bytes]:
        """The raw bytes in order: from memory, the store, or what was kept and what the stream still holds."""
        if self._data is not None:
            yield self._data
        elif self._stored is not None and self.blob is not None:
            yield from self._stored.open(self.blob.digest).blocks()
        elif self._rest is None and not self._tail and not self._spooled:
            yield from self._from_file(None)
        else:
            yield from self._from_file(self._spooled)
            yield from self._tail
            if self._rest is not None:
                size = self._spooled + sum(map(len, self._tail))
                for block in self._rest:
                    size += len(block)
                    self._keep(block, size)
                    yield block
                self._rest = None

    def read(self) -> bytes:
        """All raw bytes at once."""
        return self._data if self._data is not None else b"".join(self.blocks())

    def close(self) -> None:
        """Lets go of the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        self.close()


if TYPE_CHECKING:
    class Held(Source, Protocol):
        """A source over bytes in memory."""

        def __init__(self, data: bytes) -> None: ...


class Kept(Raw):
    """A part of an output that was stored by an earlier call."""

    def __init__(self, name: str, media: str, blob: Blob, store: Store) -> None:
        super().__init__(name, b"", media)
        self.blob, self.size, self._data, self._stored = blob, blob.size, None, store


def _estimate(characters: int, size: int) -> int:
    return (3 * characters + 4 * (size - characters) + 9) // 10


def parts(output: Output, single: str, media: Mapping[str, str] | None = None) -> list[Raw]:
    """The parts of an output in order; one that is not a mapping is one part, named `single`.

    Raises `Invalid` for a name that no address could carry and TypeError for what is no output.
    """
    named = output if isinstance(output, dict) or hasattr(output, "items") else {single: output}
    found = []
    for name, content in named.items():
        if not (isinstance(name, str) and 0 < len(name) <= 32 and name.strip(_NAME) == ""):
            raise Invalid(f"a part's name is 1 to 32 ASCII letters, digits, `_`, `.` and `-`, not {str(name)[:64]!r}")
        found.append(Raw(name, content, (media or {}).get(name)))
    return found


def _regular_file(content: Stream) -> tuple[int, int]:
    """A descriptor of our own and the position of a regular binary file, else (-1, 0)."""
    fileno, tell = getattr(content, "fileno", None), getattr(content, "tell", None)
    if fileno is None or tell is None or hasattr(content, "encoding"):
        return -1, 0
    try:
        number = fileno()
        if not stat.S_ISREG(os.fstat(number).st_mode):
            return -1, 0
        return os.dup(number), tell()
    except (OSError, ValueError):  # BytesIO has a fileno that raises
        return -1, 0


def _is_stream(content: Stream) -> bool:
    """Whether it gives bytes or text in pieces; of a generator only its first piece can tell."""
    if isinstance(content, (list, tuple)):
        return all(isinstance(piece, (str, bytes, bytearray, memoryview)) for piece in content)
    return hasattr(content, "read") or (hasattr(content, "__iter__") and not hasattr(content, "__contains__"))


def _pieces(content: Stream) -> Iterator[bytes]:
    """The bytes of a stream in pieces of at most 1 MiB."""
    read = getattr(content, "read", None)
    for piece in iter(lambda: read(BLOCK), None) if read is not None else content:  # type: ignore[union-attr]
        if not piece and read is not None:
            return
        data = to_bytes(piece) if isinstance(piece, str) else bytes(memoryview(piece))  # bytes(3) would be three NULs
        if len(data) <= BLOCK:
            yield data
        else:
            yield from (data[at:at + BLOCK] for at in range(0, len(data), BLOCK))


def _nameless_file() -> int:
    """A file that nobody else can open and that is gone with its descriptor, or -1."""
    for folder in ("/var/tmp", "/tmp"):
        try:
            return os.open(folder, os.O_RDWR | os.O_TMPFILE, 0o600)
        except (OSError, AttributeError):
            continue
    return -1
