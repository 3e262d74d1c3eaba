"""Other forms of a query are searched within the timebox, and what is faulty about them is noted."""
from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

import byref
from byref.layers.orchestrator import Answer
from byref.layers.weighted import MODEL, SYNONYM
from byref.proxy.config import home_folder
from byref.proxy.query import Query, parse
from byref.proxy.rephrasing import FILE, Forms

QUERY = "why does the db connection time out"


@pytest.fixture
def rules() -> Path:
    place = Path(home_folder()) / FILE
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text('[words]\ndb = ["database", "postgres"]\n')
    return place


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A stand-in for a model: answers every query with two rewrites. Gives what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"][-1]["content"]
            asked.append(text)
            content = f"{text} now\n{text} here\n"
            data = json.dumps({"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": content}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass
    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    monkeypatch.setenv("BYREF_REWRITE_URL", f"http://127.0.0.1:{server.server_address[1]}/v1")
    monkeypatch.setenv("BYREF_REWRITE_MODEL", "stand-in")
    yield asked
    server.shutdown()
    thread.join()
    server.server_close()


class Asked:
    """Notes each search and says nothing."""

    def __init__(self) -> None:
        self.queries: list[tuple[str, float]] = []

    def __call__(self, query: Query, seconds: float) -> Sequence[Answer]:
        self.queries.append((query.text, seconds))
        return []


def test_without_rules_and_endpoint_there_is_nothing_to_do() -> None:
    forms = Forms(parse(QUERY))
    assert not forms and forms.searched(Asked(), lambda: 1.0) == [] and forms.notes == []


def test_synonyms_share_what_is_left_of_the_timebox(rules: Path) -> None:
    ask = Asked()
    found = Forms(parse(QUERY)).searched(ask, lambda: 0.6)
    assert [(one.query.text, one.asked) for one in found] == [
        (QUERY.replace("db", "database"), SYNONYM), (QUERY.replace("db", "postgres"), SYNONYM)]
    assert [seconds for _, seconds in ask.queries] == [0.3, 0.6]


def test_no_time_no_search(rules: Path) -> None:
    forms, ask = Forms(parse(QUERY)), Asked()
    assert forms and forms.searched(ask, lambda: 0.001) == [] and ask.queries == []
    assert forms.notes == ["no time for 2 other forms of the query"]


def test_weights_go_with_the_words_that_a_form_keeps(rules: Path) -> None:
    found = Forms(parse(QUERY, {"db": 3, "connection": 2, "why": 0})).searched(Asked(), lambda: 1.0)
    assert [one.query.weights for one in found] == [(("connection", 2000),)] * 2 and "why" not in found[0].query.text


def test_a_model_is_asked_where_one_is_named(endpoint: list[str], rules: Path) -> None:
    found = Forms(parse(QUERY)).searched(Asked(), lambda: 20.0)
    assert [one.asked for one in found] == [SYNONYM, SYNONYM, MODEL, MODEL]
    assert [one.query.text for one in found[2:]] == [QUERY + " now", QUERY + " here"] and endpoint == [QUERY]
    assert not Forms(parse("/time.*out/")) and endpoint == [QUERY], "a pattern goes to no model"


def test_an_endpoint_that_is_not_there_costs_its_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYREF_REWRITE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("BYREF_REWRITE_MODEL", "m")
    forms = Forms(parse(QUERY))
    assert forms.searched(Asked(), lambda: 20.0) == [] and "no rewrite by a model" in forms.notes[0]


def test_a_faulty_file_costs_its_note(rules: Path) -> None:
    rules.write_text("[word]\n")
    forms = Forms(parse(QUERY))
    assert not forms and "there are groups" in forms.notes[0]


def test_a_search_finds_what_a_synonym_names_after_what_was_asked_for(rules: Path) -> None:
    with byref.open("memory:", scope="here") as gateway:
        session = gateway.session("a", scope="here")
        other = session.capture(tool="Bash", output="the postgres server is up\n", raw=True).ref
        asked = session.capture(tool="Bash", output="the db server is up\n", raw=True).ref
        found = session.search("db server up", explain=True)
        assert [hit.ref for hit in found.hits] == [asked, other] and "postgres server" in found.hits[1].excerpt
        told = json.loads(json.dumps(found.explanation))["hits"]
        assert {branch["asked"] for branch in told[0]["branches"]} == {"original", "synonym"}
        assert SYNONYM in {branch["asked"] for branch in told[1]["branches"]}
        assert session.search("postgres").hits[0].ref == other and session.search("mysql").hits == ()
        rules.write_text("words = 3\n")
        found = session.search("db server up")
        assert found.hits[0].ref == asked and "synonyms.toml: groups is" in found.text


def test_a_search_answers_in_time_though_the_model_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = socket.create_server(("127.0.0.1", 0))  # takes connections and says nothing
    monkeypatch.setenv("BYREF_REWRITE_URL", f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
    monkeypatch.setenv("BYREF_REWRITE_MODEL", "m")
    with byref.open("memory:", scope="here") as gateway, silent:
        session = gateway.session("a", scope="here")
        ref = session.capture(tool="Bash", output="the connection timed out\n", raw=True).ref
        found = session.search("connection timed out", timebox_ms=2000)
        assert found.hits[0].ref == ref and "had not answered in time" in found.text


def test_what_is_to_be_like_a_stretch_has_no_forms(rules: Path) -> None:
    query = parse(QUERY)
    like = Query(query.text, query.exact, None, "", query.tokens, query.terms, (), query.whole, (("b2:00", 0, 9),))
    assert Forms(query) and not Forms(like)
