"""The string map: both encodings, and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.specs.string_map import TEXTS
from codegen.targets.oci_parameters import decode_parameters, encode_parameters

SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "2024",
    "description": '"quoted", ñ and 日本',
    "properties": {"city": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
    "minProperties": 1,
    "default": None,
}


def test_the_documented_encoding() -> None:
    assert encode_parameters(SCHEMA, "json") == {
        "type": '"object"',
        "title": '"2024"',
        "description": '"\\"quoted\\", ñ and 日本"',
        "properties": '{"city":{"type":"string"},"n":{"type":"integer"}}',
        "required": '["city"]',
        "additionalProperties": "false",
        "minProperties": "1",
        "default": "null",
    }


def test_the_encoding_of_the_kit() -> None:
    assert encode_parameters(SCHEMA, "adk") == {
        "type": "object",
        "title": "2024",
        "description": '"quoted", ñ and 日本',
        "properties": '{"city": {"type": "string"}, "n": {"type": "integer"}}',
        "required": '["city"]',
        "additionalProperties": "False",
        "minProperties": "1",
        "default": "None",
    }


def test_an_unknown_encoding_is_our_own_fault() -> None:
    with pytest.raises(ValueError, match="yaml"):
        encode_parameters(SCHEMA, "yaml")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
no_text = json_values.filter(lambda value: not isinstance(value, str))
roots = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={
        "title": st.text(),
        "description": st.text(),
        "$comment": st.text(),
        "properties": st.dictionaries(st.text(), st.fixed_dictionaries({"default": json_values}), max_size=3),
        "required": st.lists(st.text(), max_size=3),
        "additionalProperties": st.booleans(),
        "minProperties": st.integers(),
        "default": no_text,
        "examples": st.lists(json_values, max_size=2),
    },
)


@given(roots, st.sampled_from(["json", "adk"]))
def test_decoding_is_the_inverse(schema: dict[str, Any], encoding: str) -> None:
    decoded = decode_parameters(encode_parameters(schema, encoding))
    assert json.dumps(decoded) == json.dumps(schema)


@given(st.dictionaries(st.text(), json_values, max_size=5))
def test_the_documented_encoding_can_always_be_decoded(schema: dict[str, Any]) -> None:
    sound = {key: value for key, value in schema.items() if key not in TEXTS or isinstance(value, str)}
    given_map = encode_parameters(sound | {"type": "object"}, "json")
    assert decode_parameters(given_map) == sound | {"type": "object"}


@pytest.mark.parametrize(
    ("given_map", "schema"),
    [
        ({}, {}),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}},
            {"type": "object", "properties": {"a": {"type": "string"}}},
        ),
        ({"type": '"object"', "additionalProperties": "False"}, {"type": "object", "additionalProperties": False}),
        ({"type": "object", "additionalProperties": '"false"'}, {"type": "object", "additionalProperties": '"false"'}),
        ({"type": "object", "required": None}, {"type": "object", "required": None}),
        ({"type": "object", "properties": "{broken"}, {"type": "object", "properties": "{broken"}),
    ],
)
def test_what_other_tools_leave_is_read_as_far_as_possible(given_map: dict[str, Any], schema: dict[str, Any]) -> None:
    assert decode_parameters(given_map) == schema
