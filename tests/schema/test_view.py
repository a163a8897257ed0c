"""The typing view: what becomes of a schema, and what its classes are named after."""

from __future__ import annotations

from typing import Any

import pytest

from codegen.schema.paths import NamePath
from codegen.schema.references import Document
from codegen.schema.typeset import (
    ANY,
    INTEGER,
    NULL,
    NUMBER,
    STRING,
    ClassType,
    Constant,
    ListType,
    LiteralType,
    MapType,
    StringType,
    Type,
    UnionType,
    class_keys,
)
from codegen.schema.view import ClassView, FieldView, View, argument_view, result_view


def view_of(schema: Any, dialect: str = "2020-12") -> View:
    return result_view(Document(schema, dialect))


def arguments_of(schema: Any, dialect: str = "2020-12") -> ClassView:
    view = argument_view(Document(schema, dialect))
    assert isinstance(view.root, ClassType)
    return view.classes[view.root.key]


def fields_of(view: ClassView) -> dict[str, FieldView]:
    return {each.wire: each for each in view.fields}


@pytest.mark.parametrize(
    ("schema", "type_"),
    [
        (True, ANY),
        (False, ANY),
        ({}, ANY),
        ({"type": "string", "minLength": 2}, StringType((("minLength", 2),))),
        ({"type": ["string", "null"]}, UnionType((STRING, NULL))),
        ({"type": ["null", "string"]}, UnionType((NULL, STRING))),
        ({"type": ["integer", "number"]}, NUMBER),
        ({"type": "array"}, ListType(ANY)),
        ({"type": "array", "items": {"type": "string", "minLength": 2}}, ListType(STRING)),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, ListType(ANY)),
        (
            {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
            ListType(UnionType((STRING, INTEGER))),
        ),
        ({"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "items": False}, ListType(NUMBER)),
        ({"type": "object"}, MapType(ANY)),
        ({"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}}, MapType(INTEGER)),
        (
            {"type": "object", "patternProperties": {"^a": {"type": "string"}}, "additionalProperties": False},
            MapType(STRING),
        ),
        ({"type": "object", "patternProperties": {"^a": {"type": "string"}}}, MapType(ANY)),
        ({"allOf": [{"type": ["integer", "string"]}, {"type": "number"}]}, INTEGER),
        ({"type": "string", "allOf": [{"type": "integer"}]}, ANY),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, UnionType((STRING, NULL))),
        ({"anyOf": [{"type": "string"}, {"minimum": 3}]}, ANY),
        ({"type": "string", "anyOf": [{"minLength": 3}, {"pattern": "^a"}]}, STRING),
        (
            {"oneOf": [{"const": f"v{i}"} for i in range(40)]},
            LiteralType(tuple(Constant("str", f"v{i}") for i in range(40))),
        ),
        ({"anyOf": [{"type": "array", "items": {"type": "string", "maxLength": i}} for i in range(40)]}, ANY),
        ({"enum": ["a", "b"], "type": "string"}, LiteralType((Constant("str", "a"), Constant("str", "b")))),
        (
            {"allOf": [{"enum": ["a", "b", "c"]}, {"enum": ["a", "z"]}]},
            LiteralType((Constant("str", "a"), Constant("str", "z"))),
        ),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "string"}}}, STRING),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}, ANY),
        ({"$dynamicRef": "#a", "$defs": {"A": {"$dynamicAnchor": "a", "type": "string"}}}, ANY),
        ({"$ref": "https://elsewhere.example/x"}, ANY),
        ({"not": {"type": "string"}}, ANY),
    ],
)
def test_types(schema: Any, type_: Type) -> None:
    assert view_of(schema).root == type_


def test_reference_siblings_are_void_in_old_dialects_only() -> None:
    schema = {"$ref": "#/definitions/A", "type": "string", "definitions": {"A": {"type": ["string", "integer"]}}}
    assert view_of(schema, "draft7").root == UnionType((STRING, INTEGER))
    assert view_of(schema, "2020-12").root == STRING


def test_items_by_position_as_each_dialect_writes_them() -> None:
    old = {"type": "array", "items": [{"type": "string"}], "additionalItems": {"type": "integer"}}
    assert view_of(old, "draft7").root == ListType(UnionType((STRING, INTEGER)))
    assert view_of(old, "2019-09").root == ListType(UnionType((STRING, INTEGER)))
    new = {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}}
    assert view_of(new, "draft7").root == ListType(INTEGER)


def test_constants_are_not_known_to_draft_4() -> None:
    assert view_of({"const": "a"}, "draft4").root == ANY


