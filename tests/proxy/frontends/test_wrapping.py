"""The command `byref wrap`: what it stands before, and real servers behind it with the SDK's own client in front."""
from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import byref
from byref.proxy import config
from byref.proxy.errors import ConfigError
from byref.proxy.frontends import wrapping
from byref.proxy.frontends.wrap.servers import Local, Remote
from wrapped import SERVERS, Talk, config_file, over, unruly


def chosen(*words: str) -> Any:
    parser = argparse.ArgumentParser()
    wrapping._options(parser)
    return wrapping.chosen(parser.parse_args(list(words)))


def test_it_stands_before_a_command_a_url_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "t0ken")
    one, = chosen("--", "server", "--flag", "x")
    assert isinstance(one, Local) and (one.command, one.args) == ("server", ("--flag", "x")) and one.environ["TOKEN"] == "t0ken"
    assert chosen("--url", "http://e.com/mcp", "--header", "A: b", "--header-env", "B: Bearer TOKEN") == [
        Remote("e.com", "http://e.com/mcp", {"A": "b", "B": "Bearer t0ken"})]
    assert [server.name for server in chosen("--config", config_file(tmp_path, a=["x"], b=["y"]))] == ["a", "b"]


@pytest.mark.parametrize("words", [[], ["--url", "http://e.com", "--", "server"], ["--header", "A: b", "--", "server"]])
def test_what_makes_no_sense_is_refused(words: list[str]) -> None:
    with pytest.raises(ConfigError):
        chosen(*words)


def test_the_session_is_that_of_the_harness_in_the_project_that_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s-1")
    session = wrapping.open_session()
    with session.gateway:
        assert (session.name, session.scope, session.proven) == ("s-1", config.scope_here(str(tmp_path)), False)


def test_a_setting_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", "from byref.proxy.frontends.cli import main; main()", "wrap", "--", *unruly()],
                          stdin=subprocess.PIPE, capture_output=True, text=True, check=False, timeout=60,
                          env={"BYREF_HOME": str(tmp_path), "BYREF_PROFILE": "none", "PATH": "/usr/bin"})
    assert done.returncode == 2 and "BYREF_PROFILE" in done.stderr


def test_a_closed_stderr_does_no_harm() -> None:
    code = "from byref.proxy.frontends.cli import main; main()"
    hello = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    done = subprocess.run(["/bin/sh", "-c", 'exec "$0" "$@" 2>&-', sys.executable, "-c", code, "wrap", "--", *unruly()],
                          input=hello, stdout=subprocess.PIPE, check=True, timeout=60)
    assert done.stdout == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'


def test_a_store_that_cannot_be_opened_lets_all_results_pass_raw(tmp_path: Path) -> None:
    (tmp_path / "home").write_bytes(b"a file where a folder should be")

    async def test(client: Talk) -> None:
        await client.hello()
        assert len((await client.call("log"))["content"][0]["text"]) > 50_000
    over(["--", *unruly()], test, env={"BYREF_HOME": str(tmp_path / "home")})


def answers(server: Any, calls: list[tuple[str, dict[str, Any]]], mode: str = "auto", **client: Any) -> tuple[list[str], list[Any]]:
    """What the SDK's own client gets from a server: names of its tools, and the results as they stand on the wire."""
    from mcp import Client

    async def run() -> tuple[list[str], list[Any]]:
        async with Client(server, mode=mode, cache=None, **client) as one:  # type: ignore[arg-type]
            names = [tool.name for tool in (await one.list_tools()).tools]
            return names, [(await one.call_tool(name, given)).model_dump(by_alias=True, exclude_none=True) for name, given in calls]
    return asyncio.run(run())


def wrapped(*words: str) -> Any:
    from mcp import StdioServerParameters
    return StdioServerParameters(command=sys.executable, env={"BYREF_HOME": config.home_folder()},
                                 args=["-c", "from byref.proxy.frontends.cli import main; main()", "wrap", "--", *words])


def direct(*words: str) -> Any:
    from mcp import StdioServerParameters
    return StdioServerParameters(command=words[0], args=list(words[1:]))


OURS = ["fetch", "search", "status"]


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_real_server_of_a_repository_gives_the_same_answers_and_its_long_ones_can_be_had(root: Path, tmp_path: Path, mode: str) -> None:
    if not (root / ".git").exists():
        pytest.skip("an sdist has no repository")
    here = str(tmp_path / "clone")  # in which nobody commits meanwhile
    subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", str(root), here], check=True)
    server = [sys.executable, "-m", "mcp_server_git", "--repository", here]
    calls = [("git_branch", {"repo_path": here, "branch_type": "local"}), ("git_log", {"repo_path": here, "max_count": 2}),
             ("git_log", {"repo_path": here, "max_count": 300}), ("git_show", {"repo_path": here, "revision": "no-such"})]
    names, plain = answers(direct(*server), calls, mode)
    asked = [(name, {**given, "byref": "raw"}) for name, given in calls]
    more, through = answers(wrapped(*server), calls + asked, mode)
    assert more == [*names, *OURS] and through[4:] == plain
    assert through[:2] == plain[:2] and through[3] == plain[3]
    raw, view = plain[2]["content"][0]["text"], through[2]["content"][0]["text"]
    assert len(view) < len(raw) and byref.MARKER.match(view)
    ref = view[1:12]
    with byref.open() as gateway:
        session = gateway.session("t", scope=config.scope_here())
        assert b"".join(session.blocks(ref, "text")).decode() == raw


def test_a_real_server_of_the_time_gives_the_same_answers() -> None:
    server = [sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC"]
    calls = [("convert_time", {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}),
             ("convert_time", {"source_timezone": "Nowhere/None", "time": "12:00", "target_timezone": "UTC"})]
    names, plain = answers(direct(*server), calls)
    more, through = answers(wrapped(*server), calls)
    assert more == [*names, *OURS] and [one["isError"] for one in through] == [one["isError"] for one in plain]
    here, there = (json.loads(one[0]["content"][0]["text"])["target"]["timezone"] for one in (through, plain))
    assert here == there == "Asia/Tokyo"


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_sdks_client_gets_everything_of_everything(mode: str) -> None:
    from mcp_types import CreateMessageResult, ElicitResult, ListRootsResult, Root, TextContent
    from pydantic import FileUrl

    async def elicited(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"name": "Ann", "response": "yes", "ok": True, "color": "red"})

    async def sampled(context: Any, params: Any) -> CreateMessageResult:
        return CreateMessageResult(role="assistant", content=TextContent(text="Paris"), model="m", stop_reason="endTurn")

    async def rooted(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl("file:///srv"), name="srv")])

    asking = {"legacy": [("test_sampling", {"prompt": "?"}), ("test_elicitation", {"message": "?"}), ("test_reconnection", {})],
              "2026-07-28": [(f"test_input_required_result_{name}", {}) for name in (
                  "elicitation", "sampling", "list_roots", "request_state", "multiple_inputs", "multi_round")]}
    calls = [(f"test_{name}", {}) for name in ("simple_text", "image_content", "audio_content", "embedded_resource",
                                               "multiple_content_types", "error_handling", "tool_with_progress")] + asking[mode]
    able = {"elicitation_callback": elicited, "sampling_callback": sampled, "list_roots_callback": rooted}
    server = [sys.executable, str(SERVERS / "everything_server.py")]
    names, plain = answers(direct(*server), calls, mode, **able)
    more, through = answers(wrapped(*server), calls, mode, **able)
    assert more == [*names, *OURS] and through == plain
