"""Names that targets show: rules, replacements, clashes."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.diagnostics import Severity
from codegen.specs.tool import Override
from codegen.targets import BUILT_IN, TargetOptions, registry
from codegen.targets.interface import Evidence, NameRule
from tests.targets.support import codes, lower, lower_all, make_tool

OPENAI = registry()["openai_responses"].facts.name
OCI = registry()["oci_agents"].facts.name
SMALL = NameRule("a-z", "a-z0-9-", 20, Evidence.WEAK, "a rule without `_` and capitals")
CAPITALS = NameRule("A-Z", "A-Za-z0-9", 12, Evidence.WEAK, "a rule without anything to fill with")
REPLACE = TargetOptions(names="replace")


def test_patterns_are_the_documented_ones() -> None:
    assert OPENAI.pattern == "^[a-zA-Z0-9_-]{1,64}$"
    assert OCI.pattern == "^[A-Za-z_][A-Za-z0-9_-]{0,254}$"


@pytest.mark.parametrize(
    ("name", "openai", "oci"),
    [
        ("get_order", True, True),
        ("2nd-try", True, False),
        ("-dash", True, False),
        ("_x", True, True),
        ("orders.get", False, False),
        ("orders/get", False, False),
        ("pedido_ñ", False, False),
        ("a" * 64, True, True),
        ("a" * 65, False, True),
        ("a" * 255, False, True),
        ("a" * 256, False, False),
        ("get_order\n", False, False),
        ("", False, False),
    ],
)
def test_which_names_are_refused(name: str, openai: bool, oci: bool) -> None:
    for target, accepted in (("openai_agents", openai), ("openai_responses", openai), ("oci_agents", oci)):
        problems = lower(target, make_tool(name=name)).diagnostics
        assert codes(problems) == ([] if accepted else ["target-name"])


@given(st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_]{0,62}\Z"))
def test_the_names_that_every_target_takes(name: str) -> None:
    pattern = "^[A-Za-z_][A-Za-z0-9_]{0,62}$"
    assert all(registry()[target].facts.name.accepts(name) for target in BUILT_IN)
    assert re.search(pattern, name)
    assert pattern in (Path(__file__).parents[2] / "docs/targets.md").read_text(encoding="utf-8")


def test_a_refused_name_is_one_line_a_tool_and_target_that_says_what_to_do() -> None:
    tools = [make_tool(name="orders.find"), make_tool(name="orders.find.by customer")]
    refusing = [target for target in BUILT_IN if not registry()[target].facts.name.accepts(tools[0].name)]
    _, problems = lower_all(tools, refusing)
    assert set(BUILT_IN) - set(refusing) <= {"gemini", "mcp"}
    assert [(p.tool, p.target) for p in problems] == [(tool.name, target) for target in refusing for tool in tools]
    assert {p.severity for p in problems} == {Severity.ERROR}
    assert {p.pointer for p in problems} == {"/name"}
    assert "holds '.' ' '" in problems[1].message
    assert "x-toolgen.targets.openai_agents.name" in problems[0].hint


@pytest.mark.parametrize(
    ("name", "replacement"),
    [("orders.find", "orders_find"), ("búsqueda", "b_squeda"), ("a b", "a_b"), ("2nd", "_2nd"), ("/", "_"), ("", "_")],
)
def test_replaced_characters(name: str, replacement: str) -> None:
    lowered = lower("oci_agents", make_tool(name=name), REPLACE)
    assert lowered.name == lowered.entry["displayName"] == replacement
    assert lowered.read_back == {"name": replacement}
    assert codes(lowered.diagnostics) == ["name-replaced"]
    assert lowered.diagnostics[0].severity is Severity.WARNING


def test_long_names_that_differ_only_at_the_end_stay_apart() -> None:
    stem = "reports.export_everything_that_was_ever_written_about_one_single_customer"
    names = [lower("openai_agents", make_tool(name=stem + end), REPLACE).name for end in ("_a", "_b")]
    assert names[0] != names[1]
    assert [len(name) for name in names] == [64, 64]
    assert names[0] == lower("openai_responses", make_tool(name=stem + "_a"), REPLACE).name


def test_an_override_is_used_as_it_is() -> None:
    tool = make_tool(name="orders.find", overrides={"openai_agents": Override(name="orders_find")})
    assert lower("openai_agents", tool).entry["name"] == "orders_find"
    assert lower("openai_agents", tool).diagnostics == ()
    assert codes(lower("openai_responses", tool).diagnostics) == ["target-name"]


def test_a_refused_override_is_reported_where_it_stands() -> None:
    tool = make_tool(overrides={"openai_agents": Override(name="no good")})
    (problem,) = lower("openai_agents", tool).diagnostics
    assert problem.pointer == "/x-toolgen/targets/openai_agents/name"


def test_a_clash_names_both_tools() -> None:
    tools = [make_tool(name=name) for name in ("a.b", "a/b", "a_b")]
    _, problems = lower_all(tools, ["openai_agents"], REPLACE)
    clashes = [p for p in problems if p.code == "name-clash"]
    assert [p.tool for p in clashes] == ["a/b", "a_b"]
    assert all(p.severity is Severity.ERROR and "'a.b'" in p.message and repr(p.tool) in p.message for p in clashes)


def test_a_clash_through_an_override_concerns_that_target_only() -> None:
    tools = [make_tool(name="one"), make_tool(name="two", overrides={"oci_agents": Override(name="one")})]
    _, problems = lower_all(tools, BUILT_IN)
    assert [(p.code, p.target) for p in problems] == [("name-clash", "oci_agents")]


@given(name=st.text(max_size=300), rule=st.sampled_from([OPENAI, OCI, SMALL, CAPITALS]))
def test_a_replacement_is_always_accepted_and_is_its_own(name: str, rule: NameRule) -> None:
    replacement = rule.replacement(name)
    assert rule.accepts(replacement)
    assert rule.replacement(replacement) == replacement


@given(name=st.text(string.ascii_letters + string.digits + "_-. é\n", max_size=70))
def test_the_pattern_says_what_is_accepted(name: str) -> None:
    body = OPENAI.pattern.removeprefix("^").removesuffix("$")
    assert OPENAI.accepts(name) == (re.fullmatch(body, name) is not None)
