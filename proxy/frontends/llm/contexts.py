"""One conversation, or one agent of it: the bytes that stand in its requests for good, and what it can be proven to have been shown.

A context is named by what its requests say themselves: the harness's session, else the system prompt, and the first thing that a
user said. So a subagent is a context of its own, and a conversation whose beginning a compaction replaced is a new one. What was shown
counts as long as each result that showed it stands in the request at hand: one that is gone, by whatever way, ends that.
"""
from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Collection, Sequence
from hashlib import blake2b
from threading import Lock

from byref.proxy.contracts import Blob, Manifest, Part, Store
from byref.proxy.errors import ByrefError
from byref.proxy.frontends.llm.answers import Hidden
from byref.proxy.frontends.llm.conversation import Conversation, Result
from byref.proxy.intake import to_bytes
from byref.proxy.signature import tool_kind
from byref.proxy.text import canonical_arguments, digest, ref_of

HELD = 500  # contexts in memory; what is dropped is read from the store again
HIDDEN = 500  # answers of a context that held calls of ours
_NUMBERS = re.compile(r"\d+")
# A line of Claude Code's that is another one in each request.
_BILLING = re.compile(r"^x-anthropic-billing-header:.*$", re.M)
_SYSTEM = 4000  # characters of a system prompt that name a conversation: what it is, not what of the day it says further down

Literals = tuple[str, ...] | None  # what stands for each text of a result; None: they stay


class Context:
    """What this process knows of a context. lock: around the captures of one request."""

    def __init__(self, name: str) -> None:
        self.name, self.lock = name, Lock()
        self.given: dict[tuple[str, tuple[int, ...]], Literals] = {}  # by the id of a call and hashes of what it returned
        self.hidden: OrderedDict[str, tuple[Hidden, ...]] = OrderedDict()  # by the answer in which it stood
        self._shown: set[str] = set()  # keys of the results whose views count as shown
        self._tick = 0  # of the store, up to which that is known

    def hides(self, anchor: str, hidden: Sequence[Hidden]) -> None:
        """What was answered within an answer is to be put back into later requests."""
        self.hidden[anchor] = tuple(hidden)
        if len(self.hidden) > HIDDEN:
            self.hidden.popitem(last=False)

    def proven(self, store: Store, keys: Collection[str]) -> bool:
        """Whether every result that counts as shown stands in a request with these keys. Raises a `StoreError`."""
        if store.tick(self.name) > self._tick:
            rows = [row for row in store.shown(self.name) if row[0] > self._tick]
            held: dict[tuple[bytes, bytes], list[str]] = {}
            for key in keys if rows else ():
                first = store.first(self.name, key)
                if first is not None:
                    held.setdefault((first.shown_lines, first.shown_terms), []).append(key)
            for tick, lines, terms in rows:
                known = held.get((lines, terms), [])
                self._shown.add(known.pop() if known else "")
                self._tick = max(self._tick, tick)
        return self._shown <= set(keys)

    def untold(self, store: Store) -> bool:
        """Whether nothing was captured in it so far, as far as the store can say."""
        try:
            return store.tick(self.name) == 0
        except ByrefError:
            return False

    def forgotten(self) -> None:
        """Nothing counts as shown any more."""
        self._shown.clear()

    def shows(self, store: Store, key: str) -> None:
        """A result was captured. Where others captured in between, `proven` reads them from the store."""
        tick = store.tick(self.name)
        if tick == self._tick + 1:
            self._tick = tick
            self._shown.add(key)


class Contexts:
    """The contexts of a process. Safe for many threads."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, Context] = OrderedDict()
        self._lock = Lock()

    def of(self, found: Conversation) -> Context:
        """The context of a request."""
        name = name_of(found)
        with self._lock:
            context = self._held.get(name)
            if context is None:
                context = self._held[name] = Context(name)
                if len(self._held) > HELD:
                    self._held.popitem(last=False)
            else:
                self._held.move_to_end(name)
            return context


def name_of(found: Conversation) -> str:
    """The name of a conversation, by its requests alone."""
    known = found.session or _NUMBERS.sub("0", _BILLING.sub("", found.system[:_SYSTEM]))
    return "llm-" + _hash("session" if found.session else "system", known, found.task if found.whole else "\0")


def key_of(result: Result, lengths: Sequence[int]) -> str:
    """Which result of which call this is: its id, and what it was and said, since ids may come again. lengths: of the tool's own text.

    Blanks at the end are left out: which of them a harness put between a text and what it appended cannot be told.
    """
    calling = result.calling
    own = [text.text[:length].rstrip() for text, length in zip(result.texts, lengths, strict=True)]
    arguments = json.dumps(calling.arguments, sort_keys=True, separators=(",", ":"))
    return f"{result.call_id}.{_hash(calling.tool, arguments, str(result.is_error), *own)}"


def output_of(own: Sequence[str]) -> str | dict[str, str]:
    """The texts of a result as the library takes them: one, or parts by name."""
    return own[0] if len(own) == 1 else {f"text{n or ''}": text for n, text in zip([0, *range(2, len(own) + 1)], own, strict=True)}


def shown_elsewhere(store: Store, key: str, result: Result, own: Sequence[str]) -> bool:
    """Whether a view of this very result was given in another context. own: its texts, as far as they are the tool's."""
    calling, output = result.calling, output_of(own)
    single = "stdout" if tool_kind(calling.tool or "tool") == "shell" else "text"
    parts = []
    for name, text in (output if isinstance(output, dict) else {single: output}).items():
        data = to_bytes(text)
        parts.append(Part(name, "text/plain", Blob(digest(data), len(data), data.count(b"\n"))))
    manifest = Manifest(calling.tool or "tool", canonical_arguments(calling.arguments), tuple(parts), None, result.is_error)
    return any(one.call_id == key for one in store.views(ref_of(manifest)))


def _hash(*texts: str) -> str:
    found = blake2b(digest_size=12)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        found.update(b"%d:" % len(data))
        found.update(data)
    return found.hexdigest()
