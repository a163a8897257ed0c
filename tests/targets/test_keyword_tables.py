"""The table of keywords is the one statement of what becomes of them: payloads keep to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from codegen.schema.dialects import subschemas
from codegen.targets import BUILT_IN, TargetOptions, registry
from codegen.targets.composing import SHAPING
from codegen.targets.interface import Treatment
from codegen.targets.nodes import PLUMBING
from tests.targets.support import lower, make_tool

TEXT = {"type": "string"}
MEMBERS: dict[str, dict[str, Any]] = {
    "type": {"type": ["string", "null"]},
    "enum": {"enum": ["a", "b"]},
    "const": {"const": "a"},
    "format": {"type": "string", "format": "date"},
    "not": {"type": "string", "not": {"enum": ["a"]}},
    "if": {"type": "string", "if": {"minLength": 1}, "then": {"pattern": "^a"}, "else": {"pattern": "^b"}},
    "minimum": {"type": "number", "minimum": 1, "maximum": 9, "multipleOf": 0.5},
    "exclusiveMinimum": {"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 9},
    "minLength": {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a"},
    "items": {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 9, "uniqueItems": True},
    "prefixItems": {"type": "array", "prefixItems": [TEXT, {"type": "integer"}], "unevaluatedItems": False},
    "contains": {"type": "array", "items": TEXT, "contains": {"const": "a"}, "minContains": 1, "maxContains": 2},
    "properties": {"type": "object", "properties": {"a": TEXT}, "required": ["a"], "additionalProperties": False},
    "patternProperties": {"type": "object", "patternProperties": {"^a": TEXT}, "unevaluatedProperties": False},
    "propertyNames": {"type": "object", "propertyNames": {"pattern": "^a"}, "minProperties": 1, "maxProperties": 9},
    "dependentRequired": {
        "type": "object",
        "properties": {"a": TEXT, "b": TEXT},
        "dependentRequired": {"a": ["b"]},
        "dependentSchemas": {"b": {"required": ["a"]}},
    },
    "allOf": {"allOf": [{"type": "string"}, {"minLength": 1}]},
    "anyOf": {"anyOf": [TEXT, {"type": "integer"}]},
    "oneOf": {"oneOf": [TEXT, {"type": "integer"}]},
    "annotations": {
        "type": "string",
        "title": "A",
        "description": "an a",
        "default": "a",
        "examples": ["a"],
        "deprecated": True,
        "readOnly": True,
        "contentEncoding": "base64",
        "contentMediaType": "text/plain",
        "x-note": "note",
        "$comment": "for us",
    },
    "$ref": {"$ref": "#/$defs/A"},
}
SCHEMA = {"type": "object", "properties": MEMBERS, "$defs": {"A": {"type": "string", "$anchor": "a"}}}


def test_the_schema_of_this_test_has_every_keyword() -> None:
    assert set(keywords(SCHEMA)) >= SHAPING


@pytest.mark.parametrize("target", BUILT_IN)
def test_no_payload_has_a_keyword_that_the_table_drops_or_describes(target: str) -> None:
    facts = registry()[target].facts
    steps = lower(target, make_tool(SCHEMA), TargetOptions(explain=True)).steps
    # How a schema is carried in the end is no matter of keywords.
    schemas = [step.schema for step in steps if isinstance(step.schema.get("properties"), dict)]
    sent = {
        keyword
        for keyword in keywords(schemas[-1])
        if facts.keyword(keyword).treatment in (Treatment.DROPPED, Treatment.DESCRIBED)
    }
    assert not sent
    assert not set(keywords(schemas[-1])) & (PLUMBING - {"$defs"})


@pytest.mark.parametrize("target", BUILT_IN)
def test_every_keyword_that_is_dropped_or_described_is_reported(target: str) -> None:
    facts = registry()[target].facts
    told = {problem.pointer.rpartition("/")[2] for problem in lower(target, make_tool(SCHEMA)).diagnostics}
    lost = {
        keyword
        for keyword in set(keywords(SCHEMA)) & SHAPING
        if facts.keyword(keyword).treatment in (Treatment.DROPPED, Treatment.DESCRIBED)
    }
    # `then` and `else` go with their `if`, and bounds of `contains` with it. Where nothing is merged, what is not
    # evaluated is what no other keyword names, which is said with keywords for that.
    followers = {"then", "else", "minContains", "maxContains", "unevaluatedProperties", "unevaluatedItems"}
    assert lost - followers - told == set()


def keywords(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema
        for _, child in subschemas(schema):
            yield from keywords(child)
