"""What the agent gets for a call: the view as text or bytes, whole or by part, and what a frontend needs to pass it on."""
from __future__ import annotations

from byref.proxy.contracts import View
from byref.proxy.errors import ByrefError
from byref.proxy.intake import Kept, Raw, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from byref.proxy.contracts import Capture, Store


class Captured:
    """What the agent gets for a call.

    ref: empty where nothing could be stored; then `warning` says why and the raw output stands. gaps: what the view left
    out. passed: the raw output stands whole. head: the view's first line with its line end, empty when passed.
    """

    __slots__ = ("_parts", "_texts", "exit_code", "gaps", "head", "is_error", "passed", "ref", "shape", "stored", "warning")

    def __init__(self, raws: Sequence[Raw], view: View, ref: str, exit_code: int | None, is_error: bool, warning: str = "") -> None:
        self._parts = raws
        self._texts = None if view.passed else view.texts
        self.head, self.gaps, self.shape, self.passed = view.head, view.gaps, view.shape, view.passed
        self.ref, self.stored, self.warning = ref, bool(ref), warning
        self.exit_code, self.is_error = exit_code, is_error

    @property
    def names(self) -> tuple[str, ...]:
        """The parts, in their order."""
        return tuple(raw.name for raw in self._parts)

    @property
    def texts(self) -> dict[str, str]:
        """The view of each part by its name, without the head. A byte that is not UTF-8 is a lone surrogate."""
        if self._texts is None:
            return {raw.name: to_text(raw.read()) for raw in self._parts}
        return {raw.name: text for raw, text in zip(self._parts, self._texts, strict=True)}

    @property
    def text(self) -> str:
        """The whole view: the head, then the parts in their order."""
        return whole(self.head, tuple(self.texts.values())) if self._texts is not None else "".join(self.texts.values())

    @property
    def data(self) -> bytes:
        """The bytes of the whole view; of a passing output exactly the raw ones."""
        return to_bytes(self.text) if self._texts is not None else b"".join(raw.read() for raw in self._parts)

    def blocks(self, part: str) -> Iterator[bytes]:
        """The bytes of one part's view in pieces, for a passing output without ever holding it whole."""
        for i, raw in enumerate(self._parts):
            if raw.name == part:
                return raw.blocks() if self._texts is None else iter((to_bytes(self._texts[i]),))
        return iter(())


def whole(head: str, texts: tuple[str, ...]) -> str:
    """Head and parts as one text; a part without a line end gets one where another part follows."""
    out = [head]
    for text in texts:
        if len(out) > 1 and out[-1] and not out[-1].endswith("\n"):
            out.append("\n")
        out.append(text)
    return "".join(out)


def repeatable(store: Store, first: Capture) -> bool:
    """Whether the first bytes of a call can still be given: a view that passed lives in its blobs alone."""
    if not first.view.passed:
        return True
    try:
        for part in first.manifest.parts:
            store.open(part.blob.digest)
    except ByrefError:
        return False
    return True


def again(store: Store, first: Capture) -> Captured:
    """The first bytes that were given for a call."""
    manifest = first.manifest
    return Captured([Kept(part.name, part.media, part.blob, store) for part in manifest.parts], first.view, first.ref, manifest.exit_code,
                    manifest.is_error)
