"""From the target of a request to the URL that the upstream is asked for, in the same bytes, and never outside its prefix."""
from __future__ import annotations

from urllib.parse import unquote, urljoin, urlsplit

_DEPTH = 3  # how often a path is decoded to see what a careless server could make of it


class Outside(Exception):
    """A request that is for no upstream, or reaches out of it. status: what to answer."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def target(name: str, url: str, raw: str) -> str:
    """The URL for a request's target as it stands in its first line. url: the upstream's, without an end slash. Raises `Outside`."""
    if not raw.startswith("/"):
        raise Outside(400, "ask for a path: other hosts cannot be reached through here")
    path, mark, query = raw.partition("#")[0].partition("?")
    if path != f"/{name}" and not path.startswith(f"/{name}/"):
        raise Outside(404, f"ask for /{name}/ in these letters, without escapes")
    if any(ord(c) <= 32 or ord(c) > 126 for c in raw):
        raise Outside(400, "what is no printable ASCII goes percent-encoded")
    rest = path[len(name) + 1:]
    if leaves(rest):
        raise Outside(400, "a path with dot segments could leave the upstream's prefix; write it without")
    return url + (rest or ("" if urlsplit(url).path else "/")) + mark + query


def leaves(path: str) -> bool:
    """Whether a path has a segment `.` or `..`, however it is written: with escapes, backslashes or parameters."""
    for _ in range(_DEPTH):
        if any(segment.partition(";")[0].strip() in (".", "..") for segment in path.replace("\\", "/").split("/")):
            return True
        decoded = unquote(path)
        if decoded == path:
            return False
        path = decoded
    return False


def back(name: str, url: str, asked: str, location: str) -> str:
    """A Location as the caller has to follow it: within the upstream it leads through here, elsewhere it stays.

    asked: the URL that was answered so.
    """
    try:
        there = urljoin(asked, location)
    except ValueError:
        return location
    if there == url or there.startswith((f"{url}/", f"{url}?", f"{url}#")):
        return f"/{name}" + (there[len(url):] or "/")
    return there if urlsplit(there).netloc else location
