"""Constraints that a model repeats, and literal types."""

from __future__ import annotations

from typing import Any

import pytest

from codegen.schema.constraints import literal, numeric, sizes, textual
from codegen.schema.typeset import (
    ANY,
    BOOLEAN,
    INTEGER,
    NULL,
    NUMBER,
    Constant,
    ListType,
    LiteralType,
    MapType,
    Type,
    UnionType,
)


@pytest.mark.parametrize(
    ("schema", "bounds"),
    [
        ({"minimum": 1, "maximum": 5}, {"minimum": 1, "maximum": 5}),
        ({"minimum": 0.5, "maximum": 2.5}, {"minimum": 1, "maximum": 2}),
        ({"minimum": -0.5}, {"minimum": 0}),
        ({"exclusiveMinimum": 0.5}, {"minimum": 1}),
        ({"exclusiveMaximum": 2.5}, {"maximum": 2}),
        ({"exclusiveMinimum": 3.0}, {"exclusiveMinimum": 3}),
        ({"minimum": 2.0}, {"minimum": 2}),
        ({"multipleOf": 5}, {"multipleOf": 5}),
        ({"multipleOf": 5.0}, {"multipleOf": 5}),
        ({"multipleOf": 1}, {}),
        ({"multipleOf": 0.5}, {}),
        ({"minimum": 2**60, "maximum": 10**400, "exclusiveMinimum": 1e300}, {}),
        ({"minimum": True, "maximum": "5"}, {}),
    ],
)
def test_bounds_of_integers(schema: dict[str, Any], bounds: dict[str, Any]) -> None:
    found = numeric([schema], "2020-12", whole=True)
    assert dict(found) == bounds
    assert all(isinstance(bound, int) for _, bound in found)


def test_bounds_of_numbers_keep_their_fraction_and_no_step() -> None:
    assert dict(numeric([{"minimum": 0.5, "multipleOf": 0.01}], "2020-12", whole=False)) == {"minimum": 0.5}
    assert repr(dict(numeric([{"maximum": 3.0}], "2020-12", whole=False))) == "{'maximum': 3}"


def test_the_tightest_bounds_count() -> None:
    schemas = [{"minimum": 1, "maximum": 9}, {"minimum": 3, "maximum": 5}, {"minimum": 2}]
    assert dict(numeric(schemas, "2020-12", whole=True)) == {"minimum": 3, "maximum": 5}
    assert dict(sizes([{"minItems": 1, "maxItems": 4.0}, {"minItems": 2}], "Items")) == {"minItems": 2, "maxItems": 4}


def test_draft_4_makes_a_bound_exclusive_by_a_flag() -> None:
    schema = {"minimum": 1, "exclusiveMinimum": True, "maximum": 5, "exclusiveMaximum": False}
    assert dict(numeric([schema], "draft4", whole=True)) == {"exclusiveMinimum": 1, "maximum": 5}


def test_sizes_that_say_nothing_are_left_out() -> None:
    assert sizes([{"minLength": 0, "maxLength": 0}], "Length") == (("maxLength", 0),)
    assert sizes([{"minItems": -1, "maxItems": 1.5}], "Items") == ()


def test_texts_take_the_first_portable_pattern() -> None:
    bounds = dict(textual([{"pattern": "(?=a)", "minLength": 2}, {"pattern": "^a"}, {"pattern": "^b"}]))
    assert bounds == {"minLength": 2, "pattern": "^a"}


def constants(*values: str | int | bool) -> LiteralType:
    return LiteralType(tuple(Constant(type(value).__name__, value) for value in values))


EVERY = ["null", "boolean", "integer", "number", "string", "array", "object"]


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        (["a", "b", "a"], constants("a", "b")),
        ([1, 2.0], constants(1, 2)),
        (["a", None], UnionType((constants("a"), NULL))),
        ([None], NULL),
        ([True], constants(True)),
        ([True, False], BOOLEAN),
        ([True, False, None], UnionType((BOOLEAN, NULL))),
        ([False, "a"], constants(False, "a")),
        ([True, 1], UnionType((BOOLEAN, INTEGER))),
        ([1.5], NUMBER),
        ([1, 1.5], NUMBER),
        ([2**63], INTEGER),
        (["a", 2**63], UnionType((constants("a"), INTEGER))),
        ([[1], {"a": 1}], UnionType((ListType(ANY), MapType(ANY)))),
        ([], ANY),
    ],
)
def test_literals(values: list[Any], type_: Type) -> None:
    assert literal(values, EVERY) == type_


def test_literals_of_other_types_than_allowed_do_not_count() -> None:
    assert literal(["a", 1, None], ["string"]) == constants("a")
    assert literal([1, 2.5], ["integer"]) == constants(1)
    assert literal([1], ["number"]) == constants(1)
    assert literal([1], ["string"]) == ANY