def test_recursion_through_an_object_is_a_class() -> None:
    view = view_of(
        {
            "$ref": "#/$defs/Node",
            "$defs": {
                "Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "name": {"type": "string"}}}
            },
        }
    )
    node = view.classes[("/$defs/Node",)]
    assert fields_of(node)["next"].type == ClassType(("/$defs/Node",))


def test_recursion_without_an_object_is_any_value_and_noted() -> None:
    json_like = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/Json"}}]}
    view = argument_view(
        Document({"properties": {"a": {"$ref": "#/$defs/Json"}}, "$defs": {"Json": json_like}}, "2020-12")
    )
    assert isinstance(view.root, ClassType)
    assert fields_of(view.classes[view.root.key])["a"].type == UnionType((STRING, ListType(ANY)))
    assert view.widened == {"/$defs/Json": "it contains itself without a named object between"}


def test_all_of_is_one_class() -> None:
    view = arguments_of(
        {
            "type": "object",
            "allOf": [
                {"$ref": "#/$defs/Base"},
                {"required": ["id", "opts"], "properties": {"opts": {"type": "array"}}},
            ],
            "required": ["name"],
            "unevaluatedProperties": False,
            "$defs": {"Base": {"properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}},
        }
    )
    fields = fields_of(view)
    assert {wire: each.required for wire, each in fields.items()} == {"id": True, "name": True, "opts": True}
    assert not view.closed  # the gate sees to that
    assert view.rules == ["no other keys"]


def test_closed_only_where_nothing_else_can_be_there() -> None:
    assert arguments_of({"properties": {"a": {}}, "additionalProperties": False}).closed
    assert not arguments_of(
        {"properties": {"a": {}}, "patternProperties": {"^x": {}}, "additionalProperties": False}
    ).closed
    assert not arguments_of({"properties": {"a": {}}, "additionalProperties": {"type": "string"}}).closed


def test_branches_of_the_root_are_merged_into_the_arguments() -> None:
    view = arguments_of(
        {
            "type": "object",
            "properties": {"kind": {"type": "string"}},
            "anyOf": [{"properties": {"path": {"type": "string"}}}, {"properties": {"url": {"type": "string"}}}],
            "if": {"properties": {"ignored": {}}},
            "then": {"properties": {"size": {"type": "integer"}}},
            "dependentSchemas": {"kind": {"properties": {"unit": {"type": "string"}}}},
        }
    )
    assert {wire: each.type for wire, each in fields_of(view).items()} == {
        "kind": STRING,
        "size": ANY,
        "unit": ANY,
        "path": ANY,
        "url": ANY,
    }
    assert "at least one of 2 alternatives holds (`anyOf`)" in view.rules


def test_a_required_property_that_nothing_describes_is_a_field() -> None:
    typed = arguments_of({"required": ["a"], "additionalProperties": {"type": "string"}})
    assert fields_of(typed)["a"].type == STRING
    patterned = arguments_of(
        {
            "required": ["a"],
            "patternProperties": {"^a": {"type": "integer"}},
            "additionalProperties": {"type": "string"},
        }
    )
    assert fields_of(patterned)["a"].type == ANY


def test_a_property_that_may_never_be_given_says_so() -> None:
    never = fields_of(arguments_of({"properties": {"a": False}}))["a"]
    assert (never.type, never.rules) == (ANY, ["never given"])


def test_literals_are_loose_in_unions_and_in_what_they_lead_to() -> None:
    switch = {"type": "object", "properties": {"on": {"const": True}, "mode": {"enum": [1, 2]}}}
    alone = arguments_of({"properties": {"s": switch}})
    view = argument_view(Document({"properties": {"s": {"anyOf": [switch, {"type": "string"}]}}}, "2020-12"))
    (inner,) = [each for key, each in view.classes.items() if each.fields and key != view.root.key]  # type: ignore[union-attr]
    assert fields_of(inner)["on"].type.__class__.__name__ == "BooleanType"
    assert fields_of(inner)["mode"].type == INTEGER
    (key,) = class_keys(fields_of(alone)["s"].type)
    narrow = argument_view(Document({"properties": {"s": switch}}, "2020-12")).classes[key]
    assert fields_of(narrow)["on"].type == LiteralType((Constant("bool", True),))


def test_defaults_and_descriptions_come_from_the_property_first() -> None:
    view = arguments_of(
        {
            "properties": {
                "a": {"$ref": "#/$defs/A"},
                "b": {"$ref": "#/$defs/A", "default": "y", "description": "Own words."},
                "c": {"$ref": "#/$defs/C"},
            },
            "$defs": {
                "A": {"type": "string", "default": "x", "description": "An A."},
                "C": {"type": "object", "properties": {"d": {}}, "description": "A C."},
            },
        }
    )
    fields = fields_of(view)
    assert (fields["a"].default.value, fields["a"].description) == ("x", "An A.")  # type: ignore[union-attr]
    assert (fields["b"].default.value, fields["b"].description) == ("y", "Own words.")  # type: ignore[union-attr]
    assert fields["a"].default.pointer == "/$defs/A/default"  # type: ignore[union-attr]
    assert fields["c"].description is None  # its class says it


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"properties": {"address": "*"}}, NamePath(None, ("Address",))),
        ({"properties": {"orders": {"type": "array", "items": "*"}}}, NamePath(None, ("Orders", "Item"))),
        (
            {"properties": {"by-day": {"type": "object", "additionalProperties": "*"}}},
            NamePath(None, ("ByDay", "Value")),
        ),
        ({"properties": {"a": {"$ref": "#/$defs/Address"}}, "$defs": {"Address": "*"}}, NamePath("Address")),
        (
            {
                "properties": {"a": {"$ref": "#/$defs/Order"}},
                "$defs": {"Order": {"type": "object", "properties": {"line": "*"}}},
            },
            NamePath("Order", ("Line",)),
        ),
        ({"properties": {"a": {"anyOf": ["*", {"type": "null"}]}}}, NamePath(None, ("A",))),
        ({"properties": {"a": {"anyOf": ["*", {"type": "string"}]}}}, NamePath(None, ("A", "Option1"))),
        ({"properties": {"a": {"allOf": ["*"]}}}, NamePath(None, ("A",))),
        ({"properties": {"🙂": "*"}}, NamePath(None, ("Field",))),
        (
            {"properties": {"a": {"$ref": "#/x-parts/Part"}}, "x-parts": {"Part": "*"}},
            NamePath(None, ("XParts", "Part")),
        ),
    ],
)
def test_classes_are_named_after_their_place(schema: Any, path: NamePath) -> None:
    def fill(part: Any) -> Any:
        if part == "*":
            return {"type": "object", "title": "Ignored", "properties": {"found": {"type": "string"}}}
        if isinstance(part, dict):
            return {key: fill(member) for key, member in part.items()}
        return [fill(member) for member in part] if isinstance(part, list) else part

    view = argument_view(Document(fill(schema), "2020-12"))
    assert [each.path for each in view.classes.values() if "found" in fields_of(each)] == [path]


