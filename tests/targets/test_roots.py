"""The root as one plain object: by example, and by the law that `allOf` and references are merged exactly."""

from __future__ import annotations

import itertools
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.targets.nodes import Notes, plain, read_nodes
from codegen.targets.rewriting import define_references
from codegen.targets.roots import is_plain, object_root
from tests.targets.support import found, lower, make_tool

S = {"type": "string"}
I = {"type": "integer"}  # noqa: E741


def sent(schema: dict[str, Any], dialect: str = "2020-12") -> tuple[dict[str, Any], list[str]]:
    """The schema with a plain root, and the pointers of what it does not say."""
    notes = Notes(make_tool(schema, dialect=dialect), "probe")
    root = object_root(read_nodes(schema, dialect), notes)
    return plain(define_references(root, schema, notes)), found(notes.diagnostics, "loss")


@pytest.mark.parametrize(
    ("schema", "root"),
    [
        ({"type": "object", "properties": {"a": S}}, {"type": "object", "properties": {"a": S}}),
        ({"properties": {"a": S}}, {"type": "object", "properties": {"a": S}}),
        ({"type": ["object", "null"], "minProperties": 1}, {"type": "object", "minProperties": 1}),
        ({"allOf": [True]}, {"type": "object"}),
        (
            {"$ref": "#/$defs/Args", "$defs": {"Args": {"type": "object", "properties": {"a": S}}}},
            {"type": "object", "properties": {"a": S}},
        ),
        (
            {"allOf": [{"properties": {"a": I}, "required": ["a"]}, {"properties": {"b": S}}], "required": ["b"]},
            {"type": "object", "properties": {"a": I, "b": S}, "required": ["b", "a"]},
        ),
        (
            {"allOf": [{"properties": {"a": I}}], "properties": {"b": S}, "unevaluatedProperties": False},
            {"type": "object", "properties": {"b": S, "a": I}, "additionalProperties": False},
        ),
        (
            {"allOf": [{"if": {"required": ["a"]}, "then": {"required": ["b"]}}], "else": False, "type": "object"},
            {"type": "object", "if": {"required": ["a"]}, "then": {"required": ["b"]}},
        ),
    ],
)
def test_what_is_merged_without_a_loss(schema: dict[str, Any], root: dict[str, Any]) -> None:
    assert sent(schema) == (root, [])


def test_groups_of_required_members_are_told_in_the_description() -> None:
    schema = {
        "type": "object",
        "description": "Where to send it.",
        "properties": {"mail": S, "street": S, "town": S},
        "oneOf": [{"required": ["mail"]}, {"required": ["street", "town"]}],
    }
    root, losses = sent(schema)
    assert "oneOf" not in root
    assert root["properties"] == schema["properties"]
    assert root["description"] == 'Where to send it.\nOne of these is required: "mail" or "street" with "town".'
    assert set(losses) == {"/parameters", "/parameters/oneOf"}


def test_open_and_closed_branches() -> None:
    branches = [
        {"properties": {"a": S}, "additionalProperties": False},
        {"properties": {"b": S}, "additionalProperties": I},
    ]
    assert sent({"anyOf": branches})[0]["additionalProperties"] == I
    assert "additionalProperties" not in sent({"anyOf": [branches[0], {"properties": {"c": S}}]})[0]
    both = [branches[1], {"properties": {"c": S}, "additionalProperties": S}]
    assert sent({"anyOf": both})[0]["additionalProperties"] == {"anyOf": [I, S]}


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"patternProperties": {"^x": S}}], "properties": {"a": S}, "additionalProperties": False},
        {"anyOf": [{"patternProperties": {"^x": S}, "additionalProperties": False}, {"required": ["a"]}]},
    ],
)
def test_patterns_are_not_merged(schema: dict[str, Any]) -> None:
    root, losses = sent(schema)
    assert root == {"type": "object", **schema} or root == schema
    assert losses == []


