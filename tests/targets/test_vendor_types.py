"""Every payload of every public tool, judged by the vendors' types and by what their documentation says of schemas."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import jsonschema_rs
import pytest

from codegen.diagnostics import Severity
from codegen.schema.dialects import walk
from codegen.schema.pointers import resolve
from codegen.specs import Catalog, Tool
from codegen.targets import BUILT_IN, Lowered, Payload, TargetOptions, lower_catalog, registry
from codegen.targets.plain_objects import REFUSED_AT_ROOT
from codegen.targets.strict_subset import violations
from tests.targets.public_tools import in_strict_mode, real_tools, shipped_tools, suite_tools
from tests.targets.vendors import JUDGES

SCHEMAS = {
    "openai_agents": ("parameters",),
    "openai_responses": ("parameters",),
    "openai_chat": ("function", "parameters"),
    "anthropic": ("input_schema",),
    "bedrock": ("toolSpec", "inputSchema", "json"),
    "mcp": ("inputSchema",),
}
"""Where the entry of a target has the schema of the arguments, as JSON Schema."""

UNIONS_AT_ROOT = {"mcp"}
"""Targets that take composition at the root."""


def schema_in(target: str, entry: dict[str, Any]) -> dict[str, Any]:
    value: Any = entry
    for key in SCHEMAS[target]:
        value = value[key]
    assert isinstance(value, dict)
    return value


def is_strict(entry: dict[str, Any]) -> bool:
    return any(holder.get("strict") is True for holder in (entry, entry.get("function", {}), entry.get("toolSpec", {})))


def faults(target: str, entry: dict[str, Any]) -> Iterator[str]:
    """What an entry has that the documentation of its target does not allow."""
    facts, schema = registry()[target].facts, schema_in(target, entry)
    if schema.get("type") != "object":
        yield "the root has another type than object"
    if target not in UNIONS_AT_ROOT:
        yield from (f"{keyword} at the root" for keyword in REFUSED_AT_ROOT if keyword in schema)
    if facts.properties is not None:
        odd = [name for name in schema.get("properties", {}) if not facts.properties.accepts(name)]
        yield from (f"the property {name!r} at the root" for name in odd)
    try:
        jsonschema_rs.Draft202012Validator(schema, offline=True)
    except (jsonschema_rs.ValidationError, ValueError) as error:
        yield f"no schema of 2020-12: {error}"
    for pointer, part in walk(schema):
        if isinstance(part, dict) and "$ref" in part:
            reference = part["$ref"]
            if reference != "#" and not (reference.startswith("#/$defs/") and resolve(schema, reference[1:])):
                yield f"{pointer}: the reference {reference!r}"
    if is_strict(entry):
        assert facts.strict is not None
        found = violations(schema, dataclasses.replace(facts.strict, first_keys_apart=False))  # only a warning
        yield from (f"{one.pointer}: {one.reason}, in strict mode" for one in found)


def may_be_sent(payload: Payload, problems: Sequence[Any]) -> list[Lowered]:
    """The tools without an error on this target."""
    refused = {one.tool for one in problems if one.severity is Severity.ERROR and one.target == payload.target}
    return [one for one in payload.lowered if one.tool not in refused]


def check(tools: Sequence[Tool], target: str) -> int:
    """Judges the payload of all tools that may be sent; gives their number."""
    payloads, problems = lower_catalog(Catalog(tuple(tools)), [target])
    kept = may_be_sent(payloads[target], problems)
    entries = registry()[target].payload(kept, TargetOptions()).entries
    JUDGES[target](entries)
    found = {one.tool: list(faults(target, one.entry)) for one in kept}
    assert not {tool: said for tool, said in found.items() if said}
    return len(kept)


def test_every_built_in_target_is_judged() -> None:
    elsewhere = {"oci_agents", "gemini", "oci_inference"}
    assert set(BUILT_IN) == set(JUDGES) | (elsewhere & set(BUILT_IN))


@pytest.mark.parametrize("target", JUDGES)
def test_shipped_tools(target: str) -> None:
    assert check(shipped_tools(), target) == len(shipped_tools())


@pytest.mark.parametrize("target", JUDGES)
def test_real_tools(target: str) -> None:
    assert check(real_tools(), target) == len(real_tools())


@pytest.mark.parametrize("target", [name for name in JUDGES if registry()[name].facts.has_strict])
def test_real_tools_in_strict_mode(target: str) -> None:
    """Many are free-form somewhere, which is an error; what is sent is in the documented subset."""
    tools = in_strict_mode(real_tools()).tools
    assert check(tools, target) > len(tools) / 3


@pytest.mark.parametrize("target", JUDGES)
def test_schemas_of_the_suite(target: str) -> None:
    assert check(suite_tools(), target) == len(suite_tools())
