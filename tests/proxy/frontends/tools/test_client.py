"""The client asks upstreams through their gates, and what did not come whole is an error."""
from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from byref.proxy.errors import Unavailable
from byref.proxy.frontends.tools.client import Asked, Client, Failed
from byref.proxy.gates import Limits
from recorded import Recorded, recorded

QUICK = Limits(timeout=60.0, attempts=3)


@pytest.fixture
def server() -> Iterator[Recorded]:
    with recorded() as found:
        yield found


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client(largest=1 << 20)
    yield made
    made.close()
    made.close()


def get(url: str, safe: bool = True) -> Asked:
    return Asked("GET", url, {"X-Own": "1"}, None, safe)


def test_an_answer_comes_decoded_with_its_status_and_type(server: Recorded, client: Client) -> None:
    found = client.ask("a", get(f"{server.url}/works?search=a%20b%2Bc&x=%C3%A9"), QUICK, True)
    assert (found.status, found.media) == (200, "application/json") and found.body.startswith(b'{"meta"')
    assert server.asked[0][1] == "/works?search=a%20b%2Bc&x=%C3%A9" and server.asked[0][2]["X-Own"] == "1"
    assert client.ask("a", get(f"{server.url}/nowhere"), QUICK, True).status == 404


def test_what_is_safe_is_tried_again_and_what_is_not_is_not(server: Recorded, client: Client) -> None:
    server.fail[:] = [(503, {"Retry-After": "0"})]
    assert client.ask("a", get(f"{server.url}/works"), QUICK, True).status == 200 and len(server.asked) == 2
    server.fail[:] = [(503, {"Retry-After": "0"})]
    assert client.ask("b", Asked("POST", f"{server.url}/search", {}, b'{"query": "x"}', False), QUICK, True).status == 503
    assert len(server.asked) == 3


def test_after_failures_in_a_row_the_upstream_is_left_alone_and_it_is_said(server: Recorded, client: Client) -> None:
    few = Limits(timeout=60.0, attempts=1, failures=2)
    server.fail[:] = [(500, {})] * 2
    for _ in range(2):
        assert client.ask("a", get(f"{server.url}/works"), few, True).status == 500
    with pytest.raises(Unavailable, match="try again in"):
        client.ask("a", get(f"{server.url}/works"), few, True)
    assert len(server.asked) == 2


def test_a_redirect_is_an_answer_and_is_not_followed(server: Recorded, client: Client) -> None:
    server.fail[:] = [(302, {"Location": "http://127.0.0.1:1/elsewhere"})]
    assert client.ask("a", get(f"{server.url}/works"), QUICK, True).status == 302


def test_an_address_that_is_not_public_is_refused_unless_it_was_named(server: Recorded, client: Client) -> None:
    with pytest.raises(Failed, match="not public"):
        client.ask("a", get(server.url.replace("127.0.0.1", "localhost") + "/works"), QUICK, False)
    assert server.asked == []


def test_a_body_that_breaks_off_or_is_too_large_is_an_error(client: Client) -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(head: bytes) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(head)
    for head, said in ((b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", "did not answer"),
                       (b"HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n" + b"x" * 2_000_000, "more than 1 MiB")):
        thread = threading.Thread(target=serve, args=(head,))
        thread.start()
        with pytest.raises(Failed, match=said):
            client.ask(said, get(f"http://127.0.0.1:{listener.getsockname()[1]}/"), Limits(attempts=1), True)
        thread.join()
    listener.close()


def test_what_went_wrong_is_told_without_the_key_in_the_url(client: Client) -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"SSH-2.0-server\r\n\r\n")
    thread = threading.Thread(target=serve)
    thread.start()
    for name, url, said in (("ssh", f"http://127.0.0.1:{listener.getsockname()[1]}/?key=k-4711", "Bad status line"),
                            ("ftp", "ftp://127.0.0.1/?key=k-4711", "cannot be used")):
        with pytest.raises(Failed, match=said) as caught:
            client.ask(name, get(url), Limits(attempts=1), True)
        assert "k-4711" not in str(caught.value)
    thread.join()
    listener.close()


def test_an_upstream_that_is_not_there_is_an_error_that_names_it(client: Client) -> None:
    with pytest.raises(Failed, match="somewhere did not answer"):
        client.ask("somewhere", get("http://127.0.0.1:1/"), Limits(attempts=1), True)
