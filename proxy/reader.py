"""Second calls: fetch, search and status. What they return is exact, final, and never filtered or stored again."""
from __future__ import annotations

from byref.proxy.address import FORMS, Bytes, Lines, Match, Path, Records, parse
from byref.proxy.contracts import Output, dataclass
from byref.proxy.errors import Corrupt, Invalid, Unknown
from byref.proxy.excerpts import Hit
from byref.proxy.intake import to_bytes, to_text
from byref.proxy.likeness import MOST, Stretch
from byref.proxy.paging import Piece, Pieces, binary_room, page_end
from byref.proxy.searching import Found, Ran, search
from byref.proxy.signature import command_line
from byref.proxy.text import check_ref, estimate, main_part, project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from byref.layers.contract import LayerStatus
    from byref.proxy.address import Address
    from byref.proxy.contracts import Part, Source, Store, Usage
    from byref.proxy.indexing import Indexes

__all__ = ["Found", "Hit", "Page", "Ran", "Recent", "Status", "blocks", "fetch", "search", "status", "stretch"]

LEAST = 2  # tokens: the dearest single character
_COMMAND = 60  # characters of a command in a list


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a stored output.

    data: the exact bytes; for a pattern, the matching lines under their addresses. text: the same as text, with a
    lone surrogate for a byte that is not UTF-8; of a binary part its size, or base64 on demand. address: what this page
    shows. cursor: what gives the next page, None at the end. note: what to know beside the data, such as a range that
    was cut to what there is. total: bytes of all pages, 0 for a pattern. tokens: of text, by estimate.
    """

    ref: str
    address: str
    data: bytes
    text: str
    cursor: str | None
    note: str
    total: int
    tokens: int
    binary: bool
    tool: str
    shape: str


@dataclass(frozen=True, slots=True)
class Recent:
    """An output cached lately. command: shortened. size in bytes. age: seconds before the newest capture of the scope."""

    ref: str
    tool: str
    command: str
    size: int
    age: float


@dataclass(frozen=True, slots=True)
class Status:
    """What a scope holds, newest first in recent, how full the store is that it shares with others, and how far each layer came."""

    scope: str
    outputs: int
    size: int
    recent: tuple[Recent, ...]
    usage: Usage
    layers: tuple[LayerStatus, ...] = ()

    @property
    def text(self) -> str:
        """One line of totals, one an output, one of the layers and one for each that lacks something."""
        share = 100 * self.usage.bytes_held / self.usage.max_bytes
        held = f"{_size(self.usage.bytes_held)} ({share:.1f}% of its quota)"
        rows = [f"{self.outputs} outputs, {_size(self.size)} in this scope; the store holds {held}"]
        rows += [f"{r.ref} {_size(r.size):>8} {_age(r.age):>4} before the newest  {r.tool} {r.command}".rstrip() for r in self.recent]
        if self.layers:
            rows.append("search by " + ", ".join(f"{one.name} {one.coverage // 100}%" for one in self.layers if not one.missing))
            rows += [f"without {one.name}: {one.missing}" for one in self.layers if one.missing]
        return "\n".join(rows) + "\n"


def fetch(store: Store, scope: str, ref: str, at: str | None = None, *, part: str | None = None, max_tokens: int | None = 8000,
          cursor: str | None = None, encoding: str | None = None, log: Callable[[Page], None] | None = None) -> Page:
    """One page of an output of this scope.

    at: an address (see `byref.proxy.address`), or None for all. part: the name of one part; else an address is looked
    for in the parts in order, and None means all parts one after another. max_tokens bounds text by estimate; None
    gives all at once. cursor: of the page before. encoding: "base64" to get binary as text. Pages put together are the
    raw bytes. Raises `Invalid`, `Unknown`, `Expired`, `Evicted` or `Corrupt`, each final.
    """
    if encoding not in (None, "base64"):
        raise Invalid(f"the encoding is base64 or nothing, not {str(encoding)[:20]!r}")
    if max_tokens is not None and max_tokens < LEAST:
        raise Invalid(f"max_tokens is at least {LEAST}")
    output = store.resolve(scope, check_ref(ref))
    _check_part(output, part)
    position, asked = _resume(cursor, at or "", part)
    named, address = parse(asked, [p.name for p in output.manifest.parts])
    if part is not None and named not in (None, part):
        raise Invalid(f"the address names the part {named}, the call {part}; give one of them")
    wanted = part or named
    chosen = [p for p in output.manifest.parts if (p.name == wanted if wanted is not None else address is not None or not p.derived)]
    if isinstance(address, Match):
        page = _matched(store, output, chosen, address, asked, position, max_tokens)
    else:
        run, where, note = _pieces(store, output, chosen, address, asked)
        page = _page(output, run, where, note, asked, _number(position), max_tokens, encoding)
    if log is not None:
        log(page)
    return page


def blocks(store: Store, scope: str, ref: str, part: str | None = None) -> Iterator[bytes]:
    """All bytes of an output, or of one part, in pieces of at most 1 MiB, checked against the whole hash at the end."""
    output = store.resolve(scope, check_ref(ref))
    _check_part(output, part)
    return (block for p in output.manifest.parts
            if (p.name == part if part is not None else not p.derived) for block in _open(store, output, p).blocks())


def stretch(store: Store, scope: str, ref: str, at: str | None = None) -> Stretch:
    """What an address names, for a search for what is like it. Raises as `fetch` does."""
    output = store.resolve(scope, check_ref(ref))
    named, address = parse(at or "", [p.name for p in output.manifest.parts])
    if isinstance(address, Match):
        raise Invalid("what is like it is looked for from lines, bytes, records or a JSON path, not from a pattern")
    digests = {p.name: p.blob.digest for p in output.manifest.parts}
    run, where, _ = _pieces(store, output, [p for p in output.manifest.parts if named in (None, p.name)], address, at or "")
    spans = tuple((digests[piece.part], piece.start, piece.end) for piece in run.pieces if piece.start < piece.end)
    return Stretch(output.ref, where, spans, run.read(0, min(run.size, MOST)))


def status(store: Store, scope: str, limit: int = 10, indexes: Indexes | None = None) -> Status:
    """What a scope holds and what was cached lately. Ages count from the newest capture, so they are no clock."""
    outputs = size = after = 0
    while batch := store.changes(scope, after):
        outputs, after = outputs + len(batch), batch[-1].seq
        size += sum(p.blob.size for output in batch for p in output.manifest.parts)
    newest = store.recent(scope, limit=limit)
    recent = tuple(Recent(o.ref, o.manifest.tool, _command(o), sum(p.blob.size for p in o.manifest.parts), newest[0].captured - o.captured)
                   for o in newest)
    layers: tuple[LayerStatus, ...] = ()
    if indexes is not None:
        view = indexes.everything(scope)
        layers = tuple(layer.status(view) for layer in indexes.orchestrator(scope).layers)
    return Status(scope, outputs, size, recent, store.usage(), layers)


def _check_part(output: Output, part: str | None) -> None:
    names = [p.name for p in output.manifest.parts]
    if part is not None and part not in names:
        raise Invalid(f"{output.ref} has no part {part[:64]!r}; it has {', '.join(names) or 'none'}")


def _resume(cursor: str | None, at: str, part: str | None) -> tuple[str, str]:
    """The position in a cursor, and the address: a cursor carries its own, so that it alone is enough."""
    asked = f"{part}:{at}" if part is not None and not at.startswith(part + ":") else at
    if cursor is None:
        return "0", asked
    position, sign, held = cursor.partition("@")
    if not sign or not position or position.strip("0123456789."):
        raise Invalid("this cursor is not one that fetch gave")
    if asked not in ("", held):
        raise Invalid(f"this cursor goes on with {held or 'the whole output'!r}; give the address of the first page, or none")
    return position, held


def _number(position: str) -> int:
    if not position.isascii() or not position.isdigit() or len(position) > 15:
        raise Invalid("this cursor is not one that fetch gave")
    return int(position)


def _pieces(store: Store, output: Output, parts: Sequence[Part], address: Address | None, asked: str) -> tuple[Pieces, str, str]:
    """The bytes an address names, its canonical form, and a note."""
    several = len(output.manifest.parts) > 1
    if address is None:
        whole = [Piece(p.name, _open(store, output, p), 0, p.blob.size) for p in parts]
        return Pieces(whole), asked, ""
    fault: Invalid | None = None
    # Markers leave out the main part's name; an empty part is meant only where there is no other.
    main = main_part([p.name for p in parts])
    for p in sorted(parts, key=lambda p: (not p.blob.size, p.name != main)):
        source = _open(store, output, p)
        try:
            spans, where, note = _located(p, source, address)
        except Invalid as miss:
            fault = fault or miss
            continue
        pieces = [Piece(p.name, source, start, end) for start, end in spans]
        return Pieces(pieces, b"\n"), f"{p.name}:{where}" if several else where, note
    raise fault or Invalid(f"{output.ref} has no parts, so there is nothing to fetch")


def _open(store: Store, output: Output, part: Part) -> Source:
    """The bytes of a part of an output that is held: where they are missing the store is damaged."""
    try:
        return store.open(part.blob.digest)
    except Unknown:
        raise Corrupt(output.ref, f"the bytes of its part {part.name} are missing") from None


def _located(part: Part, source: Source, address: Address) -> tuple[list[tuple[int, int]], str, str]:
    if isinstance(address, Lines):
        return _lines(part, source, address)
    if isinstance(address, Bytes):
        size, start, end = source.size, address.start, address.end
        if start >= size and not start == size == 0:
            raise Invalid(f"b{start} lies outside: {part.name} has {size} bytes, b0-{size}")
        last = size if end is None else min(end, size)
        return [(start, last)], f"b{start}-{last}", f"cut to the {size} bytes there are" if end is not None and end > size else ""
    if not isinstance(address, (Path, Records)):
        raise Invalid(f"an address is {FORMS}")
    # A blob never changes: its pages need not be searched for their path again.
    key = part.blob.digest, address
    if key not in _found:
        if len(_found) >= _FOUND:
            _found.clear()
        _found[key] = _searched(b"".join(source.blocks()), address)
    return _found[key]


_FOUND = 64  # paths whose spans are remembered
_found: dict[tuple[str, Path | Records], tuple[list[tuple[int, int]], str, str]] = {}


def _searched(data: bytes, address: Path | Records) -> tuple[list[tuple[int, int]], str, str]:
    if isinstance(address, Records):
        return _records(data, address)
    from byref.filters.lexical import find
    return list(find(data, address.path)), address.path, _clipped(data, address.path)


def _lines(part: Part, source: Source, address: Lines) -> tuple[list[tuple[int, int]], str, str]:
    size = source.size
    count = part.blob.lines + (size > 0 and source.read(size - 1, size) != b"\n")
    if address.first > count and not (count == 0 and address.first == 1):
        extent = f" line{'s' * (count != 1)}" + (f", L1-{count}" if count else "")
        raise Invalid(f"L{address.first} lies outside: {part.name} has {count}{extent}")
    last = count if address.last is None else min(address.last, count)
    note = f"cut to the {count} lines there are" if address.last is not None and address.last > count else ""
    if count == 0:
        return [(0, 0)], f"L{address.first}", note
    return [source.lines(address.first, last)], f"L{address.first}" if address.first == last else f"L{address.first}-{last}", note


def _records(data: bytes, address: Records) -> tuple[list[tuple[int, int]], str, str]:
    """Records of the list that an output is, or of the longest list in the object that it is."""
    from byref.filters.lexical import find
    from byref.filters.scanner import Document
    document = Document(data.decode("latin-1"))
    roots = document.roots()
    base = "$"
    if len(roots) == 1 and document.text[roots[0][2]] == "{":
        lists = [m for m in document.members(roots[0][2]) if document.text[m[2]] == "["]
        if lists:
            longest = max(lists, key=lambda m: len(document.members(m[2])))
            name = document.text[longest[0]:longest[1]].encode("latin-1").decode("utf-8", "surrogateescape")
            plain = name[1:-1]
            base = f"$.{plain}" if plain.isidentifier() else f"$[{name}]"
    path = f"{base}[{address.first}:{'' if address.last is None else address.last + 1}]"
    return list(find(data, path)), path, _clipped(data, path)


def _clipped(data: bytes, path: str) -> str:
    """What to say where a slice reaches beyond the end of its list."""
    head, colon, end = path.rpartition(":")
    if not colon or not end.endswith("]") or not end[:-1].isdigit() or "[" not in head:
        return ""
    from byref.filters.lexical import find
    count = len(find(data, head[:head.rindex("[")] + "[*]"))
    return f"cut to the {count} there are" if int(end[:-1]) > count else ""


def _page(output: Output, run: Pieces, where: str, note: str, asked: str, start: int, max_tokens: int | None, encoding: str | None) -> Page:
    if start > run.size or (start == run.size and start > 0):
        raise Invalid("this cursor is not one that fetch gave")
    limit, binary = run.stretch(start)
    if max_tokens is None:
        data, end = run.read(start, run.size), run.size
    elif binary:
        end = min(limit, start + binary_room(max_tokens))
        data = run.read(start, end)
    else:
        data, end = page_end(run, start, limit, max_tokens)
    if binary and encoding is None:
        note = "; ".join(filter(None, (note, "binary: take it as bytes, or with encoding base64")))
        text = f"binary, {run.size} bytes"
    elif encoding is not None:
        from binascii import b2a_base64
        text = b2a_base64(data, newline=False).decode()
    else:
        text = to_text(data)
    place = run.place(start, end) if (start, end) != (0, run.size) else None
    if place is not None:
        where = f"{place[0]}:" * (len(output.manifest.parts) > 1) + f"b{place[1]}-{place[2]}"
    cursor = f"{end}@{asked}" if end < run.size else None
    return Page(output.ref, where, data, text, cursor, note, run.size, estimate(text), binary, output.manifest.tool, output.shape)


def _matched(store: Store, output: Output, parts: Sequence[Part], address: Match, asked: str, position: str,
             max_tokens: int | None) -> Page:
    from byref.proxy.matching import search
    index, _, byte = position.partition(".")
    sources = [(p.name, _open(store, output, p)) for p in parts if p.blob.size]
    text, hits, more = search(sources, address.pattern, address.context, max_tokens or 1 << 40, (_number(index), _number(byte or "0")))
    note = "" if hits else f"nothing matches /{address.pattern[:80]}/"
    cursor = None if more is None else f"{more[0]}.{more[1]}@{asked}"
    return Page(output.ref, asked, to_bytes(text), text, cursor, note, 0, estimate(text), False, output.manifest.tool, output.shape)


def _command(output: Output) -> str:
    import json
    try:
        arguments = json.loads(output.manifest.arguments)
    except ValueError:
        arguments = output.manifest.arguments
    if arguments is None:
        return ""
    line = command_line(arguments)
    text = project(" ".join((line if line is not None else output.manifest.arguments).split()))
    return text if len(text) <= _COMMAND else text[:_COMMAND - 3] + "..."


def _size(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


def _age(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f}{unit}"
    return f"{max(seconds, 0):.0f}s"
