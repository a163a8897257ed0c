from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.specs.string_map import from_string_map

SCHEMA = {
    "type": "object",
    "description": "Größe",
    "properties": {"city": {"type": "string", "default": "True"}, "n": {"type": "integer", "minimum": 1}},
    "required": ["city"],
    "additionalProperties": False,
    "minProperties": 1,
}


@pytest.mark.parametrize("ascii_only", [True, False])
def test_values_encoded_as_json(ascii_only: bool) -> None:
    encoded = {key: json.dumps(value, ensure_ascii=ascii_only) for key, value in SCHEMA.items()}
    assert from_string_map(encoded) == (SCHEMA, {})


def test_values_as_the_agent_development_kit_writes_them() -> None:
    encoded = {
        "type": "object",
        "description": "Größe",
        "properties": json.dumps(SCHEMA["properties"]),
        "required": '["city"]',
        "additionalProperties": "False",
        "minProperties": "1",
    }
    assert from_string_map(encoded) == (SCHEMA, {})


def test_values_left_unencoded() -> None:
    assert from_string_map(SCHEMA) == (SCHEMA, {})


@pytest.mark.parametrize(
    ("text", "value"),
    [("2024", "2024"), ("true", "true"), ("None", "None"), ('"quoted"', "quoted"), ("[x", "[x"), ("", "")],
)
def test_bare_text_stays_text_where_the_keyword_takes_text(text: str, value: str) -> None:
    assert from_string_map({"title": text}) == ({"title": value}, {})


def test_a_list_of_types_is_decoded() -> None:
    assert from_string_map({"type": '["object", "null"]'}) == ({"type": ["object", "null"]}, {})


def test_the_boolean_written_as_text_stays_text() -> None:
    schema, _ = from_string_map({"additionalProperties": '"false"'})
    assert schema == {"additionalProperties": "false"}  # and breaks the meta-schema, which is told


def test_broken_json_is_named() -> None:
    schema, broken = from_string_map({"properties": '{"a": ', "default": "just text"})
    assert schema["default"] == "just text"
    assert list(broken) == ["properties"]


json_values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["const", "default", "enum", "items", "x"]), json_values))
def test_decoding_is_the_inverse_of_encoding_each_value(schema: dict[str, Any]) -> None:
    assert from_string_map({key: json.dumps(value) for key, value in schema.items()}) == (schema, {})
