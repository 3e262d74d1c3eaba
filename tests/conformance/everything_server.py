"""An MCP server with all that the server scenarios of npm `@modelcontextprotocol/conformance` ask for, in both eras.

usage: everything_server.py [--port N]    streamable HTTP at /mcp on 127.0.0.1 (0: any port); without --port stdio

Over HTTP it says where it listens, as one line on stdout, once it does. Real, on the low level of the SDK: what a proxy in front
of it must carry in either era stands here once. Results are written as they stand on the wire. Names and texts are those that the
scenarios look for.
"""
from __future__ import annotations

import argparse
import asyncio
import json
import socket
import warnings
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import mcp_types as types
from mcp.server import Server, ServerRequestContext, subscriptions
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import NotificationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

NAME, RETRY_MS = "byref-everything-server", 500
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
MODERN = "2026-07-28"
Context = ServerRequestContext[Any, Any]
Result = dict[str, Any]
Handler = Callable[[Context, types.CallToolRequestParams], Awaitable[Result]]

bus = subscriptions.InMemorySubscriptionBus()


def made(kind: type[types.Result], result: Result) -> Any:
    """A result as the SDK's own kind, which knows what either era wants beside it."""
    return (types.InputRequiredResult if result.get("resultType") == "input_required" else kind).model_validate(result)


def text(value: str, **more: Any) -> Result:
    return {"content": [{"type": "text", "text": value}], **more}


def embedded(uri: str, kind: str, content: str) -> Result:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": content}}


