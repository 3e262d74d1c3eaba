"""Libraries that write message lists, each against a scripted server on loopback. Runs in an environment of theirs: recordings.py makes it.

usage: recording_libraries.py FOLDER    writes NAME.json or NAME.jsonl, and beside each NAME.seen: what the server saw of it
"""
from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SCRIPT: list[tuple[Any, ...]] = [("I look.", ("c1", "add", {"a": 1, "b": 2}), ("c2", "add", {"a": 3, "b": 4})),
                                 ("Once more.", ("c3", "add", {"a": 5, "b": 6})), ("All is done.",)]
USED = 110, 100, 5  # input with what came from a cache, that, output
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"


def chat(number: int, text: str, calls: Any) -> Any:
    """An answer of Chat Completions: https://platform.openai.com/docs/api-reference/chat/object"""
    uses = [{"id": key, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}} for key, name, given in calls]
    message = {"role": "assistant", "content": text, "refusal": None, **({"tool_calls": uses} if uses else {})}
    return {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1, "model": "gpt-6", "choices": [
        {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls" if calls else "stop"}], "usage": {
        "prompt_tokens": USED[0], "completion_tokens": USED[2], "total_tokens": USED[0] + USED[2],
        "prompt_tokens_details": {"cached_tokens": USED[1], "audio_tokens": 0}, "completion_tokens_details": {"reasoning_tokens": 0}}}


def response(number: int, text: str, calls: Any) -> Any:
    """An answer of Responses: https://platform.openai.com/docs/api-reference/responses/object"""
    items: list[Any] = [{"type": "reasoning", "id": f"rs_{number}", "summary": [{"type": "summary_text", "text": f"thought {number}"}]},
                        {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed",
                         "content": [{"type": "output_text", "text": text, "annotations": []}]}]
    items += [{"type": "function_call", "id": f"fc_{key}", "call_id": key, "name": name, "arguments": json.dumps(given),
               "status": "completed"} for key, name, given in calls]
    return {"id": f"resp_{number}", "object": "response", "created_at": 1, "status": "completed", "model": "gpt-6", "output": items,
            "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None, "incomplete_details": None,
            "instructions": None, "metadata": {}, "temperature": 1.0, "top_p": 1.0, "usage": {
                "input_tokens": USED[0], "input_tokens_details": {"cached_tokens": USED[1], "cache_write_tokens": 0},
                "output_tokens": USED[2], "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": USED[0] + USED[2]}}


def message(number: int, text: str, calls: Any) -> Any:
    """An answer of Messages: https://docs.anthropic.com/en/api/messages. Its input leaves out what came from a cache."""
    uses = ({"type": "tool_use", "id": key, "name": name, "input": given} for key, name, given in calls)
    content = [{"type": "text", "text": text}, *uses]
    return {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude-sonnet-5", "content": content,
            "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None, "usage": {
                "input_tokens": USED[0] - USED[1], "cache_creation_input_tokens": 0, "cache_read_input_tokens": USED[1],
                "output_tokens": USED[2]}}


