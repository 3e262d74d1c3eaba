"""A request reaches its upstream in the bytes that it was asked in, and nothing else."""
from __future__ import annotations

import pytest

from byref.proxy.frontends.reverse.paths import Outside, back, target

API = "https://api.example.com"


@pytest.mark.parametrize(("url", "raw", "found"), [
    (API, "/api", f"{API}/"),
    (API, "/api/", f"{API}/"),
    (API, "/api?q=1", f"{API}/?q=1"),
    (f"{API}/v1", "/api", f"{API}/v1"),
    (f"{API}/v1", "/api/works?filter=a:b,c|d&x=%2F+%20&&y", f"{API}/v1/works?filter=a:b,c|d&x=%2F+%20&&y"),
    (API, "/api/works/https:%2F%2Fdoi.org%2F10.1%2fx", f"{API}/works/https:%2F%2Fdoi.org%2F10.1%2fx"),
    (API, "/api/a...b/.c/..d;e=f/%2541", f"{API}/a...b/.c/..d;e=f/%2541"),
    (f"{API}/v1", "/api//evil.example/x", f"{API}/v1//evil.example/x"),
    (API, "/api//evil.example/x", f"{API}//evil.example/x"),
    (API, "/api/@evil.example", f"{API}/@evil.example"),
    (API, "/api/x?next=http://evil.example/../..", f"{API}/x?next=http://evil.example/../.."),
    (API, "/api/x#part", f"{API}/x"),
])
def test_the_rest_of_the_path_and_the_query_stay_as_they_are(url: str, raw: str, found: str) -> None:
    assert target("api", url, raw) == found


@pytest.mark.parametrize("raw", [
    "http://evil.example/api/x", "evil.example:443", "*", "//evil.example/api/x", "/apix", "/%61pi/x", "/other/x", "/API/x", "/api%2Fx",
    "/api/../admin", "/api/./x", "/api/a/../../x", "/api/%2e%2e/x", "/api/%2E./x", "/api/..%2fadmin", "/api/a%2f..%2f..%2fx", "/api/..%5Cx",
    "/api/..\\x", "/api/..;/admin", "/api/%252e%252e/x", "/api/..", "/api/x/..?q", "/api/\u00e9", "/api/a b", "/api/\x00",
    "/api@evil.example/",
])
def test_nothing_leaves_the_prefix(raw: str) -> None:
    with pytest.raises(Outside) as caught:
        target("api", f"{API}/v1", raw)
    assert caught.value.status in (400, 404) and str(caught.value)


@pytest.mark.parametrize(("location", "followed"), [
    (f"{API}/v1/moved?x=%20", "/api/moved?x=%20"),
    ("/v1/moved", "/api/moved"),
    ("moved#part", "/api/a/moved#part"),
    ("?page=2", "/api/a/b?page=2"),
    (f"{API}/v1", "/api/"),
    (f"{API}/v2/moved", f"{API}/v2/moved"),
    ("/v2/moved", f"{API}/v2/moved"),
    (f"{API}/v11", f"{API}/v11"),
    (f"{API}.evil.example/v1/x", f"{API}.evil.example/v1/x"),
    ("https://evil.example/v1/x", "https://evil.example/v1/x"),
    ("//evil.example/x", "https://evil.example/x"),
    ("http://api.example.com/v1/x", "http://api.example.com/v1/x"),
])
def test_a_redirect_leads_back_here_where_it_stays_within_the_upstream(location: str, followed: str) -> None:
    assert back("api", f"{API}/v1", f"{API}/v1/a/b?q=1", location) == followed
