"""What a model that follows a payload sends for some arguments, and what becomes of it when the call arrives.

The payload and the table beside it are all that is looked at, not how they came about.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import jsonschema_rs

from codegen.emit.package import read_back_rules, target_habits
from codegen.specs import to_spec
from codegen.specs.tool import Tool
from codegen.targets import TargetOptions, registry
from codegen.targets.oci_parameters import decode_parameters
from templates.runtime.models import ToolModel
from templates.runtime.readback import ReadBack
from templates.runtime.tools import Package, ToolEntry
from templates.runtime.tools import Tool as RuntimeTool

NARROWER: Final = "cannot be sent"
"""Stands in a loss that keeps some valid values from being sent."""


class _Arguments(ToolModel):
    """Any arguments: what they are typed as is tested elsewhere."""


class Traveller:
    """Sends arguments of one tool to one target and back."""

    def __init__(self, tool: Tool, target: str, settings: Mapping[str, str]) -> None:
        self.target = registry()[target]
        self.lowered = self.target.lower(tool, TargetOptions(settings=settings))
        entry = self.lowered.entry
        self.is_strict = any(one.get("strict") for one in (entry, entry.get("function", {}), entry.get("toolSpec", {})))
        self.losses = [problem.message for problem in self.lowered.diagnostics if problem.code == "loss"]
        self.is_impossible = any(problem.code == "strict-impossible" for problem in self.lowered.diagnostics)
        self.schema = schema_of(target, self.lowered.entry)
        self._validator = jsonschema_rs.validator_for(self.schema, offline=True) if self.schema is not None else None
        self._table: Mapping[str, Any] = self.lowered.read_back.get("table", {})
        habits: dict[str, Any] = target_habits(self.target)
        own = read_back_rules(self.target, self.lowered)
        row = ToolEntry("tool", "tool", "Tool", read_back={target: ReadBack(**own)} if own else {})
        package = Package("", Path(), {}, read_back={target: ReadBack(**habits)} if habits else {})
        self._tool: RuntimeTool[_Arguments] = RuntimeTool(tool.name, row, package, None)
        self._tool._spec = json.loads(json.dumps(to_spec(tool)))
        self._tool._model = _Arguments

    @property
    def is_narrower(self) -> bool:
        """Whether a loss says that some values cannot be sent."""
        return any(NARROWER in loss or "not declared" in loss for loss in self.losses)

    def encode(self, value: dict[str, Any]) -> dict[str, Any]:
        """What is sent for `value`."""
        sent = spelled(value, self._table, self._table.get("$defs", {}))
        if self.is_strict and self.schema is not None:
            sent = with_nulls(sent, self.schema, self.schema)
        flat: dict[str, Any] = self.lowered.entry.get("parameterDefinitions", {})
        nested = {key for key, one in flat.items() if one["type"] in ("list", "dict")}
        return {key: json.dumps(member) if key in nested else member for key, member in sent.items()}

    def is_admitted(self, sent: dict[str, Any]) -> bool:
        """Whether the payload's own schema takes what is sent."""
        if self._validator is None:
            kinds = {key: one["type"] for key, one in self.lowered.entry["parameterDefinitions"].items()}
            required = {key for key, one in self.lowered.entry["parameterDefinitions"].items() if one["isRequired"]}
            return required <= sent.keys() and all(_is_python(sent[key], kinds[key]) for key in sent if key in kinds)
        return self._validator.is_valid(sent)

    def decode(self, sent: dict[str, Any]) -> Any:
        """The arguments that the handler gets. Raises `InvalidArguments`."""
        model = self._tool.parse(sent, self.target.id)
        return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


