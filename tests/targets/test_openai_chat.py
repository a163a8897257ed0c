"""Entries of Chat Completions: those of Responses, nested."""

from __future__ import annotations

from typing import Any

import pytest

from codegen.diagnostics import Severity
from codegen.targets import registry
from tests.targets.public_tools import in_strict_mode, real_tools
from tests.targets.support import codes, found, lower, lower_all, make_tool
from tests.targets.vendors import JUDGES

CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "string"}},
    "required": ["id"],
    "additionalProperties": False,
}


def test_an_entry() -> None:
    entry = lower("openai_chat", make_tool(CLOSED)).entry
    function = {"name": "find_order", "description": "Finds an order.", "parameters": CLOSED, "strict": True}
    assert entry == {"type": "function", "function": function}
    assert list(entry["function"]) == list(function)


@pytest.mark.parametrize("description", [None, ""])
def test_an_empty_description_is_left_out(description: str | None) -> None:
    lowered = lower("openai_chat", make_tool(CLOSED, description=description))
    assert "description" not in lowered.entry["function"]
    assert lowered.diagnostics == ()
    JUDGES["openai_chat"]([lowered.entry])


def test_a_tool_without_parameters() -> None:
    """An object schema that says no more: left out, older servers would take it for anything.

    The list of properties is there even so, since schemas without one have been refused.
    """
    sent = lower("openai_chat", make_tool({"type": "object"})).entry["function"]["parameters"]
    assert sent == {"type": "object", "properties": {}}


@pytest.mark.parametrize("strict", [None, True])
def test_schemas_and_strict_mode_are_those_of_responses(strict: bool | None) -> None:
    tools = real_tools() if strict is None else in_strict_mode(real_tools()).tools
    for tool in tools:
        chat, responses = lower("openai_chat", tool), lower("openai_responses", tool)
        assert chat.entry["function"] == {key: value for key, value in responses.entry.items() if key != "type"}
        assert chat.read_back == responses.read_back
        assert codes(chat.diagnostics) == codes(responses.diagnostics)


def test_free_form_parts_stop_a_strict_tool() -> None:
    parameters = {**CLOSED, "properties": {"id": {"type": "string"}, "labels": {"type": "object"}}}
    problems = lower("openai_chat", make_tool(parameters, strict=True)).diagnostics
    assert found(problems, "strict-impossible") == ["/parameters/properties/labels"]


def test_128_functions_are_the_most() -> None:
    tools = [make_tool(name=f"tool_{number:03}") for number in range(129)]
    assert lower_all(tools[:-1], ["openai_chat"])[1] == []
    (whole,) = lower_all(tools, ["openai_chat"])[1]
    assert (whole.code, whole.severity) == ("target-limit-weak", Severity.WARNING)
    toolsets = {"all": tuple(tool.name for tool in tools)}
    assert [one.severity for one in lower_all(tools, ["openai_chat"], toolsets=toolsets)[1]] == [
        Severity.NOTE,
        Severity.ERROR,
    ]


def test_the_facts_are_those_of_the_vendor() -> None:
    facts = registry()["openai_chat"].facts
    assert facts.name == registry()["openai_responses"].facts.name
    assert facts.strict is registry()["openai_responses"].facts.strict
    assert facts.calls.keys == ("tool_call_id",)
