"""Entries of `agent.tools`, judged by the types of the vendor's client."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.beta.agent_tool_param import AgentToolParam
from openai.types.beta.persisted_agent_tool_param import PersistedAgentToolParam
from pydantic import TypeAdapter

from codegen.targets import Lowered, TargetOptions, registry
from tests.targets.support import lower, lower_all, make_tool

TARGET = registry()["openai_agents"]
TYPES: list[TypeAdapter[Any]] = [TypeAdapter(list[AgentToolParam]), TypeAdapter(list[PersistedAgentToolParam])]


def test_an_entry() -> None:
    parameters = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    entry = lower("openai_agents", make_tool(parameters)).entry
    assert list(entry.items()) == [
        ("type", "function"),
        ("name", "find_order"),
        ("description", "Finds an order."),
        ("parameters", parameters),
    ]


@pytest.mark.parametrize(("deferred", "search"), [((), 0), ((1,), 1), ((0, 2), 1), ((0, 1, 2), 1)])
def test_one_search_tool_for_any_number_of_deferred_ones(deferred: tuple[int, ...], search: int) -> None:
    tools = [make_tool(name=f"tool_{number}", defer_loading=number in deferred) for number in range(3)]
    payloads, problems = lower_all(tools, ["openai_agents"])
    entries = payloads["openai_agents"].entries
    assert problems == []
    assert [entry.get("defer_loading") for entry in entries[:3]] == [number in deferred or None for number in range(3)]
    assert entries[3:] == [{"type": "tool_search"}] * search
    for adapter in TYPES:
        adapter.validate_python(entries, strict=True)


def test_a_part_of_the_catalog_has_a_search_tool_of_its_own() -> None:
    lowered: list[Lowered] = [
        TARGET.lower(make_tool(name=name, defer_loading=name == "rare"), TargetOptions()) for name in ("common", "rare")
    ]
    assert len(TARGET.payload(lowered[:1], TargetOptions()).entries) == 1
    assert len(TARGET.payload(lowered[1:], TargetOptions()).entries) == 2
    assert TARGET.payload([], TargetOptions()).entries == []


def test_a_plain_schema_passes_as_it_is() -> None:
    parameters = {
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/A", "description": "One."},
            "b": {"oneOf": [{"type": "string"}, {"type": "null"}]},
            "again": {"$ref": "#"},
            "free": True,
        },
        "$defs": {"A": {"type": "string", "minLength": 1, "pattern": "^(?=x)", "default": "x"}},
        "if": {"required": ["a"]},
        "then": {"required": ["b"]},
        "x-order": ["a", "b"],
    }
    lowered = lower("openai_agents", make_tool(parameters))
    assert lowered.entry["parameters"] == parameters
    assert list(lowered.entry["parameters"]) == list(parameters)
    assert lowered.diagnostics == ()
    for adapter in TYPES:
        adapter.validate_python([lowered.entry], strict=True)


def test_an_older_dialect_is_said_in_the_words_of_today() -> None:
    parameters = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"a": {"$ref": "#/definitions/A", "minLength": 9}, "b": {"items": [{"type": "string"}]}},
        "definitions": {"A": {"type": "string"}},
        "dependencies": {"a": ["b"]},
    }
    assert lower("openai_agents", make_tool(parameters, dialect="draft7")).entry["parameters"] == {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"prefixItems": [{"type": "string"}]}},
        "$defs": {"A": {"type": "string"}},
        "dependentRequired": {"a": ["b"]},
    }
