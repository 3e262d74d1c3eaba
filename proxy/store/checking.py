"""`verify` of a file store: every hash derived again."""
from __future__ import annotations

from byref.proxy.contracts import Verified
from byref.proxy.errors import Corrupt, Unknown
from byref.proxy.store.catalog import number, string
from byref.proxy.store.records import outputs
from byref.proxy.text import ref_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from byref.proxy.contracts import Source
    from byref.proxy.store.catalog import Row, Value

PAGE = 500  # rows looked at in one read: none is held open while blobs are read


def verify(read: Callable[[str, tuple[Value, ...]], list[Row]], open_blob: Callable[[str], Source]) -> Verified:
    damaged = [("catalog", string(problem)) for problem, in read("PRAGMA integrity_check", ()) if problem != "ok"]
    blobs = held = last = 0
    while rows := read("SELECT id, digest, size, lines FROM blobs WHERE id > ? ORDER BY id LIMIT ?", (last, PAGE)):
        last = number(rows[-1][0])
        for _, name, size, lines in rows:
            problem = _problem(string(name), number(size), number(lines), open_blob)
            if problem is None or read("SELECT 1 FROM blobs WHERE digest = ?", (name,)):
                blobs += 1
            if problem:
                damaged.append((string(name), problem))
    last = 0
    while found := outputs(read, "o.seq > ?", (last,), "o.seq", PAGE):
        last = found[-1][1].seq
        held += len(found)
        damaged += [(output.ref, "its manifest does not match it") for _, output in found if ref_of(output.manifest) != output.ref]
    return Verified(blobs, held, tuple(damaged))


def _problem(name: str, size: int, lines: int, open_blob: Callable[[str], Source]) -> str | None:
    """What is wrong with a blob; an empty text if it was let go meanwhile."""
    try:
        source, newlines = open_blob(name), 0
        for block in source.blocks():
            newlines += block.count(b"\n")
        check = getattr(source, "check_newlines", None)
        if check is not None:
            check()
    except Unknown:
        return ""
    except Corrupt as error:
        return str(error)
    if (source.size, newlines) != (size, lines):
        return f"the catalog says {size} bytes and {lines} lines, it has {source.size} and {newlines}"
    return None
