"""Names of tools and prompts where there are several servers: SERVER__TOOL, short enough for every client."""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b

from byref.proxy.contracts import Json

LONGEST = 64  # characters of a tool's name for the models behind most clients
SIGN = "__"
_HASH = 6  # characters that tell shortened names apart


def prefixes(servers: Sequence[str]) -> list[str]:
    """A prefix for each server: its name in the characters that a tool's name may have, each another."""
    found: list[str] = []
    for server in servers:
        plain = re.sub(r"[^A-Za-z0-9-]+", "_", server).strip("_") or "server"
        prefix, number = plain, 2
        while prefix in found:
            prefix, number = f"{plain}{number}", number + 1
        found.append(prefix)
    return found


def prefixed(prefix: str, name: str, client: str) -> str:
    """A name with its prefix: at most 64 characters with the `mcp__CLIENT__` that clients put before it, else cut, and a hash ends it."""
    whole = f"{prefix}{SIGN}{name}"
    room = max(LONGEST - len(f"mcp{SIGN}{client}{SIGN}"), 16)
    if len(whole) <= room:
        return whole
    return f"{whole[:room - _HASH - 1]}_{blake2b(whole.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()[:_HASH]}"


class Register:
    """Whom each name means that was shown: the number of the server, and the name that it uses itself."""

    def __init__(self, prefixes: Sequence[str], client: str) -> None:
        self._prefixes, self._client = prefixes, client
        self._known: dict[str, dict[str, tuple[int, str]]] = {}

    def show(self, kind: str, lists: Sequence[Sequence[Mapping[str, Json]]]) -> list[Json]:
        """The lists of all servers as one, under names of which no two are alike. Templates of resources have no such names.

        The URI of a resource stays, unless a server before has it too: then the prefix stands before its scheme.
        """
        shown: list[Json] = []
        known: dict[str, tuple[int, str]] = {}
        key = "uri" if kind == "resources" else "name"
        for number, (prefix, listed) in enumerate(zip(self._prefixes, lists, strict=True)):
            for one in listed:
                own = str(one.get(key))
                other = own
                if kind in ("tools", "prompts"):
                    other = prefixed(prefix, own, self._client)
                elif kind == "resources" and own in known:
                    other = f"{prefix}+{own}"
                shown.append(dict(one) if other == own else {**one, key: other})
                known.setdefault(other, (number, own))
        self._known[kind] = known
        return shown

    def meant(self, kind: str, name: str) -> tuple[int, str] | None:
        """Whom a name means, if it was shown."""
        return self._known.get(kind, {}).get(name)

    def shown(self, kind: str, number: int, own: str) -> str:
        """Under which name a server's own one was shown; the same where it was not."""
        return next((name for name, meant in self._known.get(kind, {}).items() if meant == (number, own)), own)
