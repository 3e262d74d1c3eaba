"""Hooks of a harness, on the daemon's side: an event goes in, what the hook prints comes out.

Nothing of ours may fail a tool call: after any fault, and wherever there is nothing to say, the answer is empty and the raw
output stands. What a hook tells proves a context: a conversation and its compactions, each agent a context of its own.
Where the daemon was started again in the middle, what it knew of a conversation is read from the conversation's own file.
"""
from __future__ import annotations

import os
import re
import stat
import time
from collections import OrderedDict
from fnmatch import fnmatchcase
from functools import cache
from threading import Lock
from typing import cast
from weakref import WeakKeyDictionary

from byref.proxy import config, discover
from byref.proxy.errors import ByrefError, ConfigError
from byref.proxy.frontends.command import SESSION
from byref.proxy.frontends.nested import starts_byref
from byref.proxy.frontends.warming import warm
from byref.proxy.gateway import Gateway
from byref.proxy.harness import Harness, Hook, Recorded, Returned, Standing
from byref.proxy.ledger import events
from byref.proxy.session import Session
from byref.proxy.signature import command_line, signature
from byref.proxy.text import estimate

CONVERSATIONS = 1000  # held in memory; one beyond is read from its file again when it goes on
BEGUN = 10_000  # calls that began and have not returned
START = 256 << 10  # bytes at a conversation's start, where its first prompt stands
END = 128 << 10  # bytes at its end, where the call stands that just returned
TASK = 4000  # characters of a prompt
LONGEST = 256 << 20  # bytes of a conversation read at a time
WAITS = 0.0, 0.005, 0.02  # seconds before each look for what a harness writes of a call that has just ended
FLUSHED = 0.0, 0.005, 0.01, 0.015, 0.02  # and for what it wrote of it at its beginning: some gather lines for a tenth of a second
SPILLED = 64 << 20  # bytes of a file in which the harness put an output
_OFF = re.compile(r"\bBYREF=\S+\s+")


def answer(gateway: Gateway, harness: str, event: bytes) -> bytes:
    """What a hook of a harness prints for an event; empty where the raw output stands. Never raises; safe for many threads."""
    try:
        return _driver(gateway, harness).answer(event)
    except Exception as fault:
        gateway.faults.add(f"hook {harness[:40]}", fault)
        return b""


def unheard(gateway: Gateway, harness: str, event: bytes) -> None:
    """Notes that whoever told of an event did not wait for the answer. Never raises."""
    try:
        _driver(gateway, harness).unheard(event)
    except Exception as fault:
        gateway.faults.add(f"hook {harness[:40]}", fault)


_LOCK = Lock()
_DRIVERS: WeakKeyDictionary[Gateway, dict[str, Driver]] = WeakKeyDictionary()


def _driver(gateway: Gateway, harness: str) -> Driver:
    with _LOCK:
        drivers = _DRIVERS.setdefault(gateway, {})
        if harness not in drivers:
            drivers[harness] = Driver(gateway, load(harness))
        return drivers[harness]


def load(harness: str) -> Harness:
    """The adapter of a harness. Raises `ConfigError`."""
    module = discover.load("harnesses", harness.replace("-", "_"))
    if not hasattr(module, "parse"):
        raise ConfigError(f"{harness} has no hooks")
    return cast(Harness, module)


