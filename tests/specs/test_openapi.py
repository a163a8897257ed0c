from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.specs.openapi import to_json_schema


@pytest.mark.parametrize(
    ("gemini", "schema"),
    [
        ({"type": "STRING", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        ({"type": "STRING", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "STRING", "nullable": False}, {"type": "string"}),
        ({"type": "TYPE_UNSPECIFIED"}, {}),
        (
            {"type": "ARRAY", "items": {"type": "INTEGER"}, "minItems": "1"},
            {"type": "array", "items": {"type": "integer"}, "minItems": 1},
        ),
        ({"type": "INTEGER", "enum": ["1", "2"]}, {"type": "integer", "enum": [1, 2]}),
        ({"type": "INTEGER", "enum": ["1", "x"]}, {"type": "integer", "enum": ["1", "x"]}),
        ({"type": "STRING", "enum": ["1"], "nullable": True}, {"type": ["string", "null"], "enum": ["1", None]}),
        ({"anyOf": [{"type": "STRING"}], "nullable": True}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ({"ref": "#/defs/A", "nullable": True}, {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}),
        ({"defs": {"A": {"type": "NULL"}}, "ref": "#/defs/A"}, {"$defs": {"A": {"type": "null"}}, "$ref": "#/$defs/A"}),
        ({"type": "STRING", "example": "x", "title": "T"}, {"type": "string", "examples": ["x"], "title": "T"}),
        (
            {"type": "OBJECT", "properties": {"nullable": {"type": "BOOLEAN"}}, "propertyOrdering": ["nullable"]},
            {"type": "object", "properties": {"nullable": {"type": "boolean"}}},
        ),
    ],
)
def test_gemini_schemas_mean_the_same_as_json_schema(gemini: Any, schema: Any) -> None:
    assert to_json_schema(gemini) == schema


schemas = st.recursive(
    st.fixed_dictionaries({"type": st.sampled_from(["string", "number", "boolean"])}, optional={"title": st.text()}),
    lambda inner: st.fixed_dictionaries({"type": st.just("object"), "properties": st.dictionaries(st.text(), inner)})
    | st.fixed_dictionaries({"type": st.just("array"), "items": inner})
    | st.fixed_dictionaries({"anyOf": st.lists(inner)}),
)


def in_capitals(schema: Any) -> Any:
    """The schema as Gemini writes it."""
    if isinstance(schema, list):
        return [in_capitals(member) for member in schema]
    result = {}
    for key, value in schema.items():
        if key == "properties":
            result[key] = {name: in_capitals(member) for name, member in value.items()}
        else:
            result[key] = value.upper() if key == "type" else value if key == "title" else in_capitals(value)
    return result


@given(schemas)
def test_reading_undoes_writing_in_capitals_and_leaves_json_schema_alone(schema: Any) -> None:
    assert to_json_schema(in_capitals(schema)) == schema
    assert to_json_schema(schema) == schema
