"""Counterexamples are made small."""

from __future__ import annotations

from typing import Any

from tests.conformance.smallest import smallest


def test_only_what_matters_is_kept() -> None:
    schema = {"properties": {"a": {"type": "integer", "minimum": 1}, "b": {"enum": [1, 2, 3]}}, "required": ["a"]}
    value = {"a": 5, "b": [1, {"x": 2}], "c": "z"}

    def fails(schema: Any, value: Any) -> bool:
        return "minimum" in schema.get("properties", {}).get("a", {}) and "a" in value

    assert smallest(schema, value, fails) == ({"properties": {"a": {"minimum": 1}}}, {"a": 5})
