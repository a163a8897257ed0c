"""Entries of an answer to `tools/list`."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest

from codegen.diagnostics import Report, Severity
from codegen.specs import read_text, to_spec
from codegen.specs.tool import Effect
from tests.targets.public_tools import suite_tools
from tests.targets.support import codes, found, lower, make_tool
from tests.targets.vendors import JUDGES

TEXT = {"type": "string"}
OBJECT: dict[str, Any] = {"type": "object", "properties": {"id": TEXT}, "required": ["id"]}


def test_an_entry() -> None:
    tool = make_tool(OBJECT, title="Find an order", returns=OBJECT, effect=Effect.READ)
    assert list(lower("mcp", tool).entry.items()) == [
        ("name", "find_order"),
        ("title", "Find an order"),
        ("description", "Finds an order."),
        ("inputSchema", OBJECT),
        ("outputSchema", OBJECT),
        ("annotations", {"readOnlyHint": True}),
    ]


def test_only_what_there_is() -> None:
    entry = lower("mcp", make_tool({"type": "object"}, description="")).entry
    assert entry == {"name": "find_order", "inputSchema": {"type": "object"}}


class TestAnnotations:
    @pytest.mark.parametrize(
        ("effect", "annotations", "sent"),
        [
            (Effect.WRITE, None, None),
            (Effect.READ, None, {"readOnlyHint": True}),
            (Effect.IDEMPOTENT, None, {"idempotentHint": True}),
            (Effect.WRITE, {"destructiveHint": False}, {"destructiveHint": False}),
            (
                Effect.READ,
                {"title": "T", "openWorldHint": False},
                {"title": "T", "openWorldHint": False, "readOnlyHint": True},
            ),
            # What the spec says of the effect goes before hints that say otherwise.
            (Effect.WRITE, {"readOnlyHint": True}, {"readOnlyHint": False}),
            (Effect.WRITE, {"idempotentHint": True}, {"idempotentHint": False}),
            (Effect.IDEMPOTENT, {"readOnlyHint": True}, {"readOnlyHint": False, "idempotentHint": True}),
            (
                Effect.READ,
                {"readOnlyHint": True, "idempotentHint": True},
                {"readOnlyHint": True, "idempotentHint": True},
            ),
        ],
    )
    def test_follow_the_effect(
        self, effect: Effect, annotations: dict[str, Any] | None, sent: dict[str, Any] | None
    ) -> None:
        lowered = lower("mcp", make_tool(effect=effect, annotations=annotations))
        assert lowered.entry.get("annotations") == sent
        JUDGES["mcp"]([lowered.entry])

    @pytest.mark.parametrize("effect", list(Effect))
    def test_a_server_that_reads_them_back_sees_the_same_effect(self, effect: Effect) -> None:
        assert Effect.hinted(lower("mcp", make_tool(effect=effect)).entry.get("annotations")) is effect


class TestInput:
    def test_composition_stays_beside_the_type(self) -> None:
        groups = [{"required": ["id"]}, {"required": ["mail"]}]
        parameters = {"type": "object", "properties": {"id": TEXT, "mail": TEXT}, "anyOf": groups}
        lowered = lower("mcp", make_tool(parameters))
        assert (lowered.entry["inputSchema"], lowered.diagnostics) == (parameters, ())
        union = {"oneOf": [OBJECT, {"type": "object", "properties": {"mail": TEXT}}]}
        assert lower("mcp", make_tool(union)).entry["inputSchema"] == {**union, "type": "object"}

    def test_a_root_that_refers_to_an_object_is_that_object(self) -> None:
        parameters = {"$ref": "#/$defs/Order", "$defs": {"Order": {**OBJECT, "title": "Order"}}}
        lowered = lower("mcp", make_tool(parameters))
        assert lowered.entry["inputSchema"] == {**OBJECT, "title": "Order"}

    def test_one_that_contains_itself_keeps_its_definition(self) -> None:
        node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
        parameters = {"$ref": "#/$defs/Node", "$defs": {"Node": node}}
        assert lower("mcp", make_tool(parameters)).entry["inputSchema"] == {**node, "$defs": {"Node": node}}

    def test_no_schema_is_loosened(self) -> None:
        """Every value of the suite fares with the payload as with the spec."""
        judged = 0
        for tool in suite_tools()[::7]:
            lowered = lower("mcp", tool)
            if lowered.diagnostics:
                continue
            before = jsonschema_rs.Draft202012Validator(tool.parameters, offline=True)
            after = jsonschema_rs.Draft202012Validator(lowered.entry["inputSchema"], offline=True)
            for value in ({"value": one} for one in (None, 1, "a", [], [1, "a"], {}, {"foo": 1}, {"foo": {"bar": 2}})):
                assert before.is_valid(value) == after.is_valid(value)
                judged += 1
        assert judged > 200

    def test_names_that_apis_behind_a_host_refuse_are_a_warning(self) -> None:
        (problem,) = lower("mcp", make_tool({"type": "object", "properties": {"a b": TEXT}})).diagnostics
        assert (problem.code, problem.severity) == ("target-limit-weak", Severity.WARNING)
        assert problem.pointer == "/parameters/properties/a b"


class TestOutput:
    @pytest.mark.parametrize("returns", [None, True, False])
    def test_nothing_is_said_where_there_is_nothing_to_say(self, returns: bool | None) -> None:
        lowered = lower("mcp", make_tool(returns=returns))
        assert "outputSchema" not in lowered.entry
        assert lowered.diagnostics == ()

    @pytest.mark.parametrize(
        "returns", [{"type": "integer"}, {"type": ["object", "null"]}, {}, {"anyOf": [OBJECT, {"type": "array"}]}]
    )
    def test_what_need_not_be_an_object_is_for_the_newest_revision(self, returns: dict[str, Any]) -> None:
        tool = make_tool(returns=returns)
        lowered = lower("mcp", tool)
        assert lowered.entry["outputSchema"] == returns
        assert codes(lowered.diagnostics) == ["loss"]
        assert "before 2026-07-28" in lowered.diagnostics[0].message
        JUDGES["mcp"]([lowered.entry])

    def test_the_report_points_at_the_result(self) -> None:
        spec = '{"name": "a", "description": "x", "parameters": {"type": "object"}, "returns": {"type": "string"}}'
        (tool,) = read_text(spec, "a.json", Report())
        assert found(lower("mcp", tool).diagnostics, "loss") == ["/returns"]

    def test_a_union_of_objects_is_an_object(self) -> None:
        union = {"oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}], "$defs": {"A": OBJECT, "B": OBJECT}}
        lowered = lower("mcp", make_tool(returns=union))
        assert lowered.entry["outputSchema"] == {**union, "type": "object"}
        assert lowered.diagnostics == ()

    def test_definitions_and_old_dialects(self) -> None:
        returns = {
            "definitions": {"Price": {"type": "number", "minimum": 0, "exclusiveMinimum": True}},
            "type": "object",
            "properties": {"price": {"$ref": "#/definitions/Price"}},
        }
        entry = lower("mcp", make_tool(OBJECT, returns=returns, dialect="draft4")).entry
        assert entry["outputSchema"]["properties"] == {"price": {"$ref": "#/$defs/Price"}}
        assert entry["outputSchema"]["$defs"] == {"Price": {"type": "number", "exclusiveMinimum": 0}}


class TestNames:
    @pytest.mark.parametrize(
        ("name", "reported"),
        [
            ("orders.find-one_2", False),
            ("búsqueda", True),
            ("a/b", True),
            ("x" * 64, False),
            ("x" * 65, True),
            ("x" * 129, True),
        ],
    )
    def test_are_warnings_since_the_sdk_only_warns(self, name: str, reported: bool) -> None:
        problems = lower("mcp", make_tool(name=name)).diagnostics
        assert bool(problems) is reported
        assert {one.severity for one in problems} <= {Severity.WARNING}
        assert lower("mcp", make_tool(name=name)).entry["name"] == name


def test_an_answer_of_another_server_comes_back() -> None:
    listed = {
        "tools": [
            {
                "name": "orders.find",
                "title": "Find",
                "description": "Finds.",
                "inputSchema": {"type": "object", "properties": {"id": TEXT}, "required": ["id"]},
                "outputSchema": {"type": "object", "properties": {"id": TEXT}},
                "annotations": {"readOnlyHint": True, "openWorldHint": False},
            }
        ]
    }
    report = Report()
    (tool,) = read_text(json.dumps(listed), "tools.json", report)
    assert lower("mcp", tool).entry == listed["tools"][0]
    (again,) = read_text(json.dumps(to_spec(tool)), "again.json", report)
    assert lower("mcp", again).entry == listed["tools"][0]
    assert not report.has_errors
