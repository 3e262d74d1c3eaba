"""What the catalog and the ledger know of the outputs in which something was found: what the weighted profile weighs beside scores."""
from __future__ import annotations

import os
from threading import Lock

from byref.layers.weighted import Facts, Source, source_of, sources
from byref.proxy.config import file_of, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from byref.layers.contract import Scope
    from byref.proxy.contracts import Output, Store

FILE = "sources.toml"
RUNS = 5  # outputs of a tool from which on the share of its successes says something

_lock = Lock()
_read: dict[str, tuple[tuple[int, int], tuple[Source, ...]]] = {}


def known_sources() -> tuple[Source, ...]:
    """What the user's file maps, read again when it changes. Raises `ConfigError` for one that cannot be used."""
    path = file_of(FILE)
    try:
        found = os.stat(path)
    except OSError:
        return ()
    sign = found.st_mtime_ns, found.st_size
    with _lock:
        if path not in _read or _read[path][0] != sign:
            _read[path] = sign, sources(table(path), path)
        return _read[path][1]


def facts(store: Store, whole: Scope, view: Scope, blobs: Iterable[str], known: Sequence[Source]) -> tuple[dict[str, Facts], bool]:
    """Facts by blob, and whether all of them are of one source. whole: the scope without filters, which ages and rates count in."""
    outputs = {blob: view.held[blob].output for blob in blobs if blob in view.held}
    handled = store.handled(view.name, list(dict.fromkeys(output.ref for output in outputs.values())))
    newest = max((output.captured for output in (*whole.outputs, *outputs.values())), default=0.0)
    rates = _rates(whole.outputs)
    found: dict[str, Facts] = {}
    for blob, output in outputs.items():
        source = source_of(known, output.manifest.tool, output.shape)
        elapsed, fetches = handled[output.ref]
        found[blob] = Facts(
            source.name, source.weight, not _failed(output), None if elapsed is None else round(elapsed * 1000), fetches,
            rates.get(output.manifest.tool), source.documented, source.authentication, max(0, int(newest - output.captured)))
    return found, len({(one.source, one.weight) for one in found.values()}) <= 1


def _failed(output: Output) -> bool:
    return output.manifest.is_error or output.manifest.exit_code not in (None, 0)


def _rates(outputs: Sequence[Output]) -> dict[str, int]:
    """Basis points of a tool's outputs that are no failure, of tools with enough of them."""
    runs: dict[str, list[int]] = {}
    for output in outputs:
        one = runs.setdefault(output.manifest.tool, [0, 0])
        one[0] += 1
        one[1] += not _failed(output)
    return {tool: 10_000 * good // count for tool, (count, good) in runs.items() if count >= RUNS}
