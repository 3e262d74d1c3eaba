"""OpenTelemetry spans around calls, where a program has set up its SDK; else nothing at all, not even an import.

A span names the tool, the ref and sizes; never arguments, a query or a text. On the cold path of `byref run`.
"""
from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Protocol

    class Span(Protocol):
        """A span, for `with`."""

        def __enter__(self) -> Span: ...
        def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None: ...
        def set(self, **attributes: str | int | bool) -> None:
            """Adds attributes, each under `byref.`."""

_SDK = "opentelemetry.sdk.trace"  # the API alone records nothing


def span(name: str, **attributes: str | int | bool) -> Span:
    """A span `byref.NAME` of the SDK that the program has loaded; else one that does nothing."""
    if _SDK not in sys.modules:
        return _NOTHING
    from opentelemetry.trace import get_tracer
    return _Traced(get_tracer("byref").start_as_current_span(f"byref.{name}"), attributes)


class _Nothing:
    __slots__ = ()

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def set(self, **attributes: str | int | bool) -> None:
        pass


class _Traced:
    __slots__ = ("_attributes", "_manager", "_span")

    def __init__(self, manager: object, attributes: dict[str, str | int | bool]) -> None:
        self._manager, self._attributes = manager, attributes

    def __enter__(self) -> _Traced:
        self._span = self._manager.__enter__()  # type: ignore[attr-defined]
        self.set(**self._attributes)
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        self._manager.__exit__(kind, fault, trace)  # type: ignore[attr-defined]

    def set(self, **attributes: str | int | bool) -> None:
        for key, value in attributes.items():
            self._span.set_attribute(f"byref.{key}", value)


_NOTHING = _Nothing()
