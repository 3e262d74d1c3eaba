"""The arguments of an operation: checked, as a JSON schema, and as options of a command."""
from __future__ import annotations

import argparse
from collections.abc import Mapping

from byref.proxy.contracts import Json
from byref.proxy.errors import Invalid
from byref.proxy.operations import Adapter, Argument, Operation

KINDS = {"text": "a text", "integer": "a whole number", "flag": "true or false", "texts": "a list of texts"}


def checked(adapter: Adapter, operation: Operation, given: Mapping[str, Json]) -> dict[str, Json]:
    """The arguments that are set, in the order of the definition. Raises `Invalid` for one that there is not, or of another kind."""
    known = {argument.name: argument for argument in operation.arguments}
    for name in given:
        if name not in known:
            raise Invalid(f"{title(adapter, operation)} takes {', '.join(known) or 'nothing'}, not {str(name)[:40]!r}")
    found: dict[str, Json] = {}
    for name, argument in known.items():
        value = given.get(name)
        if value is None or value is False or value == () or value == []:
            if argument.required:
                raise Invalid(f"{title(adapter, operation)} needs {name}: {argument.help}")
            continue
        if not _fits(argument, value):
            raise Invalid(f"{name} is {KINDS[argument.kind]}, not {str(value)[:40]!r}")
        if argument.choices and value not in argument.choices:
            raise Invalid(f"{name} is one of {', '.join(argument.choices)}, not {str(value)[:40]!r}")
        found[name] = value
    return found


def _fits(argument: Argument, value: Json) -> bool:
    if argument.kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if argument.kind == "flag":
        return isinstance(value, bool)
    if argument.kind == "texts":
        return isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value)
    return isinstance(value, str)


def title(adapter: Adapter, operation: Operation) -> str:
    """The name of an operation on MCP, and in messages."""
    return f"{adapter.name}_{operation.name}" if operation.name else adapter.name


def schema(operation: Operation) -> dict[str, Json]:
    """The arguments as a JSON schema."""
    kinds: Mapping[str, Mapping[str, Json]] = {
        "text": {"type": "string"}, "integer": {"type": "integer"}, "flag": {"type": "boolean"},
        "texts": {"type": "array", "items": {"type": "string"}}}
    properties: dict[str, Json] = {
        argument.name: {**kinds[argument.kind], **({"enum": list(argument.choices)} if argument.choices else {}),
                        "description": argument.help} for argument in operation.arguments}
    required: list[Json] = [argument.name for argument in operation.arguments if argument.required]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def options(parser: argparse.ArgumentParser, operation: Operation) -> None:
    """The arguments as options; those that are plain also as words without a name."""
    for argument in operation.arguments:
        flag, help = f"--{argument.name.replace('_', '-')}", argument.help.replace("%", "%%")
        if argument.kind == "flag":
            parser.add_argument(flag, dest=argument.name, action="store_true", help=help)
        elif argument.kind == "texts":
            parser.add_argument(flag, dest=argument.name, metavar="TEXT", action="append", help=f"{help}; may be given again")
        else:
            parser.add_argument(flag, dest=argument.name, metavar="N" if argument.kind == "integer" else "TEXT", help=help,
                                type=int if argument.kind == "integer" else str, choices=argument.choices or None)
    for argument in operation.arguments:
        if argument.plain:
            parser.add_argument(f"{argument.name}_", metavar=argument.name.upper(), nargs="*" if argument.kind == "texts" else "?",
                                help=f"as --{argument.name.replace('_', '-')}")


def parsed(operation: Operation, args: argparse.Namespace) -> dict[str, Json]:
    """What a command line set. Raises `Invalid` where a word and an option say the same argument."""
    found: dict[str, Json] = {}
    for argument in operation.arguments:
        named, word = getattr(args, argument.name), getattr(args, f"{argument.name}_", None) or None
        if named and word and argument.kind != "texts":
            raise Invalid(f"{argument.name} is given twice, as {str(word)[:40]!r} and as {str(named)[:40]!r}")
        value = [*(word or []), *(named or [])] if argument.kind == "texts" else word if named is None else named
        if value is not None and value is not False and value != "" and value != []:
            found[argument.name] = value
    return found
