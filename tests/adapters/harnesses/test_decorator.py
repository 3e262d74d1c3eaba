"""What a decorated function gives its caller, and what of it is kept."""
from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

import byref
from byref.proxy.session import Session

LOG = "".join(f"2026-03-01 10:{i // 60 % 60:02d}:{i % 60:02d} INFO request {i} took {i % 90} ms\n" for i in range(2000))


@pytest.fixture
def session() -> Iterator[Session]:
    with byref.open("memory:") as gateway:
        yield gateway.session("agent")


def newest(session: Session) -> tuple[str, str, bytes, bool]:
    """Tool, arguments, bytes and whether it failed, of the output that was captured last."""
    output = session.gateway.store.recent(session.scope)[0]
    return output.manifest.tool, output.manifest.arguments, b"".join(session.blocks(output.ref)), output.manifest.is_error


def test_text_comes_as_a_view_of_text_and_bytes_as_one_of_bytes(session: Session) -> None:
    text = byref.tool(session=session)(lambda: LOG)()
    data = byref.tool(session=session, name="data")(lambda: LOG.encode() + b"\xff\n")()
    assert isinstance(text, str) and len(text) < len(LOG) / 5 and session.fetch(text[1:12], at="L3").text == LOG.splitlines(True)[2]
    assert isinstance(data, bytes) and len(data) < len(LOG) / 5
    assert newest(session)[2] == LOG.encode() + b"\xff\n"


def test_what_is_json_comes_as_a_view_of_it_and_short_as_it_is(session: Session) -> None:
    rows = [{"id": i, "name": f"row {i}", "state": "ok"} for i in range(500)]
    view = byref.tool(session=session, name="rows")(lambda: rows)()
    assert isinstance(view, str) and view.startswith("«r") and newest(session)[0] == "rows"
    short = {"id": 1}
    assert byref.tool(session=session)(lambda: short)() is short


def test_what_is_nothing_or_no_json_passes_uncaptured(session: Session) -> None:
    thing = object()
    for value in (None, "", thing, float("nan")):
        assert byref.tool(session=session)(lambda value=value: value)() is value
    assert not session.gateway.store.recent(session.scope)


def test_arguments_are_kept_by_name_without_self_and_addresses(session: Session) -> None:
    class Shell:
        @byref.tool(session=session, name="shell")
        def run(self, command: str, *more: str, stream: object = None, **other: int) -> str:
            return "done"
    assert Shell().run("ls", "-l", stream=object(), depth=2) == "done"
    tool, arguments, data, failed = newest(session)
    assert (tool, data, failed) == ("shell", b"done", False)
    assert arguments == '{"command":"ls","more":["-l"],"other":{"depth":2},"stream":"<object>"}'


def test_what_it_raises_passes_as_it_is_and_is_noted(session: Session) -> None:
    fault = KeyError("leases")

    def query(table: str) -> str:
        raise fault

    async def awaited(table: str) -> str:
        raise fault
    with pytest.raises(KeyError) as raised:
        byref.tool(session=session)(query)("leases")
    assert raised.value is fault and newest(session) == ("query", '{"table":"leases"}', b"KeyError: 'leases'", True)
    with pytest.raises(KeyError) as raised:
        asyncio.run(byref.tool(session=session)(awaited)("leases"))
    assert raised.value is fault and newest(session)[0] == "awaited"


def test_a_function_stays_what_it_was_to_who_inspects_it(session: Session) -> None:
    import inspect

    @byref.tool(session=session)
    async def journal(unit: str) -> str:
        """The log of a unit."""
        return LOG
    assert inspect.iscoroutinefunction(journal) and journal.__doc__ == "The log of a unit."
    assert list(inspect.signature(journal).parameters) == ["unit"]
    assert asyncio.run(journal("api")).startswith("«r")


def test_calls_at_once_are_views_of_their_own(session: Session) -> None:
    async def main() -> list[str]:
        both = asyncio.Barrier(2)

        @byref.tool(session=session)
        async def journal(unit: str) -> str:
            await both.wait()
            return LOG
        return list(await asyncio.gather(journal("api"), journal("db")))
    first, second = asyncio.run(main())
    assert first[1:12] != second[1:12]
    assert all(line in view for line in (LOG.splitlines()[0], LOG.splitlines()[-1]) for view in (first, second)), "neither saw the other"


def test_a_store_that_breaks_costs_the_view_and_nothing_else(session: Session) -> None:
    journal = byref.tool(session=session)(lambda: LOG)
    session.gateway.close()
    assert journal() == LOG
