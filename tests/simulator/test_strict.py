"""The schema subset of strict tools, and what a strict model makes of arguments."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.simulator.strict import complete_strictly, strict_problem

GOOD: dict[str, Any] = {
    "type": "object",
    "title": "Order",
    "properties": {
        "id": {"type": "string", "pattern": "^o", "description": "The id."},
        "amount": {"type": ["number", "null"], "minimum": 0},
        "kind": {"enum": ["a", "b", None]},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}, "maxItems": 3},
        "when": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
    },
    "required": ["id", "amount", "kind", "lines", "when"],
    "additionalProperties": False,
    "$defs": {
        "line": {
            "type": "object",
            "properties": {"n": {"type": "integer"}, "note": {"type": ["string", "null"]}},
            "required": ["n", "note"],
            "additionalProperties": False,
        }
    },
}


def with_change(path: list[str], value: Any) -> dict[str, Any]:
    schema = copy.deepcopy(GOOD)
    at: Any = schema
    for part in path[:-1]:
        at = at[part]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return schema


def test_a_conforming_schema_is_accepted() -> None:
    assert strict_problem(GOOD) is None
    assert strict_problem({"type": "object", "properties": {}, "required": [], "additionalProperties": False}) is None


@pytest.mark.parametrize(
    "schema,reason",
    [
        ({}, "'type: \"object\"'"),
        (with_change(["anyOf"], [{"type": "object"}]), "'anyOf' is not permitted at the root"),
        (with_change(["additionalProperties"], None), "'additionalProperties' is required"),
        (with_change(["additionalProperties"], True), "'additionalProperties' is required"),
        (with_change(["required"], ["id"]), "Missing 'amount'"),
        (with_change(["required"], None), "'required' is required"),
        (with_change(["$defs", "line", "additionalProperties"], None), "('$defs', 'line')"),
        (with_change(["properties", "id", "minLength"], 1), "'minLength' is not permitted"),
        (with_change(["properties", "lines", "uniqueItems"], True), "'uniqueItems' is not permitted"),
        (with_change(["properties", "id"], {"oneOf": [{"type": "string"}]}), "'oneOf' is not permitted"),
        (with_change(["properties", "id"], {"allOf": [{"type": "string"}], "type": "string"}), "'allOf'"),
        (with_change(["properties", "id"], {}), "must have a 'type' key"),
        (with_change(["properties", "id"], True), "not True"),
        (with_change(["properties", "id", "format"], "uri"), "'uri' is not a valid format"),
        (with_change(["properties", "id", "default"], "x"), "'default' is not permitted"),
        (with_change(["properties", "lines", "items"], None), "array schema missing items"),
        (with_change(["properties", "lines", "items", "description"], "x"), "$ref cannot have keywords"),
        (with_change(["properties", "id", "enum"], [f"{i:099d}" for i in range(300)]), "15000 characters"),
        (with_change(["properties", "id", "enum"], [str(i) for i in range(1001)]), "1004 enum values"),
    ],
)
def test_what_strict_mode_refuses(schema: dict[str, Any], reason: str) -> None:
    problem = strict_problem(schema)
    assert problem is not None and reason in problem


def test_nesting_has_a_limit() -> None:
    def nested(levels: int) -> dict[str, Any]:
        inner = {"type": "string"} if levels == 1 else nested(levels - 1)
        return {"type": "object", "properties": {"a": inner}, "required": ["a"], "additionalProperties": False}

    assert strict_problem(nested(9)) is None
    assert "deeper than 10 levels" in str(strict_problem(nested(10)))


@given(
    st.fixed_dictionaries(
        {"id": st.just("o1"), "lines": st.lists(st.fixed_dictionaries({"n": st.integers()}), max_size=3)},
        optional={"amount": st.integers(0), "kind": st.sampled_from("ab")},
    )
)
def test_left_out_values_come_as_null_and_the_rest_is_kept(arguments: dict[str, Any]) -> None:
    completed = complete_strictly(arguments, GOOD)
    assert jsonschema.Draft202012Validator(GOOD).is_valid(completed)
    assert list(completed) == list(GOOD["properties"])
    assert {k: v for k, v in completed.items() if k in arguments and k != "lines"} == {
        k: v for k, v in arguments.items() if k != "lines"
    }


def test_wrong_arguments_stay_wrong() -> None:
    assert complete_strictly({"id": 5, "more": 1}, GOOD)["id"] == 5
    assert complete_strictly({"id": 5, "more": 1}, GOOD)["more"] == 1
    assert "lines" not in complete_strictly({}, GOOD)
    assert complete_strictly("text", GOOD) == "text"
