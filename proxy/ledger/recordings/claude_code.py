"""Claude Code: `projects/FOLDER/SESSION.jsonl`, a message or a block of one a line, and files of its sub-agents below; or what it prints
with `--output-format stream-json`, which says neither the task nor more than the first of each answer's output tokens.

Sub-agents (`isSidechain`) have contexts of their own, and so has what follows a compaction, or a prompt in another's place: both stand in
the file, as branches from one message. What a resumed session copied from another file is read once. Usage is the answer's, said again
with each of its blocks. A result that was too much beside the others of its message stands whole, and below what the model saw of it.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, blocks, count, filled, objects, text_of, word

SOURCE = "Claude Code"
OFTEN_EMPTY = True  # files without an output are usual
_QUIET = ("image", "document", "redacted_thinking", "fallback")  # blocks that say nothing here; those of the provider's own tools neither
# What it notes without the session's name: titles, places to go back to, what became of a workflow's agents, what an agent and a folder is.
_NOTES = ({"summary", "leafUuid"}, {"messageId", "snapshot"}, {"messageId", "delta"}, {"key", "agentId"}, {"agentType", "description"},
          {"version", "entries"})
_OWN = ("<system-reminder>", "<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>")  # what the program wrote


def fits(row: dict[str, Json]) -> bool:
    """Whether it is a message of one, or what the program notes beside them: many files hold nothing else."""
    named = "sessionId" in row or "session_id" in row
    return _beside(row) or (row.get("type") in ("user", "assistant") and named and isinstance(row.get("message"), dict))


def _beside(row: dict[str, Json]) -> bool:
    kind = row.get("type")
    if kind in ("user", "assistant") or "message" in row:
        return False
    return (isinstance(kind, str) and "sessionId" in row) or any(names <= row.keys() for names in _NOTES)


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """Those of a file: usually one, with its sub-agents."""
    open_: dict[str, Transcript] = {}
    agents: dict[str, str] = {}  # in files of older versions: the sub-agent of each of their messages
    numbers, nameless = itertools.count(2), itertools.count(1)
    asked: set[tuple[str, str]] = set()  # of each prompt: its session and the message before it
    for where, row in rows:
        message, key = row.get("message"), word(row, "uuid")
        session = word(row, "sessionId", "session_id")
        if row.get("subtype") == "compact_boundary" and "session_id" in row and session in open_:
            yield from filled([open_.pop(session)])
            open_[session] = Transcript(f"{session}#{next(numbers)}", SOURCE)
        if row.get("type") == "content-replacement":
            _replaced(open_.get("/".join(filter(None, (session, word(row, "agentId"))))), row.get("replacements"))
        if _beside(row):
            continue
        if row.get("type") not in ("user", "assistant"):
            rows.foreign(where, row, known=isinstance(row.get("type"), str))
            continue
        if not isinstance(message, dict):
            rows.tell(f"{where}: `message` is to be an object")
            continue
        if not rows.first(key):
            continue
        agent = word(row, "agentId", "agent_id", "parent_tool_use_id")
        if not agent and row.get("isSidechain") is True:
            agent = agents[key] = agents.get(word(row, "parentUuid")) or f"sub-agent {next(nameless)}"
        name = "/".join(filter(None, (session, agent)))
        again = False
        if not agent and _prompt(row, message):
            at = session, word(row, "parentUuid")
            again = at in asked
            asked.add(at)
        if (again or row.get("isCompactSummary") is True) and name in open_:
            yield from filled([open_.pop(name)])
            open_[name] = Transcript(f"{name}#{next(numbers)}", SOURCE)
        transcript = open_.setdefault(name, Transcript(name, SOURCE))
        if row["type"] == "user":
            _user(transcript, message.get("content"), row.get("isMeta") is True, partial(rows.odd, where))
        else:
            _answer(transcript, message, partial(rows.odd, where))
    yield from filled(open_.values())


def _prompt(row: dict[str, Json], message: dict[str, Json]) -> bool:
    """Whether it is what a person asked after another message."""
    if row["type"] != "user" or row.get("isMeta") is True or not word(row, "parentUuid"):
        return False
    found = blocks(message.get("content"), lambda fault: None)
    return bool(found) and all(block.get("type") != "tool_result" for block in found) and not text_of(found).lstrip().startswith(_OWN)


def _replaced(transcript: Transcript | None, replacements: Json) -> None:
    for one in objects(replacements) if transcript else []:
        if transcript and one.get("kind") == "tool-result" and isinstance(one.get("replacement"), str):
            transcript.saw(word(one, "toolUseId"), word(one, "replacement"))


def _user(transcript: Transcript, content: Json, meta: bool, tell: Callable[[str], None]) -> None:
    for block in blocks(content, tell):
        kind, text = word(block, "type"), word(block, "text")
        if kind == "tool_result":
            transcript.result(word(block, "tool_use_id"), text_of(blocks(block.get("content"), tell)), block.get("is_error") is True)
        elif kind == "text":
            transcript.told("" if meta or text.lstrip().startswith(_OWN) else text)
        elif kind not in _QUIET:
            tell(f"a block of the type {kind or 'none'!r} is not known here, and not read")


def _answer(transcript: Transcript, message: dict[str, Json], tell: Callable[[str], None]) -> None:
    key, model = word(message, "id"), word(message, "model")
    if model == "<synthetic>":  # made by the harness, such as after an interruption: nobody billed it
        return
    transcript.model = transcript.model or model
    for block in blocks(message.get("content"), tell):
        kind = word(block, "type")
        if kind == "tool_use":
            transcript.called(word(block, "id"), word(block, "name"), block.get("input"), message=key)
        elif kind == "thinking":
            transcript.thought(word(block, "thinking"), message=key)
        elif kind == "text":
            transcript.said(word(block, "text"), message=key)
        elif kind not in _QUIET and not kind.endswith(("_tool_use", "_tool_result")):
            tell(f"a block of the type {kind or 'none'!r} is not known here, and not read")
    usage = message.get("usage")
    if isinstance(usage, dict):
        transcript.billed(key, input=count(usage, "input_tokens"), read=count(usage, "cache_read_input_tokens"),
                          written=count(usage, "cache_creation_input_tokens"), output=count(usage, "output_tokens"))
