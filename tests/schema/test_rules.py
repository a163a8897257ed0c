"""What readers of a model are told about the rules that its annotations do not carry."""

from __future__ import annotations

from typing import Any

import pytest

from codegen.schema.references import Document
from codegen.schema.typeset import ClassType
from codegen.schema.view import argument_view, result_view


@pytest.mark.parametrize(
    ("schema", "rules"),
    [
        ({"type": "string", "minLength": 2}, []),
        ({"type": "string", "pattern": "^a"}, []),
        ({"type": "string", "pattern": "(?=a)"}, ["matches `(?=a)`"]),
        ({"type": "string", "pattern": "a\nb"}, ["matches `a\\nb`"]),
        ({"type": "integer", "multipleOf": 5, "minimum": 0}, []),
        ({"type": "number", "multipleOf": 0.01}, ["a multiple of 0.01"]),
        ({"type": "array", "uniqueItems": True, "minItems": 1}, ["no item twice"]),
        ({"type": "array", "uniqueItems": False}, []),
        ({"type": "array", "items": {"type": "string", "minLength": 2}}, ["each item: at least 2 characters"]),
        ({"type": "object", "additionalProperties": {"type": "integer", "maximum": 9}}, ["each value: at most 9"]),
        ({"type": ["string", "integer"], "minLength": 2, "minimum": 1}, ["at least 1", "at least 2 characters"]),
        ({"type": "string", "minimum": 1}, []),
        ({"minLength": 3}, ["at least 3 characters"]),
        ({"type": "array", "contains": {"type": "string"}}, ["contains items of a given form"]),
        ({"type": "string", "not": {"const": "a"}}, ["not of an excluded form"]),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, []),
        ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, ["exactly one alternative holds (`oneOf`)"]),
        ({"oneOf": [{"const": "a"}, {"const": "b"}]}, []),
        (
            {"anyOf": [{"type": "string", "minLength": 3}, {"type": "integer"}]},
            ["its alternatives have limits of their own"],
        ),
    ],
)
def test_rules_of_values(schema: Any, rules: list[str]) -> None:
    assert result_view(Document(schema, "2020-12")).rules == rules


@pytest.mark.parametrize(
    ("schema", "rules"),
    [
        ({"additionalProperties": False}, []),
        ({"additionalProperties": {"type": "string"}}, ["other keys have a given form"]),
        (
            {"patternProperties": {"^x-": {}, "_n$": {}}, "additionalProperties": False},
            ["keys that match `^x-`, `_n$` have a form of their own", "no other keys"],
        ),
        ({"unevaluatedProperties": False}, ["no other keys"]),
        ({"minProperties": 1, "maxProperties": 3}, ["at least 1 key", "at most 3 keys"]),
        ({"propertyNames": {"pattern": "^a"}}, ["names of keys have a given form"]),
        ({"dependentRequired": {"card": ["cvv", "name"]}}, ["`card` requires `cvv`, `name`"]),
        ({"dependentSchemas": {"card": {"minProperties": 2}}}, ["further rules with `card`"]),
        (
            {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
            ["conditions between the fields (`if`, `then`, `else`)"],
        ),
        ({"not": {"required": ["a"]}}, ["not of an excluded form (`not`)"]),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, ["exactly one of 2 alternatives holds (`oneOf`)"]),
    ],
)
def test_rules_of_classes(schema: Any, rules: list[str]) -> None:
    view = argument_view(Document({"type": "object", "properties": {"a": {}}, **schema}, "2020-12"))
    assert isinstance(view.root, ClassType)
    assert view.classes[view.root.key].rules == rules
