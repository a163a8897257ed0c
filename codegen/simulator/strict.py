"""The schema subset of strict function tools, and what a strict model makes of arguments.

Source: OpenAI's guide to structured outputs (supported schemas and their limits). Keywords that the guide does not
list count as unsupported, as the service refuses a whole request for one wrong schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
_ANNOTATIONS = {"title", "description", "$schema", "$id", "$comment", "examples", "deprecated", "readOnly", "writeOnly"}
_SUPPORTED = _ANNOTATIONS | {
    *("type", "enum", "const", "anyOf", "$ref", "$defs", "definitions", "default"),
    *("properties", "required", "additionalProperties"),
    *("items", "minItems", "maxItems"),
    *("pattern", "format"),
    *("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
}
_TYPES = {"string", "number", "integer", "boolean", "object", "array", "null"}
MAX_PROPERTIES, MAX_DEPTH, MAX_ENUM_VALUES, MAX_CHARACTERS = 5_000, 10, 1_000, 120_000
LONG_ENUM, MAX_LONG_ENUM_CHARACTERS = 250, 15_000


def strict_problem(schema: Any) -> str | None:
    """The first reason why a schema is refused in strict mode, with its place; None when it conforms."""
    return next(_problems(schema), None)


def _problems(schema: Any) -> Iterator[str]:
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        yield "In context=(), schema must be a JSON Schema of 'type: \"object\"'."
        return
    if "anyOf" in schema:
        yield "In context=(), 'anyOf' is not permitted at the root."
    properties = enum_values = characters = 0
    for context, depth, part in _walk(schema, (), 1):
        yield from _part_problems(context, part)
        if depth > MAX_DEPTH:
            yield f"In context={context!r}, schema is nested deeper than {MAX_DEPTH} levels."
        names = [*part.get("properties", {}), *part.get("$defs", {}), *part.get("definitions", {})]
        values = [v for v in [*part.get("enum", []), part.get("const")] if isinstance(v, str)]
        properties += len(part.get("properties", {}))
        enum_values += len(part.get("enum", []))
        characters += sum(map(len, names)) + sum(map(len, values))
        if len(values) > LONG_ENUM and sum(map(len, values)) > MAX_LONG_ENUM_CHARACTERS:
            yield f"In context={context!r}, the values of 'enum' are longer than {MAX_LONG_ENUM_CHARACTERS} characters."
    for name, count, limit in (
        ("object properties", properties, MAX_PROPERTIES),
        ("enum values", enum_values, MAX_ENUM_VALUES),
        ("characters in names and values", characters, MAX_CHARACTERS),
    ):
        if count > limit:
            yield f"In context=(), the schema has {count} {name}, and at most {limit} are supported."


def _walk(
    part: Mapping[str, Any], context: tuple[str, ...], depth: int
) -> Iterator[tuple[tuple[str, ...], int, Mapping[str, Any]]]:
    """Every schema in a schema, with its place and how many objects and arrays are around it."""
    yield context, depth, part
    below: list[tuple[tuple[str, ...], int, Any]] = []
    for key in ("properties", "$defs", "definitions"):
        members = part.get(key)
        if isinstance(members, Mapping):
            deeper = depth + 1 if key == "properties" else 1
            below += [((*context, key, name), deeper, member) for name, member in members.items()]
    if "items" in part:
        below.append(((*context, "items"), depth + 1, part["items"]))
    branches = part.get("anyOf")
    if isinstance(branches, list):
        below += [((*context, "anyOf", str(i)), depth, branch) for i, branch in enumerate(branches)]
    for place, level, member in below:
        if isinstance(member, Mapping):
            yield from _walk(member, place, level)
        else:
            yield place, level, {"": member}


def _part_problems(context: tuple[str, ...], part: Mapping[str, Any]) -> Iterator[str]:
    where = f"In context={context!r}"
    if "" in part:
        yield f"{where}, schema must be an object, not {part['']!r}."
        return
    for keyword in part:
        if keyword not in _SUPPORTED:
            yield f"{where}, '{keyword}' is not permitted."
    if "$ref" in part:
        if set(part) - {"$ref"}:
            yield f"{where}, $ref cannot have keywords {sorted(set(part) - {'$ref'})}."
        return
    types = part.get("type")
    listed = [types] if isinstance(types, str) else types
    if not ({"enum", "const", "anyOf"} & set(part)) and not (isinstance(listed, list) and listed):
        yield f"{where}, schema must have a 'type' key."
    for name in listed if isinstance(listed, list) else []:
        if name not in _TYPES:
            yield f"{where}, {name!r} is not a type."
    if (isinstance(listed, list) and "object" in listed) or "properties" in part:
        yield from _object_problems(where, part)
    if isinstance(listed, list) and "array" in listed and "items" not in part:
        yield f"{where}, array schema missing items."
    if "format" in part and part["format"] not in _FORMATS:
        yield f"{where}, {part['format']!r} is not a valid format."
    if part.get("default") is not None:
        yield f"{where}, 'default' is not permitted."


def _object_problems(where: str, part: Mapping[str, Any]) -> Iterator[str]:
    if part.get("additionalProperties") is not False:
        yield f"{where}, 'additionalProperties' is required to be supplied and to be false."
    properties, required = part.get("properties", {}), part.get("required", [])
    missing = [name for name in properties if name not in required]
    if missing or ("required" not in part and properties):
        yield (
            f"{where}, 'required' is required to be supplied and to be an array including every key in properties. "
            f"Missing {missing[0]!r}."
        )
    for name in required:
        if name not in properties:
            yield f"{where}, 'required' names {name!r}, which is no property."


def complete_strictly(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> Any:
    """Arguments as a strict model writes them: an optional value that is left out comes as null.

    Scenarios leave optional arguments out, as models do elsewhere; in strict mode every property is required.
    """
    root = root if root is not None else schema
    schema = _target(schema, root)
    if isinstance(value, list):
        items = schema.get("items")
        return [complete_strictly(v, items, root) for v in value] if isinstance(items, Mapping) else value
    if not isinstance(value, dict):
        return value
    branch = _object_branch(schema, root, set(value))
    properties = branch.get("properties", {})
    completed = {}
    for name, below in properties.items():
        if name in value:
            completed[name] = complete_strictly(value[name], below, root)
        elif _allows_null(below, root):
            completed[name] = None
    return completed | {name: member for name, member in value.items() if name not in completed}


def _target(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    for _ in range(MAX_DEPTH):
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            return schema
        at: Any = root
        for part in reference.removeprefix("#").split("/")[1:]:
            at = at.get(part.replace("~1", "/").replace("~0", "~"), {}) if isinstance(at, Mapping) else {}
        schema = at if isinstance(at, Mapping) else {}
    return schema


def _object_branch(schema: Mapping[str, Any], root: Mapping[str, Any], names: set[str]) -> Mapping[str, Any]:
    """The branch of a union that knows all the names that are there."""
    for branch in schema.get("anyOf", ()):
        branch = _target(branch, root)
        if branch.get("type") == "object" and names <= set(branch.get("properties", {})):
            return branch
    return schema


def _allows_null(schema: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    schema = _target(schema, root)
    types = schema.get("type")
    if types == "null" or (isinstance(types, list) and "null" in types):
        return True
    if ("enum" in schema and None in schema["enum"]) or ("const" in schema and schema["const"] is None):
        return True
    return any(_allows_null(branch, root) for branch in schema.get("anyOf", ()))
