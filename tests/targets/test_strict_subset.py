"""The documented subset of strict mode, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest

from codegen.targets.interface import Measure
from codegen.targets.openai_rules import STRICT
from codegen.targets.strict_subset import has_lookaround, measure, violations


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


S = {"type": "string"}
N = {"type": ["string", "null"]}
LIST = {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": ["next"]}


@pytest.mark.parametrize(
    "schema",
    [
        closed(),
        closed(a=S, b={"type": "integer"}, c={"type": "number"}, d={"type": "boolean"}, e={"type": "null"}),
        closed(a=N, b={"anyOf": [S, {"type": "null"}], "description": "maybe"}),
        closed(a={"type": "string", "enum": ["x", "y"]}, b={"type": "string", "const": "x"}),
        closed(a={"type": ["string", "null"], "enum": ["x", None], "title": "A", "description": "an a"}),
        closed(a={"type": "string", "pattern": "^[a-z]+$", "format": "date-time"}),
        closed(a={"type": "number", "multipleOf": 0.5, "minimum": 0, "maximum": 9}),
        closed(a={"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9}),
        closed(a={"type": "array", "items": S, "minItems": 1, "maxItems": 3}),
        closed(a=closed(b=closed(c=S))),
        closed(a={"type": ["object", "null"], "properties": {}, "additionalProperties": False}),
        closed(a={"$ref": "#/$defs/A"}) | {"$defs": {"A": closed(b={"$ref": "#/$defs/A~1B"}), "A/B": S}},
        LIST | {"additionalProperties": False},
        closed(a={"anyOf": [closed(kind={"type": "string", "const": k}, v=S) for k in "xy"]}),
        closed(a={"anyOf": [closed(x=S), closed(y=S)]}),
    ],
)
def test_inside(schema: dict[str, Any]) -> None:
    assert violations(schema, STRICT) == []


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({}, ""),
        ({"type": "object"}, ""),
        ({"type": "object", "properties": {}}, ""),
        ({"type": ["object", "null"], "properties": {}, "additionalProperties": False}, ""),
        ({"anyOf": [closed()]}, ""),
        (closed() | {"anyOf": [closed()]}, ""),
        (closed(a=S) | {"required": []}, ""),
        (closed(a=S) | {"required": ["a", "b"]}, ""),
        (closed(a=S) | {"additionalProperties": {}}, ""),
        (closed() | {"$schema": "https://json-schema.org/draft/2020-12/schema"}, ""),
        (closed() | {"patternProperties": {}}, ""),
        (closed() | {"allOf": []}, ""),
        (closed(a={}), "/properties/a"),
        (closed(a=True), "/properties/a"),
        (closed(a={"enum": ["x"]}), "/properties/a"),
        (closed(a={"type": ["string", "integer"]}), "/properties/a"),
        (closed(a={"type": "text"}), "/properties/a"),
        (closed(a={"type": "string", "minLength": 1}), "/properties/a"),
        (closed(a={"type": "string", "maxLength": 1}), "/properties/a"),
        (closed(a={"type": "string", "minimum": 1}), "/properties/a"),
        (closed(a={"type": "string", "default": "x"}), "/properties/a"),
        (closed(a={"type": "string", "examples": ["x"]}), "/properties/a"),
        (closed(a={"type": "string", "format": "uri"}), "/properties/a/format"),
        (closed(a={"type": "string", "pattern": "^(?=x)"}), "/properties/a/pattern"),
        (closed(a={"type": "string", "enum": [["x"]]}), "/properties/a/enum"),
        (closed(a={"type": "array"}), "/properties/a"),
        (closed(a={"type": "array", "items": S, "uniqueItems": True}), "/properties/a"),
        (closed(a={"type": "array", "items": S, "contains": S}), "/properties/a"),
        (closed(a={"type": "array", "items": True}), "/properties/a/items"),
        (closed(a={"type": "array", "prefixItems": [S], "items": S}), "/properties/a"),
        (closed(a={"type": "object", "properties": {}}), "/properties/a"),
        (closed(a={"oneOf": [S]}), "/properties/a"),
        (closed(a={"allOf": [S]}), "/properties/a"),
        (closed(a={"type": "string", "not": {"const": "x"}}), "/properties/a"),
        (closed(a={"anyOf": [S], "type": "string"}), "/properties/a"),
        (closed(a={"anyOf": []}), "/properties/a"),
        (closed(a={"$ref": "#/$defs/A", "description": "x"}) | {"$defs": {"A": S}}, "/properties/a"),
        (closed(a={"$ref": "#/$defs/B"}) | {"$defs": {"A": S}}, "/properties/a"),
        (closed(a={"$ref": "#/properties/b"}, b=S), "/properties/a"),
        (closed(a={"$ref": "#/definitions/A"}) | {"definitions": {"A": S}}, ""),
        (closed() | {"$defs": {"Unused": {}}}, "/$defs/Unused"),
        (closed(a={"anyOf": [closed(x=S, y=S), closed(x=S, z=S)]}), "/properties/a"),
        (closed(a={"anyOf": [{"$ref": "#/$defs/A"}, closed(x=S)]}) | {"$defs": {"A": closed(x=N)}}, "/properties/a"),
        (True, ""),
    ],
)
def test_outside(schema: Any, pointer: str) -> None:
    assert pointer in [violation.pointer for violation in violations(schema, STRICT)]


def nested(levels: int, last: dict[str, Any]) -> dict[str, Any]:
    for _ in range(levels):
        last = closed(a=last)
    return last


def enum(count: int, length: int = 1) -> dict[str, Any]:
    return {"type": "string", "enum": [str(number).zfill(length) for number in range(count)]}


@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        (closed(**{f"p{n}": S for n in range(5_000)}), closed(**{f"p{n}": S for n in range(5_001)})),
        (nested(10, S), nested(11, S)),
        (nested(9, {"type": "array", "items": S}), nested(10, {"type": "array", "items": S})),
        (closed(**{f"p{n}": enum(250) for n in range(4)}), closed(**{f"p{n}": enum(250) for n in range(4)}, q=enum(1))),
        (closed(a=enum(250, 400)), closed(a=enum(300, 60))),
        (closed(a=enum(300, 50)), closed(a=enum(251, 60))),
        (closed(**{"p" * 119_999: enum(1)}), closed(**{"p" * 120_000: enum(1)})),
    ],
)
def test_numeric_limits(inside: dict[str, Any], outside: dict[str, Any]) -> None:
    assert violations(inside, STRICT) == []
    assert {violation.pointer for violation in violations(outside, STRICT)} == {""}


def test_measures() -> None:
    schema = closed(
        a={"anyOf": [{"$ref": "#/$defs/Row"}, {"type": "null"}]},
        b={"type": "array", "items": closed(c={"type": "string", "const": "four"})},
    ) | {
        "$defs": {
            "Row": closed(deep=closed(deeper=closed(end={"type": "integer", "enum": [1, 22]})), again={"$ref": "#"})
        }
    }
    assert measure(schema) == {
        Measure.PROPERTIES: 7,
        Measure.OBJECT_DEPTH: 4,
        Measure.DEPTH: 4,
        Measure.ENUM_VALUES: 2,
        Measure.NAME_TEXT: len("Row" "a" "b" "c" "four" "deep" "deeper" "end" "again" "1" "22"),
        Measure.LARGE_ENUM_TEXT: 0,
        Measure.OPTIONAL: 0,
        Measure.UNIONS: 1,
    }


def test_a_definition_that_leads_to_itself_can_be_measured() -> None:
    loop = {"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}}
    assert measure(closed(a={"$ref": "#/$defs/A"}) | loop)[Measure.DEPTH] == 1


@pytest.mark.parametrize(
    ("pattern", "looks"),
    [
        ("^a(?=b)", True),
        ("(?!x)", True),
        ("(?<=a)b", True),
        ("(?<!a)b", True),
        (r"\\(?=x)", True),
        (r"\(?=x", False),
        ("(?:a)", False),
        ("(?<name>a)", False),
        ("a?=b", False),
    ],
)
def test_lookaround(pattern: str, looks: bool) -> None:
    assert has_lookaround(pattern) is looks
