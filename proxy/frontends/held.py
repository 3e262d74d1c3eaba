"""What streams brought so far, held whole until a view of it is durable, so that the raw bytes can always go out instead."""
from __future__ import annotations

import os
from io import FileIO
from select import POLLOUT, poll

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MEMORY = 8 << 20  # bytes of all streams held in memory; beyond that they go to a file without a name
LIMIT = 1 << 30  # bytes held at most, unless the settings say otherwise
_BLOCK = 1 << 20


def write_all(fd: int, data: bytes | bytearray | memoryview) -> bool:
    """Writes all of it, waiting where needed; False once nobody reads any more. Raises OSError for other faults."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view):]
        except BlockingIOError:
            waiting = poll()
            waiting.register(fd, POLLOUT)
            waiting.poll()
        except BrokenPipeError:
            return False
    return True


def complain(message: object) -> None:
    """One `byref:` line on stderr; quietly nothing where stderr takes none."""
    text = " ".join(str(message).splitlines())
    try:
        write_all(2, f"byref: {text}\n".encode("utf-8", "replace"))
    except OSError:
        pass


class Stream:
    """The bytes of one stream so far: `held` in memory, after what was moved to an unlinked file."""

    __slots__ = ("file", "held", "name", "over", "spilled", "target")

    def __init__(self, name: str, target: int) -> None:
        self.name, self.target = name, target
        self.file = -1
        self.held = bytearray()
        self.spilled = 0
        self.over = False  # nobody takes any more of it

    def spill(self) -> None:
        """Moves what memory holds to the file. Raises OSError when there is no room; nothing is lost then."""
        if self.file < 0:
            self.file = nameless_file()
        done = 0
        try:
            with memoryview(self.held) as view:
                while done < len(view):
                    done += os.write(self.file, view[done:])
        finally:
            del self.held[:done]
            self.spilled += done

    def pieces(self) -> Iterator[bytes]:
        """All bytes in order, in pieces of at most 1 MiB."""
        for at in range(0, self.spilled, _BLOCK):
            yield os.pread(self.file, min(_BLOCK, self.spilled - at), at)
        for at in range(0, len(self.held), _BLOCK):
            yield bytes(self.held[at:at + _BLOCK])

    def content(self) -> bytes | FileIO:
        """All bytes: at once while memory holds them, else as the file, from its start. Raises OSError as `spill` does."""
        if self.file < 0:
            return bytes(self.held)
        self.spill()
        os.lseek(self.file, 0, os.SEEK_SET)
        return FileIO(self.file, closefd=False)


def nameless_file() -> int:
    """A file that nobody else can open and that is gone with its descriptor. Raises OSError."""
    fault: OSError | None = None
    for folder in ("/var/tmp", "/tmp"):  # the first is on a disk where the second lies in memory
        path = f"{folder}/byref-{os.getpid()}-{os.urandom(8).hex()}"
        try:
            fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        except OSError as found:
            fault = found
        else:
            os.unlink(path)
            return fd
    raise fault or OSError()


class Held:
    """Streams that belong together. limit: bytes of all that are held at most; past it everything goes out raw.

    released: what was held has gone out, and what comes streams through. fault: why some of that could not be written, a full disk
    say: then that stream is over, its writer and the other stream go on.
    """

    def __init__(self, *streams: tuple[str, int]) -> None:
        self.streams = tuple(Stream(name, target) for name, target in streams)
        self.limit = LIMIT
        self.released = False
        self.fault: OSError | None = None
        self._size = 0

    def take(self, stream: Stream, data: bytes) -> bool:
        """Holds bytes of a stream, or passes them on. False when nobody wants more of this stream."""
        if self.released:
            self._let(stream, data)
            return not stream.over
        stream.held += data
        self._size += len(data)
        if self._size > self.limit:
            self.release(f"the output passed {self.limit} bytes")
        elif sum(len(each.held) for each in self.streams) > MEMORY:
            try:
                for each in self.streams:
                    if each.held:
                        each.spill()
            except OSError as fault:
                self.release(f"there is no room to hold the output: {fault.strerror}")
        return True

    def release(self, reason: object = None) -> None:
        """Lets out what is held, raw, each stream to its own descriptor. A reason is said first, in one line on stderr."""
        if self.released:
            return
        self.released = True
        if reason is not None:
            complain(f"{reason}; the output goes through raw and is not stored")
        for stream in self.streams:
            for piece in stream.pieces():
                self._let(stream, piece)
                if stream.over:
                    break
            stream.held = bytearray()

    def _let(self, stream: Stream, data: bytes) -> None:
        try:
            stream.over = stream.over or not write_all(stream.target, data)
        except OSError as fault:
            stream.over, self.fault = True, self.fault or fault
