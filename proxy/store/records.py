"""Rows of the catalog and the records of the contract, one into the other. Runs inside a transaction, decides nothing."""
from __future__ import annotations

from byref.proxy.contracts import Blob, Capture, Event, Gap, Manifest, Output, Part, View
from byref.proxy.store.catalog import blob_of, number, string, text
from byref.proxy.store.memo import texts_to_keep
from byref.proxy.text import canonical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from byref.proxy.contracts import Json
    from byref.proxy.store.catalog import Row, Value

    Rows = Callable[[str, tuple[Value, ...]], list[Row]]
    Run = Callable[[str, tuple[Value, ...]], int]

EVENT = "id, kind, at, session, ref, tool, shape, numbers"
CALL = "scope, session, context, call_id, ref, signature, elapsed, shape, passed, head, memo, lines, terms, manifest"
INSERT_EVENT = "INSERT INTO events (scope, kind, at, session, ref, tool, shape, numbers) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_MANY = 500  # refs of one query; SQLite takes 32,766 values
ROW = 512  # bytes that a row counts for beside its texts: its columns, its share of the indexes

_OUTPUT = ("o.scope, o.seq, o.ref, o.tool, o.arguments, o.exit_code, o.is_error, o.signature, o.captured, o.shape,"
           " p.name, p.media, b.digest, b.size, b.lines")


def outputs(rows: Rows, where: str, values: tuple[Value, ...], order: str = "o.seq", limit: int = -1) -> list[tuple[Value, Output]]:
    """The outputs (`o`) of a condition, each after its scope as it is stored. In one query, so that none is seen half let go."""
    found: list[tuple[Value, Output]] = []
    query = (f"SELECT {_OUTPUT} FROM (SELECT * FROM outputs o WHERE {where} ORDER BY {order} LIMIT ?) o LEFT JOIN parts p ON p.seq = o.seq"
             f" LEFT JOIN blobs b ON b.id = p.blob ORDER BY {order}, p.position")
    parts: list[Part] = []
    last: Row | None = None
    for row in [*rows(query, (*values, limit)), None]:
        if last is not None and (row is None or row[1] != last[1]):
            found.append((last[0], _output(last, tuple(parts))))
            parts = []
        if row is not None and row[10] is not None:
            parts.append(Part(string(row[10]), string(row[11]), Blob(string(row[12]), number(row[13]), number(row[14]))))
        last = row
    return found


def _output(row: Row, parts: tuple[Part, ...]) -> Output:
    _, seq, ref, tool, arguments, exit_code, is_error, signature, captured, shape = row[:10]
    manifest = Manifest(string(tool), string(arguments), parts, None if exit_code is None else number(exit_code), bool(is_error))
    return Output(number(seq), string(ref), manifest, string(signature), float(captured or 0), string(shape))


def handled(rows: Rows, scope: Value, refs: Sequence[str]) -> dict[str, tuple[float | None, int]]:
    """What `Store.handled` says of refs."""
    found: dict[str, tuple[float | None, int]] = dict.fromkeys(refs, (None, 0))
    for at in range(0, len(refs), _MANY):
        some = refs[at:at + _MANY]
        of_them = f"scope = ? AND ref IN ({', '.join('?' * len(some))})"
        for ref, elapsed in rows(f"SELECT ref, elapsed FROM calls WHERE {of_them} AND elapsed IS NOT NULL ORDER BY id", (scope, *some)):
            found[string(ref)] = float(elapsed or 0), 0
        for ref, count in rows(f"SELECT ref, count(*) FROM events WHERE kind = 'fetched' AND {of_them} GROUP BY ref", (scope, *some)):
            found[string(ref)] = found[string(ref)][0], number(count)
    return found


def write_manifest(manifest: Manifest) -> str:
    """A manifest with its parts' line counts, for the memo of an output that is gone."""
    return canonical([
        manifest.tool, manifest.arguments, manifest.exit_code, manifest.is_error,
        [[part.name, part.media, part.blob.digest, part.blob.size, part.blob.lines] for part in manifest.parts]])


def read_manifest(stored: str) -> Manifest:
    import json
    tool, arguments, exit_code, is_error, parts = json.loads(stored)
    blobs = tuple(Part(name, media, Blob(digest, size, lines)) for name, media, digest, size, lines in parts)
    return Manifest(tool, arguments, blobs, exit_code, is_error)


def call_values(capture: Capture) -> tuple[Value, ...]:
    """What `insert_call` takes of a capture. Apart, since it may hash a whole text, and that is not to be done under the lock."""
    view = capture.view
    texts = texts_to_keep(view, capture.manifest)
    gaps: list[Json] = [[gap.part, gap.address, gap.count, gap.unit] for gap in view.gaps]
    memo = canonical([None if texts is None else list(texts), gaps])
    size = ROW + len(view.head) + len(memo) + len(capture.shown_lines) + len(capture.shown_terms)
    return (
        size, text(capture.scope), text(capture.session), text(capture.context), None if capture.call_id is None else text(capture.call_id),
        capture.ref, text(capture.signature), capture.elapsed, text(view.shape), int(view.passed), text(view.head), text(memo),
        bytes(capture.shown_lines), bytes(capture.shown_terms))


def insert_call(run: Run, values: tuple[Value, ...], tick: int, now: float) -> None:
    """A call with the memo of its view."""
    run("INSERT INTO calls (bytes, scope, session, context, call_id, ref, signature, elapsed, shape, passed, head, memo, lines, terms, at,"
        " tick, shown, orphan) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0)", (*values, now, tick))


def call_of(row: Row, manifest: Manifest) -> tuple[Capture, tuple[str, ...] | None]:
    """A capture without texts from a row of the columns CALL, and its texts, None where they are the raw parts."""
    import json
    scope, session, context, call_id, ref, signature, elapsed, shape, passed, head, memo, lines, terms, _ = row
    texts, gaps = json.loads(string(memo))
    view = View(string(head), (), tuple(Gap(*gap) for gap in gaps), string(shape), bool(passed))
    capture = Capture(
        string(scope), string(session), string(context), None if call_id is None else string(call_id), string(ref), manifest,
        string(signature), view, blob_of(lines), blob_of(terms), None if elapsed is None else float(elapsed))
    return capture, None if texts is None else tuple(texts)


def gaps_of(memo: Value) -> tuple[Gap, ...]:
    """What a view left out, of the column memo."""
    import json
    return tuple(Gap(*gap) for gap in json.loads(string(memo))[1])


def event_values(scope: str, event: Event) -> tuple[Value, ...]:
    """What `INSERT_EVENT` takes of an event. A note stands among the numbers, where catalogs have had room for it all along."""
    numbers: dict[str, Json] = dict(event.numbers)
    if event.note:
        numbers["note"] = event.note
    return (text(scope), text(event.kind), event.at, text(event.session), text(event.ref), text(event.tool), text(event.shape),
            text(canonical(numbers)))


def events_of(rows: Sequence[Row]) -> Iterator[Event]:
    """Events from rows of the columns EVENT. Their numbers are parsed together: that takes a fifth of the time of one by one."""
    import json
    held = json.loads(f"[{','.join([string(row[7]) for row in rows])}]")
    for (_, kind, at, session, ref, tool, shape, _), numbers in zip(rows, held, strict=True):
        note = numbers.pop("note", "") if "note" in numbers else ""
        if type(session) is type(ref) is type(tool) is type(shape) is str:
            yield Event(string(kind), float(at or 0), session, ref, tool, shape, numbers, note)
        else:
            yield Event(string(kind), float(at or 0), string(session), string(ref), string(tool), string(shape), numbers, note)
