"""Lowering a catalog: which tools go where, and ids of targets that nobody knows."""

from __future__ import annotations

from codegen.diagnostics import Severity
from codegen.specs.tool import Override
from codegen.targets import BUILT_IN
from tests.targets.support import codes, lower_all, make_tool


def test_no_targets_make_no_payloads() -> None:
    assert lower_all([make_tool()], []) == ({}, [])


def test_an_empty_catalog_makes_empty_lists() -> None:
    payloads, problems = lower_all([], BUILT_IN)
    assert problems == []
    assert {name: payload.entries for name, payload in payloads.items()} == {name: [] for name in BUILT_IN}


def test_unknown_targets_of_the_build() -> None:
    payloads, problems = lower_all([make_tool()], ["openai_response", "oci_agents", "oci_agents"])
    assert list(payloads) == ["oci_agents"]
    (problem,) = problems
    assert (problem.code, problem.severity, problem.file) == ("unknown-target", Severity.ERROR, "--target")
    assert "did you mean openai_responses?" in problem.hint
    assert "openai_agents" in problem.hint


def test_unknown_targets_of_a_spec() -> None:
    tool = make_tool(
        overrides={"openai-agents": Override(name="x")},
        only_targets=("openai-agents", "oci_agents", "nowhere"),
        excluded_targets=("elsewhere",),
    )
    _, problems = lower_all([tool], [])
    assert [(p.code, p.pointer) for p in problems] == [
        ("unknown-target", "/x-toolgen/targets/openai-agents"),
        ("unknown-target", "/x-toolgen/targets"),
        ("unknown-target", "/x-toolgen/targets"),
    ]
    assert "did you mean openai_agents?" in problems[0].hint


def test_a_tool_is_registered_where_its_spec_says() -> None:
    tools = [
        make_tool(name="everywhere"),
        make_tool(name="only", only_targets=("oci_agents",)),
        make_tool(name="without", excluded_targets=("oci_agents",)),
    ]
    payloads, problems = lower_all(tools, BUILT_IN)
    assert problems == []
    assert {name: [one.tool for one in payload.lowered] for name, payload in payloads.items()} == {
        name: ["everywhere", "only"] if name == "oci_agents" else ["everywhere", "without"] for name in BUILT_IN
    }


def test_a_tool_is_only_checked_where_it_is_registered() -> None:
    tool = make_tool(description=None, only_targets=("openai_responses",))
    _, problems = lower_all([tool], BUILT_IN)
    assert codes(problems) == []
