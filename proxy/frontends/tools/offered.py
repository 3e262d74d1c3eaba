"""Tools of ours on MCP: which are offered, their definitions, and the results of calls. What they answer is final, since it is a view."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from byref.proxy import discover
from byref.proxy.contracts import Json
from byref.proxy.errors import ByrefError, ConfigError
from byref.proxy.frontends.tools import engine
from byref.proxy.frontends.tools.arguments import schema, title
from byref.proxy.frontends.tools.engine import Tools
from byref.proxy.frontends.wrap.own import FINAL
from byref.proxy.operations import Adapter, Operation
from byref.proxy.session import Session


class Offered:
    """The operations of these adapters, by the name that an agent calls them by."""

    def __init__(self, names: Sequence[str], tools: Tools, folder: str) -> None:
        """Raises `ConfigError` for the name of a tool that there is not. folder: where operations of this machine run."""
        self._tools, self._folder = tools, folder
        self._known: dict[str, tuple[Adapter, Operation]] = {}
        for name in dict.fromkeys(names):
            of = engine.adapter(name)
            self._known.update({title(of, what): (of, what) for what in of.operations})

    @property
    def definitions(self) -> list[Mapping[str, Json]]:
        """As MCP lists tools."""
        return [{"name": name, "description": what.help, "inputSchema": schema(what),
                 "annotations": {"readOnlyHint": not (what.cost and not of.base), "destructiveHint": bool(what.cost and not of.base),
                                 "idempotentHint": not what.cost, "openWorldHint": bool(of.base)}}
                for name, (of, what) in self._known.items()]

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def answer(self, session: Session, name: str, given: Mapping[str, Json], call_id: str | None = None,
               stop: Callable[[], bool] = lambda: False) -> dict[str, Json]:
        """The result of a call. Blocks. A fault is a result with isError that says what to do."""
        of, what = self._known[name]
        content: list[Json] = []
        failed = False
        try:
            for called in self._tools.call(session, of, what, given, call_id=call_id, folder=self._folder, stop=stop):
                failed = called.captured.is_error
                said = [called.text, *([f"[from the store, {called.age:.0f} s old]"] if called.age is not None else []),
                        *([f"[{called.captured.warning}]"] if called.captured.warning else [])]
                content += [{"type": "text", "text": text.encode("utf-8", "replace").decode()} for text in said]
        except (ByrefError, OSError) as fault:
            content, failed = [{"type": "text", "text": str(fault)}], True
        except Exception as fault:  # a call always gets its answer
            content, failed = [{"type": "text", "text": session.gateway.faults.add(f"tool {name[:20]}", fault)}], True
        return {"content": content, "isError": failed, "_meta": {FINAL: True}}

    def close(self) -> None:
        self._tools.close()


def chosen(names: Sequence[str]) -> list[str]:
    """The names of tools that an agent is offered: `all` stands for those that do no harm. Raises `ConfigError` for one there is not."""
    known = discover.names("tools")
    found: list[str] = []
    for name in names:
        if name == "all":
            found += [one for one in known if not engine.adapter(one).optional]
        elif name in known:
            found.append(name)
        else:
            raise ConfigError(f"there is no tool {name[:40]!r}; there are {', '.join(known)}, and all for those that do no harm")
    return list(dict.fromkeys(found))
