"""References that come back to themselves."""

from __future__ import annotations

from typing import Any

import pytest

from tests.passes.support import problems


def endless(definitions: dict[str, Any], schema: dict[str, Any], dialect: str = "2020-12") -> list[str]:
    root = {"type": "object", "properties": {"p": schema}, "$defs": definitions}
    if dialect == "draft7":
        root = {"$schema": "http://json-schema.org/draft-07/schema#", **root, "definitions": root["$defs"]}
    return [one.pointer.removeprefix("/parameters") for one in problems(root) if one.code == "endless-reference"]


A = {"$ref": "#/$defs/A"}


@pytest.mark.parametrize(
    ("definitions", "places"),
    [
        ({"A": A}, ["/$defs/A/$ref"]),
        ({"A": {"allOf": [A]}}, ["/$defs/A/allOf/0/$ref"]),
        ({"A": {"$ref": "#/$defs/B"}, "B": {"anyOf": [{"type": "string"}, A]}}, ["/$defs/B/anyOf/1/$ref"]),
        ({"A": {"if": {"not": A}, "then": {"type": "string"}}}, ["/$defs/A/if/not/$ref"]),
        ({"A": {"dependentSchemas": {"x": {"oneOf": [A]}}}}, ["/$defs/A/dependentSchemas/x/oneOf/0/$ref"]),
        ({"A": {"type": "object", "properties": {"next": A}, "additionalProperties": {"items": A}}}, []),
        ({"A": {"anyOf": [{"type": "null"}, {"type": "array", "items": A}]}}, []),
        ({"A": {"$ref": "#/$defs/B"}, "B": {"type": "string"}}, []),
        ({"A": {"$ref": "#/$defs/B0"}, **{f"B{n}": {"$ref": f"#/$defs/B{n + 1}"} for n in range(99)}, "B99": {}}, []),
    ],
)  # fmt: skip
def test_circles(definitions: dict[str, Any], places: list[str]) -> None:
    assert endless(definitions, A) == places


def test_beside_a_reference_of_draft_7_nothing_counts() -> None:
    hidden = {"$ref": "#/$defs/B", "allOf": [A]}
    assert endless({"A": hidden, "B": {"type": "string"}}, A, "draft7") == []
    assert endless({"A": hidden, "B": {"type": "string"}}, A) == ["/$defs/A/allOf/0/$ref"]
