"""The Python API with `await`: the same names, each call in a thread, so that no commit holds up an event loop."""
from __future__ import annotations

from asyncio import to_thread

from byref.proxy import gateway as sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from types import TracebackType

    from byref.proxy.captured import Captured
    from byref.proxy.contracts import Clock, Json, Layout, Usage, Verified
    from byref.proxy.intake import Output
    from byref.proxy.ledger.report import Report
    from byref.proxy.reader import Found, Page, Status
    from byref.proxy.session import Session as SyncSession


class Session:
    """A `byref.proxy.session.Session`, awaited."""

    def __init__(self, session: SyncSession) -> None:
        self.sync = session

    async def begin(self) -> int:
        return await to_thread(self.sync.begin)

    async def capture(self, *, tool: str, output: Output, args: Json = None, exit_code: int | None = None, is_error: bool = False,
                      call_id: str | None = None, intent: str = "", said: str = "", budget: int | None = None, raw: bool = False,
                      began: int | None = None, elapsed: float | None = None, media: Mapping[str, str] | None = None,
                      native: int | None = None, aside: Collection[str] = (), layout: Layout | None = None) -> Captured:
        return await to_thread(
            self.sync.capture, tool=tool, output=output, args=args, exit_code=exit_code, is_error=is_error, call_id=call_id,
            intent=intent, said=said, budget=budget, raw=raw, began=began, elapsed=elapsed, media=media, native=native,
            aside=aside, layout=layout)

    async def fetch(self, ref: str, at: str | None = None, *, part: str | None = None, max_tokens: int | None = 8000,
                    cursor: str | None = None, encoding: str | None = None) -> Page:
        return await to_thread(self.sync.fetch, ref, at, part=part, max_tokens=max_tokens, cursor=cursor, encoding=encoding)

    async def search(self, query: str, refs: Sequence[str] | None = None, *, tool: str | None = None, signature: str | None = None,
                     outcome: str | None = None, kind: str | None = None, since: str | None = None, session: str | None = None,
                     timebox_ms: int = 1000, k: int | None = None, max_tokens: int = 1200, layers: Sequence[str] | None = None,
                     emphasis: str = "balanced", explain: bool = False, weights: Mapping[str, float] | None = None,
                     profile: str = "cascade", like: str | None = None) -> Found:
        return await to_thread(self.sync.search, query, refs, tool=tool, signature=signature, outcome=outcome, kind=kind, since=since,
                               session=session, timebox_ms=timebox_ms, k=k, max_tokens=max_tokens, layers=layers, emphasis=emphasis,
                               explain=explain, weights=weights, profile=profile, like=like)

    async def similar(self, ref: str, at: str | None = None, *, refs: Sequence[str] | None = None, tool: str | None = None,
                      signature: str | None = None, outcome: str | None = None, kind: str | None = None, since: str | None = None,
                      session: str | None = None, timebox_ms: int = 1000, k: int | None = None, max_tokens: int = 1200,
                      layers: Sequence[str] | None = None, emphasis: str = "balanced", explain: bool = False,
                      weights: Mapping[str, float] | None = None, profile: str = "cascade") -> Found:
        return await to_thread(self.sync.similar, ref, at, refs=refs, tool=tool, signature=signature, outcome=outcome, kind=kind,
                               since=since, session=session, timebox_ms=timebox_ms, k=k, max_tokens=max_tokens, layers=layers,
                               emphasis=emphasis, explain=explain, weights=weights, profile=profile)

    async def status(self) -> Status:
        return await to_thread(self.sync.status)

    async def purge(self, ref: str, *, everywhere: bool = False) -> None:
        await to_thread(self.sync.purge, ref, everywhere=everywhere)

    async def compacted(self) -> None:
        await to_thread(self.sync.compacted)

    async def close(self) -> None:
        await to_thread(self.sync.close)

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()


class Gateway:
    """A `byref.proxy.gateway.Gateway`, awaited."""

    def __init__(self, gateway: sync.Gateway) -> None:
        self.sync = gateway

    async def session(self, name: str, *, task: str = "", context: str | None = None, scope: str | None = None,
                      proven: bool = True) -> Session:
        return Session(await to_thread(self.sync.session, name, task=task, context=context, scope=scope, proven=proven))

    async def gc(self) -> Usage:
        return await to_thread(self.sync.gc)

    async def purge(self, ref: str, *, scope: str | None = None, everywhere: bool = False) -> None:
        await to_thread(self.sync.purge, ref, scope=scope, everywhere=everywhere)

    async def verify(self) -> Verified:
        return await to_thread(self.sync.verify)

    async def report(self, *, scope: str | None = None, session: str | None = None, since: float = 0.0, recount: bool = False,
                     definition: int = 0) -> Report:
        return await to_thread(self.sync.report, scope=scope, session=session, since=since, recount=recount, definition=definition)

    async def close(self) -> None:
        await to_thread(self.sync.close)

    async def __aenter__(self) -> Gateway:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()


def open(url: str | None = None, *, profile: str | None = None, scope: str | None = None, max_bytes: int | None = None,
         max_age: float | None = None, late_model: str | None = None, clock: Clock | None = None) -> Gateway:
    """As `byref.open`, for `async with`. Opening reads little and is not awaited."""
    return Gateway(sync.open(url, profile=profile, scope=scope, max_bytes=max_bytes, max_age=max_age,
                             late_model=late_model, clock=clock))
