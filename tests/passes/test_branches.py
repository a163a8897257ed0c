"""Branches that no value can choose."""

from __future__ import annotations

from typing import Any

import pytest

from tests.passes.support import of_property, problems

TEXT = {"type": "string"}
AB = {"type": "object", "properties": {"a": {}, "b": {}}}
CLOSED = {**AB, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "places"),
    [
        ({"anyOf": [TEXT, False]}, ["/anyOf/1"]),
        ({"anyOf": [TEXT, {"type": "null"}, TEXT]}, ["/anyOf/2"]),
        ({"type": "string", "anyOf": [{"type": "integer"}, {"minLength": 2}]}, ["/anyOf/0"]),
        ({"type": ["string", "null"], "oneOf": [TEXT, {"type": "array"}]}, ["/oneOf/1"]),
        ({"maxLength": 2, "type": "string", "anyOf": [{"minLength": 3}, {"pattern": "a"}]}, ["/anyOf/0"]),
        ({**CLOSED, "anyOf": [{"required": ["a"]}, {"required": ["c"]}]}, ["/anyOf/1"]),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, ["/oneOf/0"]),
        ({"oneOf": [{"const": 1}, {"type": "integer", "maximum": 5}]}, ["/oneOf/0"]),
        ({"oneOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}, {"enum": ["b"]}]}, ["/oneOf/2"]),
        ({"oneOf": [{"minLength": 1, "title": "A"}, {"minLength": 1, "title": "B"}, TEXT]}, ["/oneOf/1"]),
        ({"oneOf": [{"properties": {"a": TEXT}, "required": ["a"]}, {}]}, ["/oneOf/0"]),
        ({"anyOf": [{"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}, TEXT], "allOf": [
            {"type": ["object", "string"], "properties": {"a": TEXT}}]}, ["/anyOf/0"]),
    ],
)  # fmt: skip
def test_unreachable(schema: Any, places: list[str]) -> None:
    assert of_property(schema) == [("unreachable-branch", place) for place in places]


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [TEXT, {"type": "null"}]},
        {"anyOf": [{"type": "string", "description": "a name"}, {"type": "string", "description": "an id"}]},
        {"anyOf": [{"type": "number"}, {"type": "integer"}]},
        {"anyOf": [{"const": "a"}, TEXT]},
        {"oneOf": [{"required": ["a"]}, {"required": ["b"]}], **CLOSED},
        {"oneOf": [{"const": "a"}, {"const": "b"}]},
        {"oneOf": [{"type": "number", "minimum": 1}, {"type": "integer", "maximum": 5}]},
        {"oneOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]},
        {"oneOf": [{"type": "integer"}, {"type": "number", "multipleOf": 0.5}]},
        {"oneOf": [{"type": "string", "format": "date"}, {"type": "string", "format": "time"}]},
    ],
)
def test_reachable(schema: Any) -> None:
    assert of_property(schema) == []


def test_a_union_elsewhere_may_be_narrowed() -> None:
    value = {"anyOf": [TEXT, {"type": "number"}]}
    parameters = {"properties": {"a": {"$ref": "#/$defs/V", "type": "string"}}, "$defs": {"V": value}}
    assert problems(parameters) == []


def test_branches_with_properties_that_the_object_around_them_shuts_out() -> None:
    around = {"type": "object", "properties": {"kind": TEXT}, "additionalProperties": False}
    shut = {"properties": {"kind": {"const": "x"}, "size": {"type": "integer"}}}
    found = problems({**around, "anyOf": [shut, {"required": ["kind"]}]})
    assert [(one.code, one.pointer) for one in found] == [("unsatisfiable", "/parameters/anyOf/0/properties/size")]
    found = problems({**around, "if": {"required": ["kind"]}, "then": shut})
    assert [(one.code, one.pointer) for one in found] == [("unsatisfiable", "/parameters/then/properties/size")]
    referred = {**around, "anyOf": [{"$ref": "#/$defs/Shut"}, {"required": ["kind"]}], "$defs": {"Shut": shut}}
    assert [one.pointer for one in problems(referred)] == ["/parameters/anyOf/0"]


def test_branches_may_close_the_object() -> None:
    first = {"properties": {"a": {}}, "required": ["a"], "additionalProperties": False}
    second = {"properties": {"b": {}}, "required": ["b"], "additionalProperties": False}
    assert problems({**AB, "oneOf": [first, second]}) == []


def test_nothing_is_said_of_branches_where_nothing_is_possible_at_all() -> None:
    found = problems({"properties": {"a": {"type": "string", "anyOf": [{"type": "null"}, {"type": "integer"}]}}})
    assert [one.code for one in found] == ["unsatisfiable"]


@pytest.mark.parametrize("dialect", ["draft6", "draft7"])
def test_what_a_reference_hides_does_not_count(dialect: str) -> None:
    found = of_property({"$ref": "#/properties/q", "anyOf": [False, {}]}, dialect, properties={"q": TEXT})
    assert [code for code, _ in found if code == "unreachable-branch"] == []
