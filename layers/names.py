"""Names: the tool, the command line and the paths of a call, looked up in the catalog. It finds outputs by how they came to be.

Keyword tiers: the whole name is the query, begins with it, holds all its words, or the other arguments do: 100, 60, 30, 15.
"""
from __future__ import annotations

from byref.layers.contract import GENERATE, WHOLE, Contribution, Hit, LayerStatus, Span, Unindexed
from byref.proxy.errors import Corrupt, Unknown
from byref.proxy.signature import command_line, tool_kind
from byref.proxy.text import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from byref.layers.contract import Budget, Held, Scope
    from byref.proxy.contracts import Json, Output
    from byref.proxy.query import Query

EXACT, PREFIX, TITLE, BODY = 100, 60, 30, 15
TOP = 20
OPENING = 400  # bytes at the start of an output that stand for it
LONGEST = 2000  # characters of arguments that are looked at


def layer(folder: str | None) -> Names:
    return Names()


class Names(Unindexed):
    """See the module."""

    name, version, roles = "names", "1", frozenset({GENERATE})

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[tuple[str, ...], str]] = {}

    def applies(self, scope: Scope, query: Query) -> bool:
        return query.compiled is None and bool(query.tokens) and not scope.named and not query.apart

    def status(self, scope: Scope) -> LayerStatus:
        return LayerStatus(self.name, self.version, GENERATE, "catalog", "output", WHOLE, "a command, a path, words of it",
                           1 + len(scope.outputs) // 1000)

    def search(self, query: Query, scope: Scope, budget: Budget, candidates: Sequence[Hit] | None = None) -> Contribution:
        """The opening of each output whose call the query names, newest first among equals."""
        asked = " ".join(query.text.lower().split())
        tokens = [token.lower() for token in query.tokens]
        first: dict[str, Held] = {}
        for held in scope.held.values():
            best = first.setdefault(held.output.ref, held)
            if held.part < best.part:
                first[held.output.ref] = held
        hits: list[tuple[int, int, Hit]] = []
        whole = True
        for number, held in enumerate(first.values()):
            if number % 256 == 255 and budget.late():
                whole = False
                break
            score = self._score(held.output, asked, query.text, tokens)
            if score:
                hit = Hit(Span(held.blob, 0, min(held.size, OPENING)), score, "names", line=1, exact=0)
                hits.append((-score, held.age, hit))
        hits.sort()
        return Contribution([hit for _, _, hit in hits[:TOP] if _readable(scope, hit)], whole=whole)

    def _score(self, output: Output, asked: str, written: str, tokens: Sequence[str]) -> int:
        if written == output.signature:
            return EXACT
        titles, body = self._names(output)
        if asked in titles:
            return EXACT
        if any(title.startswith(asked) for title in titles):
            return PREFIX
        if any(all(token in title for token in tokens) for title in titles):
            return TITLE
        return BODY if all(token in body for token in tokens) else 0

    def _names(self, output: Output) -> tuple[tuple[str, ...], str]:
        """(command line and single arguments, all arguments) in lower case."""
        manifest = output.manifest
        key = manifest.tool, manifest.arguments
        if key not in self._known:
            if len(self._known) > 50_000:
                self._known.clear()
            import json
            text = project(manifest.arguments[:LONGEST])
            arguments: Json
            try:
                arguments = json.loads(manifest.arguments)
            except ValueError:
                arguments = None
            line = command_line(arguments)
            titles = [] if line is None else [line]
            if isinstance(arguments, dict):
                titles += [value for value in arguments.values() if isinstance(value, str)]
            low = tuple(dict.fromkeys(" ".join(project(title[:LONGEST]).lower().split()) for title in titles if title))
            self._known[key] = (*low, manifest.tool.lower(), tool_kind(manifest.tool)), f"{manifest.tool} {text}".lower()
        return self._known[key]


def _readable(scope: Scope, hit: Hit) -> bool:
    """Whether there is a text to show: a binary output has a name, but no lines."""
    try:
        return b"\0" not in scope.open(hit.span.blob).read(0, hit.span.end)
    except (Corrupt, Unknown):
        return False
