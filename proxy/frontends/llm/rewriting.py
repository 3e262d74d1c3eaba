"""A request in, the same request with views out: each tool result is replaced where it first appears, and so for ever.

Stateful, the first bytes given for a result stay under (context, call): in memory, and in the store for other processes and versions.
A result that is not known and was followed by an answer was sent as it is, so it stays so (invariant 6), unless it begins a context
and stood as a view in another: then a compaction kept it. Stateless, each view is made of the request alone, and of it again every time.
"""
from __future__ import annotations

import os
import re
from collections import OrderedDict, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol, cast

from byref.proxy import config
from byref.proxy.errors import ByrefError, ConfigError
from byref.proxy.frontends.llm import answers_anthropic, answers_chat, answers_responses, anthropic, chat, responses
from byref.proxy.frontends.llm.answers import Answerer
from byref.proxy.frontends.llm.contexts import Context, Contexts, Literals, key_of, output_of, shown_elsewhere
from byref.proxy.frontends.llm.conversation import Conversation, Result, own_length
from byref.proxy.frontends.llm.ours import Exceptions, reachable
from byref.proxy.frontends.llm.reading import Edit, Node, Parsed, applied, literal, offset, parse
from byref.proxy.gateway import Gateway
from byref.proxy.ledger.events import WHOLE
from byref.proxy.session import Session

FORMERS = 16  # requests that are held: the next one of each conversation begins as they do
HELD = 4 << 20  # characters of such a request
MEMO = 20_000  # results whose bytes are held in memory without a store
_FOLDER = re.compile(r"(?:[Ww]orking directory: |<cwd>)(/[^\n<]*)")  # as Claude Code, OpenCode and Codex say it


class Family(Protocol):
    """One API: how its requests are read. INTO: the members that hold what is looked at."""

    PATH: str
    INTO: Collection[str]

    def read(self, text: str, request: Node) -> Conversation: ...


FAMILIES: tuple[Family, ...] = tuple(cast(Family, module) for module in (anthropic, chat, responses))

ANSWERERS: Mapping[str, Answerer] = {one.PATH: cast(Answerer, answers) for one, answers in (
    (anthropic, answers_anthropic), (chat, answers_chat), (responses, answers_responses))}


