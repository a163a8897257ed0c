"""Examples of whole arguments, for APIs that have a field of their own for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from codegen.schema.dialects import URIS
from codegen.specs.tool import Tool
from codegen.targets.nodes import Notes, plain
from codegen.targets.passes import Pass
from codegen.targets.respelling import TABLE


def argument_examples(tool: Tool) -> list[dict[str, Any]]:
    """The `examples` at the root of the parameters, if all of them are arguments that the gate takes; else none.

    An API that checks examples refuses the whole request for a wrong one.
    """
    examples = tool.parameters.get("examples")
    if not isinstance(examples, list) or not examples or not all(isinstance(one, dict) for one in examples):
        return []
    import jsonschema_rs  # few specs have examples

    schema = {**tool.parameters, "$schema": URIS[tool.dialect]}
    gate = jsonschema_rs.validator_for(schema, validate_formats=False, offline=True)
    return plain(examples) if all(map(gate.is_valid, examples)) else []


def respelled(examples: list[dict[str, Any]], read_back: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The examples with the names that the properties of the root have in the payload."""
    members = read_back.get(TABLE, {}).get("properties", {})
    exposed = {wire: name for name, (wire, _) in members.items()}
    return [{exposed.get(name, name): value for name, value in one.items()} for one in examples]


def without_examples(field: str) -> Pass:
    """The pass for a schema whose examples stand in `field` of the entry."""

    def drop(schema: dict[str, Any], notes: Notes) -> dict[str, Any]:
        notes.rewritten("/examples", f"the examples are sent as {field}")
        return {key: value for key, value in schema.items() if key != "examples"}

    return Pass("examples", f"the API has a field of its own for examples of the arguments: {field}", drop)
