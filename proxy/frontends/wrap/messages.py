"""JSON-RPC 2.0 messages as they come over a wire, with the bytes of what they carry.

What is forwarded untouched goes out in the very bytes that came in: the spelling of numbers, the order of keys and escapes
are the sender's own. Only what is looked into is parsed, and only what is changed is written anew.
"""
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from byref.proxy.contracts import Json

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
GONE = -32000  # the connection over which an answer was to come is closed: the code that MCP's SDKs use
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"  # in `_meta` of every request since 2026-07-28

Id = str | int | float
_SPACE = " \t\n\r"
_LARGE = 1 << 20  # bytes of a body of which no second text is to be made, which may take four bytes a character
_DECODER = json.JSONDecoder()
# Python refuses integers of more than 4,300 digits; such a message can pass, if not be looked into.
_LENIENT = json.JSONDecoder(parse_int=lambda digits: digits, parse_float=lambda digits: digits)


class Body:
    """The value of a member, `params`, `result` or `error`: parsed when looked at, written as it came unless it was made here."""

    __slots__ = ("_known", "_latin", "_raw", "_value")

    def __init__(self, raw: bytes | memoryview | None = None, value: Json = None, known: bool = False, latin: bool = False) -> None:
        """latin: the value was parsed as Latin-1, so its texts are still to be read as UTF-8."""
        self._raw, self._value, self._known, self._latin = raw, value, known, latin

    @classmethod
    def of(cls, value: Json | Mapping[str, Json]) -> Body:
        """A body that is made here."""
        return cls(None, value, True)

    @property
    def value(self) -> Json:
        """The parsed value. Raises ValueError where Python cannot hold it."""
        if not self._known:
            try:
                if self._latin:
                    self._value, self._latin = _utf8(self._value), False
                else:
                    self._value = None if self._raw is None else json.loads(bytes(self._raw))
            except RecursionError:
                raise ValueError("nested too deeply") from None
            self._known = True
        return self._value

    @property
    def object(self) -> dict[str, Json]:
        """The value as an object; an empty one where it is none or cannot be held."""
        try:
            value = self.value
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    @property
    def data(self) -> bytes | memoryview:
        """The value as JSON."""
        return dumps(self._value) if self._raw is None else self._raw


class Message:
    """A request, a notification or a response. id: as the sender spelt it; None of a notification. method: empty of a response.

    `body` is `params`, or `result`, or `error` where `failed`; None where there is none.
    """

    __slots__ = ("body", "failed", "id", "method")

    def __init__(self, id: Id | None, method: str, body: Body | None, failed: bool = False) -> None:
        self.id, self.method, self.body, self.failed = id, method, body, failed

    @property
    def params(self) -> dict[str, Json]:
        """The parameters as an object, empty where there are none."""
        return {} if self.body is None else self.body.object

    @property
    def meta(self) -> dict[str, Json]:
        """What stands in `_meta` of the parameters."""
        found = self.params.get("_meta")
        return found if isinstance(found, dict) else {}

    @property
    def modern(self) -> bool:
        """Whether it carries the envelope of a request since 2026-07-28."""
        return VERSION_KEY in self.meta

    def pieces(self) -> Iterator[bytes | memoryview]:
        """The message as a line."""
        head = '{"jsonrpc":"2.0"'
        if self.id is not None or not self.method:
            head += f',"id":{json.dumps(self.id)}'
        if self.method:
            head += f',"method":{json.dumps(self.method)}'
        name = "params" if self.method else "error" if self.failed else "result"
        if self.body is None:
            yield (head + "}\n").encode()
            return
        data = self.body.data
        # What is pretty-printed over HTTP must not break a line here; inside of strings JSON has no bare line ends.
        if (b"\n" in data or b"\r" in data) if isinstance(data, bytes) else True:
            data = bytes(data).replace(b"\n", b" ").replace(b"\r", b" ")
        yield f'{head},"{name}":'.encode()
        yield data
        yield b"}\n"


class RpcError(Exception):
    """An answer that is an error: `body` holds code, message and data."""

    def __init__(self, body: Body) -> None:
        super().__init__(str(body.object.get("message", "")))
        self.body = body

    @classmethod
    def made(cls, code: int, message: str, data: Json = None) -> RpcError:
        """An error of our own."""
        return cls(Body.of({"code": code, "message": message, **({} if data is None else {"data": data})}))

    @property
    def code(self) -> Json:
        return self.body.object.get("code")


