"""What comes in over HTTP: bodies with a bound, captures as they stream, and fields that must be what they say."""
from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.log import server_logger

from byref.proxy.contracts import Json
from byref.proxy.errors import Invalid
from byref.proxy.frontends import frame

if TYPE_CHECKING:
    from byref.proxy.intake import Content, Output

LARGEST = 1 << 30  # bytes of a capture; more streams through `byref run` unstored, too
HEAD = 4 << 20  # bytes of a head: arguments are part of it
HELD = 16 << 20  # bytes of a body that is held in memory; a larger one streams into the store


class Malformed(logging.Filter):
    """Keeps requests that are no HTTP out of the log: their sender was told what is wrong with them, and nobody else can mend them.

    For the logger that `web.AppRunner` is given.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is of something else."""
        return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


def server_log() -> logging.Logger:
    """aiohttp's log of its servers, without what is malformed."""
    if not any(isinstance(one, Malformed) for one in server_logger.filters):
        server_logger.addFilter(Malformed())
    return server_logger


class Fields:
    """The fields of a JSON object, taken one by one. Raises `Invalid` for a wrong type and for what nobody takes."""

    def __init__(self, head: Mapping[str, Json]) -> None:
        self._left = dict(head)

    def text(self, name: str, default: str = "") -> str:
        value = self._left.pop(name, None)
        if value is None:
            return default
        if not isinstance(value, str):
            raise Invalid(f"{name} is a text")
        return value

    def needed(self, name: str) -> str:
        value = self.text(name)
        if not value:
            raise Invalid(f"say which {name}")
        return value

    def optional(self, name: str) -> str | None:
        if self._left.get(name) is None:
            self._left.pop(name, None)
            return None
        return self.text(name)

    def number(self, name: str, default: int | None = None) -> int | None:
        if name not in self._left:
            return default
        value = self._left.pop(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise Invalid(f"{name} is a whole number")
        return value

    def seconds(self, name: str) -> float | None:
        value = self._left.pop(name, None)
        if value is not None and (not isinstance(value, (int, float)) or isinstance(value, bool)):
            raise Invalid(f"{name} is a number of seconds")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        value = self._left.pop(name, None)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise Invalid(f"{name} is true or false")
        return value

    def texts(self, name: str) -> list[str] | None:
        value = self._left.pop(name, None)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise Invalid(f"{name} is a list of texts")
        return [str(one) for one in value]

    def numbers(self, name: str) -> dict[str, float] | None:
        value = self._left.pop(name, None)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise Invalid(f"{name} is an object of numbers by name")
        found: dict[str, float] = {}
        for key, number in value.items():
            if not isinstance(number, (int, float)) or isinstance(number, bool):
                raise Invalid(f"{name} is an object of numbers by name, not {key[:40]}={str(number)[:20]!r}")
            found[key] = number
        return found

    def value(self, name: str) -> Json:
        return self._left.pop(name, None)

    def done(self) -> None:
        if self._left:
            raise Invalid(f"no field {next(iter(self._left))[:40]!r} here")


class _Stream:
    """The rest of a body, read by the thread that stores it while the event loop takes it in."""

    def __init__(self, request: web.Request, rest: bytes) -> None:
        self._content, self._loop, self._rest = request.content, asyncio.get_running_loop(), memoryview(rest)

    def take(self, size: int) -> bytes:
        if not self._rest:
            data = asyncio.run_coroutine_threadsafe(self._content.readany(), self._loop).result()
            if not data:
                raise ConnectionError("the body ended before its parts did")
            self._rest = memoryview(data)
        piece, self._rest = bytes(self._rest[:size]), self._rest[size:]
        return piece


class _Part:
    """One part of a streamed capture, as intake reads a stream."""

    def __init__(self, stream: _Stream, size: int) -> None:
        self._stream, self._left = stream, size

    def read(self, size: int = -1, /) -> bytes:
        piece = self._stream.take(min(size, self._left) if size >= 0 else self._left) if self._left else b""
        self._left -= len(piece)
        return piece


@dataclass(frozen=True, slots=True)
class Incoming:
    """A capture as it came: its fields without the output, the output by part, media types by part. large: it streams."""

    fields: Fields
    output: Output
    media: Mapping[str, str]
    large: bool


async def whole(request: web.Request, limit: int) -> bytes:
    """The body. Raises 413 beyond limit bytes."""
    if (request.content_length or 0) > limit:
        raise web.HTTPRequestEntityTooLarge(limit, request.content_length or 0)
    data = bytearray()
    async for piece in request.content.iter_any():
        data += piece
        if len(data) > limit:
            raise web.HTTPRequestEntityTooLarge(limit, len(data))
    return bytes(data)


async def head(request: web.Request) -> Fields:
    """The fields of a call that brings no output: a JSON object."""
    return Fields(_object(await whole(request, HEAD)))


async def capture(request: web.Request) -> Incoming:
    """A capture: a JSON object with `output` (a text, or texts by part), or a frame whose head names `parts`.

    `parts`: a list of `{"name": …, "size": bytes, "media": …}` for the bytes that follow the head.
    """
    if request.content_type != frame.MEDIA:
        given = _object(await whole(request, HELD))
        output = given.pop("output", None)
        texts = {name: text for name, text in output.items() if isinstance(text, str)} if isinstance(output, Mapping) else {}
        if not isinstance(output, str) and (not isinstance(output, Mapping) or len(texts) != len(output)):
            raise Invalid("output is a text, or an object of texts by the name of their part")
        return Incoming(Fields(given), output if isinstance(output, str) else texts, {}, False)
    size = request.content_length
    if size is None:
        raise web.HTTPLengthRequired()
    if size > LARGEST + HEAD:
        raise web.HTTPRequestEntityTooLarge(LARGEST + HEAD, size)
    begun = bytearray()
    while (end := begun.find(b"\n")) < 0:
        piece = await request.content.readany()
        if not piece or len(begun) > HEAD:
            raise Invalid("a frame is a line of JSON, of at most 4 MiB, and the bytes that follow it")
        begun += piece
    given = _object(begun[:end])
    parts = list(_announced(given.pop("parts", None)))
    if end + 1 + sum(size for _, _, size in parts) != size:
        raise Invalid("the sizes of the parts do not add up to the body")
    media = {name: kind for name, kind, _ in parts if kind}
    output_parts: dict[str, Content] = {}
    if size > HELD:
        stream = _Stream(request, bytes(begun[end + 1:]))
        output_parts |= {name: _Part(stream, size) for name, _, size in parts}
    else:
        while len(begun) < size:
            piece = await request.content.readany()
            if not piece:
                raise Invalid("the body ended before its parts did")
            begun += piece
        pieces = frame.cut(memoryview(bytes(begun))[end + 1:], [size for _, _, size in parts])
        output_parts |= {name: piece for (name, _, _), piece in zip(parts, pieces, strict=True)}
    return Incoming(Fields(given), output_parts, media, size > HELD)


def _object(data: bytes | bytearray) -> dict[str, Json]:
    try:
        found = json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        raise Invalid("this is no JSON object in UTF-8") from None
    if not isinstance(found, dict):
        raise Invalid("this is no JSON object")
    return found


def _announced(parts: Json) -> Iterator[tuple[str, str, int]]:
    if not isinstance(parts, list):
        raise Invalid("parts is a list of objects with name and size")
    names = set()
    for one in parts:
        if not isinstance(one, dict):
            raise Invalid("parts is a list of objects with name and size")
        fields = Fields(one)
        name, media, size = fields.needed("name"), fields.text("media"), fields.number("size")
        fields.done()
        if size is None or size < 0 or name in names:
            raise Invalid("each part has a name of its own and its size in bytes")
        names.add(name)
        yield name, media, size
