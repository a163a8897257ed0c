"""Rewriting for strict mode: by example, and by the law that no value of the spec is lost."""

from __future__ import annotations

import copy
import itertools
import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.diagnostics import Severity
from codegen.targets.openai_rules import STRICT
from codegen.targets.strict import Strict, make_nullable, rewrite_strict
from codegen.targets.strict_subset import violations
from tests.targets.support import codes, found, make_tool

S = {"type": "string"}
I = {"type": "integer"}  # noqa: E741


def rewrite(schema: dict[str, Any], dialect: str = "2020-12") -> Strict:
    before = copy.deepcopy(schema)
    result = rewrite_strict(make_tool(schema, dialect=dialect), "probe", STRICT)
    assert schema == before
    return result


def closed(**properties: Any) -> dict[str, Any]:
    """A closed object with all properties required."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def member(schema: dict[str, Any], **root: Any) -> tuple[dict[str, Any], list[str]]:
    """What becomes of a required property, and the pointers of the losses below it."""
    result = rewrite(closed(v=schema) | root)
    assert [p for p in result.diagnostics if p.severity is Severity.ERROR] == []
    assert violations(result.schema, STRICT) == []
    prefix = "/parameters/properties/v"
    return result.schema["properties"]["v"], [p.removeprefix(prefix) for p in found(result.diagnostics, "loss")]


@pytest.mark.parametrize(
    ("schema", "strict", "losses"),
    [
        # words that strict mode does not know
        ({"type": "string", "minLength": 1, "maxLength": 9}, S, ["/minLength", "/maxLength"]),
        ({"type": "string", "minLength": 0}, S, []),
        ({"type": "string", "pattern": "^a$"}, {"type": "string", "pattern": "^a$"}, []),
        ({"type": "string", "pattern": "^(?!a)"}, S, ["/pattern"]),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "date"}, []),
        ({"type": "string", "format": "uri"}, S, ["/format"]),
        ({"type": "string", "default": "x", "examples": ["y"]}, S, ["/default", "/examples"]),
        ({"type": "string", "nullable": True, "x-ui": 1}, S, ["/nullable", "/x-ui"]),
        ({"type": "string", "$comment": "for us"}, S, []),
        ({"type": "string", "minimum": 5, "items": {}}, S, []),
        ({"type": "integer", "format": "int32"}, I, ["/format"]),
        ({"type": "array", "items": S, "uniqueItems": True}, {"type": "array", "items": S}, ["/uniqueItems"]),
        ({"type": "array", "items": S, "uniqueItems": False}, {"type": "array", "items": S}, []),
        ({"type": "array", "items": S, "contains": S}, {"type": "array", "items": S}, ["/contains"]),
        (closed(a=S) | {"minProperties": 1}, closed(a=S), ["/minProperties"]),
        (closed(a=S) | {"dependentRequired": {"a": ["a"]}}, closed(a=S), ["/dependentRequired"]),
        # types
        ({"const": "x"}, {"type": "string", "const": "x"}, []),
        ({"enum": ["x", "y"]}, {"type": "string", "enum": ["x", "y"]}, []),
        ({"enum": ["x", None]}, {"type": ["null", "string"], "enum": ["x", None]}, []),
        (
            {"enum": ["x", 1]},
            {"anyOf": [{"type": "integer", "enum": [1]}, {"type": "string", "enum": ["x"]}]},
            [],
        ),
        ({"type": "number", "enum": [1, 2.5]}, {"type": "number", "enum": [1, 2.5]}, []),
        ({"type": "string", "enum": ["x", 1]}, {"type": "string", "enum": ["x"]}, []),
        ({"type": ["integer", "number"]}, {"type": "number"}, []),
        (
            {"type": ["string", "integer"], "pattern": "^a", "minimum": 1, "description": "d"},
            {"anyOf": [{"type": "string", "pattern": "^a"}, {"type": "integer", "minimum": 1}], "description": "d"},
            [],
        ),
        # unions
        ({"oneOf": [S, I]}, {"anyOf": [S, I]}, []),
        ({"oneOf": [{"type": "number"}, I]}, {"anyOf": [{"type": "number"}, I]}, ["/oneOf"]),
        (
            {"oneOf": [closed(k={"const": k}, v=S) for k in "ab"]},
            {"anyOf": [closed(k={"type": "string", "const": k}, v=S) for k in "ab"]},
            [],
        ),
        ({"oneOf": [closed(a=S), closed(b=S)]}, {"anyOf": [closed(a=S), closed(b=S)]}, []),
        ({"anyOf": [S, S]}, S, []),
        ({"anyOf": [S, False]}, S, []),
        (
            {"type": "string", "anyOf": [{"pattern": "^a"}, {"enum": ["b"]}]},
            {"anyOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "enum": ["b"]}]},
            [],
        ),
        ({"anyOf": [S, I], "oneOf": [S, {"type": "boolean"}]}, S, []),
        # conjunctions
        ({"allOf": [S]}, S, []),
        ({"allOf": [{"type": ["string", "null"]}, {"type": ["string", "integer"]}]}, S, []),
        (
            {"allOf": [{"type": "number"}, I, {"minimum": 2}, {"minimum": 3, "maximum": 9}]},
            {"type": "integer", "minimum": 3, "maximum": 9},
            [],
        ),
        (
            {"allOf": [{"type": "integer", "multipleOf": 4}, {"multipleOf": 6}]},
            {"type": "integer", "multipleOf": 12},
            [],
        ),
        (
            {"type": "string", "pattern": "^a", "allOf": [{"pattern": "b$"}]},
            {"type": "string", "pattern": "^a"},
            ["/allOf/0/pattern"],
        ),
        ({"allOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]}, {"type": "string", "enum": ["b"]}, []),
        (
            {
                "allOf": [
                    {"type": "object", "properties": {"a": S}, "required": ["a"]},
                    {"properties": {"a": {"pattern": "^x"}, "b": I}, "required": ["b"]},
                ],
                "unevaluatedProperties": False,
            },
            closed(a={"type": "string", "pattern": "^x"}, b=I),
            [],
        ),
        (
            {"type": "object", "properties": {"a": S, "b": S}, "required": ["a"], "allOf": [closed(a=S)]},
            closed(a=S),
            [],
        ),
        # tuples
        ({"type": "array", "prefixItems": [S, S], "items": False}, {"type": "array", "items": S, "maxItems": 2}, []),
        (
            {"type": "array", "prefixItems": [S, I], "items": False, "minItems": 1},
            {"type": "array", "items": {"anyOf": [S, I]}, "minItems": 1, "maxItems": 2},
            ["/prefixItems"],
        ),
        (
            {"type": "array", "prefixItems": [S], "items": I},
            {"type": "array", "items": {"anyOf": [S, I]}},
            ["/prefixItems"],
        ),
        # objects
        ({"type": "object", "additionalProperties": False}, closed(), []),
        (
            {"type": "object", "properties": {"a": S, "b": False}, "required": ["a"], "additionalProperties": False},
            closed(a=S),
            [],
        ),
        ({"type": "object", "properties": {"a": S}, "required": ["a"]}, closed(a=S), [""]),
    ],
)
def test_what_becomes_of_a_schema(schema: dict[str, Any], strict: dict[str, Any], losses: list[str]) -> None:
    assert member(schema) == (strict, losses)


@pytest.mark.parametrize(
    ("schema", "pointers"),
    [
        ({}, [""]),
        ({"description": "anything"}, [""]),
        ({"type": "object"}, [""]),
        ({"type": "object", "properties": {}}, [""]),
        ({"type": "object", "properties": {}, "minProperties": 1}, [""]),
        ({"type": "array", "items": {"type": ["object", "null"], "properties": {}}}, ["/items"]),
        ({"type": "object", "additionalProperties": True}, [""]),
        ({"type": "object", "additionalProperties": S}, [""]),
        ({"type": "object", "properties": {"a": S}, "additionalProperties": True}, ["/additionalProperties"]),
        ({"type": "object", "patternProperties": {"^x": S}, "additionalProperties": False}, ["/patternProperties"]),
        ({"type": "object", "properties": {}, "required": ["a"]}, ["/required"]),
        ({"type": "object", "properties": {"a": False}, "required": ["a"]}, ["/properties/a"]),
        ({"type": "object", "properties": {"a": True, "b": {}}}, ["/properties/a", "/properties/b"]),
        ({"type": "array"}, [""]),
        ({"type": "array", "items": True}, ["/items"]),
        ({"type": "string", "not": {"const": "x"}}, ["/not"]),
        ({"type": "string", "if": {"const": "x"}, "then": False}, ["/if"]),
        (closed(a=S) | {"dependentSchemas": {"a": False}}, ["/dependentSchemas"]),
        ({"enum": [{"a": 1}]}, ["/enum"]),
        ({"type": "string", "enum": [1]}, [""]),
        ({"allOf": [S, I]}, [""]),
        ({"anyOf": [S, {}]}, ["/anyOf/1"]),
        ({"$ref": "#/$defs/Nowhere"}, [""]),
        ({"$ref": "#/properties/v"}, [""]),
    ],
)
def test_what_is_impossible_is_said_with_its_place(schema: dict[str, Any], pointers: list[str]) -> None:
    result = rewrite(closed(v=schema))
    assert found(result.diagnostics, "strict-impossible") == ["/parameters/properties/v" + below for below in pointers]
    assert all(p.severity is Severity.ERROR and p.hint for p in result.diagnostics if p.code == "strict-impossible")


def test_all_impossible_parts_are_found_at_once_and_each_once() -> None:
    schema = closed(a={"$ref": "#/$defs/Map"}, b={"$ref": "#/$defs/Map"}, c={}, d={"type": "array"})
    result = rewrite(schema | {"$defs": {"Map": {"type": "object"}}})
    assert found(result.diagnostics, "strict-impossible") == [
        "/parameters/$defs/Map",
        "/parameters/properties/c",
        "/parameters/properties/d",
    ]


@pytest.mark.parametrize(
    ("schema", "nullable"),
    [
        (S, {"type": ["string", "null"]}),
        ({"type": "null"}, {"type": "null"}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"type": "string", "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"type": "string", "const": "a"}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"anyOf": [S, I], "title": "T"}, {"anyOf": [S, I, {"type": "null"}], "title": "T"}),
        ({"anyOf": [S, {"type": "null"}]}, {"anyOf": [S, {"type": "null"}]}),
        ({"$ref": "#/$defs/A"}, {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}),
    ],
)
def test_adding_null(schema: dict[str, Any], nullable: dict[str, Any]) -> None:
    assert make_nullable(schema) == nullable


@pytest.mark.parametrize(
    ("optional", "nullable"),
    [
        (S, True),
        ({"type": ["string", "null"]}, False),
        ({"type": ["string", "null"], "enum": ["a"]}, True),
        ({"enum": ["a", None]}, False),
        ({"anyOf": [S, {"type": "null"}]}, False),
        ({"$ref": "#/$defs/Maybe"}, False),
        ({"$ref": "#/$defs/Sure"}, True),
        ({"$ref": "#/$defs/Maybe", "type": "string"}, True),
    ],
)
def test_null_means_absent_only_where_it_was_added(optional: dict[str, Any], nullable: bool) -> None:
    schema = {"type": "object", "properties": {"a": optional}, "additionalProperties": False}
    result = rewrite(schema | {"$defs": {"Maybe": {"type": ["string", "null"]}, "Sure": S}})
    assert result.nullable is nullable
    assert violations(result.schema, STRICT) == []
    validator = jsonschema_rs.Draft202012Validator(result.schema, offline=True)
    assert validator.is_valid({"a": None})
    assert not validator.is_valid({})


def test_descriptions_stay_where_they_are() -> None:
    definition = closed(street=S) | {"description": "its own"}
    schema = {
        "type": "object",
        "properties": {
            "plain": {"$ref": "#/$defs/Address"},
            "home": {"$ref": "#/$defs/Address", "description": "where one lives", "title": "Home"},
            "work": {"allOf": [{"$ref": "#/$defs/Address"}], "description": "where one works"},
        },
        "required": ["home"],
        "additionalProperties": False,
        "$defs": {"Address": definition},
    }
    result = rewrite(schema)
    properties = result.schema["properties"]
    assert properties["plain"] == {"anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}]}
    assert properties["home"] == definition | {"description": "where one lives", "title": "Home"}
    assert properties["work"] == definition | {"description": "where one works", "type": ["object", "null"]}
    assert result.schema["$defs"] == {"Address": definition}
    assert result.diagnostics == ()


def test_the_order_of_the_spec_is_kept() -> None:
    schema = {
        "additionalProperties": False,
        "required": ["z"],
        "description": "d",
        "properties": {"z": {"description": "first", "type": "string"}, "a": S},
        "$defs": {"Unused": S, "Used": I},
        "type": "object",
    }
    schema["properties"]["m"] = {"$ref": "#/$defs/Used"}  # type: ignore[index]
    result = rewrite(schema).schema
    assert list(result) == list(schema)
    assert list(result["properties"]) == ["z", "a", "m"]
    assert list(result["properties"]["z"]) == ["description", "type"]
    assert list(result["$defs"]) == ["Used"]


def test_definitions_of_older_drafts_keep_their_names() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"a": {"$ref": "#/definitions/My Type"}, "b": {"$ref": "#/definitions/My_Type"}},
        "required": ["a", "b"],
        "additionalProperties": False,
        "definitions": {"My Type": S, "My_Type": I},
    }
    result = rewrite(schema, "draft7")
    assert result.schema == closed(a={"$ref": "#/$defs/My_Type"}, b={"$ref": "#/$defs/My_Type_2"}) | {
        "$defs": {"My_Type": S, "My_Type_2": I}
    }
    assert result.diagnostics == ()


def test_a_schema_that_contains_itself() -> None:
    node = {
        "type": "object",
        "properties": {
            "name": S,
            "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
            "twin": {"$ref": "#/$defs/Node", "description": "the same once more"},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    result = rewrite(closed(root={"$ref": "#/$defs/Node"}) | {"$defs": {"Node": node}})
    assert result.diagnostics == ()
    assert violations(result.schema, STRICT) == []
    validator = jsonschema_rs.Draft202012Validator(result.schema, offline=True)
    leaf = {"name": "x", "children": None, "twin": None}
    assert validator.is_valid({"root": {"name": "y", "children": [leaf, leaf], "twin": {**leaf, "twin": leaf}}})
    assert not validator.is_valid({"root": {"name": "y", "children": [{}], "twin": None}})
    assert not validator.is_valid({"root": {"name": "y", "children": None, "twin": {"name": "x"}}})


def test_a_reference_to_the_root() -> None:
    schema = {"type": "object", "properties": {"reply": {"$ref": "#"}, "text": S}, "additionalProperties": False}
    result = rewrite(schema)
    assert result.schema["properties"]["reply"] == {"anyOf": [{"$ref": "#"}, {"type": "null"}]}
    assert violations(result.schema, STRICT) == []


def test_a_root_that_is_only_a_reference() -> None:
    schema = {"$ref": "#/$defs/Args", "$defs": {"Args": closed(a=S, again={"$ref": "#/$defs/Args"})}}
    result = rewrite(schema)
    assert result.schema == closed(a=S, again={"$ref": "#"})


@pytest.mark.parametrize("schema", [{"type": "object"}, {"type": "object", "properties": {}}, {"properties": {}}])
def test_a_tool_without_arguments(schema: dict[str, Any]) -> None:
    result = rewrite(schema)
    assert result.schema == closed()
    assert codes(result.diagnostics) == ["loss"]


@pytest.mark.parametrize(
    "rule", [{"minProperties": 1}, {"propertyNames": {"pattern": "^x"}}, {"dependentRequired": {"a": ["b"]}}]
)
def test_arguments_that_are_free_are_not_closed(rule: dict[str, Any]) -> None:
    result = rewrite({"type": "object", **rule})
    assert found(result.diagnostics, "strict-impossible") == ["/parameters"]


def test_groups_of_required_members_at_the_root() -> None:
    schema = closed(id=S) | {
        "properties": {"id": S, "title": S, "body": S},
        "anyOf": [{"required": ["title"]}, {"required": ["body"]}],
    }
    result = rewrite(schema)
    optional = {"type": ["string", "null"]}
    told = {"description": 'One of these is required: "title" or "body".'}
    assert result.schema == closed(id=S, title=optional, body=optional) | told
    assert found(result.diagnostics, "loss") == ["/parameters"]


def test_members_that_differ_between_branches_of_the_root() -> None:
    branches = [closed(kind={"const": "a"}, value=S), closed(kind={"const": "b"}, value=I, more=S)]
    result = rewrite({"oneOf": branches, "description": "d"})
    assert result.schema == closed(
        kind={"anyOf": [{"type": "string", "const": "a"}, {"type": "string", "const": "b"}]},
        value={"anyOf": [S, I]},
        more={"type": ["string", "null"]},
    ) | {"description": "d"}
    assert violations(result.schema, STRICT) == []


def test_objects_of_a_union_with_one_first_key_warn() -> None:
    result = rewrite(closed(v={"anyOf": [closed(id=S, a=S), closed(id=S, b=S)]}))
    assert [(p.code, p.severity) for p in result.diagnostics] == [("target-limit-weak", Severity.WARNING)]
    assert "'id'" in result.diagnostics[0].message


def test_exceeded_limits_are_errors() -> None:
    deep: dict[str, Any] = S
    for _ in range(11):
        deep = closed(a=deep)
    assert codes(rewrite(deep).diagnostics) == ["target-limit"]
    with_arrays: dict[str, Any] = S
    for _ in range(6):
        with_arrays = closed(a={"type": "array", "items": with_arrays})
    assert codes(rewrite(with_arrays).diagnostics) == ["target-limit-weak"]
    large = closed(a={"enum": [str(number).zfill(60) for number in range(300)]})
    assert codes(rewrite(large).diagnostics) == ["target-limit"]


@pytest.mark.parametrize(
    "definition",
    [
        {"anyOf": [{"$ref": "#/$defs/X"}, S], "type": "string"},
        {"allOf": [{"$ref": "#/$defs/X"}]},
        {"oneOf": [{"$ref": "#/$defs/X"}, {"$ref": "#/$defs/X"}]},
        {
            "allOf": [{"$ref": "#/$defs/X"}, {"properties": {"a": {"$ref": "#/$defs/X", "title": "t"}}}],
            "type": "object",
        },
    ],
)
def test_circles_come_to_an_end(definition: dict[str, Any]) -> None:
    result = rewrite(closed(v={"$ref": "#/$defs/X"}) | {"$defs": {"X": definition}})
    errors = [p for p in result.diagnostics if p.severity is Severity.ERROR]
    assert errors or violations(result.schema, STRICT) == []


def test_references_that_multiply_stay_small() -> None:
    definitions: dict[str, Any] = {"D0": closed(a=S)}
    for number in range(1, 25):
        inner = {"$ref": f"#/$defs/D{number - 1}", "description": "x"}
        definitions[f"D{number}"] = closed(a=inner, b=copy.deepcopy(inner))
    result = rewrite(closed(top={"$ref": "#/$defs/D7"}, far={"$ref": "#/$defs/D24"}) | {"$defs": definitions})
    assert len(json.dumps(result.schema)) < 1_000_000


# The law: every value of the source, with null where a property is absent, is a value of the rewritten schema.


@st.composite
def scalars(draw: st.DrawFn) -> tuple[dict[str, Any], Any, Any]:
    examples: list[tuple[dict[str, Any], Any]] = [
        ({"type": "string"}, "x"),
        ({"type": "string", "minLength": 1, "format": "uri", "default": "y"}, "http://a"),
        ({"type": "string", "pattern": "^(?=a)"}, "ab"),
        ({"type": ["string", "null"]}, None),
        ({"type": ["integer", "string", "null"], "minimum": 3}, 3),
        ({"type": ["boolean", "number"]}, 1.5),
        ({"enum": ["a", 1, None, True]}, 1),
        ({"const": 7}, 7),
        ({"type": "integer", "exclusiveMaximum": 5}, -4),
        ({"type": "number", "multipleOf": 0.5}, 2),
        ({"type": "boolean"}, False),
        ({"type": "null"}, None),
    ]
    schema, value = draw(st.sampled_from(examples))
    return schema, value, value


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> tuple[dict[str, Any], Any, Any]:
    names: list[str] = draw(st.lists(st.sampled_from("abcdef"), unique=True, max_size=4))
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    value: dict[str, Any] = {}
    encoded: dict[str, Any] = {}
    required: list[str] = []
    for name in names:
        schema["properties"][name], one, one_encoded = draw(inner)
        presence: str = draw(st.sampled_from(["required", "present", "absent"]))
        if presence == "required":
            required.append(name)
        encoded[name] = None if presence == "absent" else one_encoded
        if presence != "absent":
            value[name] = one
    if draw(st.booleans()) or required:
        schema["required"] = required
    if draw(st.booleans()) or not names:  # one that declares nothing and is open is free-form
        schema["additionalProperties"] = False
    if draw(st.booleans()) and len(names) > 1 and "additionalProperties" not in schema:
        schema = split(schema, names[: len(names) // 2])
    return schema, value, encoded


def split(schema: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The same object as a conjunction of two."""
    required = schema.get("required", [])
    halves = [
        {
            "type": "object",
            "properties": {name: one for name, one in schema["properties"].items() if (name in names) is first},
            "required": [name for name in required if (name in names) is first],
        }
        for first in (True, False)
    ]
    return {"allOf": halves}


