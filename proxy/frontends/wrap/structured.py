"""structuredContent made shorter, for clients that need one: what is left of it is as valid as the whole was.

Long strings are cut, and lists too long lose their end. A marker says so where the text was; of a list that takes no text
the property `byref` of the whole says it. Where the tool's schema leaves room for neither, the value stays as it is.
"""
from __future__ import annotations

import json
from collections.abc import Mapping

from byref.proxy.contracts import Json
from byref.proxy.excerpts import unmarked

LONG = 400  # characters of a string that stays whole
KEPT = 160  # characters that are left of a longer one
MANY = 20  # items of a list that stays whole
FIRST = 10  # items that are left of a longer one
NOTES = "byref"
PART = "structuredContent"
_LEAST = 2000  # characters of JSON from which on it pays
_SHAPED = ("enum", "const", "pattern", "format", "contentEncoding", "contentMediaType")
Schema = Mapping[str, Json]


def reduce(value: Mapping[str, Json], schema: Schema | None, ref: str) -> Mapping[str, Json]:
    """The value with less in it, or the value itself where nothing can be left out.

    schema: what the tool declares, None where it declares nothing and anything is valid. ref: of the stored result.
    """
    size = len(json.dumps(value, ensure_ascii=False))
    if size < _LEAST or NOTES in value:
        return value
    made = _Reduction(schema or {}, ref)
    less = made.object(value, schema or {}, "$")
    if made.notes:
        less = {**less, NOTES: list(made.notes)}
    if len(json.dumps(less, ensure_ascii=False)) > size - max(64, size // 16):
        return value
    return less if schema is None or _valid(less, schema) else value


class _Reduction:
    """One walk over a value beside its schema. notes: markers that found no place where they belong."""

    def __init__(self, schema: Schema, ref: str) -> None:
        self.root, self.ref = schema, ref
        self.notes: list[str] = []
        self.open = schema.get("additionalProperties", True) is True and schema.get("unevaluatedProperties", True) is True \
            and "maxProperties" not in schema and "propertyNames" not in schema

    def object(self, value: Mapping[str, Json], schema: Schema, path: str) -> dict[str, Json]:
        properties, others = _mapping(schema.get("properties")), _mapping(schema.get("additionalProperties"))
        return {key: self.any(item, self.resolved(properties.get(key, others)), _below(path, key)) if _plain(key) else item
                for key, item in value.items()}

    def any(self, value: Json, schema: Schema, path: str) -> Json:
        if isinstance(value, str):
            return self.string(value, schema, path)
        if isinstance(value, Mapping):
            return self.object(value, schema, path)
        return self.list(value, schema, path) if isinstance(value, list) else value

    def string(self, value: str, schema: Schema, path: str) -> str:
        if len(value) <= LONG or any(word in schema for word in _SHAPED):
            return value
        cut = f"{unmarked(value[:KEPT])} {self.marker(path, f'{len(value)} characters')}"
        return cut if _number(schema, "minLength", 0) <= len(cut) <= _number(schema, "maxLength", len(cut)) else value

    def list(self, value: list[Json], schema: Schema, path: str) -> list[Json]:
        inner, fixed = self.resolved(schema.get("items")), schema.get("prefixItems")
        kept = max(FIRST, _number(schema, "minItems", 0), len(fixed) if isinstance(fixed, list) else 0)
        cut = len(value) > max(MANY, kept) and "contains" not in schema
        words = cut and all(isinstance(item, str) for item in value) and inner.get("type", "string") == "string" \
            and not any(word in inner for word in (*_SHAPED, "maxLength"))
        if not (words or (cut and self.open)):
            kept, cut = len(value), False
        less = [self.any(item, inner, f"{path}[{i}]") for i, item in enumerate(value[:kept])]
        if cut:
            marker = self.marker(f"{path}[{kept}:{len(value)}]", f"{len(value) - kept} of {len(value)} items")
            if words:
                less.append(marker)
            else:
                self.notes.append(marker)
        return less

    def marker(self, path: str, what: str) -> str:
        return f"«{self.ref} {PART}:{path} {what}»"

    def resolved(self, schema: Json) -> Schema:
        """A schema with its local reference followed. What is said in other ways is left to the check at the end."""
        found = _mapping(schema)
        for _ in range(8):
            target = found.get("$ref")
            if not isinstance(target, str) or not target.startswith("#/"):
                break
            step: Json = self.root
            for name in target[2:].split("/"):
                step = _mapping(step).get(name.replace("~1", "/").replace("~0", "~"))
            found = {**_mapping(step), **{key: held for key, held in found.items() if key != "$ref"}}
        return found


def _mapping(value: Json) -> Schema:
    return value if isinstance(value, Mapping) else {}


def _number(schema: Schema, name: str, default: int) -> int:
    value = schema.get(name)
    return value if isinstance(value, int) else default


def _plain(key: str) -> bool:
    """Whether a path in a marker can name this key."""
    return not any(sign in key for sign in "«»\n\\\"") and key.isprintable()


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if key.isidentifier() and key.isascii() else f"{path}[{json.dumps(key, ensure_ascii=False)}]"


def _valid(value: Mapping[str, Json], schema: Schema) -> bool:
    try:
        from jsonschema.validators import Draft202012Validator, validator_for
        return bool(validator_for(schema, default=Draft202012Validator)(schema).is_valid(value))
    except Exception:  # a schema that cannot be read, or no validator here: then nothing can be promised
        return False
