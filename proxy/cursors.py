"""Up to where each layer of a scope has nothing left to do: numbers of the catalog, in one small file beside the indexes.

The truth of what is indexed is in the layers' own files. A cursor holds for a layer's version, and as long as its index holds at least
as many blobs as when the cursor was written: where one was damaged or let go, all is looked through again.
"""
from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "cursors"


class Cursors:
    """The cursors of one scope. folder: of its indexes, made by whoever writes into it; None keeps them in memory."""

    def __init__(self, folder: str | None) -> None:
        self._path = None if folder is None else os.path.join(folder, NAME)
        self._held: dict[str, tuple[str, int, int]] = {}

    def at(self, layer: str, version: str, blobs: int) -> int:
        """The sequence number up to which a layer of this version, with so many blobs, has taken all in; 0 where it is not known."""
        known, seq, held = self._read().get(layer, ("", 0, 0))
        return seq if known == version and blobs >= held else 0

    def put(self, layer: str, version: str, blobs: int, seq: int) -> None:
        """The layer has taken in all up to this number."""
        self._write(self._read() | {layer: (version, seq, blobs)})

    def drop(self, layer: str | None = None) -> None:
        """Nothing is known any more of a layer, or of any."""
        left = {} if layer is None else {name: held for name, held in self._read().items() if name != layer}
        if left != self._read():
            self._write(left)

    def _read(self) -> dict[str, tuple[str, int, int]]:
        if self._path is None:
            return dict(self._held)
        try:
            with open(self._path, encoding="utf-8") as file:
                return {str(name): (str(version), int(seq), int(blobs)) for name, (version, seq, blobs) in json.load(file).items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def _write(self, held: Mapping[str, tuple[str, int, int]]) -> None:
        if self._path is None:
            self._held = dict(held)
            return
        beside = f"{self._path}.{os.getpid()}"
        try:
            with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                json.dump(held, file)
            os.replace(beside, self._path)
        except FileNotFoundError:  # nothing is indexed here yet
            pass
