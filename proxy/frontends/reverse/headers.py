"""Headers on their way: what is one connection's, one side's or ours stays behind, all else goes as it is."""
from __future__ import annotations

from collections.abc import Mapping

from multidict import CIMultiDict

from byref.proxy.frontends.reverse import paths
from byref.proxy.frontends.reverse.upstreams import Upstream
from byref.proxy.frontends.wrap import codings
from byref.proxy.frontends.wrap.hops import EVENTS, Headers, ends

OURS = "byref-"
VIEW = "text/vnd.byref"  # as a type in Accept: what is wanted is a view
# Names under which queries carry what nobody else may know, in lower case without `-` and `_`.
_SECRET = frozenset((
    "apikey", "accesstoken", "authtoken", "auth", "token", "key", "secret", "clientsecret", "password", "passwd", "sig", "signature",
    "xamzsignature", "xamzcredential", "xamzsecuritytoken", "xgoogsignature", "xgoogcredential", "sessionid", "subscriptionkey", "appkey",
    "xapikey", "apitoken", "refreshtoken", "idtoken", "jwt", "bearer", "authorization", "privatekey", "pass", "pwd"))
_VIEWED = ("json", "+json", "ndjson", "jsonl", "xml", "html", "csv", "tsv", "markdown")
_PLAIN = ("", "utf-8", "utf8", "us-ascii", "ascii")


def going(given: Mapping[str, str], upstream: Upstream, own: bool) -> Headers:
    """The headers of a request for an upstream. own: its Authorization is ours, and goes no further."""
    headers = sendable(ends(given))
    for name in [name for name in headers if name.lower().startswith(OURS)]:
        headers.popall(name, None)
    headers.popall("Host", None)
    if own:
        headers.popall("Authorization", None)
    if "Origin" in headers:
        headers["Origin"] = upstream.origin
    if VIEW in headers.get("Accept", "").lower():
        types = [one.strip() for one in ", ".join(headers.getall("Accept")).split(",")]
        headers["Accept"] = ", ".join(one for one in types if not one.lower().startswith(VIEW)) or "*/*"
    if "Accept-Encoding" in headers:
        headers["Accept-Encoding"] = codings.accepted(", ".join(headers.popall("Accept-Encoding")))
    headers.update(upstream.headers)
    return headers


def coming(given: Mapping[str, str], upstream: Upstream, asked: str) -> Headers:
    """The headers of an answer for the caller. asked: the URL that was answered."""
    headers = sendable(ends(given))
    for name in [name for name in headers if name.lower().startswith(OURS)]:
        headers.popall(name, None)
    if "Location" in headers:
        headers["Location"] = paths.back(upstream.name, upstream.url, asked, headers["Location"])
    for cookie in headers.popall("Set-Cookie", []):
        headers.add("Set-Cookie", confined(cookie, upstream))
    return headers


def confined(cookie: str, upstream: Upstream) -> str:
    """A cookie that a caller's jar sends to this upstream alone, of all that share our host."""
    pair, *attributes = cookie.split(";")
    path, kept = "/", []
    for attribute in attributes:
        name, _, value = attribute.strip().partition("=")
        if name.lower() == "path":
            path = value.strip() or "/"
        elif name.lower() != "domain":
            kept.append(attribute)
    within = path[len(upstream.base):] if path == upstream.base or path.startswith(f"{upstream.base}/") else "/"
    return ";".join([pair, *kept, f" Path=/{upstream.name}{within or '/'}"])


def sendable(headers: Headers) -> Headers:
    """Headers whose values are Unicode: a byte that is not UTF-8 is taken as Latin-1, as RFC 9110 5.5 has old senders do."""
    if all(value.isascii() for value in headers.values()):
        return headers
    return CIMultiDict((name, _text(value)) for name, value in headers.items())


def _text(value: str) -> str:
    data = value.encode("utf-8", "surrogateescape")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def media(headers: Mapping[str, str]) -> str:
    """The media type of a body, without parameters."""
    return headers.get("Content-Type", "").partition(";")[0].strip().lower() or "application/octet-stream"


def viewable(headers: Mapping[str, str]) -> bool:
    """Whether a view of the body could be made: text of a kind that has a shape, in UTF-8, and no stream."""
    kind = media(headers)
    charset = headers.get("Content-Type", "").lower().partition("charset=")[2].partition(";")[0].strip(" \"'")
    return kind != EVENTS and (kind.startswith("text/") or kind.endswith(_VIEWED)) and charset in _PLAIN


def secret(name: str) -> bool:
    """Whether a query's value of this name is one that nobody else may know."""
    return name.lower().replace("-", "").replace("_", "") in _SECRET


def varying(headers: Headers, *names: str) -> Headers:
    """The headers, saying that the answer depends on these headers of the request, too."""
    before = ", ".join(headers.popall("Vary", []))
    if before.strip() != "*":
        before = ", ".join(filter(None, [before, *(name for name in names if name.lower() not in before.lower())]))
    headers["Vary"] = before
    return headers
