"""Recordings that real programs write, held against what their servers saw: calls, arguments, outputs, their order, answers, the bill.

usage: recordings.py [--short]    three minutes, and a gigabyte from npm and pip into the checkout's cache; with --short it is skipped

Codex, OpenCode and Claude Code work off a script with calls made at once, failures, pictures, a sub-agent, a compaction, a resumed and a
forked session, Gemini CLI one with calls made at once and failures. The libraries of OpenAI and Anthropic, LangChain, Pydantic AI, OpenAI
Agents and mini-swe-agent write their lists in an environment of their own (recording_libraries.py). byref is not in their way anywhere.
Exit code 1: a recording was read otherwise.
"""
from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "soak")]

import harnesses  # noqa: E402  # scripts beside this one
import recording_gemini  # noqa: E402

from byref.proxy.ledger.reading import files, read_file  # noqa: E402
from byref.proxy.ledger.trajectories import Trajectory, Usage  # noqa: E402
from e2e import responses, scripted, test_claude_code  # noqa: E402  # tests are no package that is installed
from e2e.programs import place  # noqa: E402
from e2e.scripted import MAIN, SUB  # noqa: E402
from e2e.test_codex import Codex  # noqa: E402
from e2e.test_opencode import FULL as OPENCODE_FULL  # noqa: E402
from e2e.test_opencode import OpenCode, Session  # noqa: E402

PACKAGES = ("openai==3.57.0", "anthropic==2.14.0", "langchain-openai==1.7.4", "pydantic-ai-slim[openai]==2.68.0", "openai-agents==0.24.0",
            "mini-swe-agent==2.4.6")
PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc000000301010"
                      "0c9fe92ef0000000049454e44ae426082")


@dataclass(frozen=True, slots=True)
class Seen:
    """A context as a server saw it. calls: tool, arguments, output; answers: the number of the answer that each came from; said: all
    that the model wrote, in order.
    """

    calls: list[tuple[str, Any, str]]
    answers: list[int]
    said: list[str]
    usage: Usage | None = None


class _Keeping:
    """A server that keeps what it was sent when it was to sum a conversation up."""

    summed: list[Any]
    summaries: list[int]

    def answer(self, request: Any) -> Any:
        number = len(self.summaries)
        found = super().answer(request)  # type: ignore[misc]
        if len(self.summaries) > number:
            self.summed = [*getattr(self, "summed", ()), request]
        return found


class _Responses(_Keeping, responses.Responses):
    pass


class _Messages(_Keeping, scripted.Scripted):
    pass


def of_items(request: Any, usage: Usage | None, final: str) -> Seen:
    """Of a request to the Responses API, with the answer to it."""
    calls: dict[str, tuple[str, Any, int]] = {}
    found: list[tuple[str, Any, str]] = []
    numbers: list[int] = []
    said: list[str] = []
    answers = 0
    for item in request["input"]:
        if item["type"].endswith("_output"):
            tool, given, number = calls[item["call_id"]]
            output = item["output"]
            found.append((tool, given, output if isinstance(output, str) else "\n".join(p["text"] for p in output if "text" in p)))
            numbers.append(number)
        elif item["type"].endswith("_call"):
            answers += not calls or len(calls) == len(found)
            name = "__".join(filter(None, (item.get("namespace"), item["name"])))
            calls[item["call_id"]] = name, json.loads(item["arguments"]) if "arguments" in item else item["input"], answers
        elif item.get("role") == "assistant":
            said += [part["text"] for part in item["content"]]
    return Seen(found, numbers, [*said, final], usage)


def of_messages(request: Any, usage: Usage | None, final: str) -> Seen:
    """Of a request to the Messages API, with the answer to it."""
    calls: dict[str, tuple[str, Any, int]] = {}
    found: list[tuple[str, Any, str]] = []
    numbers: list[int] = []
    said: list[str] = []
    for number, message in enumerate(request["messages"]):
        for block in message["content"] if isinstance(message["content"], list) else [{"type": "text", "text": message["content"]}]:
            if block["type"] == "tool_use":
                calls[block["id"]] = block["name"], block["input"], number
            elif block["type"] == "tool_result":
                tool, given, at = calls[block["tool_use_id"]]
                content = block["content"]
                found.append((tool, given, content if isinstance(content, str) else "\n".join(p["text"] for p in content if "text" in p)))
                numbers.append(at)
            elif message["role"] == "assistant" and block["type"] == "text":
                said.append(block["text"])
    return Seen(found, [sorted(set(numbers)).index(one) + 1 for one in numbers], [*said, final], usage)


