"""The gate: JSON Schema decides whether arguments reach the handler.

The validator is jsonschema-rs, compiled from the schema that stands in `schemas/`, for the dialect that the schema
names. It never opens a file or the network. Refusals become issues that a model can act on: where, what was expected,
what came; for `anyOf` and `oneOf` only the branch that came nearest.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from typing import Any

import jsonschema_rs

from .errors import Issue
from .values import is_object, pointer, show

MAX_ISSUES = 5
"""Issues that are reported for one call; a model mends a few at a time."""


class Gate:
    """Decides whether a value is valid against one schema."""

    __slots__ = ("_validator", "is_valid", "schema")

    def __init__(self, schema: Any, *, formats: bool = False) -> None:
        """Compiles `schema`; with `formats`, `format` is asserted and not only an annotation.

        Raises `jsonschema_rs.ValidationError` or `jsonschema_rs.ReferencingError` for a schema that does not compile,
        which a build has already ruled out.
        """
        self.schema = schema
        self._validator = jsonschema_rs.validator_for(schema, validate_formats=formats, offline=True)
        self.is_valid = self._validator.is_valid
        """Whether a plain JSON value is valid."""

    def errors(self, value: Any) -> Iterator[jsonschema_rs.ValidationError]:
        """The validator's own errors."""
        return iter(self._validator.iter_errors(value))

    def issues(self, value: Any) -> tuple[Issue, ...]:
        """Why `value` is refused, at most `MAX_ISSUES` reasons; empty when it is valid."""
        found: list[Issue] = []
        for error in self.errors(value):
            for issue in _issues(error, self.schema):
                if issue not in found:
                    found.append(issue)
            if len(found) >= MAX_ISSUES:
                break
        return tuple(found[:MAX_ISSUES])


_NOUNS = {
    "null": "null",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "array": "an array",
    "object": "an object",
}


def _issues(error: jsonschema_rs.ValidationError, schema: Any) -> Iterator[Issue]:
    """The issues of one error: one, except where a branch of a union that came near has several."""
    kind: Any = error.kind
    where = pointer(error.instance_path)
    keyword = str(kind.name)
    if keyword in ("anyOf", "oneOf") and hasattr(kind, "context"):
        yield from _union(error, keyword, where, schema)
        return
    yield Issue(where, keyword, _message(error, kind, keyword, schema))


def _message(error: jsonschema_rs.ValidationError, kind: Any, keyword: str, schema: Any) -> str:
    value: Any = error.instance
    match keyword:
        case "type":
            expected = " or ".join(_NOUNS[name] for name in kind.types)
            return f"expected {expected}, got {show(value)}"
        case "required":
            return f"the required property {json.dumps(kind.property, ensure_ascii=False)} is missing"
        case "additionalProperties" | "unevaluatedProperties":
            return _unexpected(error, kind, schema)
        case "enum":
            options = [show(option) for option in kind.options]
            shown = ", ".join(options[:20]) + (", …" if len(options) > 20 else "")
            return f"expected one of {shown}, got {show(value)}"
        case "const":
            return f"expected {show(kind.expected_value)}, got {show(value)}"
        case "minimum":
            return f"expected at least {show(kind.limit)}, got {show(value)}"
        case "maximum":
            return f"expected at most {show(kind.limit)}, got {show(value)}"
        case "exclusiveMinimum":
            return f"expected more than {show(kind.limit)}, got {show(value)}"
        case "exclusiveMaximum":
            return f"expected less than {show(kind.limit)}, got {show(value)}"
        case "multipleOf":
            return f"expected a multiple of {show(kind.multiple_of)}, got {show(value)}"
        case "minLength":
            return f"expected at least {kind.limit} characters, got {show(value)}"
        case "maxLength":
            return f"expected at most {kind.limit} characters, got {len(value)}"
        case "minItems":
            return f"expected at least {kind.limit} items, got {len(value)}"
        case "maxItems":
            return f"expected at most {kind.limit} items, got {len(value)}"
        case "minProperties":
            return f"expected at least {kind.limit} properties, got {len(value)}"
        case "maxProperties":
            return f"expected at most {kind.limit} properties, got {len(value)}"
        case "pattern":
            return f"expected text that matches {kind.pattern}, got {show(value)}"
        case "format":
            return f"expected the format {kind.format}, got {show(value)}"
        case "uniqueItems":
            return "expected items that are all different"
        case "contains":
            return "no item, or the wrong number of items, is of the kind that the array must contain"
        case "not":
            return f"{show(value)} is excluded"
        case "falseSchema":
            return "this value is not allowed here"
        case _:
            return error.message


