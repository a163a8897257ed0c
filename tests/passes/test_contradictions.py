"""Schemas that nothing can meet."""

from __future__ import annotations

from typing import Any

import pytest

from codegen.passes.mend import Mendable, Replace
from tests.passes.support import of_property, problems

AB = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
CLOSED = {**AB, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "array", "enum": ["a", "b"]}, "/enum"),
        ({"type": "string", "const": 3}, "/const"),
        ({"enum": []}, "/enum"),
        ({"enum": ["a", "b"], "minLength": 2}, "/enum"),
        ({"enum": ["a", "c"], "const": "b"}, "/const"),
        ({"type": "string", "enum": ["ab"], "pattern": "^c"}, "/enum"),
        ({"minimum": 3, "maximum": 2}, "/maximum"),
        ({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2}, "/exclusiveMaximum"),
        ({"type": "number", "minimum": 2, "exclusiveMaximum": 2}, "/exclusiveMaximum"),
        ({"type": "number", "minimum": 0.25, "maximum": 0.3, "multipleOf": 0.1, "not": {"const": 0.3}}, None),
        ({"type": "number", "minimum": 0.21, "maximum": 0.29, "multipleOf": 0.1}, "/maximum"),
        ({"type": "integer", "minimum": 1, "multipleOf": 0.4, "exclusiveMaximum": 2}, "/exclusiveMaximum"),
        ({"type": "string", "minLength": 3, "maxLength": 2}, "/maxLength"),
        ({"minItems": 3, "maxItems": 2}, "/maxItems"),
        ({"minProperties": 3, "maxProperties": 2}, "/maxProperties"),
        ({"allOf": [{"type": "string"}, {"type": ["integer", "null"]}]}, "/allOf/1/type"),
        ({"type": "string", "allOf": [{"minLength": 3}, {"maxLength": 2}]}, "/allOf/1/maxLength"),
        ({"type": "string", "not": {"type": "string"}}, "/not"),
        ({"anyOf": [False, False]}, "/anyOf"),
        ({"type": "string", "anyOf": [{"type": "null"}, {"type": "integer"}]}, "/anyOf"),
        ({"oneOf": [{"type": "string", "title": "A"}, {"type": "string", "title": "B"}]}, "/oneOf"),
        ({"type": "array", "minItems": 3, "uniqueItems": True, "items": {"enum": ["a", "b"]}}, "/minItems"),
        ({"type": "array", "minItems": 3, "uniqueItems": True, "items": {"type": "boolean"}}, "/minItems"),
        ({"type": "array", "minItems": 2, "uniqueItems": True, "items": {"enum": [1, 1.0]}}, "/minItems"),
        ({"type": "array", "minItems": 1, "items": False}, "/minItems"),
        ({"type": "array", "minItems": 2, "prefixItems": [True], "items": False}, "/minItems"),
        ({"type": "array", "minItems": 2, "prefixItems": [True, False]}, "/minItems"),
        ({"type": "array", "contains": {"type": "string"}, "maxItems": 0}, "/maxItems"),
        ({"type": "array", "contains": {}, "minContains": 3, "maxContains": 2}, "/maxContains"),
        ({"type": "array", "contains": False}, "/contains"),
        ({**CLOSED, "required": ["c"]}, "/required/0"),
        ({**CLOSED, "patternProperties": {"^x": {}}, "required": ["a", "xy", "c"]}, "/required/2"),
        ({"$ref": "#/properties/q", "required": ["c"]}, "/required/0"),
        ({"allOf": [CLOSED, {"required": ["c"], "properties": {"c": {}}}]}, "/allOf/1/required/0"),
        ({**AB, "required": ["c"], "unevaluatedProperties": False}, "/required/0"),
        ({"allOf": [AB], "required": ["a", "c"], "unevaluatedProperties": False}, "/required/1"),
        ({"properties": {"a": False}, "required": ["a"]}, "/required/0"),
        ({"propertyNames": {"maxLength": 1}, "required": ["ab"]}, "/required/0"),
        ({"required": ["a", "b"], "maxProperties": 1}, "/maxProperties"),
        ({"required": ["a"], "dependentRequired": {"a": ["b"], "b": ["c"]}, "maxProperties": 2}, "/maxProperties"),
        ({**CLOSED, "minProperties": 3}, "/minProperties"),
        ({"required": ["a"], "dependentRequired": {"a": ["c"]}, **CLOSED}, "/dependentRequired/a"),
        ({"allOf": [AB, {"properties": {"a": {"type": "null"}}, "required": ["a"]}]}, "/allOf/1/required/0"),
    ],
)
def test_impossible(schema: Any, place: str | None) -> None:
    found = of_property(schema, properties={"p": schema, "q": CLOSED})
    assert found == ([] if place is None else [("unsatisfiable", place)])


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"not": {}},
        {"type": "array", "items": False},
        {"type": "array", "contains": False, "minContains": 0},
        {"properties": {"a": False}},
        {"if": {"type": "string"}, "then": False},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        {"type": "number", "minimum": 1, "maximum": 1},
        {"type": "integer", "multipleOf": 0.5},
        {"type": ["string", "null"], "enum": ["a", None]},
        {"enum": [1, "a", None]},
        {"type": "number", "enum": [1, 2.5]},
        {"type": "array", "minItems": 2, "uniqueItems": True, "items": {"enum": ["a", "b"]}},
        {"type": "array", "minItems": 2, "uniqueItems": True, "prefixItems": [True], "items": {"const": 1}},
        {**CLOSED, "required": ["a"]},
        {**CLOSED, "patternProperties": {"^c": {}}, "required": ["c"]},
        {"allOf": [AB, {"properties": {"c": {}}}], "required": ["c"], "unevaluatedProperties": False},
        {**AB, "if": {"properties": {"c": {}}}, "then": {}, "required": ["c"], "unevaluatedProperties": False},
        {"$ref": "#/properties/q", "required": ["a"]},
        {"required": ["a"], "dependentSchemas": {"a": {"properties": {"c": {}}}}},
        {"type": "object", "required": ["c"]},
        {"allOf": [{"$ref": "#/properties/q"}], "required": ["b"]},
    ],
)
def test_possible(schema: Any) -> None:
    assert of_property(schema, properties={"p": schema, "q": CLOSED}) == []


