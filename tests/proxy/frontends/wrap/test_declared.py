"""What a client is told of an upstream's tools: as the upstream says it, but for three things."""
from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from byref.proxy.frontends.wrap import declared, own
from byref.proxy.ledger.counter import token_counter

TOOLS: list[Any] = [
    {"name": "list_files", "title": "List", "description": "Lists files.", "_meta": {"a": 1}, "annotations": {"readOnlyHint": True},
     "inputSchema": {"type": "object", "properties": {"path": {"$ref": "#/$defs/P"}}, "required": ["path"],
                     "$defs": {"P": {"type": "string"}}, "additionalProperties": False},
     "outputSchema": {"type": "object", "properties": {"files": {"type": "array"}}}, "x-other": [1]},
    {"name": "now", "inputSchema": {"type": "object"}},
]


def names(tools: list[Any]) -> list[str]:
    return [tool["name"] for tool in tools]


def test_only_output_schema_and_one_optional_property_change_and_ours_follow() -> None:
    before = copy.deepcopy(TOOLS)
    shown: list[Any] = declared.tools(TOOLS, steering=True, own=own.TOOLS, structured="drop")
    assert before == TOOLS and names(shown) == ["list_files", "now", "fetch", "search", "status"]
    first = copy.deepcopy(shown[0])
    assert first["inputSchema"]["properties"].pop(declared.STEERING) == declared.PROPERTY
    assert first == {key: value for key, value in TOOLS[0].items() if key != "outputSchema"}
    assert list(shown[0]) == [key for key in TOOLS[0] if key != "outputSchema"], "the order of the keys stays"
    assert shown[1] == {"name": "now", "inputSchema": {"type": "object", "properties": {declared.STEERING: declared.PROPERTY}}}


def test_in_keep_mode_and_without_steering_a_tool_is_what_it_was() -> None:
    assert declared.tools(TOOLS, steering=False, own=(), structured="keep") == TOOLS


def test_ours_give_way_to_theirs() -> None:
    theirs: list[Any] = [{"name": "fetch", "inputSchema": {"type": "object"}}, {"name": "byref_search"}, {"name": "search"}]
    shown = declared.tools(theirs, steering=False, own=own.TOOLS)
    assert names(list(shown)) == ["fetch", "byref_search", "search", "byref_fetch", "byref_search2", "status"]
    assert declared.own_names(theirs, own.TOOLS) == {"byref_fetch": "fetch", "byref_search2": "search", "status": "status"}
    assert "byref_fetch(REF" in declared.instructions(None, declared.own_names(theirs, own.TOOLS))


@pytest.mark.parametrize("schema", [
    None, {"$ref": "#/$defs/A"}, {"type": "object", "allOf": [{"additionalProperties": False}]},
    {"type": "object", "properties": {"byref": {}}},
    {"type": "object", "maxProperties": 1}, {"type": "object", "properties": 3}])
def test_a_tool_whose_input_has_no_room_for_it_is_left_alone(schema: Any) -> None:
    tool = {"name": "t"} | ({} if schema is None else {"inputSchema": schema})
    assert declared.tools([tool], steering=True, own=()) == [tool] and not declared.steerable(tool)


@pytest.mark.parametrize(("given", "wanted"), [
    ({"a": 1}, ({"a": 1}, "", False)), ({"byref": "the error"}, ({}, "the error", False)),
    ({"byref": " RAW ", "a": 1}, ({"a": 1}, "", True)), ({"byref": "raw material prices"}, ({}, "raw material prices", False)),
    ({"byref": None}, ({}, "", False)), ({"byref": 7}, ({}, "", False)),
])
def test_what_a_call_looks_for_is_taken_out_of_its_arguments(given: Any, wanted: Any) -> None:
    before = dict(given)
    assert declared.steer(given) == wanted and given == before


def test_arguments_without_it_are_the_same_object() -> None:
    given = {"a": 1}
    assert declared.steer(given)[0] is given


def test_instructions_are_theirs_then_at_most_sixty_tokens_of_ours() -> None:
    assert declared.instructions("Use it well.\n").startswith("Use it well.\n\n")
    assert declared.instructions(None) == declared.instructions("  ") == declared.instructions("")
    renamed = {"byref_fetch": "fetch", "byref_search": "search"}
    assert max(token_counter().count([declared.instructions(None), declared.instructions(None, renamed)])) <= 60


def test_steering_costs_what_its_page_says(root: Any) -> None:
    """docs/mcp.md gives a figure; the default follows from it."""
    tools = [{**TOOLS[0], "name": f"tool_{i}"} for i in range(30)]
    counter = token_counter()
    without, with_it = counter.count([json.dumps(declared.tools(tools, steering=steering, own=()), separators=(",", ":"))
                                      for steering in (False, True)])
    if counter.exact:
        assert with_it - without == 540 and "540 tokens" in (root / "docs" / "mcp.md").read_text()
