"""A plain decorator: what a function returns becomes a view where it is long, whatever loop calls it.

| returned              | what the caller gets                                                                          |
|-----------------------|-----------------------------------------------------------------------------------------------|
| str                   | the view as str, or the str itself                                                            |
| bytes                 | the view as bytes, or the bytes themselves                                                    |
| anything that is JSON | the view of its JSON as str, or the value itself                                              |
| anything else         | itself, uncaptured                                                                            |

What it raises passes as it is, and is noted as an error.
"""
from __future__ import annotations

import inspect
import json
import time
import warnings
from asyncio import to_thread
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Protocol, TypeVar, cast

from byref.proxy.contracts import Json

Function = TypeVar("Function", bound=Callable[..., object])


class Captured(Protocol):
    """What a capture gives."""

    @property
    def passed(self) -> bool: ...
    @property
    def text(self) -> str: ...
    @property
    def data(self) -> bytes: ...


class Session(Protocol):
    """What is needed of a session."""

    def begin(self) -> int: ...
    def capture(self, *, tool: str, output: str | bytes, args: Json = ..., is_error: bool = ..., raw: bool = ..., began: int | None = ...,
                elapsed: float | None = ...) -> Captured: ...


def wrapped(function: Function, opened: Callable[[], Session], name: str | None = None) -> Function:
    """The function with its returns captured. opened: gives the session at the first call. name: of the tool."""
    tool = name or str(getattr(function, "__name__", "tool"))
    signature = inspect.signature(function)

    def began() -> _Call | None:
        try:
            return _Call(opened(), tool)
        except Exception as fault:  # of ours: the function is called all the same
            warnings.warn(f"what {tool} returns is not captured: {fault}", RuntimeWarning, stacklevel=3)
            return None

    if inspect.iscoroutinefunction(function):
        @wraps(function)
        async def awaited(*values: object, **named: object) -> object:
            call = await to_thread(began)
            try:
                found = await function(*values, **named)
            except Exception as fault:
                if call is not None:
                    await to_thread(call.failed, _arguments(signature, values, named), fault)
                raise
            return found if call is None else await to_thread(call.returned, _arguments(signature, values, named), found)
        return cast(Function, awaited)

    @wraps(function)
    def called(*values: object, **named: object) -> object:
        call = began()
        try:
            found = function(*values, **named)
        except Exception as fault:
            if call is not None:
                call.failed(_arguments(signature, values, named), fault)
            raise
        return found if call is None else call.returned(_arguments(signature, values, named), found)
    return cast(Function, called)


class _Call:
    """A call that began."""

    def __init__(self, session: Session, tool: str) -> None:
        self.session, self.tool = session, tool
        self.tick, self.start = session.begin(), time.monotonic()

    def returned(self, arguments: Json, found: object) -> object:
        """What the caller gets."""
        output = found if isinstance(found, (str, bytes)) else _json(found)
        if not output:
            return found
        shown = self.session.capture(tool=self.tool, args=arguments, output=output, began=self.tick, elapsed=time.monotonic() - self.start)
        if shown.passed:
            return found
        return shown.data if isinstance(found, bytes) else shown.text

    def failed(self, arguments: Json, fault: Exception) -> None:
        self.session.capture(tool=self.tool, args=arguments, output=f"{type(fault).__name__}: {fault}", is_error=True, raw=True,
                             began=self.tick, elapsed=time.monotonic() - self.start)


def _json(value: object) -> str:
    """JSON of a value; nothing for None and for what is none."""
    if value is None:
        return ""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return ""


def _arguments(signature: inspect.Signature, values: tuple[object, ...], named: Mapping[str, object]) -> Json:
    """What a call was given, by name. What is no JSON stands as its type: a repr may hold an address, another one each time."""
    try:
        given = signature.bind(*values, **named).arguments
        found: Json = json.loads(json.dumps({key: value for key, value in given.items() if key not in ("self", "cls")}, allow_nan=False,
                                            default=lambda value: f"<{type(value).__name__}>"))
        return found
    except (TypeError, ValueError, RecursionError):
        return None
