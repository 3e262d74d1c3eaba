"""Frameworks of agents in Python: `byref.middleware("langchain")`, `@byref.tool`, and our tools as functions.

What a framework is and how it is hooked into stands in its adapter. Here is what they share: a session and a context for each
conversation, proven turn by turn by what the model is about to be shown, and nothing of ours that could fail a tool call.
"""
from __future__ import annotations

import atexit
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, overload

from byref.proxy import aio, config, discover
from byref.proxy.contracts import Json
from byref.proxy.errors import ConfigError
from byref.proxy.framework import Offered
from byref.proxy.frontends.wrap import own
from byref.proxy.gateway import Gateway, open
from byref.proxy.ledger.events import WHOLE
from byref.proxy.session import Session
from byref.proxy.text import digest, short_hash

if TYPE_CHECKING:
    from byref.proxy.frontends.llm.rewriting import Rewriter

PREFIX = "byref_"  # applications have tools named fetch and search of their own
CONVERSATIONS = 1000  # held in memory; one that was dropped and goes on is a new context
TASK = 4000  # characters of what a user asked
NAME = 100  # characters of a session's name

Function = TypeVar("Function", bound=Callable[..., object])

_DESCRIBED = {str(tool["description"]) for tool in own.TOOLS}
_TOOLS = tuple(
    Offered(PREFIX + str(tool["name"]), str(tool["description"]), schema)
    for tool in own.TOOLS if isinstance(schema := tool["inputSchema"], Mapping))
_lock = Lock()
_gateways: list[Gateway] = []


class _Conversation:
    """One context. given: hashes of the texts by which it was shown something. began: the tick of its last turn."""

    def __init__(self, session: Session) -> None:
        self.session, self.lock = session, Lock()
        self.given: set[bytes] = set()
        self.began: int | None = None


class Conversations:
    """See `byref.proxy.framework.Sessions`. framework: names the sessions."""

    def __init__(self, gateway: Gateway, framework: str, scope: str) -> None:
        self.gateway, self._framework, self._scope = gateway, framework, scope
        self._lock = Lock()
        self._held: OrderedDict[str, _Conversation] = OrderedDict()
        self._unknown = gateway.session(framework, scope=scope, proven=False)
        self._rewriter: Rewriter | None = None

    @property
    def tools(self) -> Sequence[Offered]:
        return _TOOLS

    def own(self, name: str, description: str = "") -> bool:
        return any(name == tool.name for tool in _TOOLS) or description in _DESCRIBED

    def turn(self, conversation: str, texts: Iterable[str], task: str = "") -> None:
        if not conversation:
            return
        try:
            held = self._of(conversation, task)
            stand = {short_hash(text) for text in texts}
            with held.lock:
                if not held.given <= stand:
                    held.given = set()
                    held.session.compacted()
                held.began = held.session.begin()
        except Exception as fault:
            self.fault("turn", fault)
            with self._lock:  # what it was shown is no longer certain
                self._held.pop(conversation, None)

    def capture(self, conversation: str, tool: str, texts: Sequence[str], *, args: Json = None, call_id: str = "", is_error: bool = False,
                said: str = "", task: str = "", elapsed: float | None = None) -> Sequence[str] | None:
        return self._captured(conversation, tool, texts, args, call_id, is_error, said, task, elapsed, raw=False)

    def failed(self, conversation: str, tool: str, fault: BaseException, *, args: Json = None, call_id: str = "") -> None:
        self._captured(conversation, tool, [f"{type(fault).__name__}: {fault}"], args, call_id, True, "", "", None, raw=True)

    def request(self, path: str, body: bytes) -> bytes:
        from byref.proxy.frontends.llm import rewriting
        with self._lock:
            if self._rewriter is None:
                self._rewriter = rewriting.Rewriter(self.gateway, self._scope)
        api = rewriting.family(path)
        return body if api is None else self._rewriter.rewrite(api, body).body

    def answer(self, conversation: str, name: str, arguments: Mapping[str, Json]) -> str:
        with self._lock:
            held = self._held.get(conversation)
        result = own.answer(held.session if held is not None else self._unknown, name.removeprefix(PREFIX), arguments)
        content = result["content"]
        blocks = content if isinstance(content, list) else []
        return "\n".join(str(block["text"]) for block in blocks if isinstance(block, Mapping))

    def fault(self, doing: str, fault: BaseException) -> None:
        self.gateway.faults.add(f"{self._framework} {doing}", fault)

    def _captured(self, conversation: str, tool: str, texts: Sequence[str], args: Json, call_id: str, is_error: bool, said: str,
                  task: str, elapsed: float | None, raw: bool) -> Sequence[str] | None:
        if not any(texts):
            return None
        try:
            held = self._of(conversation, task) if conversation else None
            session = self._unknown if held is None else held.session
            # A call that is tried again keeps its id and may return something else, so what it returned is part of the key.
            whole = digest("\0".join([tool, *texts]).encode("utf-8", "surrogatepass"))
            named = {f"text{n or ''}": text for n, text in zip([0, *range(2, len(texts) + 1)], texts, strict=True)}
            shown = session.capture(
                tool=tool, args=args, output=texts[0] if len(texts) == 1 else named, is_error=is_error, said=said, raw=raw, elapsed=elapsed,
                native=WHOLE, call_id=f"{call_id}.{whole[3:23]}" if call_id and held is not None else None,
                began=None if held is None else held.began)
            if not shown.ref:
                return None
            views = list(texts)
            if not shown.passed:
                views = list(shown.texts.values())
                first = next((i for i, view in enumerate(views) if view), 0)
                views[first] = shown.head + views[first]
            if held is not None and not raw:
                with held.lock:
                    held.given.update(map(short_hash, filter(None, views)))
            return None if shown.passed else views
        except Exception as fault:
            self.fault("capture", fault)
            return None

    def _of(self, conversation: str, task: str) -> _Conversation:
        """A context of this process alone: what an earlier one showed is proven by nothing here."""
        dropped = None
        with self._lock:
            held = self._held.get(conversation)
            if held is None:
                name = f"{self._framework} {conversation}"[:NAME]
                held = self._held[conversation] = _Conversation(self.gateway.session(name, scope=self._scope, task=task[:TASK]))
                if len(self._held) > CONVERSATIONS:
                    dropped = self._held.popitem(last=False)[1]
            else:
                self._held.move_to_end(conversation)
                held.session.task = held.session.task or task[:TASK]
        if dropped is not None:
            dropped.session.close()
        return held


