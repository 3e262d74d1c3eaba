"""The command line's way to the daemon. Where it does not answer, a gateway of our own does the same work.

On the cold path of `byref run`, which through the daemon loads neither gateway nor store nor filters. Whatever goes wrong is
`Unavailable`, and the caller goes on as if there were no daemon; a miss is a miss on either way.
"""
from __future__ import annotations

import os
import sys
import time

from byref.proxy import config
from byref.proxy.errors import ConfigError
from byref.proxy.frontends import hook
from byref.proxy.frontends.run import SESSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Any, TypeAlias

    from byref.proxy.captured import Captured
    from byref.proxy.contracts import Json
    from byref.proxy.gateway import Gateway
    from byref.proxy.intake import Content
    from byref.proxy.reader import Found, Page, Status
    from byref.proxy.session import Session

    Head: TypeAlias = dict[str, Any]  # JSON that the daemon wrote; what does not fit is caught where it is used

START = [sys.executable, "-P", "-m", "byref.proxy.frontends.serve"]  # -P: nothing of the folder we happen to be in
LARGEST = 8 << 20  # bytes of an output that goes over the socket; a larger one goes straight into the store
WAIT = 3.0  # seconds; a daemon that takes longer is stuck, and our own gateway quicker


class Unavailable(Exception):
    """The daemon does not do this one."""


class Shown:
    """What the daemon made of an output. passed: the raw output stands, and the caller has it."""

    __slots__ = ("_parts", "head", "passed", "warning")

    def __init__(self, head: str, warning: str, passed: bool, parts: dict[str, bytes]) -> None:
        self.head, self.warning, self.passed, self._parts = head, warning, passed, parts

    def blocks(self, part: str) -> Iterator[bytes]:
        """The bytes of one part's view."""
        return iter((self._parts.get(part, b""),))

    @property
    def data(self) -> bytes:
        """The bytes of the view of a single part, with its head."""
        return b"".join((self.head.encode(), *self._parts.values()))


class Remote:
    """The daemon of a home. profile: overrules what the environment says."""

    def __init__(self, home: str, profile: str | None = None) -> None:
        self.home = os.fsencode(home)
        self.path = hook.socket_path(self.home)
        self._headers = hook.settings_header(config.given() | ({} if profile is None else {"BYREF_PROFILE": profile}))

    def listens(self) -> bool:
        """Whether somebody is there now. Takes well under a millisecond, and less where there is no socket."""
        try:
            os.stat(self.path)
            hook.connect(self.path, time.monotonic() + WAIT).close()
            return True
        except (hook.Absent, OSError):
            return False

    def _ask(self, request: str, head: Json, pieces: Iterable[bytes] = ()) -> tuple[Head, memoryview]:
        """Head and bytes of the answer to a frame. Raises `Unavailable`, and the miss that it may be."""
        from byref.proxy.frontends import frame
        headers = f"{self._headers}Accept: {frame.MEDIA}\r\nContent-Type: {frame.MEDIA}\r\n"
        try:
            status, body = hook.call(self.path, request, frame.encode(head, pieces), time.monotonic() + WAIT, headers)
            if status == 200:
                return frame.decode(body)
            fault: Head = frame.read_head(body)["error"]  # type: ignore[assignment]  # what is no error of ours fails below
            reason, message = str(fault["reason"]), str(fault["message"])
            if status == 409:
                hook.start(self.home, START)
        except (hook.Absent, OSError, ValueError, KeyError, TypeError) as problem:
            raise Unavailable(str(problem)) from None
        raise _miss(reason, message) or Unavailable(message)

    def capture(self, parts: Mapping[str, bytes], **fields: Json) -> Shown:
        """The view of an output. fields: as `Session.capture` takes them."""
        from byref.proxy.frontends import frame
        announced: list[Json] = [{"name": name, "size": len(piece)} for name, piece in parts.items()]
        head, body = self._ask("POST /v1/capture", {
            **fields, "session": SESSION, "scope": config.scope_here(), "echo": False, "parts": announced}, parts.values())
        try:
            sizes = {one["name"]: one["size"] for one in head["parts"]}
            return Shown(head["head"], head["warning"], head["passed"],
                         dict(zip(sizes, frame.cut(body, sizes.values()), strict=True)))
        except (ValueError, KeyError, TypeError) as fault:
            raise Unavailable(f"an answer that cannot be read: {fault}") from None

    def fetch(self, **fields: Json) -> Page:
        """A page. fields: as `Session.fetch` takes them."""
        from byref.proxy.intake import to_text
        from byref.proxy.reader import Page
        head, body = self._ask("POST /v1/fetch", {**fields, "session": SESSION, "scope": config.scope_here()})
        data = bytes(body)
        try:
            return Page(**{"data": data, "text": to_text(data), **head})
        except TypeError as fault:
            raise Unavailable(f"an answer that cannot be read: {fault}") from None

    def search(self, **fields: Json) -> Found:
        """The answer of a search. fields: as `Session.search` takes them, the filter on a session as of_session."""
        from byref.proxy.reader import Found, Hit, Ran
        fields["of_session"] = fields.pop("session", None)
        head, _ = self._ask("POST /v1/search", {**fields, "session": SESSION, "scope": config.scope_here()})
        try:
            hits = tuple(Hit(**{**one, "signals": tuple(one["signals"]), "terms": tuple(one["terms"])}) for one in head.pop("hits"))
            layers = tuple(Ran(**one) for one in head.pop("layers"))
            return Found(**{**head, "hits": hits, "layers": layers, "uncovered": tuple(head["uncovered"])})
        except (TypeError, KeyError) as fault:
            raise Unavailable(f"an answer that cannot be read: {fault}") from None

    def status(self) -> tuple[Status, str]:
        """What the scope holds, and the store's URL."""
        from byref.layers.contract import LayerStatus
        from byref.proxy.contracts import Usage
        from byref.proxy.reader import Recent, Status
        head, _ = self._ask("POST /v1/status", {"session": SESSION, "scope": config.scope_here()})
        try:
            url = head["store"].pop("url")
            return Status(head["scope"], head["outputs"], head["size"], tuple(Recent(**one) for one in head["recent"]),
                          Usage(**head["store"]), tuple(LayerStatus(**one) for one in head["layers"])), url
        except (TypeError, KeyError, AttributeError) as fault:
            raise Unavailable(f"an answer that cannot be read: {fault}") from None


