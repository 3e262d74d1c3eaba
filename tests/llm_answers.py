"""Answers of models in the three APIs, as wholes and as streams, and what a client makes of them."""
from __future__ import annotations

import json
import re
from typing import Any

from llm_requests import Dialog

USAGE: Any = {
    "anthropic": {"input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 5},
    "responses": {"input_tokens": 110, "input_tokens_details": {"cached_tokens": 100}, "output_tokens": 5},
    "chat": {"prompt_tokens": 110, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 100}}}


def answer(api: str, number: int, *said: Any) -> Any:
    """An answer of a model: texts, and calls as (id, name, arguments)."""
    calls = any(isinstance(one, tuple) for one in said)
    if api == "anthropic":
        content = [{"type": "text", "text": one} if isinstance(one, str)
                   else {"type": "tool_use", "id": one[0], "name": one[1], "input": one[2]} for one in said]
        return {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude-sonnet-5", "content": content,
                "stop_reason": "tool_use" if calls else "end_turn", "usage": USAGE[api]}
    if api == "responses":
        output: list[Any] = [{"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": f"secret {number}"}]
        for i, one in enumerate(said):
            if isinstance(one, str):
                output.append({"type": "message", "id": f"m_{number}_{i}", "role": "assistant", "status": "completed",
                               "content": [{"type": "output_text", "text": one, "annotations": []}]})
            else:
                output.append({"type": "function_call", "id": f"fc_{number}_{i}", "call_id": one[0], "name": one[1],
                               "arguments": json.dumps(one[2])})
        return {"id": f"resp_{number}", "object": "response", "status": "completed", "model": "gpt-6", "output": output,
                "usage": USAGE[api]}
    uses = [{"id": one[0], "type": "function", "function": {"name": one[1], "arguments": json.dumps(one[2])}}
            for one in said if isinstance(one, tuple)]
    text = "".join(one for one in said if isinstance(one, str))
    message = {"role": "assistant", "content": text or None, **({"tool_calls": uses} if uses else {})}
    return {"id": f"msg_{number}", "object": "chat.completion", "model": "gpt-6", "usage": USAGE[api],
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}]}


def streamed(api: str, whole: Any) -> list[bytes]:
    """The same as events."""
    if api == "anthropic":
        said: list[Any] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
        for i, block in enumerate(whole["content"]):
            text = block["type"] == "text"
            empty: Any = {"text": ""} if text else {"input": {}}
            said.append({"type": "content_block_start", "index": i, "content_block": {**block, **empty}})
            written = block["text"] if text else json.dumps(block["input"])
            for piece in re.findall(r".{1,7}", written, re.S):
                delta = {"type": "text_delta", "text": piece} if text else {"type": "input_json_delta", "partial_json": piece}
                said.append({"type": "content_block_delta", "index": i, "delta": delta})
            said.append({"type": "content_block_stop", "index": i})
        said += [{"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"]}, "usage": {"output_tokens": 5}},
                 {"type": "message_stop"}]
        return [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in said]
    if api == "responses":
        empty_whole = {**whole, "status": "in_progress", "output": [], "usage": None}
        said = [{"type": "response.created", "response": empty_whole}, {"type": "response.in_progress", "response": empty_whole}]
        for i, item in enumerate(whole["output"]):
            said.append({"type": "response.output_item.added", "output_index": i, "item": {**item, **(
                {"content": []} if item["type"] == "message" else {"arguments": ""} if item["type"] == "function_call" else {})}})
            if item["type"] == "message":
                said.append({"type": "response.content_part.added", "output_index": i, "item_id": item["id"], "content_index": 0,
                             "part": {"type": "output_text", "text": "", "annotations": []}})
                said += [{"type": "response.output_text.delta", "output_index": i, "item_id": item["id"], "content_index": 0,
                          "delta": piece} for piece in re.findall(r".{1,7}", item["content"][0]["text"], re.S)]
            elif item["type"] == "function_call":
                said += [{"type": "response.function_call_arguments.delta", "output_index": i, "item_id": item["id"], "delta": piece}
                         for piece in re.findall(r".{1,7}", item["arguments"], re.S)]
            said.append({"type": "response.output_item.done", "output_index": i, "item": item})
        said.append({"type": "response.completed", "response": whole})
        said = [{**one, "sequence_number": n} for n, one in enumerate(said)]
        return [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in said]
    message, head = whole["choices"][0]["message"], {"id": whole["id"], "object": "chat.completion.chunk", "model": "gpt-6"}
    deltas: list[Any] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in re.findall(r".{1,7}", message["content"] or "", re.S)]
    for i, call in enumerate(message.get("tool_calls", ())):
        deltas.append({"tool_calls": [{"index": i, **call, "function": {"name": call["function"]["name"], "arguments": ""}}]})
        deltas += [{"tool_calls": [{"index": i, "function": {"arguments": piece}}]}
                   for piece in re.findall(r".{1,7}", call["function"]["arguments"], re.S)]
    chunks: list[Any] = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks += [{**head, "choices": [{"index": 0, "delta": {}, "finish_reason": whole["choices"][0]["finish_reason"]}]},
               {**head, "choices": [], "usage": whole["usage"]}]
    return [*(f"data: {json.dumps(one)}\n\n".encode() for one in chunks), b"data: [DONE]\n\n"]