def family(path: str) -> Family | None:
    """The API of a request's path, query aside; None for any other route."""
    return next((one for one in FAMILIES if path.partition("?")[0].endswith(one.PATH)), None)


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A request as it goes on. body: the bytes that came where nothing was to be changed. found: None where it could not be read.

    session: to which its cost belongs. scope: where its outputs lie. replaced: results that stand as views. before: the text as it came.
    answerer: who answers calls of our tools, where these were added to the request.
    """

    body: bytes
    found: Conversation | None = None
    text: str = ""
    before: str = ""
    session: str = "llm"
    scope: str = ""
    replaced: int = 0
    edits: tuple[Edit, ...] = field(default=(), repr=False)
    context: Context | None = None
    answerer: Answerer | None = None


class Rewriter:
    """Rewrites the requests of one daemon. scope: of conversations that name no folder. Safe for many threads.

    answers: whether our tools are offered and answered here, so that a marker can always be followed.
    """

    def __init__(self, gateway: Gateway, scope: str, *, stateless: bool = False, answers: bool = False) -> None:
        self.gateway, self.scope, self.stateless, self.answers = gateway, scope, stateless, answers
        self._contexts = Contexts()
        self._off = Exceptions(gateway.settings.home)
        self._lock = Lock()
        self._memo: OrderedDict[tuple[str, ...], Literals] = OrderedDict()
        self._scopes: dict[str, str] = {}
        self._formers: dict[str, deque[Parsed]] = {one.PATH: deque(maxlen=FORMERS) for one in FAMILIES}

    def rewrite(self, api: Family, body: bytes) -> Rewritten:
        """A request as it goes on. Never fails for a fault of ours: then it passes as it came."""
        try:
            parsed = parse(body, api.INTO, tuple(self._formers[api.PATH]))
            found = api.read(*parsed)
            if len(parsed.text) <= HELD:
                self._formers[api.PATH].appendleft(parsed)
            return self._rewritten(api, body, parsed, found)
        except ValueError:
            return Rewritten(body)
        except Exception as fault:  # whatever it is: the request goes through
            self.gateway.faults.add("llm", fault)
            return Rewritten(body)

    def _rewritten(self, api: Family, body: bytes, parsed: Parsed, found: Conversation) -> Rewritten:
        text = parsed.text
        scope = self._scope(found)
        context = self._contexts.of(found)
        name = found.session or context.name
        there = reachable(found.tools)
        offers = self.answers and not there and found.alone and bool(found.tools) and found.ends >= 0
        answerer = ANSWERERS[api.PATH] if offers else None
        edits: list[Edit] = []
        replaced = 0
        with context.lock:
            work = _Request(self, found, context, scope, there or answerer is not None)
            for result, lengths in work.results:
                given = self._given(work, result, lengths)
                if given is not None:
                    replaced += 1
                    for one, new, length in zip(result.texts, given, lengths, strict=True):
                        edits.append(Edit(one.start, one.end, _with_rest(text[one.start:one.end], new, one.text, length)))
            if answerer is not None:
                edits.append(Edit(found.ends, found.ends, "," + answerer.offer()))
                edits += answerer.restored(text, parsed.node, context.hidden)
                edits.sort(key=lambda edit: edit.start)
        changed = applied(text, edits) if edits else text
        return Rewritten(changed.encode() if edits else body, found, changed, text, name, scope, replaced, tuple(edits), context, answerer)

    def _given(self, work: _Request, result: Result, lengths: tuple[int, ...]) -> Literals:
        """What stands for a result. A fault costs that one its view: what is known of the others stands as before."""
        try:
            return work.given(result, lengths)
        except Exception as fault:
            self.gateway.faults.add("llm", fault)
            return None

    def session(self, name: str, scope: str, task: str = "", context: str | None = None, proven: bool = False) -> Session:
        """A session of the store."""
        return self.gateway.session(name, scope=scope, task=task, context=context, proven=proven)

    def covers(self, result: Result, tools: Mapping[str, str], scope: str) -> bool:
        """Whether a result passes untouched."""
        return self._off.cover(result.calling, tools, scope)

    def memo(self, key: tuple[str, ...]) -> tuple[bool, Literals]:
        """What was made of a result without a store, and whether it was."""
        with self._lock:
            if key not in self._memo:
                return False, None
            self._memo.move_to_end(key)
            return True, self._memo[key]

    def keep(self, key: tuple[str, ...], given: Literals) -> None:
        """Notes what was made of a result without a store."""
        with self._lock:
            self._memo[key] = given
            if len(self._memo) > MEMO:
                self._memo.popitem(last=False)

    def _scope(self, found: Conversation) -> str:
        """The project of the folder that the harness says it works in, where that is a folder of this machine."""
        if self.gateway.settings.scope:
            return self.gateway.settings.scope
        named = _FOLDER.search(found.system)
        if named is None:
            return self.scope
        folder = named[1].strip()
        if folder not in self._scopes:
            if len(self._scopes) > 1000:
                self._scopes.clear()
            self._scopes[folder] = _scope_of(folder) or self.scope
        return self._scopes[folder]


class _Request:
    """The results of one request, each given what stands for it. Under the lock of its context."""

    def __init__(self, rewriter: Rewriter, found: Conversation, context: Context, scope: str, able: bool) -> None:
        self.rewriter, self.found, self.context, self.scope, self.able = rewriter, found, context, scope, able
        self.results: list[tuple[Result, tuple[int, ...]]] = []
        for result in found.results:
            lengths = tuple([own_length(one.text) for one in result.texts])
            if any(lengths):
                self.results.append((result, lengths))
        self._session: Session | None = None
        self._begins = bool(self.results) and not rewriter.stateless and not context.given and context.untold(rewriter.gateway.store)

    def given(self, result: Result, lengths: tuple[int, ...]) -> Literals:
        """What stands for the texts of a result; None where they stay."""
        if self.rewriter.stateless:
            return self._stateless(result, lengths)
        # The id and the text as it came, by a hash of this process: what is known already is found without more.
        brief = result.call_id, tuple([hash(one.text) for one in result.texts])
        given = self.context.given
        if brief in given:
            return given[brief]
        store, key = self.rewriter.gateway.store, key_of(result, lengths)
        fresh = result.new and self.able and not self.rewriter.covers(result, self.found.tools, self.scope)
        if not fresh and store.first(self.context.name, key) is None and not self._kept(result, key, lengths):
            if not result.new:
                given[brief] = None
            return None
        if fresh and self.found.session and store.first(self.found.session, result.call_id) is not None:
            return None  # a hook made a view of it before it came here
        session = self._opened()
        literals, sure = self._captured(session, result, key, lengths)
        if sure:
            given[brief] = literals
            self.context.shows(store, key)
        return literals

    def _kept(self, result: Result, key: str, lengths: tuple[int, ...]) -> bool:
        """Whether a context begins with a result that stood as a view in another one, as after a compaction that kept the newest: of this
        context nothing was sent yet, so a view of it changes nothing.
        """
        if not self._begins or result.new or not self.able or self.rewriter.covers(result, self.found.tools, self.scope):
            return False
        own = [one.text[:length] for one, length in zip(result.texts, lengths, strict=True)]
        return all(map(_sound, own)) and shown_elsewhere(self.rewriter.gateway.store, key, result, own)

    def _opened(self) -> Session:
        if self._session is None:
            found, context = self.found, self.context
            self._session = self.rewriter.session(found.session or context.name, self.scope, found.task, context.name, found.whole)
            if not context.proven(self.rewriter.gateway.store, {key_of(result, lengths) for result, lengths in self.results}):
                self._session.compacted()
                context.forgotten()
        return self._session

    def _stateless(self, result: Result, lengths: tuple[int, ...]) -> Literals:
        if not self.able or self.rewriter.covers(result, self.found.tools, self.scope):
            return None
        made = key_of(result, lengths), result.calling.said, self.found.task, self.scope
        known, literals = self.rewriter.memo(made)
        if not known:
            literals, sure = self._captured(self.rewriter.session("llm", self.scope, self.found.task), result, None, lengths)
            if sure:
                self.rewriter.keep(made, literals)
        return literals

    def _captured(self, session: Session, result: Result, key: str | None, lengths: tuple[int, ...]) -> tuple[Literals, bool]:
        """What stands for the texts of a result, and whether that is sure: what passes after a fault is not."""
        own = [one.text[:length] for one, length in zip(result.texts, lengths, strict=True)]
        if not all(map(_sound, own)):
            return None, True
        shown = session.capture(tool=result.calling.tool or "tool", args=result.calling.arguments, output=output_of(own),
                                is_error=result.is_error, call_id=key, said=result.calling.said,
                                native=WHOLE)  # what a request holds is what was shown
        if shown.passed or not shown.ref:
            return None, not shown.warning
        views = list(shown.texts.values())
        first = next((i for i, view in enumerate(views) if view), 0)
        views[first] = shown.head + views[first]
        return tuple(map(literal, views)), True


def _with_rest(raw: str, view: str, text: str, length: int) -> str:
    """The literal of a view, and after it what the harness appended, in the characters it came in."""
    return view if length == len(text) else view[:-1] + raw[offset(raw, length):]


def _sound(text: str) -> bool:
    return text.isascii() or text.encode("utf-8", "replace").decode() == text


def _scope_of(folder: str) -> str:
    try:
        return config.scope_here(folder) if os.path.isdir(folder) else ""
    except (ConfigError, ByrefError, OSError, ValueError):
        return ""

