"""Other forms of a query, as the user's files and environment ask for them, each searched within what is left of the timebox.

Synonyms are searched after the query itself; a model is asked while that runs, and is waited for only as long as time is left for a
search. What is faulty about either is noted beside the answer and changes nothing else.
"""
from __future__ import annotations

import os
from threading import Lock

from byref.layers.forms import Form, joined
from byref.layers.rewriting import Endpoint, Rewriter
from byref.layers.synonyms import NONE, Synonyms, synonyms
from byref.layers.weighted import MODEL, SYNONYM
from byref.proxy.config import file_of, rewriting, table
from byref.proxy.errors import ConfigError
from byref.proxy.query import AS_IT_IS, parse, pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from byref.layers.orchestrator import Answer
    from byref.proxy.query import Query

    Ask = Callable[[Query, float], Sequence[Answer]]  # a query and seconds

FILE = "synonyms.toml"
LEAST = 0.02  # seconds: in less no search of a form is begun
_NEEDED = 2  # times LEAST that has to be left after a model was waited for

_lock = Lock()
_rules: dict[str, tuple[tuple[int, int], Synonyms]] = {}
_rewriters: dict[Endpoint, Rewriter] = {}


class Forms:
    """The forms of one query: none of a pattern, nor of what is to be like a stretch. Made before its own search begins, so that a
    model thinks meanwhile. notes: what went wrong, a line each."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self.notes: list[str] = []
        self._wait: Callable[[float], tuple[tuple[str, ...], str]] | None = None
        self._texts: list[str] = []
        if query.compiled is not None or query.apart:
            return
        try:
            self._texts = _synonyms().forms(query)
            endpoint = rewriting()
        except ConfigError as fault:
            self.notes.append(_line(str(fault)))
            return
        if endpoint is not None and query.tokens:
            self._wait = _rewriter(Endpoint(*endpoint)).start(query.text)

    def __bool__(self) -> bool:
        return bool(self._texts) or self._wait is not None

    def joined(self, answers: Sequence[Answer], ask: Ask, left: Callable[[], float]) -> tuple[Query, Sequence[Answer]]:
        """The query and the answers to it, with the terms of its forms and what layers answer to these."""
        found = self.searched(ask, left) if self else []
        return joined(self._query, answers, found) if found else (self._query, answers)

    def searched(self, ask: Ask, left: Callable[[], float]) -> list[Form]:
        """What layers answer to each form, as far as the time goes. left: seconds of the timebox."""
        found: list[Form] = []
        texts = [(text, SYNONYM) for text in self._texts]
        late = self._wait is not None
        while texts or late:
            if not texts and self._wait is not None:
                made, note = self._wait(left() - _NEEDED * LEAST)
                late = False
                self.notes += [_line(note)] * bool(note)
                texts += [(text, MODEL) for text in made if text not in self._texts]
                continue
            if left() < LEAST:
                self.notes.append(f"no time for {len(texts)} other form{'s' * (len(texts) > 1)} of the query")
                break
            text, asked = texts.pop(0)
            query = parse(text, dict(_weights(self._query, text)))
            if query.terms:
                found.append(Form(query, asked, ask(query, left() / (1 + len(texts)))))
        return found


def _line(note: str) -> str:
    """What a stranger said, as part of a line of ours."""
    return " ".join(note.split()).replace("«", "<").replace("»", ">")[:200]


def _weights(query: Query, text: str) -> Iterator[tuple[str, float]]:
    """Those of the query's weights whose words a form still holds."""
    words = {word for token in parse(text).tokens for word in (token.lower(), *pieces(token))}
    return ((word, weight / AS_IT_IS) for word, weight in query.weights if word in words)


def _synonyms() -> Synonyms:
    """The user's rules, read again when the file changes. Raises `ConfigError` for one that cannot be used."""
    path = file_of(FILE)
    try:
        found = os.stat(path)
    except OSError:
        return NONE
    sign = found.st_mtime_ns, found.st_size
    with _lock:
        if path not in _rules or _rules[path][0] != sign:
            _rules[path] = sign, synonyms(table(path), path)
        return _rules[path][1]


def _rewriter(endpoint: Endpoint) -> Rewriter:
    with _lock:
        return _rewriters.setdefault(endpoint, Rewriter(endpoint))