def _unexpected(error: jsonschema_rs.ValidationError, kind: Any, schema: Any) -> str:
    names = [str(name) for name in kind.unexpected]
    known = _declared(schema, error.schema_path)
    parts: list[str] = []
    for name in names[:MAX_ISSUES]:
        near = difflib.get_close_matches(name, known, 1)
        hint = f" (did you mean {json.dumps(near[0], ensure_ascii=False)}?)" if near else ""
        parts.append(json.dumps(name, ensure_ascii=False) + hint)
    noun = "property" if len(names) == 1 else "properties"
    more = f" and {len(names) - MAX_ISSUES} more" if len(names) > MAX_ISSUES else ""
    return f"unknown {noun} {', '.join(parts)}{more}"


def _declared(schema: Any, path: Sequence[str | int]) -> list[str]:
    """The property names declared beside the keyword at `path` of the schema; none where a reference is in between."""
    for token in list(path)[:-1]:
        try:
            schema = schema[token]
        except (KeyError, IndexError, TypeError):
            return []
    properties: Any = schema.get("properties") if is_object(schema) else None
    return list(properties) if is_object(properties) else []


def _union(error: jsonschema_rs.ValidationError, keyword: str, where: str, schema: Any) -> Iterator[Issue]:
    kind: Any = error.kind
    if type(kind).__name__ == "OneOfMultipleValid":
        yield Issue(where, keyword, f"{show(error.instance)} fits more than one of the alternatives, and must fit one")
        return
    branches = [list(branch) for branch in kind.context]
    depth = len(error.instance_path)
    near = [branch for branch in branches if branch and not _of_other_kind(branch, depth)]
    if len(near) == 1 or (near and _nearest_is_clear(near)):
        best = min(near, key=_distance)
        for inner in best[:MAX_ISSUES]:
            yield from _issues(inner, schema)
        return
    types: list[str] = []
    for branch in branches:
        for inner in branch:
            inner_kind: Any = inner.kind
            if str(inner_kind.name) == "type" and len(inner.instance_path) == depth:
                types.extend(_NOUNS[name] for name in inner_kind.types)
    if types and not near:
        yield Issue(where, keyword, f"expected {' or '.join(dict.fromkeys(types))}, got {show(error.instance)}")
        return
    options: list[str] = []
    for branch in near or branches:
        if branch:
            options.append("; ".join(str(issue) for inner in branch[:2] for issue in _issues(inner, schema)))
    listed = " / ".join(list(dict.fromkeys(options))[:3])
    yield Issue(where, keyword, f"fits none of the alternatives: {listed}")


def _of_other_kind(branch: Sequence[jsonschema_rs.ValidationError], depth: int) -> bool:
    """Whether the value is plainly not meant for this branch: another type, or another tag."""
    for error in branch:
        kind: Any = error.kind
        keyword = str(kind.name)
        below = len(error.instance_path) - depth
        if keyword == "type" and below == 0:
            return True
        if keyword == "const" and below == 1:
            return True
        if keyword == "enum" and below == 1 and len(kind.options) == 1:
            return True
    return False


def _distance(branch: Sequence[jsonschema_rs.ValidationError]) -> tuple[int, int]:
    """How far a value is from a branch: fewer errors are nearer, and errors deeper inside are nearer."""
    return (len(branch), -min(len(error.instance_path) for error in branch))


def _nearest_is_clear(branches: Sequence[Sequence[jsonschema_rs.ValidationError]]) -> bool:
    distances = sorted(_distance(branch) for branch in branches)
    return distances[0] < distances[1]
