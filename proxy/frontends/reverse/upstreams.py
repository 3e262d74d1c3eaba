"""Which APIs stand behind `byref serve`: `--upstream name=URL`, or a file of TOML or JSON with a table for each.

    [openalex]
    url = "https://api.openalex.org"
    rate = 10                                    # requests a second; also concurrency, timeout, attempts
    max_age = "1h"                               # a stored answer up to so old will do
    headers = { Authorization = "Bearer ${KEY}" }  # sent to it alone; ${KEY} is a variable of byref's environment
    allow_private = false
"""
from __future__ import annotations

import json
import string
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from byref.proxy import config, discover
from byref.proxy.contracts import Json
from byref.proxy.errors import ConfigError
from byref.proxy.frontends.reverse.addresses import named
from byref.proxy.frontends.tools.engine import adapter
from byref.proxy.frontends.wrap.servers import texts
from byref.proxy.gates import Limits

TAKEN = frozenset(("v1", "hooks", "healthz", "mcp", "metrics", "web"))  # paths of the daemon's own
_NAME = string.ascii_letters + string.digits + "_-."
_KEYS = ("url", "headers", "allow_private", "max_age", "rate", "concurrency", "timeout", "attempts")


@dataclass(frozen=True, slots=True)
class Upstream:
    """An API. url: without an end slash, query or credentials. headers: sent to it alone. max_age in seconds; 0: always ask it."""

    name: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    limits: Limits = field(default_factory=Limits)
    private: bool = False
    max_age: float = 0.0

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def base(self) -> str:
        """The path that all of its URLs begin with; empty for none."""
        return urlsplit(self.url).path


def chosen(pairs: Sequence[str], path: str | None, private: Sequence[str], max_age: str | None,
           environ: Mapping[str, str]) -> list[Upstream]:
    """The upstreams of a command line. Raises `ConfigError` and OSError.

    pairs: `name=URL`, or the name alone of an API that we have an adapter for. path: of a file. private: names of those whose
    addresses may be any. max_age: for those that say none.
    """
    found = {} if path is None else {one.name: one for one in from_file(path, environ)}
    for pair in pairs:
        name, sign, url = pair.partition("=")
        if not sign:
            url = _base(name)
        if name in found:
            raise ConfigError(f"--upstream: two are named {name}")
        found[name] = upstream(name, url)
    for name in private:
        if name not in found:
            raise ConfigError(f"--allow-private: no upstream is named {name[:40]!r}")
        found[name] = replace(found[name], private=True)
    age = 0.0 if max_age is None else config.age(max_age, "--max-age")
    return [replace(one, max_age=one.max_age or age) for one in found.values()]


def _base(name: str) -> str:
    """The URL of an API that we know by name."""
    known = {one: found.base for one in discover.names("tools") if (found := adapter(one)).base}
    if name not in known:
        raise ConfigError(f"--upstream {name[:80]!r}: say NAME=URL; without a URL there are {', '.join(sorted(known))}")
    return known[name]


def upstream(name: str, url: str) -> Upstream:
    """An upstream by its name and URL. Raises `ConfigError`."""
    if not name or len(name) > 40 or name.strip(_NAME) or name in TAKEN or name.startswith("."):
        why = "is a path of byref's own" if name in TAKEN else "is no name for an upstream: letters, digits, `_`, `-` and `.`"
        raise ConfigError(f"{name[:60]!r} {why}")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or parts.scheme not in ("http", "https") or port == 0 or not url.isascii() or any(c.isspace() for c in url):
        raise ConfigError(f"upstream {name}: {url[:80]!r} is no URL; it begins with http:// or https:// and a host")
    if parts.username is not None or parts.query or parts.fragment:
        raise ConfigError(f"upstream {name}: its URL has neither credentials nor a query; give headers in a file (--upstreams FILE)")
    path = parts.path.rstrip("/")
    if any(segment in (".", "..") for segment in path.split("/")):
        raise ConfigError(f"upstream {name}: write its path without dot segments")
    return Upstream(name, f"{parts.scheme}://{parts.netloc}{path}", private=named(host))


def from_file(path: str, environ: Mapping[str, str]) -> list[Upstream]:
    """The upstreams that a file names, JSON where its name ends so, else TOML. Raises `ConfigError` and OSError."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        found = json.loads(data) if path.endswith(".json") else tomllib.loads(data.decode())
    except (ValueError, RecursionError) as fault:
        raise ConfigError(f"{path} cannot be read: {fault}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path} holds no table of upstreams")
    return [_described(path, name, about, environ) for name, about in found.items()]


def _described(path: str, name: str, about: Json, environ: Mapping[str, str]) -> Upstream:
    where = f"{path}: {name[:40]}"
    if not isinstance(about, dict) or not isinstance(url := about.get("url"), str):
        raise ConfigError(f"{where}: say its url")
    for key in about:
        if key not in _KEYS:
            raise ConfigError(f"{where}: no setting {str(key)[:40]!r}; there are {', '.join(_KEYS)}")
    one = upstream(name, url)
    given: dict[str, float] = {}
    for key in ("rate", "concurrency", "timeout", "attempts"):
        value = about.get(key, getattr(Limits(), key))
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not value > 0:
            raise ConfigError(f"{where}: {key} is a number over 0")
        given[key] = value
    allow, age = about.get("allow_private", one.private), about.get("max_age", 0)
    if not isinstance(allow, bool):
        raise ConfigError(f"{where}: allow_private is true or false")
    limits = Limits(given["rate"], max(1, int(given["concurrency"])), given["timeout"], attempts=max(1, int(given["attempts"])))
    return replace(one, headers=texts(where, "headers", about.get("headers", {}), environ), limits=limits,
                   private=allow or one.private, max_age=config.age(age, f"{where}: max_age") if age else 0.0)