def read(api: str, body: bytes, stream: bool) -> tuple[str, list[Any], str, dict[str, int]]:
    """What a client makes of an answer: text, calls, why it stopped, usage."""
    if not stream:
        said = json.loads(body)
        if api == "anthropic":
            blocks = said["content"]
            calls = [(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]
            return "".join(block.get("text", "") for block in blocks), calls, said["stop_reason"], said["usage"]
        if api == "responses":
            return _said(said)
        choice = said["choices"][0]
        calls = [(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in choice["message"].get("tool_calls", ())]
        return choice["message"]["content"] or "", calls, choice["finish_reason"], said["usage"]
    events = [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: {")]
    if api == "responses":
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        assert [event["type"] for event in events].count("response.created") == 1 and events[-1]["type"] == "response.completed"
        assert len({event["response"]["id"] for event in events if "response" in event}) == 1, "openai 3.57 holds on to it"
        done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
        assert done == events[-1]["response"]["output"]
        assert [event["output_index"] for event in events if event["type"] == "response.output_item.added"] == list(range(len(done)))
        return _said(events[-1]["response"])
    text, made, stop, usage = "", {}, "", {}
    if api == "anthropic":
        kinds = [event["type"] for event in events]
        assert kinds[-1] == "message_stop" and [kinds.count(f"message_{kind}") for kind in ("start", "delta", "stop")] == [1, 1, 1]
        starts = [event["index"] for event in events if event["type"] == "content_block_start"]
        assert starts == list(range(len(starts))) == [event["index"] for event in events if event["type"] == "content_block_stop"]
        for event in events:
            if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
                made[event["index"]] = [event["content_block"]["id"], event["content_block"]["name"], ""]
            elif event["type"] == "content_block_delta":
                text += event["delta"].get("text", "")
                if event["index"] in made:
                    made[event["index"]][2] += event["delta"]["partial_json"]
            elif event["type"] == "message_delta":
                stop, usage = event["delta"]["stop_reason"], event["usage"]
    else:
        assert body.count(b"[DONE]") == 1 and len({event["id"] for event in events}) == 1
        for event in events:
            usage = event.get("usage") or usage
            for choice in event["choices"]:
                stop = choice["finish_reason"] or stop
                text += choice["delta"].get("content") or ""
                for call in choice["delta"].get("tool_calls", ()):
                    held = made.setdefault(call["index"], [call.get("id"), call["function"].get("name"), ""])
                    held[2] += call["function"]["arguments"]
        assert list(made) == list(range(len(made)))
    return text, [(name, tool, json.loads(written)) for name, tool, written in made.values()], stop, usage


def _said(response: Any) -> tuple[str, list[Any], str, dict[str, int]]:
    items = response["output"]
    calls = [(item["call_id"], item["name"], json.loads(item["arguments"])) for item in items if item["type"] == "function_call"]
    text = "".join(item["content"][0]["text"] for item in items if item["type"] == "message")
    return text, calls, response["status"], response["usage"]


def grown(dialog: Dialog, body: bytes, text: list[str], calls: list[Any], returned: str = "") -> None:
    """The conversation as the client goes on with what it was answered. text: of each block."""
    if dialog.api == "responses":
        events = [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: {")]
        dialog.items += (events[-1]["response"] if events else json.loads(body))["output"]
        dialog.items += [{"type": "function_call_output", "call_id": c, "output": returned} for c, _, _ in calls]
    elif dialog.api == "anthropic":
        content: list[Any] = [{"type": "text", "text": one} for one in text]
        content += [{"type": "tool_use", "id": c, "name": n, "input": a} for c, n, a in calls]
        dialog.items.append({"role": "assistant", "content": content})
        if calls:
            found = [{"type": "tool_result", "tool_use_id": c, "content": returned} for c, _, _ in calls]
            dialog.items.append({"role": "user", "content": found})
    else:
        uses = [{"id": c, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}} for c, n, a in calls]
        dialog.items.append({"role": "assistant", "content": "".join(text) or None, **({"tool_calls": uses} if uses else {})})
        dialog.items += [{"role": "tool", "tool_call_id": c, "content": returned} for c, _, _ in calls]
    if not calls:
        dialog.asks("Go on.")
