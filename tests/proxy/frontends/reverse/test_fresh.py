"""A stored answer is given again to the same request alone, and only while it is young enough."""
from __future__ import annotations

import pytest
from multidict import CIMultiDict

from byref.proxy.errors import ConfigError
from byref.proxy.frontends.reverse import fresh
from byref.proxy.frontends.reverse.fresh import Fresh, limit

URL = "https://api.example.com/works?q=1"
ASKED = {"Accept": "application/json", "Authorization": "Bearer mine"}


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_an_answer_is_given_until_it_is_too_old(clock: Clock) -> None:
    known = Fresh(clock)
    known.keep(known.key(URL, ASKED), "rx", "OK", CIMultiDict({"ETag": '"x"', "Age": "5", "Set-Cookie": "a=1"}))
    clock.now += 10
    found = known.find(known.key(URL, ASKED), 15)
    assert found is not None and (found[0].ref, found[1], dict(found[0].headers)) == ("rx", 15, {"ETag": '"x"'})
    clock.now += 1
    assert known.find(known.key(URL, ASKED), 15) is None


@pytest.mark.parametrize(("url", "headers"), [
    (URL + "&page=2", ASKED), (URL, ASKED | {"Authorization": "Bearer theirs"}), (URL, {"Accept": "application/json"}),
    (URL, ASKED | {"Accept": "text/csv"}), (URL, ASKED | {"Cookie": "session=theirs"}), (URL, ASKED | {"X-Api-Key": "k"}),
    (URL, ASKED | {"Accept-Language": "de"}), (URL, ASKED | {"Range": "bytes=0-1"}), (URL, ASKED | {"If-None-Match": '"x"'})])
def test_another_request_gets_another_answer(clock: Clock, url: str, headers: dict[str, str]) -> None:
    known = Fresh(clock)
    known.keep(known.key(URL, ASKED), "rx", "OK", CIMultiDict())
    assert known.find(known.key(url, headers), 1e9) is None


def test_what_tells_of_the_client_makes_no_other_request(clock: Clock) -> None:
    known = Fresh(clock)
    known.keep(known.key(URL, ASKED), "rx", "OK", CIMultiDict())
    told = {"User-Agent": "curl/8", "Accept-Encoding": "gzip", "Cache-Control": "max-age=9", "Traceparent": "00-1",
            "accept": "application/json"}
    assert known.find(known.key(URL, told | {"authorization": "Bearer mine"}), 1e9) is not None


def test_an_age_that_is_no_number_counts_as_none(clock: Clock) -> None:
    known = Fresh(clock)
    known.keep(known.key(URL, ASKED), "rx", "OK", CIMultiDict({"Age": "²"}))
    assert known.find(known.key(URL, ASKED), 0) is not None


@pytest.mark.parametrize("headers", [{"Cache-Control": "private, No-Store"}, {"Vary": "*"}, {"Vary": "Accept, User-Agent"},
                                     [("Cache-Control", "max-age=60"), ("Cache-Control", "no-store")]])
def test_what_is_for_nobody_else_is_not_given_again(clock: Clock, headers: dict[str, str] | list[tuple[str, str]]) -> None:
    known = Fresh(clock)
    known.keep(known.key(URL, ASKED), "rold", "OK", CIMultiDict())
    known.keep(known.key(URL, ASKED), "rx", "OK", CIMultiDict(headers))
    assert known.find(known.key(URL, ASKED), 1e9) is None


def test_keys_tell_nothing_of_credentials_and_the_oldest_answers_are_forgotten(clock: Clock, monkeypatch) -> None:
    monkeypatch.setattr(fresh, "MOST", 2)
    known = Fresh(clock)
    assert known.key(URL, ASKED) != Fresh(clock).key(URL, ASKED), "hashed with a key of each process"
    keys = [known.key(f"{URL}{n}", ASKED) for n in range(3)]
    for key in keys:
        known.keep(key, "rx", "OK", CIMultiDict())
    known.drop(keys[1])
    assert [known.find(key, 9) is not None for key in keys] == [False, False, True]


@pytest.mark.parametrize(("headers", "found"), [
    ({}, 60), ({"Byref-Max-Age": "1h"}, 3600), ({"Byref-Max-Age": "0"}, 0), ({"Cache-Control": "max-age=5"}, 5),
    ({"Cache-Control": "max-age=0"}, 0), ({"Cache-Control": "no-cache"}, 0), ({"Cache-Control": "max-age=5, no-store"}, 0),
    ({"Cache-Control": "no-transform"}, 60), ({"Cache-Control": "no-cache", "Byref-Max-Age": "5"}, 5)])
def test_a_caller_says_how_old_an_answer_may_be(headers: dict[str, str], found: float) -> None:
    assert limit(CIMultiDict(headers), 60.0) == found


def test_a_directive_counts_on_whichever_line_it_stands() -> None:
    assert limit(CIMultiDict([("Cache-Control", "max-age=60"), ("Cache-Control", "no-cache")]), 60.0) == 0


@pytest.mark.parametrize("headers", [{"Byref-Max-Age": "soon"}, {"Byref-Max-Age": "-1"}, {"Cache-Control": "max-age=x"},
                                     {"Cache-Control": "max-age=²"}])
def test_an_age_that_is_none_is_told(headers: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"(?i)max-age"):
        limit(CIMultiDict(headers), 60.0)