def test_branches_are_named_after_definitions_tags_or_positions() -> None:
    def branch(**extra: Any) -> dict[str, Any]:
        return {"type": "object", "properties": {"x": {}, **extra}, "required": list(extra)}

    schema = {
        "properties": {
            "shape": {
                "type": "object",
                "properties": {"common": {"type": "string"}},
                "oneOf": [
                    {"$ref": "#/$defs/Circle"},
                    branch(kind={"const": "big box"}),
                    branch(kind={"type": "string"}),
                ],
            }
        },
        "$defs": {"Circle": branch(r={"type": "number"})},
    }
    view = argument_view(Document(schema, "2020-12"))
    parts = [each.path.parts for each in view.classes.values() if "common" in fields_of(each)]
    assert parts == [("Shape", "Circle"), ("Shape", "BigBox"), ("Shape", "Option3")]


@pytest.mark.parametrize(
    "schema",
    [
        # Each definition names the next one many times: as many paths as leaves in a tree of that depth.
        {
            "$ref": "#/$defs/d0",
            "$defs": {
                f"d{i}": {
                    "anyOf": [{"$ref": f"#/$defs/d{i + 1}"}, {"type": "array", "items": {"$ref": f"#/$defs/d{i + 1}"}}]
                }
                for i in range(40)
            }
            | {"d40": {"type": "string"}},
        },
        {"properties": {f"p{i}": {"type": "object", "properties": {"x": {}}} for i in range(1000)}},
    ],
)
def test_hostile_schemas_are_given_up_on_in_time(schema: Any) -> None:
    view = argument_view(Document({"type": "object", "properties": {"a": schema}, **schema}, "2020-12"))
    assert view.widened
    assert len(view.classes) <= 400


def test_deep_schemas_are_given_up_on() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(120):
        schema = {"type": "array", "items": schema}
    assert "it is too large to type" in view_of(schema).widened.values()


def test_a_part_in_another_dialect_is_any_value() -> None:
    other = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"x": {}}}
    view = arguments_of({"properties": {"a": other, "b": {"type": "array", "items": other}}})
    assert {wire: each.type for wire, each in fields_of(view).items()} == {"a": ANY, "b": ListType(ANY)}
