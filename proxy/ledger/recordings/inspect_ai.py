"""Inspect: logs of evaluations, `.eval`, an archive with a file for each sample, or `.json`, one document with all of them.

A sample's messages are those of its one conversation; of agents that it handed over to, only events tell, and they are not read.
"""
from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.recordings import openai
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, blocks, count, filled, objects, text_of, word

SOURCE = "Inspect"
OFTEN_EMPTY = True  # files without an output are usual
_ATTACHED = "attachment://"  # a long text that stands elsewhere in its sample


def fits(row: dict[str, Json]) -> bool:
    """Whether it is a sample, a log, or what stands beside the samples of an archive."""
    return _sample(row) or _log(row) or _beside(row)


def _sample(row: dict[str, Json]) -> bool:
    return "epoch" in row and "target" in row and isinstance(row.get("messages"), list)


def _log(row: dict[str, Json]) -> bool:
    return "eval" in row and "plan" in row


def _beside(row: dict[str, Json]) -> bool:
    """A summary of a sample, or scores of a metric."""
    return ("epoch" in row and "target" in row) or ("scorer" in row and "samples" in row)


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """One a sample and epoch."""
    for where, row in rows:
        if _sample(row):
            yield from filled([_one(where, row, rows)])
        elif _log(row):
            for number, sample in enumerate(objects(row.get("samples"))):
                yield from filled([_one(f"{where} sample {number + 1}", sample, rows)])
        elif not _beside(row):
            rows.foreign(where, row)


def _one(where: str, sample: dict[str, Json], rows: Rows) -> Transcript:
    transcript = Transcript(f"{sample.get('id')} epoch {sample.get('epoch')}", SOURCE)
    output, attached = sample.get("output"), sample.get("attachments")
    transcript.model = word(output, "model") if isinstance(output, dict) else ""
    held = attached if isinstance(attached, dict) else {}
    for number, message in enumerate(objects(sample.get("messages"), partial(rows.odd, where))):
        tell = partial(rows.odd, f"{where} message {number + 1}")
        parts = blocks(message.get("content"), tell)
        text = _whole(text_of([one for one in parts if one.get("type") == "text"]), held)
        if message.get("role") == "tool":
            error = message.get("error")
            failed = _whole(word(error, "message"), held) if isinstance(error, dict) else ""
            transcript.result(word(message, "tool_call_id", "function"), failed or text, isinstance(error, dict))
        else:
            for one in parts:
                transcript.thought(_whole(word(one, "reasoning"), held))
            openai.message(transcript, {**message, "content": text}, tell)
    used = sample.get("model_usage")
    if isinstance(used, dict) and len(used) == 1:  # of several, nobody says which requests were the conversation's
        for number, event in enumerate(objects(sample.get("events"))):
            _billed(transcript, event, str(number))
    return transcript


def _whole(text: str, attached: dict[str, Json]) -> str:
    return word(attached, text.removeprefix(_ATTACHED)) or text if text.startswith(_ATTACHED) else text


def _billed(transcript: Transcript, event: dict[str, Json], number: str) -> None:
    """Usage of a request. Whether input counts what a cache held, the total says."""
    output = event.get("output")
    usage = output.get("usage") if isinstance(output, dict) else None
    if event.get("event") == "model" and isinstance(usage, dict):
        read, written = count(usage, "input_tokens_cache_read"), count(usage, "input_tokens_cache_write")
        sent, said = count(usage, "input_tokens"), count(usage, "output_tokens")
        whole = count(usage, "total_tokens") == sent + said
        transcript.billed(number, input=max(0, sent - read - written) if whole else sent, read=read, written=written, output=said)