@st.composite
def arrays(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> tuple[dict[str, Any], Any, Any]:
    schema, value, encoded = draw(inner)
    if draw(st.booleans()):
        other, other_value, other_encoded = draw(inner)
        tuple_schema = {"type": "array", "prefixItems": [schema, other], "items": False}
        return tuple_schema, [value, other_value], [encoded, other_encoded]
    return {"type": "array", "items": schema, "uniqueItems": draw(st.booleans())}, [value], [encoded]


@st.composite
def unions(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> tuple[dict[str, Any], Any, Any]:
    (schema, value, encoded), (other, _, _) = draw(inner), draw(inner)
    branches = [schema, other] if draw(st.booleans()) else [other, schema]
    return {draw(st.sampled_from(["anyOf", "oneOf"])): branches, "description": "u"}, value, encoded


@st.composite
def described(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> tuple[dict[str, Any], Any, Any]:
    schema, value, encoded = draw(inner)
    return {"allOf": [schema], "title": "T"}, value, encoded


sources = st.recursive(
    scalars(),
    lambda inner: st.one_of(objects(inner), arrays(inner), unions(inner), described(inner)),
    max_leaves=8,
)


BESIDE: list[dict[str, Any]] = [{}, {"description": "d"}, {"default": None}]


@st.composite
def documents(draw: st.DrawFn) -> tuple[dict[str, Any], Any, Any]:
    """A root object, some of whose members stand in definitions."""
    schema, value, encoded = draw(objects(sources))
    counter = itertools.count()
    definitions: dict[str, Any] = {}
    for holder in (schema, *schema.get("allOf", ())):
        for name, one in list(holder.get("properties", {}).items()):
            if draw(st.booleans()):
                key = f"D{next(counter)}"
                definitions[key] = one
                beside: dict[str, Any] = draw(st.sampled_from(BESIDE))
                holder["properties"][name] = {"$ref": f"#/$defs/{key}", **beside}
    return schema | ({"$defs": definitions} if definitions else {}), value, encoded


@settings(max_examples=300)
@given(documents())
def test_no_value_of_the_spec_is_lost(document: tuple[dict[str, Any], Any, Any]) -> None:
    schema, value, encoded = document
    source = jsonschema_rs.Draft202012Validator(schema, offline=True)
    result = rewrite(schema)
    assert [p for p in result.diagnostics if p.severity is Severity.ERROR] == []
    if "target-limit-weak" not in codes(result.diagnostics):
        assert violations(result.schema, STRICT) == []
    if source.is_valid(value):  # a oneOf may refuse a value that two branches take
        rewritten = jsonschema_rs.Draft202012Validator(result.schema, offline=True)
        assert rewritten.is_valid(encoded), (schema, result.schema, encoded)