def schema_of(target: str, entry: dict[str, Any]) -> dict[str, Any] | None:
    """The schema of an entry as JSON Schema; None where it has none."""
    if target == "oci_agents":
        return decode_parameters(entry["toolConfig"]["function"]["parameters"])
    if "parameterDefinitions" in entry:
        return None
    if target == "gemini" and "parametersJsonSchema" not in entry:
        return _from_openapi(entry.get("parameters", {"type": "OBJECT"}))
    holder = entry.get("toolSpec") or entry.get("function") or entry
    for key in ("parameters", "parametersJsonSchema", "input_schema", "inputSchema"):
        if key in holder:
            schema: dict[str, Any] = holder[key]["json"] if target == "bedrock" else holder[key]
            return schema
    raise AssertionError(f"no schema in {entry}")


def _from_openapi(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema of the OpenAPI kind as JSON Schema."""
    out: dict[str, Any] = {}
    for key, value in schema.items():
        match key:
            case "type":
                out[key] = value.lower()
            case "properties":
                out[key] = {name: _from_openapi(member) for name, member in value.items()}
            case "items":
                out[key] = _from_openapi(value)
            case "anyOf":
                out[key] = [_from_openapi(branch) for branch in value]
            case "nullable":
                pass
            case _:
                out[key] = value
    return {"anyOf": [out, {"type": "null"}]} if schema.get("nullable") else out


def spelled(value: Any, table: Mapping[str, Any] | None, definitions: Mapping[str, Any]) -> Any:
    """The inverse of the runtime's `spell_back`: from the names and values of the spec to those of the target."""
    if not table:
        return value
    if isinstance(value, dict):
        for branch in (*table.get("any", ()), definitions.get(table.get("$ref", ""))):
            value = spelled(value, branch, definitions)
        exposed = {wire: (name, inner) for name, (wire, inner) in table.get("properties", {}).items()}
        out = {}
        for key, member in value.items():
            name, inner = exposed.get(key, (key, table.get("rest")))
            out[name] = spelled(member, inner, definitions)
        return out
    if isinstance(value, list):
        for branch in (*table.get("any", ()), definitions.get(table.get("$ref", ""))):
            value = spelled(value, branch, definitions)
        prefix, items = table.get("prefix", ()), table.get("items")
        return [
            spelled(member, prefix[index] if index < len(prefix) else items, definitions)
            for index, member in enumerate(value)
        ]
    for text, meant in table.get("values", {}).items():
        if (type(meant) is type(value) and meant == value) or _same_number(meant, value):
            return text
    return value


def _same_number(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return False
    return isinstance(one, (int, float)) and isinstance(other, (int, float)) and one == other


def with_nulls(value: Any, schema: Any, root: Any) -> Any:
    """`value` with null for every property that strict mode requires and the value does not have."""
    if not isinstance(schema, dict):
        return value
    while isinstance(reference := schema.get("$ref"), str):
        schema = _at(root, reference)
    for branch in schema.get("anyOf", ()):
        tried = with_nulls(value, branch, root)
        whole = {**branch, "$defs": root.get("$defs", {})} if isinstance(branch, dict) else branch
        if "$ref" in whole and whole["$ref"] == "#":
            whole = root
        if jsonschema_rs.validator_for(whole, offline=True).is_valid(tried):
            return tried
    if isinstance(value, list):
        items = schema.get("items")
        return [with_nulls(member, items, root) for member in value]
    if not isinstance(value, dict):
        return value
    members = schema.get("properties", {})
    out = {key: with_nulls(member, members.get(key), root) for key, member in value.items()}
    return out | {name: None for name in schema.get("required", ()) if name not in out}


def _at(root: Any, reference: str) -> Any:
    here = root
    for token in reference.removeprefix("#").split("/")[1:]:
        here = here[token.replace("~1", "/").replace("~0", "~")]
    return here


def _is_python(value: Any, kind: str) -> bool:
    match kind:
        case "bool":
            return isinstance(value, bool)
        case "int" | "float":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case _:
            return isinstance(value, str)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(member) for key, member in value.items() if member is not None}
    return [without_nulls(member) for member in value] if isinstance(value, list) else value