class _Conversation:
    """What is known of a session: where it belongs, what each of its agents is to do, and how far its files were read."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        self.tasks: dict[str, str] = {}
        self.taskless: set[str] = set()  # agents of which the whole start of their file tells no task: it is not read again
        self.unwritten: set[str] = set()  # files in which a call did not appear: calls there are not waited for again
        self.lock = Lock()  # around what follows: the ledger is read and written under it
        self.read: dict[str, int] = {}  # bytes of each file whose usage is in the ledger
        self.counted: dict[str, set[int]] = {}  # messages whose usage is, by agent


class Driver:
    """One harness on one gateway."""

    def __init__(self, gateway: Gateway, harness: Harness) -> None:
        self.gateway, self.harness = gateway, harness
        self._lock = Lock()
        self._conversations: OrderedDict[str, _Conversation] = OrderedDict()
        self._begun: OrderedDict[tuple[str, str], int] = OrderedDict()

    def answer(self, event: bytes) -> bytes:
        """See the module's `answer`. Raises ValueError for what is no event, and `ByrefError`."""
        hook = self.harness.parse(event)
        if not hook.session or hook.own:
            return b""
        conversation = self._conversation(hook)
        if hook.kind in ("began", "returned", "failed"):
            if not self._left_alone(hook, conversation):
                return self._call(hook, conversation)
            if hook.kind != "began":
                self._bare(hook, conversation)
            return b""
        if hook.kind == "opened":
            warm(self.gateway, conversation.scope, SESSION.__eq__)  # an MCP server answers for its own sessions by itself
        elif hook.kind == "asked":
            conversation.tasks[hook.agent] = conversation.tasks.get(hook.agent) or hook.text[:TASK]
        elif hook.kind == "forgot":
            for agent in {"", hook.agent, *conversation.tasks} if not hook.agent else {hook.agent}:
                name = context(hook.session, agent)
                self.gateway.session(name, context=name, scope=conversation.scope).compacted()
        elif hook.kind == "billed":
            with conversation.lock:
                self._bill(hook, conversation, hook.text.encode())
        elif hook.kind in ("stopped", "closed"):
            self._spent(hook, conversation)
            if hook.agent or hook.kind == "closed":
                self._session(hook, conversation).close()
            if hook.kind == "closed":
                with self._lock:
                    self._conversations.pop(hook.session, None)
        return b""

    def unheard(self, event: bytes) -> None:
        """See the module's `unheard`: the model saw the raw output, whatever the ledger says of a view."""
        hook = self.harness.parse(event)
        if hook.kind == "returned" and hook.session and hook.call_id:
            name, scope = context(hook.session, hook.agent), self._conversation(hook).scope
            first = self.gateway.store.first(name, hook.call_id)
            if first is not None:
                self.gateway.log(scope, events.unheard(at=self.gateway.clock(), session=name, ref=first.ref))

    def _call(self, hook: Hook, conversation: _Conversation) -> bytes:
        if hook.call_id and self.gateway.store.first(wrapped(hook.session), hook.call_id) is not None:
            return b""  # `byref wrap` stands before that server: what comes is its view, stored and counted already
        session = self._session(hook, conversation)
        key = session.context, hook.call_id
        if hook.kind == "began":
            tick = session.begin()
            with self._lock:
                self._begun[key] = tick
                while len(self._begun) > BEGUN:
                    self._begun.popitem(last=False)
            return b""
        with self._lock:
            began = self._begun.pop(key, 0)  # where nobody saw it begin, nothing counts as shown before
        found = self.harness.returned(hook)
        if found is None:
            return b""
        found = self._ended(hook, found)
        if found is None:
            return b""
        said = hook.said or self._said(hook, conversation)
        if not session.task:  # by now its file may tell it
            session = self._session(hook, conversation)
        stands = hook.kind == "failed" or (hasattr(self.harness, "STAND") and hook.tool in cast(Standing, self.harness).STAND)
        # What the harness cuts to a preview, a view that is no longer than the preview can take the place of.
        shown = session.capture(
            tool=hook.tool, args=hook.arguments, output=_parts(found), exit_code=found.exit_code, is_error=found.is_error,
            call_id=hook.call_id or None, said=said, raw=stands, began=began,
            elapsed=hook.elapsed, native=events.WHOLE if found.native is None else found.native,
            budget=None if found.native is None else found.native * 3 // 10)
        if shown.passed or not shown.ref:
            return b""
        return self.harness.rewritten(hook, shown.head, shown.texts)

    def _ended(self, hook: Hook, found: Returned) -> Returned | None:
        """With what the conversation's file says of the call, where the harness writes that there: it may be about to."""
        if not hasattr(self.harness, "ended"):
            return found
        record = cast(Recorded, self.harness)
        for wait in WAITS:
            time.sleep(wait)
            known = record.ended(hook, found, _piece(self.harness.conversation(hook), record.TAIL, last=True))
            if known is not None:
                return known
        return None

    def _said(self, hook: Hook, conversation: _Conversation) -> str:
        """What the agent wrote before a call: a view with it is another one, so what the harness is about to write is waited for."""
        path = self.harness.conversation(hook)
        for wait in FLUSHED if path and path not in conversation.unwritten else FLUSHED[:1]:
            time.sleep(wait)
            end = _piece(path, END, last=True)
            said = self.harness.said(end, hook.call_id)
            if said is not None:
                conversation.unwritten.discard(path)
                return said
        if path:
            conversation.unwritten.add(path)
        return ""

    def _session(self, hook: Hook, conversation: _Conversation) -> Session:
        name = context(hook.session, hook.agent)
        if not conversation.tasks.get(hook.agent) and hook.agent not in conversation.taskless:
            start = _piece(self.harness.conversation(hook), START)  # of an agent that has just begun it may not be there yet
            conversation.tasks[hook.agent] = self.harness.task(start)[0][:TASK]
            if len(start) == START:
                conversation.taskless.add(hook.agent)
        return self.gateway.session(name, task=conversation.tasks[hook.agent], context=name, scope=conversation.scope)

    def _conversation(self, hook: Hook) -> _Conversation:
        """Its scope is that of the folder where it started, wherever its commands have gone since."""
        with self._lock:
            held = self._conversations.get(hook.session)
            if held is not None:
                self._conversations.move_to_end(hook.session)
                return held
        folder = hook.folder
        if hook.kind != "opened":
            folder = self.harness.task(_piece(hook.transcript, START))[1] or folder
        scope = self.gateway.settings.scope or config.scope_here(folder or None)
        with self._lock:
            made = self._conversations.setdefault(hook.session, _Conversation(scope))
            while len(self._conversations) > CONVERSATIONS:
                self._conversations.popitem(last=False)
        return made

    def _left_alone(self, hook: Hook, conversation: _Conversation) -> bool:
        """Whether this call passes untouched and unstored: a second call, or what the user or the agent switched off."""
        command = command_line(hook.arguments) if isinstance(hook.arguments, dict) else None
        if command is not None and (starts_byref(command) or switched_off(command)):
            return True
        off = _exceptions(self.gateway.settings.home, _age(os.path.join(self.gateway.settings.home, "config.toml")))
        folder = conversation.scope.partition(":")[2]
        return (any(fnmatchcase(hook.tool, pattern) for pattern in off.tools)
                or (command is not None and any(fnmatchcase(command, pattern) for pattern in off.commands))
                or any(folder == project or folder.startswith(project + "/") for project in off.projects))

    def _bare(self, hook: Hook, conversation: _Conversation) -> None:
        """Notes a call that the agent makes again past byref, for what a view hid: nothing of it is stored, and a repeat it is."""
        command = command_line(hook.arguments) if isinstance(hook.arguments, dict) else None
        if command is None or starts_byref(command) or not switched_off(command):
            return
        found = self.harness.returned(hook)
        name, folder = context(hook.session, hook.agent), conversation.scope.partition(":")[2]
        bare = {key: _OFF.sub("", command) if value == command else value for key, value in hook.arguments.items()}  # type: ignore[union-attr]
        mark = signature(hook.tool, bare, root=folder if folder.startswith("/") else "", home=self.gateway.settings.user)
        former = self.gateway.store.recent(conversation.scope, session=name, signature=mark, limit=1)
        if found is None or not former:
            return
        texts = [text if isinstance(text, str) else text.decode("utf-8", "replace") for text in found.parts.values()]
        tokens = sum(map(estimate, texts))
        self.gateway.log(conversation.scope, *events.captured(
            at=self.gateway.clock(), session=name, ref="", tool=hook.tool, shape="", size=sum(map(len, texts)), raw=tokens, view=tokens,
            parts=len(texts), gaps=0, repeats=former[0].ref, native=events.WHOLE))

    def _spent(self, hook: Hook, conversation: _Conversation) -> None:
        """What the conversation cost since it was last read, from the whole lines of its file."""
        path = self.harness.conversation(hook)
        with conversation.lock:
            start = conversation.read.get(path, 0)
            lines = _piece(path, LONGEST, start)
            lines = lines[:lines.rfind(b"\n") + 1]
            if lines:
                self._bill(hook, conversation, lines)
                conversation.read[path] = start + len(lines)

    def _bill(self, hook: Hook, conversation: _Conversation, lines: bytes) -> None:
        """Into the ledger what lines say was spent, each message once. Under the conversation's lock."""
        name, store = context(hook.session, hook.agent), self.gateway.store
        if name not in conversation.counted:
            held = store.events(conversation.scope, session=name)
            conversation.counted[name] = {event.numbers["message"] for event in held if event.kind == "usage"}
        counted = conversation.counted[name]
        for spent in self.harness.spent(lines):
            number = events.message_number(spent.message)
            if number in counted:
                continue
            first = next(filter(None, (store.first(name, call) for call in spent.call_ids)), None)
            self.gateway.log(conversation.scope, events.usage(
                at=self.gateway.clock(), session=name, ref=first.ref if first else "", tool=first.manifest.tool if first else "",
                message=spent.message, numbers={**spent.numbers, "ours": 1}))  # with hooks come our tools
            counted.add(number)


def context(session: str, agent: str) -> str:
    """The name of a conversation, which is its context and its session in the ledger. An agent has one of its own."""
    return f"{session}.{agent}" if agent else session


def wrapped(session: str) -> str:
    """The context of the calls that a server behind `byref wrap` answers in a conversation whose client says its name and its calls'."""
    return f"{session} mcp"


def switched_off(command: str) -> bool:
    """Whether a command line sets BYREF=off for a command of its own, at its beginning or after an operator."""
    import shlex
    words = shlex.shlex(command, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    first = True
    try:
        for word in words:
            name, sign, value = word.partition("=")
            if first and sign and name == "BYREF" and config.switched_off({"BYREF": value}):
                return True
            first = not word.strip("();<>|&") or (first and (bool(sign) or word in ("{", "!", "exec", "env", "command", "time", "export")))
    except ValueError:  # quotes that never close
        return False
    return False


def _parts(found: Returned) -> dict[str, str | bytes]:
    """The texts of an output, whole where the harness holds only the start of one and left the rest in a file."""
    parts: dict[str, str | bytes] = dict(found.parts)
    part, path, size = found.spilled
    if path and 0 < size <= SPILLED:
        data = _piece(path, size + 1)
        if len(data) == size:
            parts[part] = data
    return parts


def _piece(path: str, size: int, start: int = 0, *, last: bool = False) -> bytes:
    """Bytes from a regular file of the user's own: from start on, or the last ones. Nothing where it cannot be read."""
    if not path:
        return b""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
            return b""
        if last:
            start = max(0, found.st_size - size)
        return os.pread(fd, min(size, max(0, found.st_size - start)), start)
    finally:
        os.close(fd)


def _age(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


@cache
def _exceptions(home: str, age: int) -> config.Off:
    """What config.toml switches off. One that cannot be used switches off nothing; every command says what is wrong with it."""
    try:
        return config.exceptions(home)
    except (ConfigError, ByrefError):
        return config.Off()