class Server:
    """Plays a script. requests: their bodies, in order."""

    def __init__(self, script: list[tuple[Any, ...]] = SCRIPT) -> None:
        self.requests: list[Any] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: object) -> None:
                pass

            def do_POST(self) -> None:
                server.requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                number = len(server.requests)
                text, *calls = script[number - 1]
                shape = message if "messages" in self.path else response if "responses" in self.path else chat
                data = json.dumps(shape(number, text, calls)).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
        made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        made.daemon_threads = True
        threading.Thread(target=made.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{made.server_port}"

    def outputs(self) -> list[str]:
        """The texts of the results in the last request, in order, whatever the API."""
        last, found = self.requests[-1], []
        for item in last.get("input") or last["messages"]:
            content = item.get("content")
            if item.get("type") == "function_call_output":
                found.append(item["output"])
            elif item.get("role") == "tool":
                found.append(content)
            elif isinstance(content, list):
                found += [block["content"] for block in content if block.get("type") == "tool_result"]
        return [one if isinstance(one, str) else "\n".join(part["text"] for part in one if "text" in part) for one in found]


FOLDER = Path(sys.argv[1])


def written(name: str, data: Any, server: Server, billed: bool) -> None:
    """Writes a recording, and what the server saw. data: a value, or lines of values where it is a tuple."""
    lines = isinstance(data, tuple)
    text = "".join(json.dumps(one) + "\n" for one in data) if lines else json.dumps(data, indent=1)
    (FOLDER / f"{name}.{'jsonl' if lines else 'json'}").write_text(text)
    number = len(server.requests)
    calls = [(tool, given) for _, *some in SCRIPT for _, tool, given in some]
    seen = {"calls": [[tool, given, output] for (tool, given), output in zip(calls, server.outputs(), strict=True)], "answers": [1, 1, 2],
            "said": [text for text, *_ in SCRIPT],
            "usage": [number, (USED[0] - USED[1]) * number, USED[1] * number, 0, USED[2] * number] if billed else None}
    (FOLDER / f"{name}.seen").write_text(json.dumps([seen]))


def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def openai_chat() -> None:
    import openai
    server = Server()
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="none")
    messages: list[Any] = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "go"}]
    while True:
        said = client.chat.completions.create(model="gpt-6", messages=messages).choices[0].message
        messages.append(said.model_dump())
        if not said.tool_calls:
            break
        messages += [{"role": "tool", "tool_call_id": call.id, "content": [{"type": "text", "text": f"out {call.id}"}]}
                     for call in said.tool_calls]
    written("openai-chat", messages, server, billed=False)
    written("openai-chat-lines", tuple(messages), server, billed=False)
    written("openai-chat-requests", (*server.requests, {"messages": messages}), server, billed=False)


def openai_responses() -> None:
    import openai
    server = Server()
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="none")
    items: list[Any] = [{"role": "user", "content": "go"}]
    whole: list[Any] = list(items)
    while True:
        found = client.responses.create(model="gpt-6", input=items, instructions="be brief")
        items += [one.model_dump(exclude_unset=True) for one in found.output]
        whole.append(found.model_dump())
        outputs = [{"type": "function_call_output", "call_id": one.call_id, "output": f"out {one.call_id}"} for one in found.output
                   if one.type == "function_call"]
        items += outputs
        whole += outputs
        if not outputs:
            break
    written("openai-responses", items, server, billed=False)
    written("openai-responses-lines", tuple(items), server, billed=False)
    written("openai-responses-requests", (*server.requests, {"model": "gpt-6", "input": items}), server, billed=False)
    written("openai-responses-answers", whole, server, billed=True)


def anthropic_messages() -> None:
    import anthropic
    server = Server()
    client = anthropic.Anthropic(base_url=server.url, api_key="none")
    messages: list[Any] = [{"role": "user", "content": "go"}]
    whole: list[Any] = list(messages)
    while True:
        found = client.messages.create(model="claude-sonnet-5", max_tokens=100, messages=messages, system="be brief")
        messages.append({"role": "assistant", "content": [one.model_dump(exclude_unset=True) for one in found.content]})
        whole.append(found.model_dump())
        picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
        shown = [{"type": "text", "text": "out"}, picture, {"type": "text", "text": "and a picture"}]
        results = [{"type": "tool_result", "tool_use_id": one.id, "is_error": one.id == "c3",
                    "content": "text" if one.id == "c2" else shown} for one in found.content if one.type == "tool_use"]
        if not results:
            break
        for one in messages[-2]["content"] if isinstance(messages[-2]["content"], list) else ():
            one.pop("cache_control", None)
        messages.append({"role": "user", "content": [*results, {"type": "text", "text": "go on", "cache_control": {"type": "ephemeral"}}]})
        whole.append(messages[-1])
    written("anthropic", {"model": "claude-sonnet-5", "system": "be brief", "messages": messages}, server, billed=False)
    written("anthropic-requests", (*server.requests, {"messages": messages}), server, billed=False)
    written("anthropic-answers", whole, server, billed=True)