def compared(name: str, found: Trajectory, seen: Seen) -> list[str]:
    """Where a recording was read otherwise than its server saw it."""
    faults = []
    calls = [(turn.tool, turn.arguments, turn.output) for turn in found.turns]
    for number, (one, other) in enumerate(zip(calls, seen.calls, strict=False)):
        for what, read, sent in zip(("tool", "arguments", "output"), one, other, strict=True):
            if read != sent:
                faults.append(f"{name}: call {number}: {what} {read!r:.200} instead of {sent!r:.200}")
    if len(calls) != len(seen.calls):
        faults.append(f"{name}: {len(calls)} calls instead of {len(seen.calls)}: {[call[:2] for call in calls]!r:.2000}")
    elif found.requests() != seen.answers:
        faults.append(f"{name}: calls of the answers {found.requests()} instead of {seen.answers}")
    written = list(dict.fromkeys([found.first_action, *(turn.next_action for turn in found.turns)]))
    whole, at = "\n".join(written), 0
    for text in filter(None, seen.said):
        at = whole.find(text, at)
        if at < 0 or whole.count(text) != seen.said.count(text):
            faults.append(f"{name}: {text!r} was said {seen.said.count(text)} times in its place, and read {whole.count(text)} times")
            break
    if seen.usage is not None and found.usage != seen.usage:
        faults.append(f"{name}: {found.usage} instead of {seen.usage}")
    return faults


def read(paths: Iterable[Path]) -> tuple[dict[str, Trajectory], list[str]]:
    """The sessions of some files by their ids, and what was told."""
    told: list[str] = []
    seen: set[int] = set()
    found = {}
    for path in files(map(str, paths)):
        for one in read_file(path, told.append, seen):
            assert one.id not in found, f"two sessions are called {one.id}"
            found[one.id] = one
    return found, told


def held(name: str, found: dict[str, Trajectory], expected: list[Seen], told: list[str]) -> list[str]:
    """All that is wrong with what was read: each context once, in any order, told apart by its first call."""
    faults = [f"{name}: told: {fault}" for fault in told]
    left = dict(found)
    for seen in expected:
        one = next((one for one in left.values() if one.turns and one.turns[0].arguments == seen.calls[0][1]), None)
        if one is None:
            faults.append(f"{name}: no session begins with {seen.calls[0][:2]}")
            continue
        del left[one.id]
        faults += compared(f"{name} {one.id[-12:]}", one, seen)
    faults += [f"{name}: one session too many: {one.id}, {len(one.turns)} calls" for one in left.values()]
    print(f"{name}: {len(expected)} contexts, {sum(len(seen.calls) for seen in expected)} calls, {len(faults)} faults", flush=True)
    return faults


def both(*steps: Callable[[Any], list[Any]]) -> Callable[[Any], list[Any]]:
    """A step that makes the calls of several at once."""
    return lambda request: [item for step in steps for item in step(request)]


