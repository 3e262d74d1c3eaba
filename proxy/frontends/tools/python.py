"""Tools of ours from Python: `byref.call(session, "openalex", "works", search="late interaction")`."""
from __future__ import annotations

import atexit
from collections.abc import Iterator, Mapping
from threading import Lock

from byref.proxy import config
from byref.proxy.contracts import Json
from byref.proxy.frontends.tools import engine
from byref.proxy.frontends.tools.engine import Called, Tools
from byref.proxy.session import Session

_lock = Lock()
_tools: dict[tuple[tuple[str, str], ...], Tools] = {}  # one for each environment that was met: its connections and gates are shared


def call(session: Session, tool: str, operation: str = "", *, max_age: float = 0.0, raw: bool = False, budget: int | None = None,
         intent: str = "", call_id: str | None = None, **arguments: Json) -> Called:
    """One call of a tool, stored and viewed. See `pages`."""
    return next(pages(session, tool, operation, most=1, max_age=max_age, raw=raw, budget=budget, intent=intent, call_id=call_id,
                      **arguments))


def pages(session: Session, tool: str, operation: str = "", *, most: int = 10, max_age: float = 0.0, raw: bool = False,
          budget: int | None = None, intent: str = "", call_id: str | None = None, **arguments: Json) -> Iterator[Called]:
    """The pages of one call as they come, each an output of its own.

    tool: as its adapter is named; operation: empty where it does one thing alone; arguments: as the operation names them. max_age:
    seconds; an answer in the store that is no older will do. Raises `ConfigError` for a tool that there is not or a key that is not set,
    `Invalid` for an operation or arguments, `Unavailable` and `Failed` for an API that could not be asked. An answer that says that
    something went wrong is an answer: its `status` is 400 or more.
    """
    of = engine.adapter(tool)
    yield from shared(config.inherited()).call(
        session, of, engine.operation(of, operation), arguments, pages=most, max_age=max_age, raw=raw, budget=budget, intent=intent,
        call_id=call_id)


def shared(environment: Mapping[str, str]) -> Tools:
    """The tools of this process for an environment: their connections and gates are shared, and closed at its end."""
    key = tuple(sorted(environment.items()))
    with _lock:
        if key not in _tools:
            _tools[key] = Tools(environment)
            atexit.register(_tools[key].close)
        return _tools[key]