def test_conditions_that_all_hold_are_nested() -> None:
    conditions = [
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
        {"if": {"required": ["c"]}, "else": {"required": ["d"]}},
        {"if": {"required": ["e"]}, "then": {"properties": {"f": S}}},
    ]
    schema = {"properties": dict.fromkeys("abcde", I), "allOf": conditions, "unevaluatedProperties": False}
    root, losses = sent(schema)
    assert losses == []
    assert "allOf" not in root
    source = jsonschema_rs.Draft202012Validator(schema, offline=True)
    merged = jsonschema_rs.Draft202012Validator(root, offline=True)
    for size in range(5):
        for names in itertools.combinations("abcdefg", size):
            for value in (dict.fromkeys(names, 1), {**dict.fromkeys(names, 1), "f": "x"}):
                assert merged.is_valid(value) is source.is_valid(value), value


def test_of_two_ways_to_contain_one_is_told_as_a_whole() -> None:
    several = [{"contains": I, "minContains": 2}, {"contains": S, "maxContains": 1}]
    _, losses = sent({"allOf": [{"properties": {"a": {}}}, *several], "type": "object"})
    assert losses == ["/parameters/allOf/2/contains"]


@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {f"D{n}": {"allOf": [{"$ref": f"#/$defs/D{n + 1}"}] * 2} for n in range(40)} | {"D40": {}}},
        {"$defs": {f"D{n}": {"anyOf": [{"$ref": f"#/$defs/D{n + 1}"}] * 2} for n in range(40)} | {"D40": {}}},
        {"$defs": {f"D{n}": {"oneOf": [{"$ref": f"#/$defs/D{n + 1}"}] * 2} for n in range(30)} | {"D30": {}}},
        {"$defs": {"D0": {"allOf": [{"$ref": "#/$defs/D0"}, {"$ref": "#/$defs/D1"}]}, "D1": {"$ref": "#/$defs/D0"}}},
        {
            "$defs": {
                f"D{n}": {"allOf": [{"$ref": f"#/$defs/D{(n * k + 1) % 24}"} for k in (1, 2, 3)]} for n in range(24)
            }
        },
        {"$defs": {"D0": {"allOf": [{"anyOf": [{"required": [f"{n}{k}"]} for k in range(4)]} for n in range(12)]}}},
    ],
    ids=["all", "any", "one", "circle", "web", "product"],
)
def test_references_that_multiply_stay_quick(schema: dict[str, Any]) -> None:
    root, _ = sent({"$ref": "#/$defs/D0", **schema})
    assert len(str(root)) < 100_000


def test_references_lead_to_definitions_without_identifiers() -> None:
    schema = {
        "$id": "https://shop.example/refund",
        "type": "object",
        "properties": {
            "sum": {"$ref": "#price", "description": "To pay back."},
            "items": {"type": "array", "items": {"$ref": "article"}},
            "same": {"$ref": "https://shop.example/refund#/properties/sum"},
            "parent": {"$ref": "#"},
        },
        "$defs": {
            "Price": {"$anchor": "price", "type": "number"},
            "Article": {
                "$id": "article",
                "type": "object",
                "properties": {"left": {"$ref": "#/$defs/Count"}, "part": {"$ref": "#"}},
                "$defs": {"Count": I},
            },
            "Unused": S,
        },
    }
    root, losses = sent(schema)
    assert losses == []
    assert root == {
        "type": "object",
        "properties": {
            "sum": {"$ref": "#/$defs/Price", "description": "To pay back."},
            "items": {"type": "array", "items": {"$ref": "#/$defs/Article"}},
            "same": {"$ref": "#/$defs/sum"},
            "parent": {"$ref": "#"},
        },
        "$defs": {
            "Price": {"type": "number"},
            "Article": {
                "type": "object",
                "properties": {"left": {"$ref": "#/$defs/Count"}, "part": {"$ref": "#/$defs/Article"}},
            },
            "sum": {"$ref": "#/$defs/Price", "description": "To pay back."},
            "Count": I,
        },
    }


