"""A query put otherwise by a model, at any endpoint that speaks OpenAI's chat completions. Off unless the user names one.

At most two forms, each kept only where its words are still those of the query: Jaccard >= .6 of the sets of tokens in lower case.
They are cached for ten minutes. The request runs in a thread of its own: who searches waits no longer than the timebox allows, and
what comes later is there for the next time. A fault costs nothing but its note: nothing is asked again for half a minute, nor while an
answer is overdue.
"""
from __future__ import annotations

import json
import re
import time
from threading import Event, Lock, Thread

from byref.proxy.contracts import dataclass
from byref.proxy.errors import ConfigError
from byref.proxy.query import parse
from byref.proxy.text import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from byref.proxy.contracts import Json

FORMS = 2
ALIKE = (3, 5)  # Jaccard, as a fraction
KEPT = 600.0  # seconds
AGAIN = 30.0  # seconds after a fault
HELD = 256  # queries whose forms are held
PATIENCE = 20.0  # seconds for an answer of the endpoint
LONGEST = 1000  # characters of a query that is sent
ANSWER = 1 << 20  # bytes of an answer that are read
PROMPT = ("Rewrite the search query below in two other ways that mean the same. Keep its names, identifiers and numbers as they are, and "
          "most of its words. Answer with two lines, one rewrite a line, and nothing else.")
_SIGNS = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """url: up to and including the version, such as http://127.0.0.1:11434/v1. key: sent as a bearer token where it is not empty."""

    url: str
    model: str
    key: str = ""


class _Known:
    """What became of one query. forms are there once `done` is set; note says why there are none."""

    def __init__(self) -> None:
        self.done = Event()
        self.forms: tuple[str, ...] = ()
        self.note = ""
        self.until = 0.0


class Rewriter:
    """Forms of queries from one endpoint. Safe for many threads. clock: in seconds, for the cache."""

    def __init__(self, endpoint: Endpoint, clock: Callable[[], float] = time.monotonic) -> None:
        self._endpoint, self._clock = endpoint, clock
        self._lock = Lock()
        self._known: dict[str, _Known] = {}
        self._overdue: _Known | None = None  # somebody waited for it in vain
        self._broken: tuple[float, str] | None = None  # until when nothing is asked, and why

    def start(self, text: str) -> Callable[[float], tuple[tuple[str, ...], str]]:
        """Asks for the forms of a text, unless they are known. Gives what waits for them, so many seconds at most: forms and a note."""
        key = " ".join(text.split())
        with self._lock:
            known = self._known.get(key)
            if known is None or (known.done.is_set() and self._clock() >= known.until):
                if why := self._shut():
                    return lambda seconds: ((), why)
                self._known.pop(key, None)
                known = self._known[key] = _Known()
                while len(self._known) > HELD:
                    del self._known[next(iter(self._known))]
                Thread(target=self._run, args=(known, text), name="byref-rewriting", daemon=True).start()
        one = known

        def wait(seconds: float) -> tuple[tuple[str, ...], str]:
            if not one.done.wait(max(0.0, seconds)):
                self._overdue = one
                return (), "the model that rewrites had not answered in time"
            return one.forms, one.note
        return wait

    def _shut(self) -> str:
        """Why the endpoint is not asked now; empty where it is."""
        if self._broken is not None and self._clock() < self._broken[0]:
            return self._broken[1]
        late = self._overdue is not None and not self._overdue.done.is_set()
        return "the model that rewrites has yet to answer an earlier query" if late else ""

    def _run(self, known: _Known, text: str) -> None:
        try:
            known.forms = kept(text, _lines(_asked(self._endpoint, project(text)[:LONGEST])))
            known.until = self._clock() + KEPT
        except Exception as fault:  # whatever a server of somebody else answers
            known.note = f"no rewrite by a model: {type(fault).__name__}: {str(fault)[:200]}"
            known.until = self._clock() + AGAIN
            self._broken = known.until, known.note
        known.done.set()


def kept(text: str, lines: Sequence[str]) -> tuple[str, ...]:
    """The first lines that say the query otherwise and hold most of its words."""
    asked = _tokens(text)
    told = {" ".join(text.lower().split())}
    found: list[str] = []
    for line in lines:
        plain, tokens = " ".join(line.lower().split()), _tokens(line)
        both, either = len(asked & tokens), len(asked | tokens)
        if plain not in told and parse(line).compiled is None and both * ALIKE[1] >= either * ALIKE[0] and both:
            told.add(plain)
            found.append(line)
    return tuple(found[:FORMS])


def _tokens(text: str) -> frozenset[str]:
    return frozenset(token.lower() for token in parse(text).tokens)


def _lines(content: str) -> list[str]:
    """The lines of an answer without the signs of a list and marks around them."""
    rows = (_SIGNS.sub("", line).strip().strip("\"'`").strip() for line in content.splitlines())
    return [row for row in rows if row]


def _asked(endpoint: Endpoint, text: str) -> str:
    """What the model answers. Raises whatever the connection does, and ValueError for an answer of another form."""
    from http.client import HTTPConnection, HTTPSConnection
    from urllib.parse import urlsplit
    parts = urlsplit(endpoint.url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{endpoint.url[:80]!r} is no address of an endpoint; say such as http://127.0.0.1:11434/v1")
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname, parts.port, timeout=PATIENCE)
    body: dict[str, Json] = {"model": endpoint.model, "temperature": 0, "max_tokens": 200, "messages": [
        {"role": "system", "content": PROMPT}, {"role": "user", "content": text}]}
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    try:
        connection.request("POST", parts.path.rstrip("/") + "/chat/completions" + (f"?{parts.query}" if parts.query else ""),
                           json.dumps(body).encode(), headers)
        response = connection.getresponse()
        data = response.read(ANSWER)
    finally:
        connection.close()
    if response.status != 200:
        raise ValueError(f"the endpoint answered {response.status} {response.reason}")
    try:
        content = json.loads(data)["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError):
        content = None
    if not isinstance(content, str):
        raise ValueError("the answer is no chat completion")
    return content
