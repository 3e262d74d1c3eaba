"""OpenHands: its events, older (`action`, `observation`) and newer (`kind`): a list, one a line, or the `history` of an `output.jsonl`."""
from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.recordings import openai
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, arguments, count, filled, objects, text_of, word

SOURCE = "OpenHands"
# Characters of an older event's text that a model saw by default (`max_message_chars`), and what stands between its ends.
SHOWN, _CUT = 30_000, "\n[... Observation truncated due to length ...]\n"
# Events that call no tool: what the program and its conversation are about, and what no model sees.
_QUIET = ("", "null", "system", "message", "finish", "recall", "change_agent_state", "agent_state_changed", "condensation",
          "condensation_request", "reject", "loop_recovery", "user_rejected", "start", "pause", "resume", "stop")
_NOTES = ("PauseEvent", "Condensation", "CondensationRequest", "CondensationSummaryEvent", "ConversationStateUpdateEvent", "TokenEvent",
          "ConversationErrorEvent", "LLMCompletionLogEvent", "HookExecutionEvent", "StreamingDeltaEvent")


def _older(row: dict[str, Json]) -> bool:
    return ("action" in row or "observation" in row) and "source" in row and "id" in row and "kind" not in row


def _newer(row: dict[str, Json]) -> bool:
    return "source" in row and "id" in row and (word(row, "kind").endswith("Event") or row.get("kind") in _NOTES)


def _events(row: dict[str, Json]) -> list[dict[str, Json]]:
    """Those that a row holds; before 0.13 in pairs of an action and an observation."""
    for name in ("history", "trajectory", "events"):
        held = row.get(name)
        if isinstance(held, list):
            flat = [one for each in held for one in (each if isinstance(each, list) else [each])]
            return [one for one in objects(flat) if _older(one) or _newer(one)]
    return []


def fits(row: dict[str, Json]) -> bool:
    """Whether it is an event, or holds some."""
    return _older(row) or _newer(row) or bool(_events(row))


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """One a row that holds events; events that stand a line, or in a list, are one session. What follows a condensation is another."""
    loose = [Transcript(rows.path, SOURCE)]
    for where, row in rows:
        if _older(row) or _newer(row):
            _event(loose, where, row, rows)
        elif events := _events(row):
            found = [Transcript(word(row, "instance_id") or where, SOURCE)]
            for event in events:
                _event(found, where, event, rows)
            yield from filled(found)
        else:
            rows.foreign(where, row)
    yield from filled(loose)


def _event(found: list[Transcript], where: str, event: dict[str, Json], rows: Rows) -> None:
    """One more, of the last of these."""
    transcript = found[-1]
    if event.get("action") == "condensation" or event.get("kind") == "Condensation":
        found.append(Transcript(f"{found[0].id}#{len(found) + 1}", SOURCE))
        found[-1].model, found[-1].system = transcript.model, transcript.system
    elif _newer(event):
        _of_today(transcript, event, partial(rows.odd, where))
    elif "observation" in event:
        if event.get("observation") not in _QUIET and event.get("cause") is not None:
            extras = event.get("extras")
            failed = event.get("observation") == "error" or count(extras, "metadata", "exit_code") > 0 or count(extras, "exit_code") > 0
            about = extras.get("metadata") if isinstance(extras, dict) else None
            around = about if isinstance(about, dict) else {}
            text = f"{word(around, 'prefix')}{word(event, 'content')}{word(around, 'suffix')}"
            transcript.result(str(event["cause"]), _shown(text), failed)
    else:
        _action(transcript, event)


def _shown(text: str) -> str:
    """What a model sees of it."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN // 2]}{_CUT}{text[-SHOWN // 2:]}"


def _action(transcript: Transcript, event: dict[str, Json]) -> None:
    """One of the older ones. A call is that of the model where the event tells it."""
    kind, given, about = word(event, "action"), event.get("args"), event.get("tool_call_metadata")
    held = given if isinstance(given, dict) else {}
    answer = about.get("model_response") if isinstance(about, dict) else None
    message = word(answer, "id") if isinstance(answer, dict) else ""
    if kind == "system":
        transcript.system += len(word(held, "content"))
    elif event.get("source") == "user":
        transcript.told(word(held, "content"))
    elif kind not in _QUIET or kind in ("message", "finish"):
        transcript.said(word(held, "thought", "content", "final_thought"), message=message)
    if event.get("source") == "agent" and kind not in _QUIET:
        name = word(about, "function_name") if isinstance(about, dict) else ""
        rest: Json = {key: value for key, value in held.items() if key != "thought"}
        transcript.called(str(event["id"]), name or kind, rest, message=message)
    if isinstance(answer, dict):
        transcript.model = transcript.model or word(answer, "model")
        openai.billed(transcript, answer, message)


def _of_today(transcript: Transcript, event: dict[str, Json], tell: partial[None]) -> None:
    """One of the newer ones."""
    kind, key, message = word(event, "kind"), word(event, "tool_call_id"), word(event, "llm_response_id")
    if kind == "ActionEvent":
        call = event.get("tool_call")
        inner = call.get("function") if isinstance(call, dict) else None
        given = inner if isinstance(inner, dict) else call if isinstance(call, dict) else {}
        transcript.thought(word(event, "reasoning_content"), message=message)
        transcript.said(text_of(event.get("thought")), message=message)
        transcript.called(key, word(event, "tool_name"), arguments(given.get("arguments")), message=message)
    elif kind == "ObservationEvent":
        seen = event.get("observation")
        held = seen if isinstance(seen, dict) else {}
        transcript.result(key, text_of(held.get("content")) or word(held, "output", "error"), held.get("is_error") is True)
    elif kind in ("AgentErrorEvent", "UserRejectObservation"):
        transcript.result(key, word(event, "error", "rejection_reason"), True)
    elif kind == "MessageEvent":
        sent = event.get("llm_message")
        text = text_of(sent.get("content")) if isinstance(sent, dict) else ""
        if event.get("source") == "user":
            transcript.told(text)
        else:
            transcript.said(text, message=message)
    elif kind == "SystemPromptEvent":
        transcript.system += len(text_of(event.get("system_prompt")))
    elif kind not in _NOTES:
        tell(f"an event of the kind {kind or 'none'!r} is not known here, and not read")
