"""What belongs to one connection stays there, and what is made here says what it is."""
from __future__ import annotations

import json

import aiohttp
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from byref.proxy.frontends.wrap import hops
from byref.proxy.frontends.wrap.messages import Body, Message


def test_headers_of_one_connection_go_no_further_and_others_keep_their_order_and_number() -> None:
    given = CIMultiDict([("Connection", "close, X-Once"), ("x-once", "1"), ("Transfer-Encoding", "chunked"), ("Set-Cookie", "a=1"),
                         ("TE", "trailers"), ("Set-Cookie", "b=2"), ("Content-Length", "4")])
    assert [*hops.ends(given).items()] == [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("Content-Length", "4")]


def test_a_body_that_is_another_one_has_no_length_encoding_or_digest_of_the_first() -> None:
    headers = CIMultiDict({"content-length": "4", "Content-Encoding": "gzip", "etag": "x", "Repr-Digest": "y", "Vary": "Accept"})
    assert [*hops.plain(headers)] == ["Vary"]


def test_messages_make_one_object_or_a_list() -> None:
    messages = [Message(1, "", Body.of({"a": "é"})), Message("x", "", Body.of({"code": 1}), True)]
    assert json.loads(hops.reply(messages[:1], False).body or b"") == {"jsonrpc": "2.0", "id": 1, "result": {"a": "é"}}  # type: ignore[arg-type]
    many = hops.reply(messages, True, 207)
    assert many.status == 207 and many.content_type == "application/json"
    assert [one["id"] for one in json.loads(many.body or b"")] == [1, "x"]  # type: ignore[arg-type]


def test_a_fault_is_an_error_in_the_words_of_the_protocol() -> None:
    made = hops.fault(502, "n", "gone")
    assert made.status == 502
    assert json.loads(made.body or b"") == {  # type: ignore[arg-type]
        "jsonrpc": "2.0", "id": "n", "error": {"code": -32000, "message": "gone"}}


def test_a_fault_of_the_system_is_told_by_its_words() -> None:
    assert hops.words(ConnectionRefusedError(111, "Connection refused")) == "Connection refused"
    assert hops.words(TimeoutError()) == "TimeoutError"


def test_a_url_is_not_told_since_it_may_hold_a_key() -> None:
    url = URL("http://127.0.0.1/?api_key=k-4711")
    asked = aiohttp.RequestInfo(url, "GET", CIMultiDictProxy(CIMultiDict()), url)
    assert hops.words(aiohttp.ClientResponseError(asked, (), status=400, message="Bad status line:\n  x")) == "Bad status line: x"
    assert "k-4711" not in hops.words(aiohttp.InvalidURL(url))
