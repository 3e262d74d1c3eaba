"""Captures for the conformance suites of the store, and the promises of a factory."""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Protocol

from byref.proxy.contracts import Blob, Capture, Event, Gap, Manifest, Part, Store, View
from byref.proxy.text import ref_of

SCOPE, OTHER = "/home/me/project", "/home/me/other"
DAY = 86_400.0


class Factory(Protocol):
    def __call__(self, *, max_bytes: int = ..., max_age: float = ..., clock: Callable[[], float] = ...) -> Store: ...


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def noise(size: int, seed: int) -> bytes:
    """Bytes that no compression makes smaller."""
    return random.Random(seed).randbytes(size)


def log(lines: int, seed: int = 0) -> bytes:
    draw = random.Random(seed)
    return b"".join(b"line %06d value %d\n" % (number, draw.randrange(1000)) for number in range(lines))


def put(store: Store, data: bytes) -> Blob:
    """Writes bytes in uneven pieces, as a pipe gives them."""
    writer, draw, start = store.writer(), random.Random(len(data)), 0
    while start < len(data):
        end = start + draw.choice((1, 7, 4096, 70_000, 1 << 20))
        writer.write(memoryview(data)[start:end])
        start = end
    return writer.finish()


def shell(command: str) -> str:
    return '{"command":"' + command + '"}'


def capture(store: Store, *contents: bytes, scope: str = SCOPE, session: str = "main", context: str = "window", call_id: str | None = None,
            tool: str = "shell", arguments: str = shell("cargo build"), view: View | None = None,
            signature: str = "operation/v1|shell|cargo build", exit_code: int | None = 0, elapsed: float | None = 0.25) -> Capture:
    """A capture whose blobs are written, ready to commit."""
    names = ("stdout", "stderr", *(f"content-{number}" for number in range(len(contents))))
    parts = tuple(Part(name, "text/plain", put(store, content)) for name, content in zip(names, contents, strict=False))
    manifest = Manifest(tool, arguments, parts, exit_code)
    ref = ref_of(manifest)
    if view is None:
        view = View(f"«{ref} cargo exit 0»", tuple("«L2-9 8 lines»" for _ in parts), (Gap("stdout", "L2-9", 8, "lines"),), "log", False)
    event = Event("captured", 10.0, session, ref, tool, view.shape, {"raw": sum(map(len, contents)), "view": 3})
    return Capture(scope, session, context, call_id, ref, manifest, signature, view, b"8 bytes.", b"another.", elapsed, (event,))


def keep(store: Store, *contents: bytes, scope: str = SCOPE, arguments: str = shell("cargo build"), session: str = "main") -> str:
    """Captures and commits; the ref."""
    return store.commit(capture(store, *contents, scope=scope, arguments=arguments, session=session)).ref


def stored(store: Store, scope: str, ref: str) -> list[bytes]:
    return [b"".join(store.open(part.blob.digest).blocks()) for part in store.resolve(scope, ref).manifest.parts]
