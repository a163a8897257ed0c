"""Lowering as a table of passes, and what is recorded of each."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.targets import BUILT_IN, TargetOptions, registry
from codegen.targets.interface import KEPT, KeywordRule, TargetFacts, Treatment
from codegen.targets.nodes import Node, Notes, walk_nodes
from codegen.targets.passes import (
    DEFINE_REFERENCES,
    INLINE_REFERENCES,
    OBJECT_ROOT,
    READ,
    Pass,
    keyword_pass,
    run_passes,
    shown,
)
from tests.targets.support import codes, lower, make_tool

TREE: dict[str, Any] = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/Node"}, "size": {"type": "integer", "minimum": 1}},
    "required": ["root"],
    "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
}


def no_minimum(root: Node, notes: Notes) -> Node:
    for node in walk_nodes(root):
        if "minimum" in node:
            notes.loss(node.place("minimum"), "gone")
            notes.rewritten(node.pointer, "an integer all the same")
            notes.read_back["seen"] = True
            del node["minimum"]
    return root


NO_MINIMUM = Pass("no minimum", "for the test", no_minimum)


def facts_with(keywords: dict[str, KeywordRule], other: KeywordRule = KEPT) -> TargetFacts:
    facts = registry()["oci_agents"].facts
    return dataclasses.replace(facts, keywords=keywords, other_keywords=other)


def test_without_passes_the_schema_is_a_copy_of_the_spec() -> None:
    tool = make_tool(TREE)
    passed = run_passes(tool, "probe", ())
    assert passed.schema == TREE
    assert passed.schema is not tool.parameters
    assert (passed.diagnostics, passed.read_back, passed.steps) == ((), {}, ())


def test_each_step_has_its_reason_the_schema_after_it_and_what_it_said() -> None:
    before = copy.deepcopy(TREE)
    passed = run_passes(make_tool(TREE), "probe", (READ, NO_MINIMUM, DEFINE_REFERENCES), explain=True)
    assert before == TREE
    read, dropped, defined = passed.steps
    assert (read.name, read.changed, read.problems, read.rewritten) == ("read", False, (), ())
    assert read.schema == TREE  # references that are followed are shown as the spec has them
    assert (dropped.reason, dropped.changed, codes(dropped.problems)) == ("for the test", True, ["loss"])
    assert dropped.schema["properties"]["size"] == {"type": "integer"}
    assert [(remark.pointer, remark.message) for remark in dropped.rewritten] == [
        ("/parameters/properties/size", "an integer all the same")
    ]
    assert not defined.changed
    assert passed.schema == defined.schema
    assert passed.read_back == {"seen": True}
    assert passed.diagnostics == dropped.problems


def test_a_table_of_keywords_drops_describes_and_keeps() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "pattern": "^a", "format": "date", "minLength": 0, "x-note": "n", "default": "a"}
        },
        "uniqueItems": False,
    }
    facts = facts_with(
        {
            **dict.fromkeys(("type", "properties", "default"), KEPT),
            "pattern": KeywordRule(Treatment.DESCRIBED, "not known there"),
        },
        other=KeywordRule(Treatment.DROPPED, "refused"),
    )
    passed = run_passes(make_tool(schema), "probe", (READ, keyword_pass(facts)), explain=True)
    assert passed.schema == {
        "type": "object",
        "properties": {"a": {"type": "string", "default": "a", "description": 'pattern: "^a"'}},
    }
    told = {problem.pointer.rpartition("/")[2]: problem.message for problem in passed.diagnostics}
    assert told == {  # what refuses nothing is no loss
        "pattern": "pattern is only told in the description (not known there); "
        "arguments are checked against it when a call arrives",
        "format": "format is left out (refused): the model does not see it",
        "x-note": "x-note is left out (refused): the model does not see it",
    }
    assert facts.keyword("minimum").treatment is Treatment.DROPPED
    assert facts.keyword("type") is KEPT


def test_a_keyword_that_came_through_a_reference_is_lost_where_the_spec_has_it() -> None:
    schema = {
        "type": "object",
        "properties": {"id": {"$ref": "#/$defs/Id", "description": "mine"}},
        "$defs": {"Id": {"type": "string", "pattern": "^a"}},
    }
    drop = keyword_pass(facts_with({"pattern": KeywordRule(Treatment.DROPPED, "refused")}))
    passed = run_passes(make_tool(schema), "probe", (READ, OBJECT_ROOT, INLINE_REFERENCES, drop))
    assert [problem.pointer for problem in passed.diagnostics] == ["/parameters/$defs/Id/pattern"]
    assert passed.schema["properties"]["id"] == {"type": "string", "description": "mine"}


@pytest.mark.parametrize("target", BUILT_IN)
@pytest.mark.parametrize("strict", [None, True])
def test_explaining_changes_nothing_but_the_steps(target: str, strict: bool | None) -> None:
    closed = TREE | {"additionalProperties": False}
    for schema in (TREE, closed, {"allOf": [TREE, {"required": ["size"]}]}):
        tool = make_tool(schema, strict=strict)
        plainly, explained = lower(target, tool), lower(target, tool, TargetOptions(explain=True))
        assert explained.entry == plainly.entry
        assert explained.diagnostics == plainly.diagnostics
        assert explained.read_back == plainly.read_back
        assert plainly.steps == ()
        told = [problem for step in explained.steps for problem in step.problems]
        assert set(told) <= set(explained.diagnostics)
        assert all(step.name and step.reason for step in explained.steps)


@given(
    st.recursive(
        st.sampled_from([{"type": "string"}, {"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}, {"$ref": "#"}, True]),
        lambda inner: st.dictionaries(st.sampled_from("xyz"), inner, max_size=3).map(
            lambda members: {"type": "object", "properties": members}
        ),
        max_leaves=6,
    ),
    st.sampled_from([{"type": "integer"}, {"$ref": "#/$defs/B"}, {"items": {"$ref": "#/$defs/A"}}]),
)
def test_a_schema_that_was_only_read_is_shown_as_the_spec_has_it(schema: Any, a: dict[str, Any]) -> None:
    spec = {"type": "object", "properties": {"p": schema}, "$defs": {"A": a, "B": {"type": "array"}}}
    told = shown(READ.apply(spec, Notes(make_tool(spec), "probe")))
    for name, definition in spec["$defs"].items():  # those that nothing refers to have no reader
        told.setdefault("$defs", {}).setdefault(name, definition)
    assert told == spec