def langchain() -> None:
    from langchain_core.load import dumpd
    from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage, convert_to_openai_messages, messages_to_dict
    from langchain_openai import ChatOpenAI
    server = Server()
    model = ChatOpenAI(base_url=server.url + "/v1", api_key="none", model="gpt-6")
    messages: list[Any] = [SystemMessage("be brief"), HumanMessage("go")]
    while True:
        messages.append(model.invoke(messages))
        if not messages[-1].tool_calls:
            break
        messages += [ToolMessage(f"out {call['id']}", tool_call_id=call["id"]) for call in messages[-1].tool_calls]
    written("langchain-dicts", messages_to_dict(messages), server, billed=True)
    written("langchain-dump", {"messages": [one.model_dump() for one in messages]}, server, billed=True)
    written("langchain-lines", tuple(dumpd(one) for one in messages), server, billed=True)
    written("langchain-openai", convert_to_openai_messages(messages), server, billed=False)


def pydantic_ai() -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    server = Server()
    agent = Agent(OpenAIChatModel("gpt-6", provider=OpenAIProvider(base_url=server.url + "/v1", api_key="none")), instructions="be brief")
    agent.tool_plain(add)
    written("pydantic-ai", json.loads(agent.run_sync("go").all_messages_json()), server, billed=True)


def openai_agents() -> None:
    import openai
    from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
    set_tracing_disabled(True)
    for name, model in (("responses", OpenAIResponsesModel), ("chat", OpenAIChatCompletionsModel)):
        server = Server()
        client = openai.AsyncOpenAI(base_url=server.url + "/v1", api_key="none")
        agent = Agent(name="adder", instructions="be brief", tools=[function_tool(add)], model=model("gpt-6", client))
        written(f"openai-agents-{name}", Runner.run_sync(agent, "go").to_input_list(), server, billed=False)


def mini_swe_agent() -> None:
    os.environ |= {"MSWEA_SILENT_STARTUP": "1", "MSWEA_GLOBAL_CONFIG_DIR": str(FOLDER / "mini"), "MSWEA_CONFIGURED": "1",
                   "MSWEA_COST_TRACKING": "ignore_errors", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    from minisweagent.agents.default import DefaultAgent
    from minisweagent.environments.local import LocalEnvironment
    from minisweagent.models.litellm_model import LitellmModel
    from minisweagent.models.litellm_textbased_model import LitellmTextbasedModel
    commands = [["seq 1 5", "echo two; exit 3"], ["cat none.txt"], ["echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"]]
    for name, model in (("calls", LitellmModel), ("text", LitellmTextbasedModel)):
        some = [some[:1] if name == "text" else some for some in commands]
        script = [(f"Step {i}.", *((f"c{i}{k}", "bash", {"command": one}) for k, one in enumerate(each))) if name == "calls"
                  else (f"Step {i}.\n\n```mswea_bash_command\n{each[0]}\n```",) for i, each in enumerate(some)]
        server = Server(script)
        path = FOLDER / f"mini-{name}.json"
        DefaultAgent(model(model_name="openai/gpt-6", model_kwargs={"api_base": server.url + "/v1", "api_key": "none"}), LocalEnvironment(),
                     system_template="be brief", instance_template="Solve: {{task}}", cost_limit=0, output_path=path).run("mend it")
        sent = server.requests[-1]["messages"]
        outputs = [one["content"] for one in sent if one["role"] == "tool"] or [one["content"] for one in sent if one["role"] == "user"][1:]
        run = [one for each in some[:2] for one in each]
        calls = [["bash", {"command": one}, output] for one, output in zip(run, outputs, strict=True)]
        number = len(server.requests)
        (FOLDER / f"mini-{name}.seen").write_text(json.dumps([{
            "calls": calls, "answers": [1, 1, 2] if len(calls) == 3 else [1, 2], "said": [one[0] for one in script],
            "usage": [number, 10 * number, 100 * number, 0, 5 * number]}]))


PARTS: tuple[Callable[[], None], ...] = (
    openai_chat, openai_responses, anthropic_messages, langchain, pydantic_ai, openai_agents, mini_swe_agent)

if __name__ == "__main__":
    for part in PARTS:
        part()
