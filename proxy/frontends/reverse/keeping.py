"""An answer as an output of the store: its body as the text that it is, the request as its arguments."""
from __future__ import annotations

from dataclasses import dataclass

from byref.proxy.captured import Captured
from byref.proxy.contracts import Layout
from byref.proxy.frontends.reverse.asked import RAW, Wanted
from byref.proxy.frontends.reverse.spool import Spool
from byref.proxy.frontends.tools.engine import BODY, capture, described
from byref.proxy.frontends.wrap import codings
from byref.proxy.operations import Adapter, Request
from byref.proxy.session import Session

UNREAD = "application/octet-stream"  # what a body is whose encoding is not known here


@dataclass(frozen=True, slots=True)
class Answered:
    """What an upstream said to a request, but for the body. part: which bytes of the whole the body is; empty for all."""

    tool: str
    adapter: Adapter | None
    request: Request
    status: int
    media: str
    encoding: str
    part: str
    elapsed: float


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of a body. shown: what was captured, None where nothing could be; why: the reason."""

    shown: Captured | None
    why: str = ""

    @property
    def ref(self) -> str:
        """Empty where nothing is stored."""
        return "" if self.shown is None else self.shown.ref

    @property
    def view(self) -> str | None:
        """The view, where one was made; parts that were derived of the body are for search."""
        return None if self.shown is None or self.shown.passed else self.shown.head + self.shown.texts[BODY]


def layout_of(said: Answered) -> Layout | None:
    """Which members of an answer matter, where we have an adapter for its API that says so."""
    return said.adapter.layout(said.request.path) if said.adapter is not None and said.adapter.layout is not None else None


def keep(session: Session, said: Answered, spool: Spool, want: Wanted, view: bool) -> Kept:
    """Stores a body that is whole, and makes its view where that is wanted. Blocks, and never fails for a fault of ours.

    view: whether one can be made.
    """
    if spool.lost:
        return Kept(None, f"not stored: {spool.lost}")
    known = codings.decoder(said.encoding) is not None
    try:
        content = spool.content(said.encoding)
    except ValueError as fault:
        return Kept(None, f"not stored: {fault}")
    raw = not (view and want.view and want.view != RAW)
    media, failed = said.media if known else UNREAD, said.status >= 400
    if said.adapter is not None and isinstance(content, bytes) and known and not said.part:
        shown = capture(session, said.adapter, said.request, said.status, content, media, raw=raw, budget=want.budget, intent=want.intent,
                        elapsed=said.elapsed)
    else:
        args = described(said.request) | ({"range": said.part} if said.part else {})
        shown = session.capture(tool=said.tool, args=args, output={BODY: content}, is_error=failed, raw=raw, budget=want.budget,
                                intent=want.intent, elapsed=said.elapsed, media={BODY: media})
    return Kept(shown, shown.warning)
