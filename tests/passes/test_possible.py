"""What is ruled out has no value: held against the validator, with random schemas and random values."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.passes import PASSES, SchemaPass
from codegen.passes import kinds as k
from codegen.passes.subject import ToolSchema
from tests.passes.strategies import json_values, schemas
from tests.passes.support import subject

ENDLESS = {"$defs": {"D": {"type": "object", "required": ["d"], "properties": {"d": {"$ref": "#/$defs/D"}}}}}


@settings(max_examples=60)
@given(schemas(), st.lists(json_values, min_size=12, max_size=12))
def test_a_value_that_is_valid_is_never_ruled_out(schema: dict[str, Any], values: list[Any]) -> None:
    checked = subject(schema)
    for pointer, _ in checked.places:
        verdict = checked.possible.of(pointer)
        listed = None if verdict.values is None else {k.identity(value) for value in verdict.values}
        unusable = {name for name, _, _ in checked.possible.unusable(pointer)}
        for value in values:
            if checked.judge.is_valid(pointer, value):
                assert verdict.kinds & k.kind_of(value), (pointer, value, verdict)
                assert listed is None or k.identity(value) in listed
                assert not isinstance(value, dict) or unusable.isdisjoint(value)


@settings(max_examples=30)
@given(schemas(), st.lists(json_values, min_size=12, max_size=12))
def test_a_value_that_meets_two_schemas_is_not_ruled_out_for_both(schema: dict[str, Any], values: list[Any]) -> None:
    checked = subject(schema)
    pointers = [pointer for pointer, _ in checked.places][:6]
    for one, other in pairwise(pointers):
        verdict = checked.possible.of(one, other)
        unusable = {name for name, _, _ in checked.possible.unusable(one, other)}
        for value in values:
            if checked.judge.is_valid(one, value) and checked.judge.is_valid(other, value):
                assert verdict.kinds & k.kind_of(value), (one, other, value, verdict)
                assert not isinstance(value, dict) or unusable.isdisjoint(value)


@settings(max_examples=60)
@given(schemas(), st.lists(json_values, min_size=12, max_size=12))
def test_findings_are_true(schema: dict[str, Any], values: list[Any]) -> None:
    """What the passes say of a whole schema, or of the arguments, is never said where a value shows otherwise."""
    checked = subject(schema)
    found = [one for step in PASSES if isinstance(step, SchemaPass) for one in step.find(checked)]
    impossible = [one for one in found if one.code == "unsatisfiable" and "no call of the tool" in one.message]
    for value in values:
        if impossible:
            assert not (isinstance(value, dict) and checked.judge.is_valid("", value))
    for one in found:
        if one.code == "unreachable-branch" and checked.document.has(one.pointer):
            group, _, index = one.pointer.rpartition("/")
            around, _, keyword = group.rpartition("/")
            for value in values:
                assert not _is_chosen(checked, around, keyword, int(index), value), (one, value)


def _is_chosen(checked: ToolSchema, around: str, keyword: str, index: int, value: Any) -> bool:
    """Whether a branch decides that a value is valid: no other branch takes it."""
    count = len(checked.document.at(around)[keyword])
    takes = [checked.judge.is_valid(f"{around}/{keyword}/{each}", value) for each in range(count)]
    return bool(checked.judge.is_valid(around, value)) and takes[index] is True and takes.count(True) == 1


@pytest.mark.parametrize(
    ("schema", "kinds"),
    [
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, k.FRACTION),
        ({"type": "number", "multipleOf": 2}, k.INTEGER),
        ({"type": "integer", "minimum": 0.5, "maximum": 0.75}, 0),
        ({"not": {"type": ["object", "array"]}}, k.ALL & ~k.OBJECT & ~k.ARRAY),
        ({"enum": [1, "a", None], "type": ["string", "null"]}, k.STRING | k.NULL),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "minLength": 3, "maxLength": 2}, k.NULL),
        ({"oneOf": [{"type": ["string", "null"]}, {"type": ["string", "integer"]}]}, k.NULL | k.INTEGER),
        ({"$ref": "#/$defs/D", **ENDLESS}, 0),
        ({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/D"}], **ENDLESS}, k.NULL),
        ({"$ref": "#"}, k.ALL),
        ({"allOf": [{"$ref": "#"}], "type": "string"}, k.STRING),
    ],
)
def test_what_is_left(schema: dict[str, Any], kinds: int) -> None:
    assert subject(schema).possible.of("").kinds == kinds


def test_an_end_makes_recursion_possible() -> None:
    node = {"type": ["object", "null"], "required": ["next"], "properties": {"next": {"$ref": "#/$defs/Node"}}}
    assert subject({"$ref": "#/$defs/Node", "$defs": {"Node": node}}).possible.of("").kinds == k.OBJECT | k.NULL


def test_hostile_schemas_are_given_up_quickly() -> None:
    doubling = {f"D{i}": {"allOf": [{"$ref": f"#/$defs/D{i + 1}"}] * 2} for i in range(200)}
    union = {f"U{i}": {"anyOf": [{"$ref": f"#/$defs/U{i + 1}"}] * 8} for i in range(30)}
    chain = {f"C{i}": {"required": ["a"], "properties": {"a": {"$ref": f"#/$defs/C{i + 1}"}}} for i in range(300)}
    definitions = {**doubling, **union, **chain, "D200": False, "U30": {"type": "null"}, "C300": False}
    checked = subject({"$ref": "#/$defs/C0", "$defs": definitions})
    assert checked.possible.of("").kinds == k.ALL  # too long a way to be sure
    assert checked.possible.of("/$defs/D0").kinds == 0
    assert checked.possible.of("/$defs/U0").kinds == k.NULL


@pytest.mark.parametrize("keyword", ["$dynamicRef", "$recursiveRef"])
def test_what_depends_on_the_way_is_not_judged(keyword: str) -> None:
    dialect = "2020-12" if keyword == "$dynamicRef" else "2019-09"
    checked = subject({"enum": [1, "a"], "properties": {"a": {keyword: "#"}}, "minimum": 5}, dialect)
    assert checked.judge.is_valid("", 1) is None
    assert checked.possible.of("").kinds == k.INTEGER | k.STRING
