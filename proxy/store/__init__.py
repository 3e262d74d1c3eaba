"""Where outputs are kept whole. A backend is one file here, named by the scheme of its URL, with a function `connect`."""
from __future__ import annotations

from byref.proxy.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byref.proxy.contracts import Clock, Store


def open_store(url: str, *, max_bytes: int, max_age: float, clock: Clock) -> Store:
    """The store of a URL: `file:/folder` or `memory:`. max_bytes is what it may take up, max_age is in seconds.

    Raises `ConfigError` for a scheme without a backend, and what the backend raises when it cannot be opened.
    """
    scheme, colon, _ = url.partition(":")
    connect = _backend(scheme) if colon else None
    if connect is None:
        raise ConfigError(f"no store for {url[:80]!r}: a store's URL starts with {' or '.join(f'{name}:' for name in schemes())}")
    store: Store = connect(url, max_bytes=max_bytes, max_age=max_age, clock=clock)
    return store


def schemes() -> list[str]:
    """The schemes there is a backend for. Imports every file of this folder, so it is for messages only."""
    import os
    names = sorted(name[:-3] for name in os.listdir(os.path.dirname(__file__)) if name.endswith(".py"))
    return [name for name in names if _backend(name) is not None]


def _backend(scheme: str) -> _Connect | None:
    if not (scheme.isascii() and scheme.isidentifier() and not scheme.startswith("_")):
        return None
    name = f"{__name__}.{scheme}"
    try:
        module = __import__(name, fromlist=["connect"])
    except ModuleNotFoundError as fault:
        if fault.name != name:
            raise
        return None
    connect: _Connect | None = getattr(module, "connect", None)
    return connect


if TYPE_CHECKING:
    from typing import Protocol

    class _Connect(Protocol):
        def __call__(self, url: str, *, max_bytes: int, max_age: float, clock: Clock) -> Store: ...