def codex(folder: Path) -> list[str]:
    """Rollouts, and what `codex exec --json` printed of the same runs."""
    user = Codex(folder, place(ROOT, "codex"))
    (user.project / "pixel.png").write_bytes(PIXEL)
    shell, tool = responses.shell, responses.tool
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "x"}
    patch = {"type": "custom_tool_call", "call_id": "call_patch", "name": "apply_patch", "input": "*** Begin Patch\n*** End Patch"}
    steps = [shell("one", "seq 1 5"), both(shell("two", "echo two"), shell("three", "echo three; exit 3")),
             tool("records", "records", "mcp__t"), tool("records", "broken", "mcp__t", broken=True), lambda request: [patch],
             tool("view_image", "picture", path="pixel.png"),
             tool("spawn_agent", "agent", "multi_agent_v1", message=f"{SUB}: read the file"), shell("wait", "sleep 4"),
             lambda request: [reasoning, *shell("full", "echo full")(request)], shell("fresh", "echo fresh")]
    server = _Responses(steps, [shell("sub", "seq 7 9"), lambda request: [responses.text("It is a harbour.")]], full=8)
    printed = user.run(server, f"{MAIN}: mend it")
    server.close()
    again = responses.Responses([shell("resumed", "echo again")], [], full=-1)
    printed += user.run(again, "resume", "--last", f"{MAIN}: once more")
    again.close()

    def usage(number: int, more: int = 0) -> Usage:
        return Usage(number, 700 * number + more, 300 * number, 0, 30 * number)
    before, after = server.summaries[0], len(server.requests) - server.summaries[0] + len(again.requests)
    found, told = read([user.settings / "sessions"])
    first = of_items(server.summed[0], usage(before + 1, responses.FULL - 1000), responses.SUMMARY)
    last = of_items(again.requests[-1], usage(after), "All is done.")
    faults = held("Codex", found, [first, last, of_items(server.subs[-1], usage(len(server.subs)), "It is a harbour.")], told)
    (folder / "printed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in printed))
    found, told = read([folder / "printed.jsonl"])
    # The model sees each below a head of Codex's; calls made at once end in any order.
    seen = sorted(output.partition("Output:\n")[2] for tool, _, output in [*first.calls, *last.calls]
                  if tool in ("exec_command", "mcp__t__records"))
    outputs = sorted(turn.output for one in found.values() for turn in one.turns)
    print(f"Codex, printed: {len(seen)} calls", flush=True)
    return faults + told + ([] if outputs == seen else [f"Codex, printed: {outputs!r:.500} instead of {seen!r:.500}"])


def opencode(folder: Path) -> list[str]:
    """The database, and the same sessions as `opencode export` writes them."""
    user = OpenCode(folder, place(ROOT, "opencode"))
    path, tool = str(user.project / "harbour.py"), scripted.tool

    def shell(call: str, command: str) -> Callable[[Any], list[Any]]:
        return tool("bash", call, command=command, description=call)
    steps = [shell("one", "seq 1 5"), both(shell("two", "echo two"), shell("three", "echo three; exit 3")),
             tool("read", "read", filePath=path, limit=20), tool("read", "none", filePath=path + ".none"), tool("t_records", "records"),
             tool("t_records", "broken", broken=True), tool("task", "agent", description="look", prompt=f"{SUB}: read the file",
                                                            subagent_type="general"),
             shell("full", "echo full"), shell("fresh", "echo fresh")]
    server = Session(steps, [shell("sub", "seq 7 9"), lambda request: [scripted.text("It is a harbour.")]], full=7)
    user.run(server, f"{MAIN}: mend it")
    server.close()
    again = Session([shell("resumed", "echo again")], [], full=-1)
    user.run(again, "--continue", f"{MAIN}: once more")
    again.close()
    fork = Session([shell("forked", "echo forked")], [], full=-1)
    user.run(fork, "--continue", "--fork", f"{MAIN}: another way")
    fork.close()

    def usage(used: list[int]) -> Usage:
        return Usage(len(used), sum(used), 300 * len(used), 20 * len(used), 30 * len(used))
    before = server.summaries[0]
    first = usage([*[1000] * (before - 1), OPENCODE_FULL, 100])
    last = usage([*[1000] * (len(server.requests) - before - 1), 100, 1000, 100])
    latest = of_messages(again.requests[-1], last, "All is done.")
    # What was newest before the summary stays in the request.
    new = next(i for i, call in enumerate(latest.calls) if call[1].get("description") == "fresh")
    kept = latest.answers[new] - 1
    latest = Seen(latest.calls[new:], [one - kept for one in latest.answers[new:]], latest.said[-4:], last)
    early = of_messages(server.requests[before - 1], first, "Half of the work is done; go on.")
    early.calls.append(("bash", {"command": "echo full", "description": "full"}, "full\n"))  # a summary is asked for with texts alone
    early.answers.append(early.answers[-1] + 1)
    early.said.insert(-1, "Now bash, full.")
    forked = of_messages(fork.requests[-1], usage([1000, 100]), "All is done.")
    forked = Seen(forked.calls[-1:], [1], forked.said[-2:], forked.usage)
    expected = [early, latest, forked,
                of_messages(server.subs[-1], usage([100, 100]), "It is a harbour.")]
    store = user.home / ".local" / "share" / "opencode" / "opencode.db"
    found, told = read([store])
    faults = held("OpenCode's database", found, expected, told)
    exports = []
    for key in dict.fromkeys(one.partition("#")[0] for one in found):
        exports.append(folder / f"{key}.json")
        with exports[-1].open("wb") as file:
            subprocess.run([str(user.program), "export", key], env=user.env, cwd=user.project, stdout=file, stderr=subprocess.DEVNULL,
                           stdin=subprocess.DEVNULL, check=True, timeout=120)
    return faults + held("OpenCode's exports", *(lambda found, told: (found, expected, told))(*read(exports)))


def claude_code(folder: Path) -> list[str]:
    """Sessions in the folder of projects, with those of sub-agents, and one as it is printed."""
    program = ROOT / ".cache" / f"claude-code-{test_claude_code.VERSION}" / "node_modules" / ".bin" / "claude"
    if not program.exists():
        print("SKIPPED: Claude Code is not in the checkout's cache: tests/e2e/test_claude_code.py puts it there; NOTHING of it was tested")
        return []
    user = test_claude_code.Bench(folder)
    (user.project / "pixel.png").write_bytes(PIXEL)
    path, tool = str(user.project / "harbour.py"), scripted.tool
    steps = [tool("Bash", "one", command="seq 1 5"),
             both(tool("Bash", "two", command="echo two"), tool("Read", "three", file_path=path, limit=9)),
             tool("Bash", "fails", command="echo three; exit 3"), tool("Read", "picture", file_path=str(user.project / "pixel.png")),
             tool("mcp__t__records", "records"), tool("mcp__t__records", "broken", broken=True),
             tool("Agent", "agent", description="look", prompt=f"{SUB}: read the file", subagent_type="general-purpose"),
             tool("Bash", "wait", command="sleep 3"), tool("Bash", "full", command="echo full"),
             tool("Bash", "fresh", command="echo fresh")]
    server = _Messages(steps, [tool("Bash", "sub", command="seq 7 9"), lambda request: [scripted.text("It is a harbour.")]], full=8)
    printed = user.run(program, server, f"{MAIN}: mend it")
    server.close()
    later = []
    for words in (("--continue",), ("--continue", "--fork-session")):
        again = scripted.Scripted([tool("Bash", words[-1][2:], command=f"echo {words[-1][2:]}")], [], full=-1)
        user.run(program, again, *words, f"{MAIN}: once more")
        again.close()
        later.append(again)

    def usage(used: list[int]) -> Usage:
        return Usage(len(used), sum(used), 300 * len(used), 20 * len(used), 30 * len(used))
    before = server.summaries[0]
    expected = [of_messages(server.summed[0], usage([*[1000] * (before - 1), scripted.FULL]), "")]
    whole = of_messages(later[1].requests[-1], None, "All is done.")
    new = next(i for i, call in enumerate(whole.calls) if call[1].get("command") == "echo fresh")
    fork = next(i for i, call in enumerate(whole.calls) if call[1].get("command") == "echo fork-session")
    texts = [whole.said.index(f"Now Bash, {name}.") for name in ("fresh", "fork-session")]
    for first, last, start, end, used in (
            (new, fork, texts[0], texts[1], [*[1000] * (len(server.requests) - before - 1), 100, 1000, 100]),
            (fork, len(whole.calls), texts[1], len(whole.said), [1000, 100])):
        numbers = [one - whole.answers[first] + 1 for one in whole.answers[first:last]]
        expected.append(Seen(whole.calls[first:last], numbers, whole.said[start:end], usage(used)))
    expected.append(of_messages(server.subs[-1], usage([100, 100]), "It is a harbour."))
    found, told = read(path for path in map(Path, files([str(user.home / ".claude" / "projects")])) if path.suffix == ".jsonl")
    faults = held("Claude Code", found, expected, told)
    (folder / "printed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in printed))
    seen = [of_messages(server.summed[0], None, ""), Seen(whole.calls[new:new + 1], [1], [whole.said[texts[0]]]),
            of_messages(server.subs[-1], None, "It is a harbour.")]
    return faults + held("Claude Code, printed", *(lambda found, told: (found, seen, told))(*read([folder / "printed.jsonl"])))


def of_contents(requests: list[Any]) -> Seen:
    """Of requests to the Gemini API, the last of which holds all before it."""
    found: list[tuple[str, Any, str]] = []
    numbers: list[int] = []
    calls: list[tuple[str, Any, int]] = []
    said: list[str] = []
    for number, one in enumerate(max((request["contents"] for request in requests), key=len)):
        for part in one["parts"]:
            if "functionCall" in part:
                calls.append((part["functionCall"]["name"], part["functionCall"]["args"], number))
            elif "functionResponse" in part:
                tool, given, at = calls.pop(0)
                response = part["functionResponse"]["response"]
                found.append((tool, given, response.get("output", response.get("error"))))
                numbers.append(at)
            elif one["role"] == "model":
                said.append(part["text"])
    usage = Usage(len(requests), 700 * len(requests), 300 * len(requests), 0, 30 * len(requests))
    return Seen(found, [sorted(set(numbers)).index(one) + 1 for one in numbers], [*said, "All is done."], usage)


def gemini(folder: Path) -> list[str]:
    """Sessions of Gemini CLI."""
    if not (shutil.which("npm") and recording_gemini.fetched()):
        print("SKIPPED: Gemini CLI needs npm, which is not here or could not give it; NOTHING of it was tested")
        return []
    place, model = recording_gemini.run(folder)
    found, told = read(place.glob("*/chats/*.jsonl"))
    return held("Gemini CLI", found, [of_contents(model.requests)], told)


def libraries(folder: Path) -> list[str]:
    """Lists that libraries write, beside what their servers saw: `NAME.json` and `NAME.seen`."""
    place = ROOT / ".cache" / "recording-libraries"
    python = place / "bin" / "python"
    if not (place / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        if subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=False).returncode:
            print(f"SKIPPED: pip could not give {', '.join(PACKAGES)}; NOTHING of them was tested")
            return []
        (place / "ready").touch()
    # Standard output is LiteLLM's, on models that it has no price for.
    script = str(Path(__file__).with_name("recording_libraries.py"))
    done = subprocess.run([str(python), script, str(folder)], stdout=subprocess.DEVNULL, check=False)
    faults = [] if done.returncode == 0 else ["recording_libraries.py ended before its time"]
    for path in sorted(folder.glob("*.seen")):
        recorded = next(one for one in folder.glob(f"{path.stem}.*") if one != path)
        contexts = json.loads(path.read_text())
        found, told = read([recorded])
        faults += held(f"{path.stem}", found, [Seen([(a, b, c) for a, b, c in one["calls"]], one["answers"], one["said"],
                                                    Usage(*one["usage"]) if one["usage"] else None) for one in contexts], told)
    return faults


def main(words: list[str]) -> int:
    if "--short" in words:
        print("SKIPPED: the programs that write recordings are a gigabyte; run it without --short")
        return 0
    faults: list[str] = []
    for part in (codex, opencode, claude_code, gemini, libraries):
        name = part.__name__
        if name in harnesses.PACKAGES and not (shutil.which("npm") and harnesses.fetched(name)):
            print(f"SKIPPED: {name} needs npm, which is not here or could not give it; NOTHING of it was tested")
            continue
        with tempfile.TemporaryDirectory(prefix="byref-recordings-") as folder:
            faults += part(Path(folder))
    print("\n".join(faults) or "every recording was read as its server saw it")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
