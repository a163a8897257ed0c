"""The schema language of Gemini's `parameters` field, read as JSON Schema.

Gemini's `Schema` object is a subset of OpenAPI 3.0: type names in capitals, `nullable`, `example`, definitions under
`defs` and `ref`, enum values as text for every type, and (as in all of Google's JSON) 64-bit numbers as text.
"""

from __future__ import annotations

import re
from typing import Any, Final

_MAPS: Final = {"properties": "properties", "defs": "$defs", "$defs": "$defs"}
_SINGLE: Final = ("items", "additionalProperties")
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_COUNTS: Final = frozenset(("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"))
_TYPES: Final = frozenset(("string", "number", "integer", "boolean", "array", "object", "null"))
_DIGITS: Final = re.compile(r"[0-9]{1,18}")
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")


def to_json_schema(schema: Any) -> Any:
    """`schema` as JSON Schema; what is written in JSON Schema already stays as it is."""
    if not isinstance(schema, dict):
        return schema
    result: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, dict):
            result[_MAPS[key]] = {name: to_json_schema(member) for name, member in value.items()}
        elif key in _SINGLE:
            result[key] = to_json_schema(value)
        elif key in _LISTS and isinstance(value, list):
            result[key] = [to_json_schema(member) for member in value]
        elif key == "type":
            if value != "TYPE_UNSPECIFIED":
                result[key] = _type(value)
        elif key == "ref":
            result["$ref"] = re.sub(r"^#/defs/", "#/$defs/", value) if isinstance(value, str) else value
        elif key == "example":
            result["examples"] = [value]
        elif key in _COUNTS and isinstance(value, str) and _DIGITS.fullmatch(value):
            result[key] = int(value)
        elif key not in ("nullable", "propertyOrdering"):
            result[key] = value
    if result.get("type") == "integer":
        _integer_enum(result)
    return _nullable(result) if schema.get("nullable") is True else result


def _type(value: Any) -> Any:
    if isinstance(value, list):
        return [_type(member) for member in value]
    return value.lower() if isinstance(value, str) and value.lower() in _TYPES else value


def _integer_enum(schema: dict[str, Any]) -> None:
    """Gemini writes the values of an integer enum as text; the wire carries integers."""
    values = schema.get("enum")
    if isinstance(values, list) and all(isinstance(v, str) and _INTEGER.fullmatch(v) for v in values):
        schema["enum"] = [int(value) for value in values]


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    if isinstance(schema.get("anyOf"), list):
        schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    kind = schema.get("type")
    if isinstance(kind, str) and kind != "null":
        schema["type"] = [kind, "null"]
    elif isinstance(kind, list) and "null" not in kind:
        schema["type"] = [*kind, "null"]
    return schema