IMAGE: Result = {"type": "image", "data": PNG, "mimeType": "image/png"}
FIXED: dict[str, Result] = {
    "test_simple_text": text("This is a simple text response for testing."),
    "test_image_content": {"content": [IMAGE]},
    "test_audio_content": {"content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]},
    "test_embedded_resource": {"content": [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")]},
    "test_multiple_content_types": {"content": [
        {"type": "text", "text": "Multiple content types test:"}, IMAGE,
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')]},
    "test_error_handling": text("This tool intentionally returns an error for testing", isError=True),
    "json_schema_2020_12_tool": text("seen"),
    "test_header_parameter": text("seen"),
}


# -- what is asked of the client ------------------------------------------------------------------------
def asked(properties: Mapping[str, Any], message: str, *, required: bool = True) -> Result:
    """An elicitation, as it stands among input requests."""
    schema = {"type": "object", "properties": properties, **({"required": list(properties)} if required else {})}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}


def sampled(prompt: str, limit: int = 100) -> Result:
    return {"method": "sampling/createMessage", "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}], "maxTokens": limit}}


NAMED = asked({"name": {"type": "string"}}, "What is your name?")
CONFIRMED = asked({"ok": {"type": "boolean"}}, "Please confirm")
ROOTS: Result = {"method": "roots/list", "params": {}}
DEFAULTS = {
    "name": {"type": "string", "description": "User name", "default": "John Doe"},
    "age": {"type": "integer", "description": "User age", "default": 30},
    "score": {"type": "number", "description": "User score", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "description": "Verification status", "default": True}}
ONE, TITLED = ["option1", "option2", "option3"], [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]
ENUMS = {
    "untitledSingle": {"type": "string", "enum": ONE}, "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {"type": "string", "enum": ONE, "enumNames": ["Option One", "Option Two", "Option Three"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ONE}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}}}


async def elicited(ctx: Context, properties: Mapping[str, Any], message: str) -> Result:
    """Asks the user by way of the client; only a handshake of the older era has a channel for that."""
    answer = await ctx.session.elicit_form(message, asked(properties, message, required=len(properties) == 1)["params"]["requestedSchema"],
                                           related_request_id=ctx.request_id)
    return text(f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content or {})}")


async def _sampling(ctx: Context, params: types.CallToolRequestParams) -> Result:
    prompt = types.SamplingMessage(role="user", content=types.TextContent(text=str((params.arguments or {}).get("prompt", ""))))
    answer = await ctx.session.create_message([prompt], max_tokens=100, related_request_id=ctx.request_id)
    return text(f"LLM response: {answer.content.text if isinstance(answer.content, types.TextContent) else ''}")


async def _elicitation(ctx: Context, params: types.CallToolRequestParams) -> Result:
    message = str((params.arguments or {}).get("message", ""))
    return await elicited(ctx, {"response": {"type": "string", "description": "User's response"}}, message)


# -- input that a result asks for (2026-07-28) ----------------------------------------------------------
def needed(requests: Mapping[str, Result], state: str | None = None) -> Result:
    return {"resultType": "input_required", "inputRequests": dict(requests), **({"requestState": state} if state else {})}


def given(params: types.CallToolRequestParams | types.GetPromptRequestParams, key: str, kind: type[Any]) -> Any:
    """The client's answer under a key, if it is of that kind; an elicitation has to be accepted."""
    answer = (params.input_responses or {}).get(key)
    return answer if isinstance(answer, kind) and getattr(answer, "action", "accept") == "accept" else None


async def _input_elicitation(ctx: Context, params: types.CallToolRequestParams) -> Result:
    answer = given(params, "user_name", types.ElicitResult)
    name = (answer.content or {}).get("name") if answer else None
    return text(f"Hello, {name}!") if isinstance(name, str) else needed({"user_name": NAMED})


async def _input_sampling(ctx: Context, params: types.CallToolRequestParams) -> Result:
    answer = given(params, "capital_question", types.CreateMessageResult)
    if answer is None:
        return needed({"capital_question": sampled("What is the capital of France?")})
    return text(answer.content.text if isinstance(answer.content, types.TextContent) else "")


async def _input_roots(ctx: Context, params: types.CallToolRequestParams) -> Result:
    answer = given(params, "client_roots", types.ListRootsResult)
    return text(" ".join(str(root.uri) for root in answer.roots)) if answer else needed({"client_roots": ROOTS})


async def _input_state(ctx: Context, params: types.CallToolRequestParams) -> Result:
    if params.request_state == "confirming" and given(params, "confirm", types.ElicitResult):
        return text("state-ok")
    return needed({"confirm": CONFIRMED}, "confirming")


async def _input_several(ctx: Context, params: types.CallToolRequestParams) -> Result:
    name, roots = given(params, "user_name", types.ElicitResult), given(params, "client_roots", types.ListRootsResult)
    if params.request_state and name and roots and given(params, "greeting", types.CreateMessageResult):
        return text(f"{name.content}, {len(roots.roots)} roots")
    return needed({"user_name": NAMED, "greeting": sampled("Generate a greeting", 50), "client_roots": ROOTS}, "all three")


async def _input_rounds(ctx: Context, params: types.CallToolRequestParams) -> Result:
    if params.request_state == "two" and given(params, "step2", types.ElicitResult):
        return text("both answers are here")
    if params.request_state == "one" and given(params, "step1", types.ElicitResult):
        return needed({"step2": asked({"color": {"type": "string"}}, "Step 2: What is your favorite color?")}, "two")
    return needed({"step1": asked({"name": {"type": "string"}}, "Step 1: What is your name?")}, "one")


async def _input_capabilities(ctx: Context, params: types.CallToolRequestParams) -> Result:
    able = ctx.session.client_capabilities or types.ClientCapabilities()
    requests = {"user_name": NAMED} if able.elicitation else {}
    requests |= {"greeting": sampled("Generate a greeting", 50)} if able.sampling else {}
    return text("seen") if params.input_responses or not requests else needed(requests)


# -- what goes on beside a result -----------------------------------------------------------------------
async def say(ctx: Context, message: str) -> None:
    await ctx.session.send_log_message("info", message, "everything", related_request_id=ctx.request_id)


async def _logging(ctx: Context, params: types.CallToolRequestParams) -> Result:
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await say(ctx, message)
        await asyncio.sleep(0.05)
    return text("Tool with logging executed successfully")


async def _progress(ctx: Context, params: types.CallToolRequestParams) -> Result:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100, f"Completed step {done} of 100")
        await asyncio.sleep(0.05)
    return text("Tool with progress executed successfully")


async def _reconnection(ctx: Context, params: types.CallToolRequestParams) -> Result:
    if ctx.close_sse_stream:
        await ctx.close_sse_stream()
    await asyncio.sleep(0.2)
    return text("Reconnection test completed")


async def _missing(ctx: Context, params: types.CallToolRequestParams) -> Result:
    if not (ctx.session.client_capabilities and ctx.session.client_capabilities.sampling):
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "sampling is required", {"requiredCapabilities": {"sampling": {}}})
    return text("seen")


def changing(event: subscriptions.ServerEvent, send: str) -> Handler:
    """A tool that says that something changed: to those who listen, or in the older era to the client that called."""
    async def change(ctx: Context, params: types.CallToolRequestParams) -> Result:
        if ctx.protocol_version == MODERN:
            await bus.publish(event)
        else:
            await getattr(ctx.session, send)(*([event.uri] if isinstance(event, subscriptions.ResourceUpdated) else []))
        return text("changed")
    return change


TOOLS: dict[str, Handler] = {
    "test_tool_with_logging": _logging, "test_logging_tool": _logging, "test_tool_with_progress": _progress,
    "test_sampling": _sampling, "test_elicitation": _elicitation,
    "test_elicitation_sep1034_defaults": lambda ctx, params: elicited(ctx, DEFAULTS, "Please provide user information"),
    "test_elicitation_sep1330_enums": lambda ctx, params: elicited(ctx, ENUMS, "Please select values"),
    "test_reconnection": _reconnection, "test_missing_capability": _missing, "test_streaming_elicitation": _input_elicitation,
    "test_trigger_tool_change": changing(subscriptions.ToolsListChanged(), "send_tool_list_changed"),
    "test_trigger_prompt_change": changing(subscriptions.PromptsListChanged(), "send_prompt_list_changed"),
    "test_trigger_resource_change": changing(subscriptions.ResourceUpdated("test://watched-resource"), "send_resource_updated"),
    "test_input_required_result_elicitation": _input_elicitation, "test_input_required_result_sampling": _input_sampling,
    "test_input_required_result_list_roots": _input_roots, "test_input_required_result_request_state": _input_state,
    "test_input_required_result_multiple_inputs": _input_several, "test_input_required_result_multi_round": _input_rounds,
    "test_input_required_result_tampered_state": _input_state, "test_input_required_result_capabilities": _input_capabilities,
}
TAKES: dict[str, Result] = {
    "test_sampling": {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
    "test_elicitation": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
    "test_header_parameter": {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}},
    "json_schema_2020_12_tool": {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object",
                              "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
                       "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                       "phone": {"type": "string"}, "email": {"type": "string"}},
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": False},
}


async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> Any:
    return made(types.ListToolsResult, {"tools": [
        {"name": name, "description": f"For the scenarios that call {name}.",
         "inputSchema": TAKES.get(name, {"type": "object", "properties": {}})} for name in (*FIXED, *TOOLS)]})


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
    if params.name not in FIXED and params.name not in TOOLS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
    return made(types.CallToolResult, FIXED[params.name] if params.name in FIXED else await TOOLS[params.name](ctx, params))


# -- resources, prompts, completion ---------------------------------------------------------------------
RESOURCES = {
    "test://static-text": ("Static Text Resource", "text/plain", "text", "This is the content of the static text resource."),
    "test://static-binary": ("Static Binary Resource", "image/png", "blob", PNG),
    "test://watched-resource": ("Watched Resource", "text/plain", "text", "Watched resource content")}
TEMPLATE = "test://template/", "/data"
PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (), "test_prompt_with_arguments": ("arg1", "arg2"), "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (), "test_input_required_result_prompt": ()}


async def list_resources(ctx: Context, params: types.PaginatedRequestParams | None) -> Any:
    return made(types.ListResourcesResult, {"resources": [
        {"uri": uri, "name": name, "description": f"{name}, for testing", "mimeType": kind}
        for uri, (name, kind, _, _) in RESOURCES.items()]})


async def list_templates(ctx: Context, params: types.PaginatedRequestParams | None) -> Any:
    return made(types.ListResourceTemplatesResult, {"resourceTemplates": [
        {"uriTemplate": "{id}".join(TEMPLATE), "name": "Resource Template", "mimeType": "application/json",
         "description": "A resource template with parameter substitution"}]})


async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> Any:
    uri, (before, after) = params.uri, TEMPLATE
    if uri in RESOURCES:
        _, kind, field, content = RESOURCES[uri]
        return made(types.ReadResourceResult, {"contents": [{"uri": uri, "mimeType": kind, field: content}]})
    if uri.startswith(before) and uri.endswith(after):
        name = uri[len(before):-len(after)]
        said = json.dumps({"id": name, "templateTest": True, "data": f"Data for ID: {name}"})
        return made(types.ReadResourceResult, {"contents": [{"uri": uri, "mimeType": "application/json", "text": said}]})
    raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})


async def accepted(ctx: Context, params: types.RequestParams) -> types.EmptyResult:
    return types.EmptyResult()


async def list_prompts(ctx: Context, params: types.PaginatedRequestParams | None) -> Any:
    return made(types.ListPromptsResult, {"prompts": [
        {"name": name, "description": f"For the scenarios that get {name}.",
         "arguments": [{"name": one, "description": one, "required": True} for one in arguments]} for name, arguments in PROMPTS.items()]})


async def get_prompt(ctx: Context, params: types.GetPromptRequestParams) -> Any:
    if params.name not in PROMPTS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
    found = params.arguments or {}
    if params.name == "test_input_required_result_prompt" and not given(params, "user_context", types.ElicitResult):
        question = asked({"context": {"type": "string"}}, "What context should the prompt use?")
        return made(types.GetPromptResult, needed({"user_context": question}))
    contents: dict[str, list[Result]] = {
        "test_prompt_with_arguments": text(f"Prompt with arguments: arg1='{found.get('arg1')}', arg2='{found.get('arg2')}'")["content"],
        "test_prompt_with_embedded_resource": [
            embedded(found.get("resourceUri", ""), "text/plain", "Embedded resource content for testing."),
            *text("Please process the embedded resource above.")["content"]],
        "test_prompt_with_image": [IMAGE, *text("Please analyze the image above.")["content"]]}
    said = contents.get(params.name, text("This is a simple prompt for testing.")["content"])
    return made(types.GetPromptResult, {"messages": [{"role": "user", "content": content} for content in said]})


async def complete(ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    names = [name for name in ("paris", "park", "party") if name.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=names, total=len(names), has_more=False))


# -- the two transports ---------------------------------------------------------------------------------
class Events(EventStore):
    """The events of all streams, in memory, so that a client can come back for those it missed."""

    def __init__(self) -> None:
        self.held: list[tuple[str, types.JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: types.JSONRPCMessage | None) -> str:
        self.held.append((stream_id, message))
        return str(len(self.held))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        last = int(last_event_id) if last_event_id.isdigit() else 0
        if not 1 <= last <= len(self.held):
            return None
        stream = self.held[last - 1][0]
        for number, (of, message) in enumerate(self.held[last:], last + 1):
            if of == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


class Everything(Server[Any]):
    """Says in the older era too that its lists may change: the SDK's HTTP transport asks for no options."""

    def create_initialization_options(self, notification_options: NotificationOptions | None = None,
                                      experimental_capabilities: dict[str, dict[str, Any]] | None = None,
                                      extensions: dict[str, dict[str, Any]] | None = None) -> Any:
        changes = notification_options or NotificationOptions(True, True, True)
        return super().create_initialization_options(changes, experimental_capabilities, extensions)


def everything() -> Server[Any]:
    """The server."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)  # logging is the older era's, and has scenarios there
        server = Everything(
            NAME, version="1.0.0", instructions="Call what the scenarios call.", on_list_tools=list_tools, on_call_tool=call_tool,
            on_list_resources=list_resources, on_list_resource_templates=list_templates, on_read_resource=read_resource,
            on_subscribe_resource=accepted, on_unsubscribe_resource=accepted, on_subscriptions_listen=subscriptions.ListenHandler(bus),
            on_list_prompts=list_prompts, on_get_prompt=get_prompt, on_completion=complete, on_set_logging_level=accepted,
            cache_hints={method: CacheHint(1000, "public") for method in (
                "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read", "server/discover")})
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME))
    return server


async def over_stdio() -> None:
    from mcp.server.stdio import stdio_server
    server = everything()
    async with stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


async def over_http(port: int) -> None:
    import uvicorn
    app = everything().streamable_http_app(event_store=Events(), retry_interval=RETRY_MS)
    with socket.create_server(("127.0.0.1", port)) as listening:
        print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
        await uvicorn.Server(uvicorn.Config(app, log_level="error")).serve([listening])


if __name__ == "__main__":
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int)
    chosen = parser.parse_args().port
    asyncio.run(over_stdio() if chosen is None else over_http(chosen))
