from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given

from codegen.diagnostics import Report
from codegen.specs import Effect, Override, read_text
from codegen.specs import settings as settings_module
from tests.specs.conftest import Read
from tests.specs.strategies import settings_values
from tests.specs.test_shipped import SPEC_SCHEMA


def spec(settings: Any) -> dict[str, Any]:
    return {"name": "a", "parameters": None, "x-toolgen": settings}


def test_all_settings_are_read(read: Read) -> None:
    settings = {
        "effect": "idempotent",
        "timeout": 2,
        "defer_loading": True,
        "confirm": True,
        "targets": {
            "oci_agents": {"name": "b", "description": "", "strict": False},
            "openai_agents": False,
            "mcp": {},
        },
    }
    tool = read(spec=spec(settings)).tool
    assert (tool.effect, tool.timeout, tool.defer_loading, tool.confirm) == (Effect.IDEMPOTENT, 2.0, True, True)
    assert tool.overrides == {"oci_agents": Override("b", "", False)}
    assert (tool.exposed_name("oci_agents"), tool.exposed_name("mcp")) == ("b", "a")
    assert (tool.exposed_description("oci_agents"), tool.exposed_description("mcp")) == ("", None)
    assert [tool.is_registered(target) for target in ("oci_agents", "openai_agents", "mcp")] == [True, False, True]


def test_without_settings_the_defaults_hold(read: Read) -> None:
    tool = read(spec=spec({})).tool
    assert (tool.effect, tool.timeout, tool.defer_loading, tool.confirm) == (Effect.WRITE, None, False, False)
    assert tool.is_registered("anything")


@pytest.mark.parametrize(
    "targets",
    [["oci_agents", "mcp"], {"oci_agents": {}, "mcp": {}, "*": False}, {"*": False, "oci_agents": {}, "mcp": {}}],
)
def test_a_list_and_a_star_limit_where_a_tool_is_registered(read: Read, targets: Any) -> None:
    tool = read(spec=spec({"targets": targets})).tool
    assert [tool.is_registered(target) for target in ("oci_agents", "mcp", "openai_agents")] == [True, True, False]


@pytest.mark.parametrize(
    ("settings", "pointer", "words"),
    [
        (None, "", "must be an object"),
        ([], "", "must be an object"),
        ({"efect": "read"}, "/efect", '"effect"'),
        ({"effect": "reads"}, "/effect", '"read"'),
        ({"effect": None}, "/effect", "read, idempotent, write"),
        ({"timeout": 0}, "/timeout", "above 0"),
        ({"timeout": -1}, "/timeout", "above 0"),
        ({"timeout": True}, "/timeout", "above 0"),
        ({"timeout": "5"}, "/timeout", "above 0"),
        ({"timeout": 10**400}, "/timeout", "above 0"),
        ({"defer_loading": "yes"}, "/defer_loading", "true or false"),
        ({"confirm": 1}, "/confirm", "true or false"),
        ({"targets": "mcp"}, "/targets", "a list or an object"),
        ({"targets": []}, "/targets", "nowhere"),
        ({"targets": ["mcp", "mcp"]}, "/targets", "twice"),
        ({"targets": ["mcp", 7]}, "/targets/1", "target id"),
        ({"targets": ["*"]}, "/targets/0", "target id"),
        ({"targets": {"mcp": True}}, "/targets/mcp", "object or false"),
        ({"targets": {"mcp": None}}, "/targets/mcp", "object or false"),
        ({"targets": {"": {}}}, "/targets/", "empty"),
        ({"targets": {"*": {}}}, "/targets/*", "false only"),
        ({"targets": {"*": False, "mcp": False}}, "/targets/*", "nowhere"),
        ({"targets": {"mcp": {"nam": "b"}}}, "/targets/mcp/nam", '"name"'),
        ({"targets": {"mcp": {"name": ""}}}, "/targets/mcp/name", "not empty"),
        ({"targets": {"mcp": {"description": 7}}}, "/targets/mcp/description", "a text"),
        ({"targets": {"a/b": {"strict": "x"}}}, "/targets/a~1b/strict", "true or false"),
    ],
)
def test_wrong_settings_are_errors_with_their_place(read: Read, settings: Any, pointer: str, words: str) -> None:
    problem = read(spec=spec(settings)).problem
    assert (problem.code, problem.pointer, problem.tool) == ("x-toolgen", f"/x-toolgen{pointer}", "a")
    assert words in f"{problem.message} {problem.hint}"


def test_all_wrong_settings_are_told_and_the_right_ones_hold(read: Read) -> None:
    outcome = read(spec=spec({"effect": "read", "timeout": 0, "confirm": 2}))
    assert outcome.codes == ["x-toolgen", "x-toolgen"]
    assert [tool.effect for tool in outcome.catalog] == [Effect.READ]


def test_two_values_of_defer_loading_must_agree(read: Read) -> None:
    same = {**spec({"defer_loading": True}), "defer_loading": True}
    assert read(spec=same).tool.defer_loading
    other = {**spec({"defer_loading": False}), "defer_loading": True}
    problem = read({"spec.json": other}).problem
    assert (problem.code, problem.pointer) == ("x-toolgen", "/x-toolgen/defer_loading")


@given(settings_values)
def test_the_schema_for_editors_judges_as_the_reader(settings: Any) -> None:
    report = Report()
    read_text(json.dumps(spec(settings)), "a.json", report)
    validator = jsonschema.Draft202012Validator({**SPEC_SCHEMA, "$ref": "#/$defs/x-toolgen"})
    assert report.has_errors is not validator.is_valid(settings)


@given(settings_values)
def test_what_was_read_is_written_back(settings: Any) -> None:
    report = Report()
    catalog = read_text(json.dumps(spec(settings)), "a.json", report)
    if report.has_errors:
        return
    (tool,) = catalog
    said = settings_module.Settings(
        tool.effect,
        tool.timeout,
        tool.defer_loading,
        tool.confirm,
        tool.overrides,
        tool.only_targets,
        tool.excluded_targets,
    )
    again = read_text(json.dumps(spec(settings_module.written(said))), "a.json", report)
    assert not report.has_errors
    assert [(t.effect, t.overrides, t.only_targets, t.excluded_targets) for t in again] == [
        (tool.effect, tool.overrides, tool.only_targets, tool.excluded_targets)
    ]
