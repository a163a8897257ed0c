from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given

from codegen.diagnostics import Report
from codegen.specs import Effect, Override, Tool, ToolNames, read_text, to_spec
from tests.specs.conftest import Read
from tests.specs.strategies import tools


@given(tools())
def test_reading_a_canonical_spec_gives_the_tool_back(tool: Tool) -> None:
    report = Report()
    text = json.dumps(to_spec(tool), indent=2, ensure_ascii=False)
    (again,) = read_text(text, "made.json", report)
    assert report.diagnostics == []
    assert replace(again, origin=tool.origin) == tool
    assert json.dumps(again.parameters) == json.dumps(tool.parameters)


@given(tools())
def test_writing_again_changes_nothing(tool: Tool) -> None:
    text = json.dumps(to_spec(tool))
    (again,) = read_text(text, "made.json", Report())
    assert json.dumps(to_spec(again)) == text


def test_only_what_is_set_is_written_in_a_fixed_order(read: Read) -> None:
    spec = {
        "x-toolgen": {
            "targets": {"mcp": {"strict": True, "name": "b"}, "oci_agents": False},
            "confirm": True,
            "timeout": 5,
            "defer_loading": True,
            "effect": "read",
        },
        "annotations": {"readOnlyHint": False, "destructiveHint": True},
        "strict": False,
        "returns": True,
        "parameters": {"type": "object"},
        "description": "d",
        "title": "A",
        "name": "a",
        "type": "function",
    }
    tool = read(spec=spec).tool
    assert json.dumps(to_spec(tool)) == json.dumps(
        {
            "name": "a",
            "title": "A",
            "description": "d",
            "parameters": {"type": "object"},
            "returns": True,
            "strict": False,
            "annotations": {"readOnlyHint": False, "destructiveHint": True},
            "x-toolgen": {
                "effect": "read",
                "timeout": 5,
                "defer_loading": True,
                "confirm": True,
                "targets": {"mcp": {"name": "b", "strict": True}, "oci_agents": False},
            },
        }
    )


def test_defaults_are_left_out(read: Read) -> None:
    spec = {"name": "a", "parameters": None, "x-toolgen": {"effect": "write", "confirm": False, "targets": {"mcp": {}}}}
    tool = read(spec=spec).tool
    assert to_spec(tool) == {"name": "a", "parameters": {"type": "object", "properties": {}}}
    assert to_spec(replace(tool, names=ToolNames("a", "a", "A"))) == to_spec(tool)


def test_the_effect_is_written_also_where_the_annotations_say_it(read: Read) -> None:
    spec: dict[str, Any] = {"name": "a", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
    assert to_spec(read(spec=spec).tool)["x-toolgen"] == {"effect": "read"}
    spec["x-toolgen"] = {"effect": "write"}
    assert to_spec(read({"again.json": spec, "spec.json": []}).tool)["x-toolgen"] == {"effect": "write"}


def test_overrides_of_the_only_targets_are_kept(read: Read) -> None:
    settings = {"targets": {"mcp": {"name": "b"}, "oci_agents": {}, "*": False}}
    tool = read(spec={"name": "a", "parameters": None, "x-toolgen": settings}).tool
    assert (tool.only_targets, tool.overrides, tool.effect) == (
        ("mcp", "oci_agents"),
        {"mcp": Override("b")},
        Effect.WRITE,
    )
    assert to_spec(tool)["x-toolgen"] == settings