def _miss(reason: str, message: str) -> Exception | None:
    """The miss that an answer tells of, in the daemon's words."""
    from byref.proxy import errors
    for kind in (errors.Unknown, errors.Expired, errors.Evicted, errors.Invalid, errors.Corrupt):
        if reason == kind.reason:
            miss = kind.__new__(kind)
            miss.args = (message,)
            return miss
    return None


class ShellSession:
    """The session of the shell in the scope of the working folder: by the daemon where it answers, else by a gateway of our own."""

    def __init__(self, profile: str | None = None) -> None:
        self._profile = profile
        self._session: Session | None = None
        remote = Remote(config.home_folder(), profile)
        self._remote = remote if remote.listens() else None
        self.url = ""
        if self._remote is None:
            self.local  # noqa: B018  a fault of ours shows now, before the output is taken in

    @property
    def local(self) -> Session:
        """The session of a gateway of our own. Raises what opening one raises."""
        if self._session is None:
            from byref.proxy.frontends.command import open_session
            _, self._session = open_session(self._profile)
        return self._session

    def capture(self, *, tool: str, args: Json, output: Mapping[str, Content], exit_code: int | None, raw: bool, intent: str,
                budget: int | None) -> Captured | Shown:
        """As `Session.capture`."""
        parts = {name: part for name, part in output.items() if isinstance(part, bytes)}
        if self._remote is not None and len(parts) == len(output) and sum(map(len, parts.values())) <= LARGEST:
            try:
                return self._remote.capture(parts, tool=tool, args=args, exit_code=exit_code, raw=raw, intent=intent, budget=budget)
            except Exception:
                self._remote = None
        return self.local.capture(tool=tool, args=args, output=output, exit_code=exit_code, raw=raw, intent=intent, budget=budget)

    def fetch(self, ref: str, *, at: str | None, part: str | None, max_tokens: int, cursor: str | None) -> Page:
        """As `Session.fetch`."""
        if self._remote is not None:
            try:
                return self._remote.fetch(ref=ref, at=at, part=part, max_tokens=max_tokens, cursor=cursor)
            except (Unavailable, ConfigError):
                self._remote = None
        return self.local.fetch(ref, at=at, part=part, max_tokens=max_tokens, cursor=cursor)

    def search(self, *, query: str, refs: Sequence[str] | None, tool: str | None, signature: str | None, outcome: str | None,
               kind: str | None, since: str | None, session: str | None, timebox_ms: int, k: int | None, max_tokens: int,
               layers: Sequence[str] | None, emphasis: str, explain: bool, weights: Mapping[str, float] | None,
               profile: str, like: str | None = None) -> Found:
        """As `Session.search`."""
        if self._remote is not None:
            try:
                return self._remote.search(
                    query=query, refs=refs, tool=tool, signature=signature, outcome=outcome, kind=kind, since=since, session=session,
                    timebox_ms=timebox_ms, k=k, max_tokens=max_tokens, layers=layers, emphasis=emphasis, explain=explain, weights=weights,
                    profile=profile, like=like)
            except (Unavailable, ConfigError):
                self._remote = None
        return self.local.search(
            query, refs, tool=tool, signature=signature, outcome=outcome, kind=kind, since=since, session=session,
            timebox_ms=timebox_ms, k=k, max_tokens=max_tokens, layers=layers, emphasis=emphasis, explain=explain, weights=weights,
            profile=profile, like=like)

    def status(self) -> Status:
        """As `Session.status`; `url` then says where the store lies."""
        if self._remote is not None:
            try:
                found, self.url = self._remote.status()
                return found
            except (Unavailable, ConfigError):
                self._remote = None
        self.url = self.local.gateway.settings.url
        return self.local.status()

    def close(self) -> None:
        """Closes the gateway of our own, if one was opened."""
        if self._session is not None:
            gateway: Gateway = self._session.gateway
            gateway.close()

    def __enter__(self) -> ShellSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