def middleware(framework: str, gateway: Gateway | aio.Gateway | None = None, *, scope: str | None = None) -> Any:
    """What hooks byref into a framework: for LangChain an AgentMiddleware, and so on; docs/frameworks.md says how each is used.

    gateway: by default one over the user's own store, for all that ask for it. scope: by default that of the gateway, else of the
    working folder. The type is the framework's own, which need not be installed. Raises `ConfigError` where it is not, or for a
    name that there is none of, with those that there are.
    """
    name = framework.replace("-", "_")
    module = discover.load("harnesses", name) if name in discover.names("harnesses") else None
    if module is None or not hasattr(module, "middleware"):
        there = [one for one in discover.names("harnesses") if hasattr(discover.load("harnesses", one), "middleware")]
        raise ConfigError(f"no framework {framework[:40]!r}; there are {', '.join(there)}")
    if isinstance(gateway, aio.Gateway):
        gateway = gateway.sync
    gateway = gateway or _shared()
    try:
        return module.middleware(Conversations(gateway, name, scope or gateway.settings.scope or config.scope_here()))
    except ImportError as fault:
        raise ConfigError(f"{framework} cannot be used: {fault}; pip install {module.PACKAGE!r}") from fault


@overload
def tool(function: Function, /) -> Function: ...
@overload
def tool(*, session: Session | aio.Session | None = None, name: str | None = None) -> Callable[[Function], Function]: ...


def tool(function: Function | None = None, /, *, session: Session | aio.Session | None = None,
         name: str | None = None) -> Function | Callable[[Function], Function]:
    """Makes what a function returns a view where it is long; the function may be async. See `byref.adapters.harnesses.decorator`.

    session: by default one over the user's own store and the scope of the working folder; since it cannot tell conversations
    apart, nothing collapses as already shown. name: of the tool, by default the function's.
    """
    adapter = discover.load("harnesses", "decorator")
    sync = session.sync if isinstance(session, aio.Session) else session

    def opened() -> Session:
        return sync if sync is not None else _shared().session("tool", scope=_scope(_shared()), proven=False)

    def made(wrapped: Function) -> Function:
        found: Function = adapter.wrapped(wrapped, opened, name)
        return found
    return made if function is None else made(function)


class SecondCall:
    """A tool of ours as a function: `name`, `description`, `schema` of its arguments, and a call with these by name gives a text."""

    def __init__(self, session: Session, offered: Offered) -> None:
        self._session, self.name, self.__name__ = session, offered.name, offered.name
        self.description = self.__doc__ = offered.description
        self.schema = offered.schema

    def __call__(self, **arguments: Json) -> str:
        content = own.answer(self._session, self.name.removeprefix(PREFIX), arguments)["content"]
        return "\n".join(str(block["text"]) for block in content if isinstance(block, Mapping)) if isinstance(content, list) else ""


def tools(session: Session | aio.Session) -> list[SecondCall]:
    """fetch, search and status over a session, for a loop of one's own. What they answer is final."""
    sync = session.sync if isinstance(session, aio.Session) else session
    return [SecondCall(sync, offered) for offered in _TOOLS]


def _shared() -> Gateway:
    """One gateway over the user's own store for all who name none, closed when the process ends."""
    with _lock:
        if not _gateways:
            _gateways.append(open())
            atexit.register(_gateways[0].close)
        return _gateways[0]


def _scope(gateway: Gateway) -> str:
    return gateway.settings.scope or config.scope_here()
