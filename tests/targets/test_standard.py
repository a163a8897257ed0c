"""What every target made from facts does: descriptions, limits, settings, lists."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from codegen.diagnostics import Severity
from codegen.specs.tool import Override
from codegen.targets import BUILT_IN, Target, TargetFacts, TargetOption, TargetOptionError, TargetOptions, registry
from codegen.targets.interface import CallFacts, DescriptionRule, Evidence, Limit, Measure, NameRule
from codegen.targets.standard import Exposed, Shaped, StandardTarget
from tests.targets.support import codes, found, lower, lower_all, make_tool


def shape(exposed: Exposed, options: TargetOptions) -> Shaped:
    return Shaped({"name": exposed.name, "schema": exposed.tool.parameters})


def make_target(**facts: Any) -> StandardTarget:
    defaults: dict[str, Any] = {
        "name": NameRule("a-z", "a-z", 20, Evidence.DOCUMENTED, "test"),
        "description": DescriptionRule(False, Evidence.DOCUMENTED, "test"),
        "calls": CallFacts("object", ("id",), "text", "text"),
    }
    return StandardTarget("probe", "Probe", TargetFacts(**(defaults | facts)), shape)


def test_a_standard_target_is_a_target() -> None:
    assert isinstance(make_target(), Target)
    assert all(isinstance(registry()[name], Target) for name in BUILT_IN)


def test_a_name_rule_that_is_a_recommendation_warns_and_keeps_the_name() -> None:
    target = make_target(name=NameRule("a-z", "a-z", 20, Evidence.DOCUMENTED, "test", hard=False))
    lowered = target.lower(make_tool(name="UPPER"), TargetOptions(names="replace"))
    assert lowered.name == "UPPER"
    assert codes(lowered.diagnostics) == ["target-limit-weak"]


@pytest.mark.parametrize("description", [None, ""])
@pytest.mark.parametrize("target", ["openai_agents", "oci_agents"])
def test_a_required_description(target: str, description: str | None) -> None:
    (problem,) = lower(target, make_tool(description=description)).diagnostics
    assert (problem.code, problem.severity, problem.pointer) == ("target-description", Severity.ERROR, "/description")
    assert f"x-toolgen.targets.{target}.description" in problem.hint


def test_a_description_for_one_target_mends_a_missing_one() -> None:
    tool = make_tool(description=None, overrides={"openai_agents": Override(description="Finds an order.")})
    assert lower("openai_agents", tool).diagnostics == ()
    assert lower("openai_agents", tool).entry["description"] == "Finds an order."
    assert codes(lower("oci_agents", tool).diagnostics) == ["target-description"]


@pytest.mark.parametrize(
    ("target", "limit"), [("openai_agents", 1024), ("openai_responses", 1024), ("oci_agents", 512)]
)
def test_long_descriptions_warn(target: str, limit: int) -> None:
    assert lower(target, make_tool(description="x" * limit)).diagnostics == ()
    (problem,) = lower(target, make_tool(description="x" * (limit + 1))).diagnostics
    assert (problem.code, problem.severity) == ("target-limit-weak", Severity.WARNING)
    assert f"{limit:,}" in problem.message


def test_text_passes_character_for_character() -> None:
    text = "First line.\n\n  Indented, {{braces}}, 100 %s, a\ttab, \\n no newline, “quotes”, 日本, ends with \\"
    tool = make_tool(
        {"type": "object", "properties": {"a": {"type": "string", "description": text}}, "additionalProperties": False},
        description=text,
    )
    agents = lower("openai_agents", tool).entry
    responses = lower("openai_responses", tool).entry
    oci = lower("oci_agents", tool).entry
    function = oci["toolConfig"]["function"]
    assert agents["description"] == responses["description"] == oci["description"] == function["description"] == text
    for entry in (agents, responses):
        assert entry["parameters"]["properties"]["a"]["description"] == text
    assert json.loads(function["parameters"]["properties"])["a"]["description"] == text


@pytest.mark.parametrize(
    ("target", "lost"), [("openai_agents", True), ("oci_agents", True), ("openai_responses", False)]
)
def test_strict_is_a_loss_where_there_is_none(target: str, lost: bool) -> None:
    lowered = lower(target, make_tool(strict=True))
    assert codes(lowered.diagnostics) == (["loss"] if lost else [])
    assert "strict" not in json.dumps(lowered.entry) or not lost
    assert lower(target, make_tool(strict=False)).diagnostics == ()


def test_strict_may_be_said_for_one_target() -> None:
    tool = make_tool(strict=False, overrides={"openai_responses": Override(strict=True)})
    assert lower("openai_responses", tool).entry["strict"] is True
    assert lower("openai_agents", tool).diagnostics == ()


@pytest.mark.parametrize("target", ["openai_responses", "oci_agents"])
def test_deferring_is_a_loss_where_it_cannot_be_said(target: str) -> None:
    lowered = lower(target, make_tool(defer_loading=True))
    assert codes(lowered.diagnostics) == ["loss"]
    assert "defer_loading" not in json.dumps(lowered.entry)


def limit(measure: Measure, maximum: int, **rest: Any) -> Limit:
    return Limit(measure, maximum, Evidence.DOCUMENTED, "test", **rest)


def test_limits_of_an_entry_and_of_the_list() -> None:
    limits = (limit(Measure.ENTRY, 90, hard=True), limit(Measure.LIST, 150))
    target = make_target(limits=limits)
    large = {"type": "object", "properties": {"name": {"type": "string", "description": "é" * 30}}}
    _, problems = lower_all([make_tool(name="a"), make_tool(large, name="b")], ["probe"], known={"probe": target})
    assert [(p.code, p.tool, p.file) for p in problems] == [
        ("target-limit", "b", "specs/tools.json"),
        ("target-limit-weak", "", "payloads/probe.json"),
    ]
    assert "156 bytes" in problems[0].message  # bytes of UTF-8, not characters


def test_a_list_limit_is_an_error_for_a_toolset_and_a_warning_for_the_whole() -> None:
    tools = [make_tool(name=f"tool_{number}") for number in range(21)]
    whole, problems = lower_all(tools, ["oci_agents"])
    assert [(p.code, p.severity) for p in problems] == [("target-limit-weak", Severity.WARNING)]
    assert len(whole["oci_agents"].entries) == 21
    _, problems = lower_all(tools, ["oci_agents"], TargetOptions(toolset="support"))
    assert [(p.code, p.severity) for p in problems] == [("target-limit", Severity.ERROR)]
    assert "'support'" in problems[0].message
    _, problems = lower_all(tools[:20], ["oci_agents"], TargetOptions(toolset="support"))
    assert problems == []


def test_many_tools_warn_on_openai_even_in_a_toolset() -> None:
    tools = [make_tool(name=f"tool_{number}") for number in range(129)]
    for options in (TargetOptions(), TargetOptions(toolset="all")):
        _, problems = lower_all(tools, ["openai_agents", "openai_responses"], options)
        assert codes(problems) == ["target-limit-weak", "target-limit-weak"]


def test_the_agents_list_has_a_hard_size() -> None:
    text = "x" * 400_000
    parameters = {"type": "object", "properties": {"a": {"type": "string", "description": text}}}
    tools = [make_tool(parameters, name=f"tool_{number}") for number in range(8)]
    _, problems = lower_all(tools[:7], ["openai_agents"])
    assert problems == []
    _, problems = lower_all(tools, ["openai_agents"])
    assert [(p.code, p.severity) for p in problems] == [("target-limit", Severity.ERROR)]


@pytest.mark.parametrize("target", BUILT_IN)
@pytest.mark.parametrize("strict", [None, True, False])
def test_lowering_changes_no_tool_and_shares_nothing_with_it(target: str, strict: bool | None) -> None:
    parameters = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A", "description": "an a"}, "b": {"enum": ["x", "y"]}},
        "required": ["a"],
        "additionalProperties": False,
        "$defs": {"A": {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}},
    }
    before = copy.deepcopy(parameters)
    lowered = lower(target, make_tool(parameters, strict=strict))
    assert parameters == before
    _scribble(lowered.entry)
    assert parameters == before


def _scribble(value: Any) -> None:
    if isinstance(value, dict):
        for member in list(value.values()):
            _scribble(member)
        value["scribble"] = True
    elif isinstance(value, list):
        for member in value:
            _scribble(member)
        value.append("scribble")


@pytest.mark.parametrize("target", BUILT_IN)
def test_lowering_twice_gives_the_same_text(target: str) -> None:
    parameters = {
        "type": "object",
        "properties": {name: {"$ref": "#/$defs/T"} for name in ("z", "a", "m")},
        "$defs": {"T": {"type": "object", "properties": {"t": {"$ref": "#/$defs/T"}}}},
    }
    tool = make_tool(parameters, strict=True)
    text, *others = (json.dumps(lower(target, tool).entry) for _ in range(3))
    assert others == [text, text]
    assert text.index("z") < text.index('a\\"' if target == "oci_agents" else '"a"')


def test_common_tools_need_no_reading_back() -> None:
    for target in BUILT_IN:
        assert lower(target, make_tool()).read_back == {}
    payloads, _ = lower_all([make_tool()], BUILT_IN)
    assert all(payload.read_back == {} for payload in payloads.values())


def test_options_have_a_default_and_refuse_other_values() -> None:
    option = TargetOption("colour", ("red", "blue"), "test")
    assert TargetOptions().choice(option) == "red"
    assert TargetOptions(settings={"colour": "blue"}).choice(option) == "blue"
    with pytest.raises(TargetOptionError) as caught:
        TargetOptions(settings={"colour": "green"}).choice(option)
    assert (caught.value.option, caught.value.value) == (option, "green")


def test_every_problem_of_a_tool_is_found_at_once() -> None:
    parameters = {"type": "object", "properties": {"any": {}, "map": {"type": "object"}}}
    tool = make_tool(parameters, name="no good", description=None, strict=True, defer_loading=True)
    problems = lower("openai_responses", tool).diagnostics
    assert {"target-name", "loss", "strict-impossible"} == set(codes(problems))
    assert found(problems, "strict-impossible") == ["/parameters/properties/any", "/parameters/properties/map"]
