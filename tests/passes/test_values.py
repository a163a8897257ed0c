"""Defaults and examples that their schema refuses."""

from __future__ import annotations

from typing import Any

import pytest

from codegen.passes.mend import Mendable, Replace
from tests.passes.support import of_property, problems


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "default": "many"},
        {"type": "string", "default": None},
        {"type": "integer", "default": 7, "maximum": 5},
        {"enum": ["a", "b"], "default": "c"},
        {"type": "boolean", "default": 1},
        {"type": "array", "items": {"type": "string"}, "default": ["a", 1]},
        {"type": "object", "properties": {"a": {}}, "required": ["a"], "default": {}},
        {"$ref": "#/properties/q", "default": 1},
        {"$id": "https://example.com/s", "type": "object", "$defs": {"T": {"type": "string"}}, "default": 1},
    ],
)
def test_defaults_that_do_not_fit(schema: Any) -> None:
    found = of_property(schema, properties={"p": schema, "q": {"type": "string"}})
    assert found == [("default-misfit", "/default")]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "default": 1.0},
        {"type": ["string", "null"], "default": None},
        {"default": {"any": "thing"}},
        {"$ref": "#/properties/q", "default": "a"},
        {"type": "string", "format": "date", "default": "soon"},
        {"type": "array", "default": []},
    ],
)
def test_defaults_that_fit(schema: Any) -> None:
    assert of_property(schema, properties={"p": schema, "q": {"type": "string"}}) == []


def test_defaults_are_judged_wherever_they_stand() -> None:
    inner = {"type": "array", "items": {"type": "integer", "default": "x"}}
    (found,) = problems({"properties": {"a": inner}, "default": {}})
    assert found.pointer == "/parameters/properties/a/items/default"


def test_a_schema_that_a_reference_hides_does_not_count() -> None:
    schema = {"$ref": "#/properties/q", "type": "integer", "default": "a"}
    found = of_property(schema, "draft7", properties={"p": schema, "q": {"type": "string"}})
    assert [code for code, _ in found] == ["hidden-keyword"]


def test_a_default_must_fit_every_description_of_its_property() -> None:
    first = {"properties": {"a": {"type": "integer", "default": 7}}}
    (found,) = problems({"allOf": [first, {"properties": {"a": {"maximum": 5}}}]})
    assert (found.code, found.pointer) == ("default-misfit", "/parameters/allOf/0/properties/a/default")
    assert problems({"allOf": [first, {"properties": {"a": {"maximum": 9}}}]}) == []


def test_branches_do_not_make_a_default_wrong() -> None:
    branches = [{"properties": {"mode": {"const": mode}}} for mode in ("a", "b")]
    assert problems({"properties": {"mode": {"default": "a"}}, "anyOf": branches}) == []


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "boolean", "default": "False"}, "false"),
        ({"type": "integer", "default": "10"}, "10"),
        ({"type": "number", "default": "1.50"}, "1.50"),
        ({"type": ["integer", "null"], "default": "None"}, "null"),
        ({"type": "integer", "maximum": 5, "default": "5"}, "5"),
    ],
)
def test_quoted_defaults_can_be_mended(schema: Any, text: str) -> None:
    (found,) = problems({"properties": {"p": schema}})
    assert isinstance(found, Mendable)
    assert found.mends == (Replace(text),)
    assert found.hint == f"write {text} without quotes"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "default": "6", "maximum": 5},
        {"type": "array", "default": "[]"},
        {"type": "integer", "default": "ten"},
        {"type": "boolean", "default": "yes"},
    ],
)
def test_other_defaults_cannot(schema: Any) -> None:
    (found,) = problems({"properties": {"p": schema}})
    assert not isinstance(found, Mendable)


def test_examples() -> None:
    schema = {"type": "integer", "examples": [1, "2", 3.0, True], "example": None}
    assert of_property(schema) == [
        ("example-misfit", "/example"),
        ("example-misfit", "/examples/1"),
        ("example-misfit", "/examples/3"),
    ]
    assert of_property({"type": "string", "examples": ["a"], "example": "b"}) == []
    assert of_property({"type": "object", "example": {"a": {"value": 1}}}) == []


def test_what_depends_on_the_way_is_not_judged() -> None:
    schema = {"type": "object", "properties": {"a": {"$dynamicRef": "#x"}}, "$dynamicAnchor": "x", "default": {"a": 1}}
    assert of_property(schema) == []
