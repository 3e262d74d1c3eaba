"""Headers pass but for what is one connection's, one side's or ours."""
from __future__ import annotations

import pytest
from multidict import CIMultiDict

from byref.proxy.frontends.reverse.headers import coming, confined, going, media, secret, varying, viewable
from byref.proxy.frontends.reverse.upstreams import Upstream

API = Upstream("api", "https://api.example.com/v1", {"X-Api-Key": "ours"})


def test_a_request_keeps_what_is_the_callers() -> None:
    given = CIMultiDict({"Host": "127.0.0.1:8700", "Authorization": "Bearer theirs", "Cookie": "a=b", "Accept": "application/json",
                         "Connection": "keep-alive, X-Hop", "X-Hop": "1", "Keep-Alive": "5", "TE": "trailers",
                         "Transfer-Encoding": "chunked",
                         "Upgrade": "websocket", "Proxy-Authorization": "x", "Byref-View": "lean", "Byref-Token": "t", "X-Api-Key": "guess",
                         "Accept-Encoding": "gzip, br, compress, zstd;q=0.5", "Origin": "http://127.0.0.1:8700", "If-None-Match": 'W/"x"'})
    assert dict(going(given, API, own=False)) == {
        "Authorization": "Bearer theirs", "Cookie": "a=b", "Accept": "application/json", "X-Api-Key": "ours",
        "Accept-Encoding": "gzip, br, zstd;q=0.5", "Origin": "https://api.example.com", "If-None-Match": 'W/"x"'}
    assert "Authorization" not in going(given, API, own=True)
    assert "Accept-Encoding" not in going({"Accept": "*/*"}, API, own=False), "who asked for none gets none asked for"


@pytest.mark.parametrize(("accept", "sent"), [
    ("text/vnd.byref", "*/*"), ("text/vnd.byref;profile=lean, application/json", "application/json"),
    ("application/json", "application/json"),
    ("application/json;q=0.5,Text/Vnd.Byref", "application/json;q=0.5")])
def test_a_view_is_no_affair_of_the_upstream(accept: str, sent: str) -> None:
    assert going({"Accept": accept}, API, own=False)["Accept"] == sent


def test_an_answer_keeps_what_is_the_upstreams() -> None:
    given = CIMultiDict([("Server", "nginx"), ("Date", "today"), ("ETag", '"x"'), ("Connection", "close, X-Hop"), ("X-Hop", "1"),
                         ("Transfer-Encoding", "chunked"), ("Trailer", "X-Sum"), ("Byref-Ref", "rforged"),
                         ("Link", "<https://a>; rel=next"),
                         ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2; Path=/v1/x"), ("Location", "/v1/there"), ("X-Odd", "caf\udce9"),
                         ("X-Odd", "日本")])
    assert list(coming(given, API, "https://api.example.com/v1/here").items()) == [
        ("Server", "nginx"), ("Date", "today"), ("ETag", '"x"'), ("Link", "<https://a>; rel=next"), ("Location", "/api/there"),
        ("X-Odd", "café"), ("X-Odd", "日本"),         ("Set-Cookie", "a=1; Path=/api/"), ("Set-Cookie", "b=2; Path=/api/x")]


@pytest.mark.parametrize(("cookie", "kept"), [
    ("a=1; Domain=api.example.com; Path=/; Secure; HttpOnly", "a=1; Secure; HttpOnly; Path=/api/"),
    ("a=1; path=/v1; Max-Age=9", "a=1; Max-Age=9; Path=/api/"), ("a=1; Path=/v11", "a=1; Path=/api/"), ("a=x=y", "a=x=y; Path=/api/")])
def test_a_cookie_goes_back_to_its_upstream_alone(cookie: str, kept: str) -> None:
    assert confined(cookie, API) == kept


@pytest.mark.parametrize(("kind", "viewed"), [
    ("application/json", True), ("application/problem+json; charset=UTF-8", True), ("application/x-ndjson", True), ("text/html", True),
    ("application/xhtml+xml", True), ("application/atom+xml", True), ("text/csv", True), ("text/markdown; charset=\"utf-8\"", True),
    ("text/plain", True), ("text/event-stream", False), ("image/png", False), ("application/octet-stream", False), ("", False),
    ("text/html; charset=iso-8859-1", False), ("application/zip", False)])
def test_views_are_made_of_text(kind: str, viewed: bool) -> None:
    assert viewable({"Content-Type": kind}) == viewed


def test_a_media_type_has_no_parameters() -> None:
    assert [media({"Content-Type": "Text/HTML; charset=x"}), media({})] == ["text/html", "application/octet-stream"]


@pytest.mark.parametrize(("name", "is_one"), [
    ("api_key", True), ("api-key", True), ("apiKey", True), ("access_token", True), ("X-Amz-Signature", True), ("key", True),
    ("X-Goog-Signature", True), ("subscription-key", True), ("Refresh_Token", True), ("pwd", True), ("passage", False), ("code", False),
    ("q", False), ("keyword", False), ("tokens", False), ("page_token", False), ("", False)])
def test_what_a_query_names_as_a_secret_is_one(name: str, is_one: bool) -> None:
    assert secret(name) == is_one


def test_vary_names_what_an_answer_depends_on() -> None:
    cases: list[dict[str, str]] = [{}, {"Vary": "Origin"}, {"Vary": "*"}, {"Vary": "byref-view"}]
    assert [varying(CIMultiDict(given), "Byref-View")["Vary"] for given in cases] == ["Byref-View", "Origin, Byref-View", "*", "byref-view"]
