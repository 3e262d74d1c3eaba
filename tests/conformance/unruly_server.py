"""A made-up MCP server over stdio that does what no SDK lets a server do. Without an SDK it is there in an instant.

usage: unruly_server.py [--era handshake|modern] [--mute] [--page N] [--name NAME] [--deaf] [--note FILE] [--answer FILE]

--mute: it never answers the first word. --page: tools a page. --deaf: it does not end with its stdin, nor on TERM.
--note: it writes each line that it reads to a file. --answer: every tool answers with the result of the message in a file.
"""
from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

LOG = "".join(f"step {i} of the build is done\n" for i in range(3000))
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS = ("echo", "log", "both", "raw", "die", "hang", "garbage", "odd", "flood", "progress", "ask", "where", "offspring", "level", "change")
lock = threading.Lock()
answers: dict[str, Any] = {}
answered = threading.Condition()
state: dict[str, Any] = {"level": None, "subscribed": [], "asked": 0}


def put(message: dict[str, Any] | str) -> None:
    with lock:
        sys.stdout.write((message if isinstance(message, str) else json.dumps({"jsonrpc": "2.0", **message})) + "\n")
        sys.stdout.flush()


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], **more}


def ask(method: str, params: dict[str, Any]) -> Any:
    """The client's answer to a request of ours."""
    state["asked"] += 1
    number = state["asked"]
    put({"id": number, "method": method, "params": params})
    with answered:
        answered.wait_for(lambda: str(number) in answers, 30)
    return answers.pop(str(number))


