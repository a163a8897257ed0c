"""The shared passes: writing out references, and keywords that a target does not take."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from codegen.targets.interface import KeywordRule, Treatment
from codegen.targets.nodes import Node, Notes, plain, read_nodes
from codegen.targets.rewriting import apply_keywords, inline_references
from tests.targets.support import codes, found, make_tool


def inlined(schema: dict[str, Any], dialect: str = "2020-12") -> tuple[Any, Notes]:
    notes = Notes(make_tool(schema), "probe")
    return plain(inline_references(read_nodes(schema, dialect), notes)), notes


def admits(schema: Any, value: Any) -> bool:
    return jsonschema_rs.Draft202012Validator(schema, offline=True).is_valid(value)


def test_nodes_know_their_place_and_what_they_refer_to() -> None:
    schema = {"properties": {"a/b": {"$ref": "#/$defs/X"}, "c": True}, "$defs": {"X": {"type": "string"}}}
    root = read_nodes(schema, "2020-12")
    member = root["properties"]["a/b"]
    assert isinstance(member, Node)
    assert (member.pointer, dict(member)) == ("/properties/a~1b", {})
    assert isinstance(member.target, Node)
    assert (member.target.pointer, dict(member.target)) == ("/$defs/X", {"type": "string"})
    assert dict(root) == {"properties": {"a/b": {}, "c": True}}
    assert schema["$defs"] == {"X": {"type": "string"}}


@pytest.mark.parametrize(
    ("keywords", "expected"),
    [
        ({"description": "mine"}, {"type": "string", "minLength": 1, "description": "mine"}),
        ({"maxLength": 5}, {"type": "string", "minLength": 1, "description": "its", "maxLength": 5}),
        ({"minLength": 3}, {"minLength": 3, "allOf": [{"type": "string", "minLength": 1, "description": "its"}]}),
    ],
)
def test_keywords_beside_a_reference_hold_as_well(keywords: dict[str, Any], expected: dict[str, Any]) -> None:
    definition = {"type": "string", "minLength": 1, "description": "its"}
    schema = {"properties": {"a": {"$ref": "#/$defs/A", **keywords}}, "$defs": {"A": definition}}
    assert inlined(schema)[0] == {"properties": {"a": expected}}


def test_closing_beside_a_reference_does_not_close_what_it_leads_to() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/A", "unevaluatedProperties": False}},
        "$defs": {"A": {"type": "object", "properties": {"x": {"type": "string"}}}},
    }
    out, _ = inlined(schema)
    assert admits(out, {"a": {"x": "1"}})
    assert not admits(out, {"a": {"y": "1"}})


def test_old_dialects_ignore_rules_beside_a_reference_and_keep_its_description() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/definitions/A", "description": "mine", "maxLength": 1}},
        "definitions": {"A": {"type": "string"}},
    }
    assert inlined(schema, "draft7")[0] == {"properties": {"a": {"type": "string", "description": "mine"}}}


def test_identifiers_and_pointers_into_unknown_keywords_are_followed() -> None:
    schema = {
        "$id": "https://tools.example/find",
        "properties": {
            "a": {"$ref": "shared#/$defs/A"},
            "b": {"$ref": "#/x-types/b"},
            "c": {"$ref": "https://tools.example/find#/properties/b"},
        },
        "$defs": {"shared": {"$id": "shared", "$defs": {"A": {"type": "integer"}}}},
        "x-types": {"b": {"type": "boolean"}},
    }
    out, notes = inlined(schema)
    assert out["properties"] == {"a": {"type": "integer"}, "b": {"type": "boolean"}, "c": {"type": "boolean"}}
    assert notes.found == []


def test_a_reference_that_leads_nowhere_is_left_open_and_reported() -> None:
    out, notes = inlined({"properties": {"a": {"$ref": "#/$defs/Nothing", "description": "d"}}})
    assert out == {"properties": {"a": {"description": "d"}}}
    assert found(notes.diagnostics, "loss") == ["/parameters/properties/a"]


@pytest.mark.parametrize(
    "schema",
    [
        {"oneOf": [{"type": "object", "required": ["a"]}, {"type": "object", "properties": {"a": {"$ref": "#"}}}]},
        {"properties": {"a": {"not": {"$ref": "#"}}}},
        {"if": {"properties": {"a": {"$ref": "#"}}, "required": ["b"]}, "then": {"required": ["c"]}},
        {"properties": {"a": {"type": "array", "contains": {"$ref": "#"}, "maxContains": 0}}},
        {"properties": {"a": {"$ref": "#"}}, "unevaluatedProperties": False},
    ],
)
def test_what_is_left_open_never_refuses_more(schema: dict[str, Any]) -> None:
    out, notes = inlined(schema)
    assert set(codes(notes.diagnostics)) == {"loss"}
    source = jsonschema_rs.Draft202012Validator(schema, offline=True)
    inner: list[Any] = [{}, 1, [], {"a": 1}, {"b": 1}, {"a": {}}, {"a": {"a": {"a": 1}}}]
    for one in inner:
        for value in ({"a": one}, {"b": 1, "a": one}, {"a": [one]}, {"a": {"a": one}}):
            assert admits(out, value) or not source.is_valid(value)


def test_keywords_are_dropped_or_told_in_the_description() -> None:
    rules = {
        "propertyNames": KeywordRule(Treatment.DROPPED, "not known there"),
        "multipleOf": KeywordRule(Treatment.DESCRIBED, "not known there"),
        "pattern": KeywordRule(Treatment.DESCRIBED, "not known there"),
        "minimum": KeywordRule(Treatment.KEPT, "known"),
        "$comment": KeywordRule(Treatment.DROPPED, "no rule"),
    }
    schema = {
        "$comment": "for us",
        "propertyNames": {"pattern": "^a"},
        "properties": {
            "a": {"type": "number", "multipleOf": 0.5, "minimum": 0, "description": "Half steps."},
            "b": {"type": "string", "pattern": "^ñ$"},
            "multipleOf": {"type": "string"},
        },
    }
    notes = Notes(make_tool(schema), "probe")
    out = plain(apply_keywords(read_nodes(schema, "2020-12"), rules, notes))
    assert out == {
        "properties": {
            "a": {"type": "number", "minimum": 0, "description": "Half steps.\nmultipleOf: 0.5"},
            "b": {"type": "string", "description": 'pattern: "^ñ$"'},
            "multipleOf": {"type": "string"},
        },
    }
    assert found(notes.diagnostics, "loss") == [
        "/parameters/propertyNames",
        "/parameters/properties/a/multipleOf",
        "/parameters/properties/b/pattern",
    ]
    assert all("not known there" in problem.message for problem in notes.diagnostics)