def dumps(value: Json) -> bytes:
    """Compact JSON; a lone surrogate, which UTF-8 cannot carry, is escaped."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def parse(line: bytes) -> list[Message]:
    """The message of a line, or the messages of a batch. Raises ValueError for what is none."""
    # As Latin-1 a position is a position in the bytes, and a character never takes more than one.
    text = line.decode("latin-1")
    start = skip(text, 0)
    if text[start:start + 1] == "[":
        return [_message(json.dumps(one).encode()) for one in json.loads(line)]
    return [_message(line, text, start)]


def _message(line: bytes, text: str = "", start: int = 0) -> Message:
    text = text or line.decode("latin-1")
    plain = line.isascii()
    found: dict[str, Body] = {}
    for key, begin, end, value in members(text, start):
        raw = memoryview(line)[begin:end] if end - begin > 1 << 16 else line[begin:end]
        if plain and value is not _UNKNOWN:
            found[key] = Body(raw, value, True)
        elif end - begin > _LARGE and value is not _UNKNOWN and line.find(b"\\u", begin, end) < 0:  # then each character is a byte
            found[key] = Body(raw, value, latin=True)
        else:
            found[key] = Body(raw)
    method = found["method"].value if "method" in found else ""
    number = found["id"].value if "id" in found else None
    if not isinstance(method, str) or isinstance(number, bool) or not (number is None or isinstance(number, (str, int, float))):
        raise ValueError("a method is a text, an id a text or a number")
    if method:
        return Message(number, method, found.get("params"))
    if "result" not in found and "error" not in found:
        raise ValueError("neither a method nor a result nor an error")
    failed = "result" not in found
    return Message(number, "", found["error" if failed else "result"], failed)


def _utf8(value: Json) -> Json:
    """A value whose texts were read as Latin-1. Raises ValueError for bytes that are not UTF-8."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("latin-1").decode()
    if isinstance(value, list):
        return [_utf8(one) for one in value]
    if isinstance(value, dict):
        return {str(_utf8(key)): _utf8(one) for key, one in value.items()}
    return value


_UNKNOWN: Json = object()  # type: ignore[assignment]  # what Python cannot hold; compared by identity alone


def members(text: str, at: int, *, inner: bool = False) -> Iterator[tuple[str, int, int, Json]]:
    """The members of the object at a position: key, start and end of the value, the value. inner: more may follow the object.

    Raises ValueError for what is no object.
    """
    if text[at:at + 1] != "{":
        raise ValueError("not an object")
    at = skip(text, at + 1)
    while text[at:at + 1] == '"':
        key, at = _DECODER.raw_decode(text, at)
        at = skip(text, at)
        if text[at:at + 1] != ":":
            raise ValueError("a key without a value")
        at = skip(text, at + 1)
        value, end = value_at(text, at)
        yield key, at, end, value
        at = skip(text, end)
        if text[at:at + 1] != ",":
            break
        at = skip(text, at + 1)
        if text[at:at + 1] != '"':
            raise ValueError("a comma without a key")
    if text[at:at + 1] != "}" or not (inner or skip(text, at + 1) == len(text)):
        raise ValueError("an object that does not end")


def elements(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Start and end of each item of the list at a position. Raises ValueError for what is none."""
    if text[at:at + 1] != "[":
        raise ValueError("not a list")
    at = skip(text, at + 1)
    while text[at:at + 1] != "]":
        _, end = value_at(text, at)
        yield at, end
        at = skip(text, end)
        if text[at:at + 1] == ",":
            at = skip(text, at + 1)
        elif text[at:at + 1] != "]":
            raise ValueError("a list that does not end")


def value_at(text: str, at: int) -> tuple[Json, int]:
    """The value at a position, and its end. Raises ValueError for what is none."""
    try:
        found: tuple[Json, int] = _DECODER.raw_decode(text, at)
        return found
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except json.JSONDecodeError:
        raise
    except ValueError:
        return _UNKNOWN, _LENIENT.raw_decode(text, at)[1]


def skip(text: str, at: int) -> int:
    """Where blanks from a position on end."""
    while text[at:at + 1] and text[at] in _SPACE:
        at += 1
    return at
