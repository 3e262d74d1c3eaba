"""Messages: what passes keeps its bytes, what is looked into is what was meant, and what is no message is refused."""
from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.frontends.wrap.messages import Body, Message, RpcError, dumps, parse

JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
                    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=15)


def line(message: Message) -> bytes:
    return b"".join(bytes(piece) for piece in message.pieces())


def one(text: str | bytes) -> Message:
    found, = parse(text.encode() if isinstance(text, str) else text)
    return found


@pytest.mark.parametrize("raw", [
    '{"n":1.10,"e":1E400,"z":-0}', '{"a" : "\\u00e9\\ud800" , "b":[ ]}', '{"k":1,"k":2}', '{"big":' + "9" * 5000 + "}",
    "7", '"text"', "null",
    '{"é":"日本 🎉"}', '{"text":"' + "x" * 100_000 + '"}'])
def test_a_result_goes_out_in_the_bytes_it_came_in(raw: str) -> None:
    message = one(f' {{"result" : {raw} , "id" : "a\\n", "jsonrpc":"2.0"}} \r')
    assert (message.id, message.method, message.failed) == ("a\n", "", False)
    assert line(message) == f'{{"jsonrpc":"2.0","id":"a\\n","result":{raw}}}\n'.encode()


@given(JSON, st.booleans())
def test_what_was_sent_is_what_is_read(value: Any, plain: bool) -> None:
    sent = json.dumps({"jsonrpc": "2.0", "id": 3, "result": value}, ensure_ascii=plain).encode("utf-8", "surrogatepass")
    if plain or b"\xed\xa0" not in sent:
        try:
            sent.decode()
        except UnicodeDecodeError:
            return
        message = one(sent)
        assert message.body is not None and message.body.value == value
        again = one(line(message))
        assert again.body is not None and again.body.value == value


@given(JSON)
def test_what_is_made_here_is_one_line_of_utf8(value: Any) -> None:
    made = line(Message(1, "", Body.of(value)))
    assert made.count(b"\n") == 1 and made.endswith(b"\n") and json.loads(made.decode()) == {"jsonrpc": "2.0", "id": 1, "result": value}


def test_requests_notifications_and_errors_are_told_apart() -> None:
    request = one('{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"x"}}}')
    assert (request.id, request.method, request.modern) == (0, "tools/list", True)
    told = one('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    assert told.id is None and told.params == {} and line(told) == b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    error = one('{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}')
    assert error.failed and error.id is None and line(error) == b'{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}\n'
    assert RpcError(error.body or Body()).code == -1


def test_a_batch_is_its_messages() -> None:
    found = parse(b' [{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"n"}]')
    assert [(message.id, message.method) for message in found] == [(1, "ping"), (None, "n")]


@pytest.mark.parametrize("text", [
    "", "Traceback", "[1]", "{}", '{"jsonrpc":"2.0","id":1}', '{"id":1,"result":', '{"id":1,"result":{}} x', '{"id":1,"result":{},}',
    '{"id":{},"method":"m"}', '{"id":true,"method":"m"}', '{"method":5}', '{"id":1 "result":2}', '{"id":1,"result":' + "[" * 200_000])
def test_what_is_no_message_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text.encode())


def test_a_pretty_printed_body_goes_out_as_one_line() -> None:
    assert line(Message(1, "", Body(b'{\n  "a": "b\\n"\r\n}'))) == b'{"jsonrpc":"2.0","id":1,"result":{   "a": "b\\n"  }}\n'


def test_a_value_that_python_cannot_hold_is_an_empty_object_to_who_looks() -> None:
    message = one('{"id":1,"result":{"n":' + "1" * 5000 + "}}")
    assert message.body is not None and message.body.object == {}
    with pytest.raises(ValueError):
        message.body.value  # noqa: B018


def test_a_lone_surrogate_is_escaped() -> None:
    assert dumps("a\ud800é") == b'"a\\ud800\\u00e9"' and dumps("é") == '"é"'.encode()


@pytest.mark.parametrize("escaped", [False, True])
def test_a_large_value_is_what_was_meant_with_or_without_escapes(escaped: bool) -> None:
    value = {"é🎉": ["日本 é\n" * 200_000, 1, None, {"k": "plain"}], "e": "\u00e9" if escaped else ""}
    sent = json.dumps(value, ensure_ascii=False)
    message = one('{"id":1,"result":' + (sent.replace('"e": "é"', '"e": "\\u00e9"') if escaped else sent) + "}")
    assert message.body is not None and message.body.object == value
    with pytest.raises(ValueError):
        one(b'{"id":1,"result":"' + b"\xff" * 2_000_000 + b'"}').body.value  # type: ignore[union-attr]  # noqa: B018
