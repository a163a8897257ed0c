"""Entries of `tools`, judged by the types of the vendor's client, and when strict mode is on."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.responses import FunctionToolParam, ToolParam
from pydantic import TypeAdapter

from codegen.diagnostics import Severity
from tests.targets.support import codes, found, lower, lower_all, make_tool

TYPES: list[TypeAdapter[Any]] = [TypeAdapter(FunctionToolParam), TypeAdapter(ToolParam)]

CLOSED = {
    "type": "object",
    "properties": {"id": {"type": "string"}},
    "required": ["id"],
    "additionalProperties": False,
}
OPTIONAL = {**CLOSED, "required": []}
OPEN = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
FREE = {
    "type": "object",
    "properties": {"filter": {"type": "object"}},
    "required": ["filter"],
    "additionalProperties": False,
}


def check_types(entry: dict[str, Any]) -> None:
    for adapter in TYPES:
        adapter.validate_python(entry, strict=True)


def test_an_entry() -> None:
    entry = lower("openai_responses", make_tool(CLOSED)).entry
    assert list(entry.items()) == [
        ("type", "function"),
        ("name", "find_order"),
        ("description", "Finds an order."),
        ("parameters", CLOSED),
        ("strict", True),
    ]
    check_types(entry)


@pytest.mark.parametrize("description", [None, ""])
def test_an_empty_description_is_left_out(description: str | None) -> None:
    lowered = lower("openai_responses", make_tool(CLOSED, description=description))
    assert "description" not in lowered.entry
    assert lowered.diagnostics == ()
    check_types(lowered.entry)


@pytest.mark.parametrize(
    ("parameters", "said", "sent", "changed"),
    [
        (CLOSED, None, True, False),
        (OPTIONAL, None, False, False),
        (OPEN, None, False, False),
        (FREE, None, False, False),
        (CLOSED, True, True, False),
        (OPTIONAL, True, True, True),
        (OPEN, True, True, True),
        (CLOSED, False, False, False),
        (OPTIONAL, False, False, False),
    ],
)
def test_strict_is_always_said(parameters: dict[str, Any], said: bool | None, sent: bool, changed: bool) -> None:
    lowered = lower("openai_responses", make_tool(parameters, strict=said))
    assert lowered.entry["strict"] is sent
    assert (lowered.entry["parameters"] != parameters) is changed
    check_types(lowered.entry)


def test_what_strict_mode_makes_of_optional_properties() -> None:
    parameters = {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "nights": {"type": "integer", "minimum": 1},
            "notes": {"type": ["string", "null"]},
            "room": {
                "type": "object",
                "properties": {"beds": {"type": "integer"}, "view": {"enum": ["sea", "yard"]}},
                "required": ["beds"],
                "additionalProperties": False,
            },
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    lowered = lower("openai_responses", make_tool(parameters, strict=True))
    assert lowered.entry["parameters"] == {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "nights": {"type": ["integer", "null"], "minimum": 1},
            "notes": {"type": ["string", "null"]},
            "room": {
                "type": ["object", "null"],
                "properties": {
                    "beds": {"type": "integer"},
                    "view": {"type": ["string", "null"], "enum": ["sea", "yard", None]},
                },
                "required": ["beds", "view"],
                "additionalProperties": False,
            },
        },
        "required": ["city", "nights", "notes", "room"],
        "additionalProperties": False,
    }
    assert lowered.read_back == {"strict": True}
    assert lowered.diagnostics == ()


def test_nulls_are_only_read_back_where_strict_mode_added_them() -> None:
    all_required = {**OPEN, "properties": {"id": {"type": ["string", "null"]}}}
    lowered = lower("openai_responses", make_tool(all_required, strict=True))
    assert lowered.read_back == {}
    assert codes(lowered.diagnostics) == ["loss"]  # the object had to be closed


def test_free_form_parts_stop_a_strict_tool_with_a_pointer_each() -> None:
    parameters = {
        "type": "object",
        "properties": {
            "table": {"type": "string"},
            "where": {"type": "object", "additionalProperties": True},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "extra": {},
        },
        "required": ["table"],
        "additionalProperties": False,
    }
    problems = lower("openai_responses", make_tool(parameters, strict=True)).diagnostics
    pointers = [f"/parameters/properties/{name}" for name in ("where", "labels", "extra")]
    assert found(problems, "strict-impossible") == pointers
    assert {p.severity for p in problems} == {Severity.ERROR}
    assert all('take "strict" out' in p.hint for p in problems)

    relaxed = lower("openai_responses", make_tool(parameters))
    assert relaxed.diagnostics == ()
    assert relaxed.entry["parameters"] == parameters
    assert relaxed.entry["strict"] is False


def test_a_union_of_argument_objects_is_sent_as_one_object() -> None:
    branches = [
        {"type": "object", "properties": {name: {"type": "string"}}, "required": [name], "additionalProperties": False}
        for name in ("iban", "card")
    ]
    told = 'One of these is required: "iban" or "card".'
    lowered = lower("openai_responses", make_tool({"oneOf": branches}, strict=True))
    assert lowered.entry["parameters"] == {
        "type": "object",
        "description": told,
        "properties": {name: {"type": ["string", "null"]} for name in ("iban", "card")},
        "required": ["iban", "card"],
        "additionalProperties": False,
    }
    assert codes(lowered.diagnostics) == ["loss"]
    unsaid = lower("openai_responses", make_tool({"oneOf": branches}))
    assert unsaid.entry["parameters"] == {
        "type": "object",
        "description": told,
        "properties": {name: {"type": "string"} for name in ("iban", "card")},
        "additionalProperties": False,
    }
    assert unsaid.entry["strict"] is False
    assert codes(unsaid.diagnostics) == ["loss"]


@pytest.mark.parametrize("target", ["openai_agents", "openai_responses"])
@pytest.mark.parametrize(
    ("root", "words"),
    [
        ({"type": "object", "enum": [{"a": 1}]}, "has enum"),
        ({"type": "object", "allOf": [{}], "not": {"required": ["a"]}}, "has not"),
        ({"type": "object", "allOf": [{"patternProperties": {"^x": {}}}]}, "has allOf"),
    ],
)
def test_a_root_that_cannot_be_said_as_a_plain_object_warns(target: str, root: dict[str, Any], words: str) -> None:
    (problem,) = lower(target, make_tool(root)).diagnostics
    assert (problem.code, problem.severity) == ("target-limit-weak", Severity.WARNING)
    assert words in problem.message


def test_the_list_is_the_entries() -> None:
    tools = [make_tool(CLOSED, name=name, defer_loading=True) for name in ("a", "b")]
    payloads, problems = lower_all(tools, ["openai_responses"])
    assert [entry["name"] for entry in payloads["openai_responses"].entries] == ["a", "b"]
    assert codes(problems) == ["loss", "loss"]
