"""Names and values in a target's spelling: the table, and a built package that reads calls back by it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.targets.interface import Evidence, NameRule
from codegen.targets.nodes import Notes, plain, read_nodes
from codegen.targets.passes import DEFINE_REFERENCES
from codegen.targets.respelling import respelling
from templates.runtime.gate import Gate
from templates.runtime.readback import ReadBack, mend, spell_back
from tests.conftest import BuildPackage
from tests.targets.round_trip import spelled
from tests.targets.support import codes, found, make_tool

RULE = NameRule("A-Za-z", "A-Za-z_", 20, Evidence.DOCUMENTED, "test")
S = {"type": "string"}
CLOSED = {"type": "object", "additionalProperties": False}


def respell(schema: dict[str, Any], **options: Any) -> tuple[dict[str, Any], dict[str, Any], Notes]:
    """The schema in another spelling, the table, and what was said on the way."""
    notes = Notes(make_tool(schema), "probe")
    root = DEFINE_REFERENCES.apply(read_nodes(schema, "2020-12"), notes)
    out = plain(respelling("test", RULE, **options).apply(root, notes))
    return out, notes.read_back.get("table", {}), notes


def test_what_is_taken_as_it_is_needs_no_table() -> None:
    schema = {**CLOSED, "properties": {"a": {"enum": ["x", "y"]}, "b_c": {"type": "array", "items": S}}}
    out, table, notes = respell(schema, values_as_text=True)
    assert (out, table, notes.exact) == (schema, {}, [])


def test_names_at_every_depth() -> None:
    inner = {**CLOSED, "properties": {"x-y": S, "z": S}, "required": ["x-y"]}
    schema = {
        **CLOSED,
        "properties": {
            "a b": {"type": "array", "items": inner},
            "map": {"type": "object", "properties": {"k": S}, "additionalProperties": inner},
            "pair": {"type": "array", "prefixItems": [S, inner], "items": S},
            "either": {"anyOf": [inner, S]},
            "plain": {**CLOSED, "properties": {"z": S}},
        },
    }
    out, table, _ = respell(schema)
    assert out["properties"]["a_b_"]["items"] == {**inner, "properties": {"x_y_": S, "z": S}, "required": ["x_y_"]}
    renamed = {"properties": {"x_y_": ["x-y", None]}}
    assert table == {
        "properties": {
            "a_b_": ["a b", {"items": renamed}],
            "map": ["map", {"rest": renamed, "properties": {"k": ["k", None]}}],
            "pair": ["pair", {"prefix": [None, renamed]}],
            "either": ["either", {"any": [renamed]}],
        }
    }


def test_names_of_the_arguments_alone() -> None:
    schema = {**CLOSED, "properties": {"a-b": {**CLOSED, "properties": {"a-b": S}}}, "required": ["a-b"]}
    out, table, _ = respell(schema, everywhere=False)
    assert out["properties"] == {"a_b_": {**CLOSED, "properties": {"a-b": S}}}
    assert table == {"properties": {"a_b_": ["a-b", None]}}


def test_recursion_has_a_table_of_its_own() -> None:
    tree = {**CLOSED, "properties": {"left!": {"$ref": "#/$defs/Tree"}, "leaf": {"$ref": "#/$defs/Leaf"}}}
    schema = {**CLOSED, "properties": {"tree": {"$ref": "#/$defs/Tree"}}, "$defs": {"Tree": tree, "Leaf": S}}
    _, table, _ = respell(schema)
    assert table == {
        "properties": {"tree": ["tree", {"$ref": "Tree"}]},
        "$defs": {"Tree": {"properties": {"left_": ["left!", {"$ref": "Tree"}]}}},
    }
    value = {"tree": {"left!": {"left!": {"leaf": "x"}}}}
    sent = spelled(value, table, table["$defs"])
    assert sent == {"tree": {"left_": {"left_": {"leaf": "x"}}}}
    assert spell_back(sent, table) == value


def test_a_new_name_is_no_name_that_the_spec_has_anywhere() -> None:
    conditional = {"if": {"required": ["a-b"]}, "then": {"properties": {"a_b_": S}}}
    out, _, notes = respell({"type": "object", "properties": {"a-b": S}, **conditional})
    assert list(out["properties"]) == ["a_b__"]
    assert codes(notes.diagnostics) == ["loss"]


def test_values_are_listed_as_text_where_text_can_mean_nothing_else() -> None:
    out, table, notes = respell(
        {**CLOSED, "properties": {"n": {"type": "number", "enum": [1, 0.5, 2.0]}}}, values_as_text=True
    )
    assert out["properties"]["n"] == {"type": "string", "enum": ["1", "0.5", "2"]}
    assert spell_back({"n": "0.5"}, table) == {"n": 0.5}
    assert spell_back({"n": "3"}, table) == {"n": "3"}
    assert found(notes.diagnostics, "respelled") == ["/parameters/properties/n/enum"]
    assert codes(notes.diagnostics) == ["respelled"]
    union = {"anyOf": [{"type": "integer", "enum": [1]}, S]}
    out, table, notes = respell({**CLOSED, "properties": {"n": union}}, values_as_text=True)
    assert out["properties"]["n"]["anyOf"][0] == {"type": "integer", "description": "enum: [1]"}
    assert (table, codes(notes.diagnostics)) == ({}, ["loss"])


def test_what_came_is_not_changed() -> None:
    table = {"properties": {"a_": ["A", {"items": {"properties": {"b_": ["B", None]}}}]}}
    sent = {"a_": [{"b_": 1}], "c": {"b_": 2}}
    before = copy.deepcopy(sent)
    assert spell_back(sent, table) == {"A": [{"B": 1}], "c": {"b_": 2}}
    assert sent == before


def test_both_spellings_of_one_name_stay_apart() -> None:
    assert spell_back({"a_": 1, "A": 2}, {"properties": {"a_": ["A", None]}}) == {"a_": 1, "A": 2}


@pytest.mark.parametrize("value", [None, 5, "x", [], {}, {"a_": "x"}, {"a_": {"b_": 1}}, [{"a_": 1}]])
def test_values_of_another_shape_are_left_to_the_gate(value: Any) -> None:
    table = {"properties": {"n": ["n", {"items": {"properties": {"b_": ["B", None]}}}]}}
    assert spell_back({"n": value}, table) == {"n": value}


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(("a", "b!", "c", "4")), inner, max_size=3),
    max_leaves=8,
)


def _schema_of(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {**CLOSED, "properties": {key: _schema_of(member) for key, member in value.items()}}
    if isinstance(value, list):
        return (
            {"type": "array", "prefixItems": [_schema_of(member) for member in value]} if value else {"type": "array"}
        )
    return {"enum": [value]}


@given(st.dictionaries(st.sampled_from(("x", "y y", "z")), _JSON, max_size=3))
def test_spelling_back_is_the_inverse_of_spelling(value: dict[str, Any]) -> None:
    _, table, _ = respell(_schema_of(value), values_as_text=True)
    sent = spelled(value, table, table.get("$defs", {}))
    assert spell_back(sent, table) == value
    names = [name for one in _objects(sent) for name in one]
    assert all(map(RULE.accepts, names))


def _objects(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return [value, *(found for member in value.values() for found in _objects(member))]
    return [found for member in value for found in _objects(member)] if isinstance(value, list) else []


def test_lists_and_objects_that_arrive_as_text() -> None:
    schema = {
        "type": "object",
        "properties": {
            "to": {"type": "object", "properties": {"n": {"type": "integer"}}},
            "ids": {"type": "array"},
            "s": S,
        },
    }
    rules = ReadBack(nested=True)
    gate = Gate(schema)
    assert mend({"to": '{"n": 1}', "ids": "[1]", "s": "[1]"}, gate, rules) == {"to": {"n": 1}, "ids": [1], "s": "[1]"}
    for wrong in (
        {"to": "[1]"},
        {"ids": "{}"},
        {"ids": "[1"},
        {"ids": "1"},
        {"ids": '{"a": 1, "a": 2}'},
        {"to": '{"n": "1"}'},
    ):
        assert mend(wrong, gate, rules) is None
    assert mend({"ids": "[1]"}, gate, ReadBack(text=True)) is None


RATE = {
    "name": "rate",
    "description": "Rates a stay.",
    "parameters": {
        "type": "object",
        "properties": {
            "stay-id": {"type": "string"},
            "level": {"type": "integer", "enum": [1, 2, 4]},
            "flag": {"type": "boolean", "enum": [True]},
        },
        "required": ["stay-id"],
        "additionalProperties": False,
    },
}
PING = {"name": "ping", "description": "Pings.", "parameters": CLOSED}


def test_a_built_package_reads_calls_of_that_api_alone(package: BuildPackage) -> None:
    built = package(
        [RATE, PING], targets=["gemini", "openai_chat"], gemini_schema="openapi", handlers={}, names="error"
    )
    dispatcher = built.dispatcher()
    tool = dispatcher.tool("rate")
    (entry,) = dispatcher.payload("gemini")
    ping, rate = entry["functionDeclarations"]
    assert (ping["name"], "parameters" in ping) == ("ping", False)
    assert list(rate["parameters"]["properties"]) == ["stay_id_", "level", "flag"]
    arguments = tool.parse({"stay_id_": "a", "level": "2", "flag": "true"}, "gemini")
    assert arguments.model_dump(by_alias=True) == {"stay-id": "a", "level": 2, "flag": True}
    assert tool.parse({"stay-id": "a", "level": 2}, "gemini").level == 2
    refused = built.runtime.InvalidArguments
    for sent, target in (
        ({"stay-id": "a", "level": "3"}, "gemini"),
        ({"stay-id": "a", "level": "2"}, "openai_chat"),
        ({"stay-id": "a", "level": "2"}, ""),
        ({"stay_id_": "a"}, "openai_chat"),
        ({"stay_id_": 1}, "gemini"),
    ):
        with pytest.raises(refused):
            tool.parse(sent, target)


def test_a_part_of_the_tools_is_a_part_of_the_declarations(package: BuildPackage) -> None:
    dispatcher = package([RATE, PING], targets=["gemini"]).dispatcher()
    (entry,) = dispatcher.only("ping").payload("gemini")
    assert [declaration["name"] for declaration in entry["functionDeclarations"]] == ["ping"]
