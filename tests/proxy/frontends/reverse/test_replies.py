"""What goes back has headers that fit its body, and an error says why and when."""
from __future__ import annotations

import json

from multidict import CIMultiDict

from byref.proxy.errors import Unavailable
from byref.proxy.frontends.reverse import replies


def test_an_error_of_ours_says_why_and_when_to_come_back() -> None:
    for fault, status in ((Unavailable("api", "circuit", "its last 5 requests failed", 12.3), 503),
                          (Unavailable("api", "busy", "x", 1.0), 503), (Unavailable("api", "rate", "x", 0.2), 429)):
        response = replies.held_back(fault)
        assert isinstance(response.body, bytes)
        said = json.loads(response.body)["error"]
        assert (response.status, said["reason"], said["message"]) == (status, fault.reason, str(fault))
        when = said["retry_after"]
        assert response.headers["Retry-After"] == str(when) and when >= fault.retry_after > when - 1
    assert "Retry-After" not in replies.error(502, "unreachable", "x").headers


def test_a_view_keeps_no_header_that_speaks_of_other_bytes() -> None:
    given = CIMultiDict({"Content-Type": "application/json", "Content-Encoding": "gzip", "Content-Length": "9", "ETag": '"x"',
                         "Digest": "x", "Repr-Digest": "x", "Accept-Ranges": "bytes", "Last-Modified": "x",
                         "Content-Disposition": "attachment", "X-Rate": "5"})
    response = replies.viewed(404, "Nope", given, "«r» résumé\udce9", "lean")
    assert response.body == "«r» résumé".encode() + b"\xe9" and response.status == 404
    assert dict(response.headers) == {"X-Rate": "5", "Content-Type": "text/plain; charset=utf-8", "Byref-View": "lean"}, (
        "and the length of its own body when it goes out")
    assert given["ETag"] == '"x"', "the headers of the answer itself are another matter"


def test_an_answer_that_is_whole_has_the_length_of_its_body() -> None:
    response = replies.passing_whole(200, "OK", CIMultiDict({"Content-Length": "99", "X-A": "1"}), b"abc")
    assert dict(response.headers) == {"X-A": "1"} and response.content_length == 3
