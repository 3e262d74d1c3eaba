"""Our own: one trajectory a line, as `byref.proxy.ledger.trajectories` says."""
from __future__ import annotations

from collections.abc import Iterator

from byref.proxy.contracts import Json
from byref.proxy.errors import Invalid
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.trajectories import Trajectory, of


def fits(row: dict[str, Json]) -> bool:
    """Whether it is one."""
    return isinstance(row.get("turns"), list) and "task" in row


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """A trajectory a row."""
    for where, row in rows:
        if "turns" not in row:
            rows.foreign(where, row)
            continue
        try:
            yield of(row, where)
        except Invalid as fault:
            rows.tell(str(fault).removeprefix("invalid: "))
