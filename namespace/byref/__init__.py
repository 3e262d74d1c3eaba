"""byref: lossless by reference. Small deterministic views of tool outputs, every byte kept and one call away."""
from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["MARKER", "ByrefError", "Gateway", "Session", "__version__", "aio", "call", "errors", "middleware", "open", "pages", "tool",
           "tools"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byref.filters.render import MARKER
    from byref.proxy import aio, errors
    from byref.proxy.errors import ByrefError
    from byref.proxy.frontends.frameworks import middleware, tool, tools
    from byref.proxy.frontends.tools.python import call, pages
    from byref.proxy.gateway import Gateway, open
    from byref.proxy.session import Session

_PLACES = {
    "MARKER": "byref.filters.render", "ByrefError": "byref.proxy.errors", "Gateway": "byref.proxy.gateway",
    "Session": "byref.proxy.session", "call": "byref.proxy.frontends.tools.python", "open": "byref.proxy.gateway",
    "pages": "byref.proxy.frontends.tools.python", "middleware": "byref.proxy.frontends.frameworks",
    "tool": "byref.proxy.frontends.frameworks", "tools": "byref.proxy.frontends.frameworks",
}


def __getattr__(name: str) -> object:
    """Public names load on first use: `import byref` costs nothing that is not asked for."""
    if name in ("aio", "errors"):
        return __import__("byref.proxy." + name, fromlist=[name])
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module 'byref' has no attribute {name!r}")
    value = getattr(__import__(place, fromlist=[name]), name)
    globals()[name] = value
    return value