def test_only_the_first_of_three_types_is_impossible() -> None:
    (found,) = problems({"properties": {"a": {"type": ["array", "null"], "minItems": 2, "maxItems": 1}}})
    assert found.message == "no array can be valid here: `minItems` 2 is more than `maxItems` 1"


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"properties": {"a": {"enum": []}}, "required": ["a"]}, 'the required property "a" can have no value'),
        ({"properties": {"name": {}}, "required": ["nmae"], "additionalProperties": False}, '"nmae" is required'),
        ({"not": {}}, "`not` excludes every value"),
        ({"enum": [1, 2]}, "it allows no object"),
        ({"allOf": [{"type": "string"}]}, "it allows no object"),
    ],
)
def test_arguments_that_cannot_be_are_told_at_the_root(parameters: Any, text: str) -> None:
    (found,) = [one for one in problems(parameters) if "no call of the tool can be valid" in one.message]
    assert found.code == "unsatisfiable"
    assert text in found.message


def test_arguments_are_objects_whatever_else_the_schema_says() -> None:
    assert problems({"minLength": 3, "maxLength": 2}) == []
    assert problems({"type": ["object", "null"]}) == []


def test_a_misspelt_name_is_recognised() -> None:
    (found,) = problems({"properties": {"name": {}}, "required": ["nmae"], "additionalProperties": False})
    assert found.hint == 'did you mean "name"?'


def test_a_cause_is_told_once() -> None:
    broken = {"type": "string", "minLength": 3, "maxLength": 2}
    parameters = {
        "properties": {"a": {"$ref": "#/$defs/Broken"}, "b": {"allOf": [{"$ref": "#/$defs/Broken"}]}},
        "$defs": {"Broken": broken, "Outer": {"required": ["x"], "properties": {"x": {"$ref": "#/$defs/Broken"}}}},
    }
    assert [one.pointer for one in problems(parameters)] == ["/parameters/$defs/Broken/maxLength"]


def test_values_without_an_end() -> None:
    a = {"type": "object", "required": ["b"], "properties": {"b": {"$ref": "#/$defs/B"}}}
    b = {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/$defs/A"}}}
    (found,) = problems({"properties": {"x": {"$ref": "#/$defs/A"}}, "$defs": {"A": a, "B": b}})
    assert found.pointer.startswith("/parameters/$defs/A/")
    assert "without end" in found.message
    b["required"] = []
    assert problems({"properties": {"x": {"$ref": "#/$defs/A"}}, "$defs": {"A": a, "B": b}}) == []


def test_a_property_that_is_described_where_the_object_is_closed_already() -> None:
    closed = {"properties": {"a": {}}, "additionalProperties": False}
    (found,) = problems({"allOf": [closed, {"properties": {"b": {}}}]})
    assert (found.code, found.pointer) == ("unsatisfiable", "/parameters/allOf/1/properties/b")
    assert problems({"allOf": [closed, {"properties": {"a": {"type": "string"}, "b": False}}]}) == []


@pytest.mark.parametrize("dialect", ["draft6", "draft7"])
def test_what_a_reference_hides_does_not_count(dialect: str) -> None:
    found = of_property({"$ref": "#/properties/q", "enum": []}, dialect, properties={"q": {"type": "string"}})
    assert [code for code, _ in found if code == "unsatisfiable"] == []


def test_draft_4() -> None:
    assert of_property({"minimum": 3, "maximum": 3, "exclusiveMaximum": True}, "draft4") == [
        ("unsatisfiable", "/maximum")
    ]
    assert of_property({"minimum": 3, "maximum": 3}, "draft4") == []
    assert of_property({"items": [{}, {}], "additionalItems": False, "minItems": 3}, "draft4") == [
        ("unsatisfiable", "/minItems")
    ]


# Values of an enum


@pytest.mark.parametrize(
    ("schema", "places"),
    [
        ({"type": "integer", "enum": [1, "two", 3]}, ["/enum/1"]),
        ({"type": "string", "enum": ["a", "abc"], "maxLength": 2}, ["/enum/1"]),
        ({"type": "string", "enum": ["a", None]}, ["/enum/1"]),
        ({"type": ["string", "null"], "enum": ["a"]}, ["/type/1"]),
        ({"type": ["string", "null"], "enum": ["a", None, 1]}, ["/enum/2"]),
        ({"enum": ["a", 1], "anyOf": [{"type": "string"}]}, ["/enum/1"]),
        ({"type": "integer", "enum": [1, 2.0]}, []),
    ],
)
def test_values_that_do_not_fit(schema: Any, places: list[str]) -> None:
    assert of_property(schema) == [("enum-misfit", place) for place in places]


def test_quoted_values() -> None:
    (some,) = problems({"properties": {"a": {"type": "integer", "enum": [1, "2"]}}})
    assert isinstance(some, Mendable)
    assert some.mends == (Replace("2"),)
    (all_,) = problems({"properties": {"a": {"type": "boolean", "enum": ["true", "False"]}}})
    assert isinstance(all_, Mendable)
    assert (all_.code, all_.mends) == ("unsatisfiable", (Replace("true", "/0"), Replace("false", "/1")))
