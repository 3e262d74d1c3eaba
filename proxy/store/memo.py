"""What the view memo keeps of a view, and how the first bytes of a call come back from it."""
from __future__ import annotations

from byref.proxy.contracts import Capture, View
from byref.proxy.text import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from byref.proxy.contracts import Gap, Manifest, Part, Source

ROW = 512  # bytes that a call, an event or a tombstone counts for beside its texts, so that they too fill a quota


def texts_to_keep(view: View, manifest: Manifest) -> tuple[str, ...] | None:
    """The texts that have to be stored: None where the view passed and they are the raw parts, to the byte."""
    if view.passed and len(view.texts) == len(manifest.parts) and all(map(_is_raw, view.texts, manifest.parts)):
        return None
    return view.texts


def _is_raw(text: str, part: Part) -> bool:
    if len(text) > part.blob.size:
        return False
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return len(data) == part.blob.size and digest(data) == part.blob.digest and (text.isascii() or decode(data) == text)


def decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def first_of(capture: Capture, texts: tuple[str, ...] | None, open_blob: Callable[[str], Source]) -> Capture:
    """A committed capture as it is given back: with its texts, without its events and what its view added to its context."""
    view = capture.view
    if texts is None:
        texts = tuple(decode(open_blob(part.blob.digest).read()) for part in capture.manifest.parts)
    return Capture(
        capture.scope, capture.session, capture.context, capture.call_id, capture.ref, capture.manifest, capture.signature,
        View(view.head, texts, view.gaps, view.shape, view.passed), capture.shown_lines, capture.shown_terms, capture.elapsed)


class MemoCall:
    """A call and the memo of its view. capture holds no texts; texts is None where they are the raw parts."""

    __slots__ = ("at", "capture", "shown", "texts", "tick")

    def __init__(self, capture: Capture, texts: tuple[str, ...] | None, tick: int, at: float) -> None:
        self.capture, self.texts, self.tick, self.at, self.shown = capture, texts, tick, at, True

    @property
    def cost(self) -> int:
        capture = self.capture
        return ROW + sum(map(len, self.texts or ())) + len(capture.shown_lines) + len(capture.shown_terms)


def newest_gaps(calls: Sequence[MemoCall], scope: str, context: str | None) -> tuple[Gap, ...] | None:
    """What the last view of these that is not forgotten left out, in a scope, and in a context if one is named; None without one."""
    found = [one.capture.view.gaps for one in calls
             if one.shown and one.capture.scope == scope and context in (None, one.capture.context)]
    return found[-1] if found else None
