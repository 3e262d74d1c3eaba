"""What an upstream declares, as the client sees it: no outputSchema, one property more, our tools, a sentence of ours."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from byref.proxy.contracts import Json

STEERING = "byref"
PROPERTY: Mapping[str, Json] = {"type": "string", "description": "what to look for, or raw"}  # 18 tokens a tool: docs/mcp.md
RAW = "raw"
SAID = ("Long outputs come as views: first «REF ...», then lines, and «L120-931 ...» where some are left out. "
        "{fetch}(REF, at) gives them exactly; {search} finds.")


def tools(listed: Sequence[Mapping[str, Json]], *, steering: bool, own: Sequence[Mapping[str, Json]],
          structured: str = "drop") -> list[Mapping[str, Json]]:
    """The tools that the client is told of: the upstream's in their order, then ours.

    structured: in "drop" no tool declares an outputSchema, since its result may come without structuredContent; in "keep"
    it stays. steering: whether a call can say what it looks for. Ours give way to an upstream's tool of the same name.
    """
    given: list[Mapping[str, Json]] = []
    for tool in listed:
        shown = dict(tool)
        if structured == "drop":
            shown.pop("outputSchema", None)
        if steering and steerable(tool):
            shown["inputSchema"] = _steered(tool["inputSchema"])
        given.append(shown)
    names = own_names(listed, own)
    theirs = {name: shown for shown, name in names.items()}
    return given + [{**tool, "name": theirs[str(tool["name"])]} for tool in own]


def own_names(listed: Sequence[Mapping[str, Json]], own: Sequence[Mapping[str, Json]]) -> dict[str, str]:
    """Under which names our tools go beside these: shown name to our name. fetch becomes byref_fetch where theirs is one."""
    taken = {tool.get("name") for tool in listed}
    names: dict[str, str] = {}
    for tool in own:
        name = shown = str(tool["name"])
        number = 1
        while shown in taken:
            shown = f"byref_{name}" if number == 1 else f"byref_{name}{number}"
            number += 1
        names[shown] = name
    return names


def steerable(tool: Mapping[str, Json]) -> bool:
    """Whether a tool's calls can carry the steering property: its input is a plain object that has no property of that name.

    Only what `tools` gave the property may be taken out again: `steer` is for calls of such tools.
    """
    schema = tool.get("inputSchema")
    if not isinstance(schema, Mapping) or schema.keys() & {"$ref", "allOf", "propertyNames", "maxProperties"}:
        return False
    properties = schema.get("properties", {})
    return isinstance(properties, Mapping) and STEERING not in properties


def _steered(schema: Json) -> Json:
    if not isinstance(schema, Mapping):
        return schema
    properties = schema.get("properties", {})
    return {**schema, "properties": {**properties, STEERING: PROPERTY}} if isinstance(properties, Mapping) else schema


def steer(arguments: Mapping[str, Json]) -> tuple[Mapping[str, Json], str, bool]:
    """(arguments for the upstream, intent, raw): the steering property read and taken out. The same object where it is absent."""
    if STEERING not in arguments:
        return arguments, "", False
    said = arguments[STEERING]
    text = said.strip() if isinstance(said, str) else ""
    left = {name: value for name, value in arguments.items() if name != STEERING}
    return (left, "", True) if text.lower() == RAW else (left, text, False)


def instructions(theirs: str | None, names: Mapping[str, str] | None = None) -> str:
    """The upstream's instructions, then ours. names: as `own_names` gives them."""
    shown = {name: own for own, name in (names or {}).items()}
    ours = SAID.format(fetch=shown.get("fetch", "fetch"), search=shown.get("search", "search"))
    return f"{theirs.rstrip()}\n\n{ours}" if theirs and theirs.strip() else ours
