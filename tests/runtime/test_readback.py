"""Reading back: what a target did to arguments is undone, and nothing else is touched."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from templates.runtime.gate import Gate
from templates.runtime.readback import PLAIN, ReadBack, mend

OCI = ReadBack(text=True, keys=True, twice=True)
STRICT = ReadBack(nulls=True)

FLIGHTS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "from": {"type": "string"},
        "seats": {"type": "integer", "minimum": 1},
        "budget": {"type": "number"},
        "direct": {"type": "boolean"},
        "code": {"type": ["string", "integer"]},
        "legs": {"type": "array", "items": {"type": "object", "properties": {"km": {"type": "number"}}}},
    },
    "required": ["from"],
    "additionalProperties": False,
}


def read(schema: dict[str, Any], value: dict[str, Any], rules: ReadBack = OCI) -> dict[str, Any] | None:
    gate = Gate(schema)
    return value if gate.is_valid(value) else mend(value, gate, rules)


@pytest.mark.parametrize(
    ("schema", "sent", "meant"),
    [
        ({"type": "integer"}, "5", 5),
        ({"type": "integer"}, "-12", -12),
        ({"type": "integer"}, "5.0", 5.0),
        ({"type": "integer"}, " 7 ", 7),
        ({"type": "integer"}, "123456789012345678901234567890", 123456789012345678901234567890),
        ({"type": "number"}, "0.5", 0.5),
        ({"type": "number"}, "1e3", 1000.0),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "False", False),
        ({"type": ["integer", "null"]}, "3", 3),
        ({"enum": [1, 2, 3]}, "2", 2),
        ({"type": "integer", "enum": [1, 2]}, "2", 2),
        ({"enum": [True]}, "true", True),
        ({"const": 7}, "7", 7),
        ({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, "true", True),
        ({"oneOf": [{"type": "integer"}, {"type": "array", "items": {"type": "number"}}]}, "4", 4),
        ({"type": "array", "items": {"type": "integer"}}, ["1", 2, "3"], [1, 2, 3]),
        ({"type": "object", "additionalProperties": {"type": "number"}}, {"a": "1.5", "b": 2}, {"a": 1.5, "b": 2}),
        (
            {"anyOf": [{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}]},
            {"n": "1"},
            {"n": 1},
        ),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, "3", 3),
        ({"$ref": "#/$defs/count"}, "3", 3),
    ],
)
def test_numbers_and_booleans_that_arrive_as_text_are_parsed(schema: dict[str, Any], sent: Any, meant: Any) -> None:
    whole = {"type": "object", "properties": {"x": schema}, "$defs": {"count": {"type": "integer"}}}
    got = read(whole, {"x": sent})
    assert got == {"x": meant}
    assert json.dumps(got) == json.dumps({"x": meant}), "the same JSON type, not only an equal value"


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({"type": "integer"}, "five"),
        ({"type": "integer"}, "5.5"),
        ({"type": "integer"}, ""),
        ({"type": "integer"}, "0x10"),
        ({"type": "integer"}, "1_000"),
        ({"type": "integer"}, "007"),
        ({"type": "integer"}, "+5"),
        ({"type": "integer"}, "true"),
        ({"type": "integer"}, "٣"),
        ({"type": "number"}, "NaN"),
        ({"type": "number"}, "Infinity"),
        ({"type": "number"}, "1e999"),
        ({"type": "number"}, "9" * 5000),
        ({"type": "boolean"}, "1"),
        ({"type": "boolean"}, "yes"),
        ({"type": "null"}, "null"),
        ({"type": "integer", "minimum": 3}, "2"),
        ({"type": "array", "items": {"type": "integer"}}, "[1, 2]"),
        ({"type": "object"}, "{}"),
        ({"type": "integer"}, None),
    ],
)
def test_what_is_no_plain_number_or_boolean_stays_refused(schema: dict[str, Any], sent: Any) -> None:
    assert read({"type": "object", "properties": {"x": schema}}, {"x": sent}) is None


@pytest.mark.parametrize("sent", ["5", "true", "0.5", "null"])
@pytest.mark.parametrize("schema", [{"type": "string"}, {"type": ["string", "integer"]}, {}, {"minimum": 3}])
def test_text_stays_text_where_the_schema_allows_text(schema: dict[str, Any], sent: str) -> None:
    assert read({"type": "object", "properties": {"x": schema}}, {"x": sent}) == {"x": sent}


def test_text_that_a_pattern_refuses_is_not_turned_into_a_number() -> None:
    assert read({"type": "object", "properties": {"x": {"type": "string", "maxLength": 1}}}, {"x": "55"}) is None


@pytest.mark.parametrize("key", ["from:", " from", "from ", "from: ", "from :", "from::", " from : "])
def test_keys_lose_colons_and_blanks(key: str) -> None:
    assert read(FLIGHTS, {key: "LIM", "seats:": "2"}) == {"from": "LIM", "seats": 2}


def test_a_key_is_cleaned_only_into_a_declared_name_that_is_free() -> None:
    assert read(FLIGHTS, {"to:": "CUZ", "from": "LIM"}) is None
    assert read(FLIGHTS, {"from": "LIM", "from:": "CUZ"}) is None
    odd = {"type": "object", "properties": {"a:": {"type": "integer"}, "a": {"type": "integer"}}, "required": ["a:"]}
    assert read(odd, {"a:": "1"}) == {"a:": 1}


def test_two_spellings_of_one_missing_key_are_not_merged() -> None:
    assert read(FLIGHTS, {"from:": "LIM", "from ": "CUZ"}) is None


def test_keys_that_composition_declares_are_known() -> None:
    schema = {
        "type": "object",
        "allOf": [
            {"properties": {"city": {"type": "string"}}, "required": ["city"]},
            {"$ref": "#/$defs/page~1more"},
        ],
        "$defs": {"page/more": {"properties": {"page": {"type": "integer"}}, "$ref": "#/$defs/page~1more"}},
    }
    assert read(schema, {"city:": "Lima", "page:": "2"}) == {"city": "Lima", "page": 2}


def test_several_places_are_mended_at_once() -> None:
    sent = {"from:": "LIM", "seats": "2", "budget": "99.5", "direct": "True", "legs": [{"km": "585"}, {"km": 3}]}
    meant = {"from": "LIM", "seats": 2, "budget": 99.5, "direct": True, "legs": [{"km": 585}, {"km": 3}]}
    assert read(FLIGHTS, sent) == meant


def test_a_mended_value_counts_only_when_all_of_it_is_valid() -> None:
    assert read(FLIGHTS, {"from": "LIM", "seats": "2", "budget": "much"}) is None
    assert read(FLIGHTS, {"from": "LIM", "seats": "0"}) is None


def test_what_came_is_not_changed() -> None:
    sent = {"from:": "LIM", "legs": [{"km": "585"}]}
    before = copy.deepcopy(sent)
    assert read(FLIGHTS, sent) is not None
    assert sent == before


@pytest.mark.parametrize(
    ("rules", "sent"),
    [
        (PLAIN, {"from": "LIM", "seats": "2"}),
        (PLAIN, {"from:": "LIM"}),
        (STRICT, {"from": "LIM", "seats": "2"}),
        (STRICT, {"from:": "LIM"}),
        (OCI, {"from": "LIM", "seats": None}),
        (ReadBack(keys=True), {"from": "LIM", "seats": "2"}),
        (ReadBack(text=True), {"from:": "LIM"}),
    ],
)
def test_each_rule_does_only_its_own(rules: ReadBack, sent: dict[str, Any]) -> None:
    assert read(FLIGHTS, sent, rules) is None


def test_nulls_stand_for_absent_properties_in_strict_mode() -> None:
    sent = {"from": "LIM", "seats": None, "legs": [{"km": None}]}
    assert read(FLIGHTS, sent, STRICT) == {"from": "LIM", "legs": [{}]}
    assert read(FLIGHTS, {"from": None}, STRICT) is None


SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False)
)


def _as_text(value: Any) -> Any:
    """What the models of the service do: numbers and booleans of an object become text, at every level."""
    if isinstance(value, dict):
        return {key: _as_text(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_as_text(member) for member in value]
    return json.dumps(value) if isinstance(value, (bool, int, float)) else value


def _schema_of(value: Any) -> dict[str, Any]:
    """A schema that allows exactly the types of a value."""
    if isinstance(value, dict):
        return {
            "type": "object",
            "properties": {key: _schema_of(member) for key, member in value.items()},
            "required": list(value),
            "additionalProperties": False,
        }
    if isinstance(value, list):
        return {"type": "array"} | ({"prefixItems": [_schema_of(member) for member in value]} if value else {})
    if isinstance(value, bool):
        return {"type": "boolean"}
    return {"type": "number" if isinstance(value, (int, float)) else "string"}


VALUES = st.recursive(
    SCALARS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text("xyz", min_size=1), VALUES, max_size=4))
def test_reading_back_inverts_what_the_service_does(value: dict[str, Any]) -> None:
    sent = {f"{key}:": _as_text(member) for key, member in value.items()}
    got = read(_schema_of(value), sent)
    assert json.dumps(got) == json.dumps(value)


@given(st.dictionaries(st.text("xyz:", min_size=1), VALUES, max_size=4))
def test_a_value_that_the_schema_accepts_is_never_touched(value: dict[str, Any]) -> None:
    assert read(_schema_of(value), copy.deepcopy(value)) == value


@given(st.dictionaries(st.sampled_from(list(FLIGHTS["properties"])), VALUES, max_size=4))
def test_what_is_read_back_is_valid(value: dict[str, Any]) -> None:
    got = read(FLIGHTS, value)
    assert got is None or Gate(FLIGHTS).is_valid(got)