@pytest.mark.parametrize("target", ["openai_agents", "openai_responses", "oci_agents"])
def test_no_payload_shows_an_identifier_or_a_hint_for_generators(target: str) -> None:
    branches = [
        {"type": "object", "properties": {"via": {"const": via}}, "required": ["via"], "$anchor": via}
        for via in ("mail", "post")
    ]
    hint = {"discriminator": {"propertyName": "via", "mapping": {"mail": "#mail"}}}
    union = {"oneOf": [{"$ref": "#mail"}, {"$ref": "#post"}], **hint}
    schema = {"$id": "https://shop.example/send", "type": "object", "properties": {"how": union}}
    lowered = lower(target, make_tool({**schema, "$defs": {"Mail": branches[0], "Post": branches[1]}}))
    text = str(lowered.entry)
    assert not [word for word in ("discriminator", "$id", "$anchor", "https://", "#mail") if word in text]
    assert "oneOf" in text
    assert lowered.diagnostics == ()


# The law: without a loss, the root that is sent takes the same arguments as the spec.

names = st.sampled_from("abcd")
members: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [S, I, {"enum": ["x", 1]}, {"type": ["string", "null"]}, {"minLength": 2}, {"$ref": "#/$defs/D"}, {}]
)


@st.composite
def parts(draw: st.DrawFn) -> dict[str, Any]:
    part: dict[str, Any] = {"properties": draw(st.dictionaries(names, members, max_size=3))}
    if draw(st.booleans()):
        part["type"] = "object"
    if required := draw(st.lists(names, unique=True, max_size=2)):
        part["required"] = required
    if draw(st.integers(0, 3)) == 0:
        part["additionalProperties"] = draw(st.sampled_from([False, S, True]))
    if draw(st.integers(0, 4)) == 0:
        part["maxProperties"] = draw(st.integers(1, 4))
    return part


@st.composite
def roots(draw: st.DrawFn) -> dict[str, Any]:
    root = draw(parts())
    root["allOf"] = draw(st.lists(st.one_of(parts(), st.just({"$ref": "#/$defs/P"})), min_size=1, max_size=3))
    root["$defs"] = {"D": draw(members.filter(lambda one: "$ref" not in one)), "P": draw(parts())}
    if draw(st.integers(0, 3)) == 0:
        root["unevaluatedProperties"] = False
    return root


values = st.dictionaries(
    st.sampled_from("abcde"), st.sampled_from(["x", "long", 1, None, [], {"a": "x"}, 2.5]), max_size=4
)


@settings(max_examples=300)
@given(roots(), st.lists(values, max_size=12))
def test_what_is_merged_takes_the_same_arguments(schema: dict[str, Any], arguments: list[dict[str, Any]]) -> None:
    root, losses = sent(schema)
    if "allOf" in root:
        return  # nothing fits it
    source = jsonschema_rs.Draft202012Validator(schema, offline=True)
    merged = jsonschema_rs.Draft202012Validator(root, offline=True)
    assert losses == []
    for value in [{}, *arguments]:
        assert merged.is_valid(value) is source.is_valid(value), (root, value)


@settings(max_examples=200)
@given(
    st.sampled_from(["anyOf", "oneOf"]),
    st.lists(parts().map(lambda part: {**part, "additionalProperties": False}), min_size=1, max_size=3),
    st.lists(values, max_size=12),
)
def test_a_union_of_closed_objects_loses_no_arguments(
    keyword: str, branches: list[dict[str, Any]], arguments: list[dict[str, Any]]
) -> None:
    schema = {keyword: branches, "$defs": {"D": {"type": "boolean"}}}
    root, _ = sent(schema)
    source = jsonschema_rs.Draft202012Validator(schema, offline=True)
    united = jsonschema_rs.Draft202012Validator(root, offline=True)
    for value in [{}, *arguments]:
        assert united.is_valid(value) or not source.is_valid(value), (root, value)


@settings(max_examples=200)
@given(st.one_of(roots(), parts()), st.sampled_from(["openai_agents", "oci_agents"]))
def test_plain_schemas_are_sent_as_reading_them_would_give(schema: dict[str, Any], target: str) -> None:
    spec = make_tool({"type": "object", **schema})
    if is_plain(spec):
        assert sent(spec.parameters) == (spec.parameters, [])
        assert lower(target, spec).diagnostics == ()