def call(number: Any, name: str, given: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a tool, or None where it has none to give."""
    match name:
        case "echo":
            return text(json.dumps(given) if len(given) != 1 else str(given.get("text")))
        case "log":
            return text(LOG)
        case "both":
            return text(LOG, structuredContent={"lines": 3000}, _meta={"a": 1})
        case "raw":  # as no JSON library would write it
            put(f'{{ "id":{json.dumps(number)},"result" : {{"content":[{{"text":"\\u00e9","type":"text"}}],"n":1.10,"big":{"9" * 5000}}},'
                f'"jsonrpc":"2.0"}}')
            return None
        case "die":
            os._exit(3)
        case "hang":
            put({"method": "notifications/message", "params": {"level": "info", "data": f"hanging {number}"}})
            return None
        case "garbage":
            put("Traceback (most recent call last):")
            put('{"jsonrpc": "2.0", "id": ')
            put("[1, 2]")
            put({"id": 999999, "result": {}})
            return text("after all that")
        case "odd":
            put({"id": number, "result": given.get("result")})
            return None
        case "flood":
            for i in range(int(given.get("count", 1000))):
                put({"method": "notifications/message", "params": {"level": "info", "data": f"{i} " + "x" * 1000}})
            return text("flooded")
        case "progress":
            for i in range(3):
                put({"method": "notifications/progress", "params": {"progressToken": meta.get("progressToken"), "progress": i, "total": 2}})
            return text("done")
        case "ask":
            return text(json.dumps(ask(given.get("method", "elicitation/create"), {"message": "?", "_meta": {"progressToken": 5}})))
        case "where":
            return text(json.dumps({"cwd": os.getcwd(), "env": dict(os.environ), "pid": os.getpid()}))
        case "offspring":
            child = subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"])
            return text(str(child.pid))
        case "level":
            return text(json.dumps(state))
        case "change":
            put({"method": "notifications/tools/list_changed"})
            return text("changed")
    return text(f"no tool {name}", isError=True)


def serve(options: argparse.Namespace) -> None:
    modern = options.era == "modern"
    about = {"capabilities": {"tools": {"listChanged": True}, "logging": {}, "resources": {"subscribe": True}},
             "instructions": "Be gentle."}
    tools = [{"name": name, "description": name, "inputSchema": SCHEMA, "annotations": {"title": name}} for name in TOOLS]
    tools[2] |= {"outputSchema": {"type": "object", "properties": {"lines": {"type": "integer"}}}}
    kept = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if modern else {}

    def greet(message: dict[str, Any]) -> dict[str, Any] | None:
        """The answer to the first word, or None where it is of the other era."""
        if message["method"] == "initialize":
            return None if modern else {"protocolVersion": "2025-06-18", "serverInfo": {"name": options.name, "version": "1"}, **about}
        return {"supportedVersions": ["2026-07-28"], **about, **kept} if modern else None

    def handle(message: dict[str, Any]) -> None:
        method, number, params = message["method"], message["id"], message.get("params") or {}
        meta = params.get("_meta") or {}
        result: dict[str, Any] | None
        if method in ("initialize", "server/discover"):
            result = greet(message)
            if not options.mute and result is None:
                put({"id": number, "error": {"code": -32022 if modern else -32601, "message": "another era", "data": method}})
            elif not options.mute:
                put({"id": number, "result": result})
            return
        if modern and "io.modelcontextprotocol/protocolVersion" not in meta:
            put({"id": number, "error": {"code": -32602, "message": "no envelope"}})
            return
        if method == "tools/list":
            start = int(params.get("cursor") or 0)
            page = options.page or len(tools)
            result = {"tools": tools[start:start + page], "x-kept": start}
            if start + page < len(tools):
                result["nextCursor"] = str(start + page)
        elif method == "tools/call":
            name, given = params.get("name"), params.get("arguments") or {}
            if options.answer:
                with open(options.answer) as file:
                    result = json.load(file)["result"]
            elif modern and name == "ask" and "inputResponses" not in params:
                result = {"resultType": "input_required", "requestState": "s1",
                          "inputRequests": {"q": {"method": "elicitation/create", "params": {"message": "?"}}}}
            elif modern and name == "ask":
                result = text(json.dumps({"said": params["inputResponses"], "state": params.get("requestState")}))
            else:
                result = call(number, name, given, meta)
            if result is None:
                return
        elif method == "resources/list":
            result = {"resources": [{"uri": "mem://same", "name": "same"}, {"uri": f"mem://{options.name}", "name": options.name}]}
        elif method == "resources/templates/list":
            result = {"resourceTemplates": [{"uriTemplate": f"{options.name}://{{id}}", "name": "t"}]}
        elif method == "resources/read":
            result = {"contents": [{"uri": params["uri"], "text": f"{options.name} has {params['uri']}"}]}
        elif method in ("resources/subscribe", "logging/setLevel"):
            if method == "logging/setLevel":
                state["level"] = params["level"]
            else:
                state["subscribed"].append(params["uri"])
            result = {}
        elif method == "subscriptions/listen" and modern:
            stamp = {"_meta": {"io.modelcontextprotocol/subscriptionId": number}}
            put({"method": "notifications/subscriptions/acknowledged", "params": {"notifications": params["notifications"], **stamp}})
            for uri in params["notifications"].get("resourceSubscriptions", []):
                put({"method": "notifications/resources/updated", "params": {"uri": uri, **stamp}})
            return
        else:
            put({"id": number, "error": {"code": -32601, "message": "Method not found", "data": method}})
            return
        put({"id": number, "result": {**kept, **result}})

    for line in sys.stdin:
        if options.note:
            with open(options.note, "a") as file:
                file.write(line)
        message = json.loads(line)
        if "method" not in message:
            with answered:
                answers[str(message["id"])] = message.get("result", message.get("error"))
                answered.notify_all()
        elif "id" in message:
            threading.Thread(target=handle, args=(message,), daemon=True).start()
    while options.deaf:
        time.sleep(60)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--era", choices=("handshake", "modern"), default="handshake")
    parser.add_argument("--mute", action="store_true")
    parser.add_argument("--page", type=int, default=0)
    parser.add_argument("--name", default="unruly")
    parser.add_argument("--deaf", action="store_true")
    parser.add_argument("--note")
    parser.add_argument("--answer")
    chosen = parser.parse_args()
    if chosen.deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    serve(chosen)
