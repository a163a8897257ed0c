"""Words that are no keywords, and keywords that do nothing where they stand."""

from __future__ import annotations

from typing import Any

import pytest

from codegen.diagnostics import Severity
from codegen.passes.mend import Mendable, Rename
from tests.passes.support import of_property, problems


@pytest.mark.parametrize(
    ("word", "value", "keyword"),
    [
        ("requird", ["a"], "required"),
        ("additonalProperties", False, "additionalProperties"),
        ("additional_properties", False, "additionalProperties"),
        ("enums", ["a"], "enum"),
        ("minLenght", 3, "minLength"),
        ("MaxLength", 3, "maxLength"),
        ("propertes", {"a": {"$ref": "#/properties/p"}}, "properties"),
        ("desciption", "A text.", "description"),
        ("anyof", [{"type": "string"}], "anyOf"),
        ("defualt", "a", "default"),
    ],
)
def test_misspelt_keywords_that_can_be_mended(word: str, value: Any, keyword: str) -> None:
    (found,) = problems({"properties": {"p": {word: value}}})
    assert (found.code, found.severity) == ("misspelt-keyword", Severity.WARNING)
    assert found.hint == f"did you mean `{keyword}`?"
    assert isinstance(found, Mendable)
    assert found.mends == (Rename(keyword),)


@pytest.mark.parametrize(
    "schema",
    [
        {"requird": True},  # no value of `required`
        {"enums": ["a"], "enum": ["b"]},  # it is there already
        {"typ": "string"},  # a short word could be anything
        {"cost": 3},
        {"itmes": {"type": "strin"}},
    ],
)
def test_misspelt_keywords_that_a_person_has_to_look_at(schema: Any) -> None:
    found = problems({"properties": {"p": schema}})
    assert [one.code for one in found] == ["misspelt-keyword"]
    assert not isinstance(found[0], Mendable)


def test_words_that_only_inform() -> None:
    (found,) = problems({"properties": {"p": {"unit": "metres", "x-unit": "m", "example": "a", "discriminator": {}}}})
    assert (found.code, found.severity, found.pointer) == (
        "unknown-keyword",
        Severity.NOTE,
        "/parameters/properties/p/unit",
    )
    (found,) = problems({"type": "object", "customer": {"type": "string"}})
    assert "under `properties`" in found.hint
    (found,) = problems({"properties": {"p": {"options": ["a"]}}})
    assert '"enum"' in found.hint


@pytest.mark.parametrize(
    ("dialect", "schema", "places"),
    [
        ("2020-12", {"items": {}, "additionalItems": False}, ["/additionalItems"]),
        ("2020-12", {"$recursiveRef": "#"}, ["/$recursiveRef"]),
        ("2020-12", {"id": "https://example.com/a"}, ["/id"]),
        ("2020-12", {"divisibleBy": 2}, ["/divisibleBy"]),
        ("2020-12", {"type": "string", "nullable": True}, ["/nullable"]),
        ("2020-12", {"type": ["string", "null"], "nullable": True}, []),
        ("2020-12", {"type": "string", "nullable": False}, []),
        ("2020-12", {"definitions": {"a": {}}}, []),
        ("2019-09", {"prefixItems": [{}]}, ["/prefixItems"]),
        ("2019-09", {"items": [{}], "additionalItems": False}, []),
        ("draft7", {"dependentRequired": {}, "unevaluatedProperties": False}, [
            "/dependentRequired", "/unevaluatedProperties"]),
        ("draft7", {"dependencies": {"a": ["b"]}, "$defs": {"a": {}}, "deprecated": True}, []),
        ("draft6", {"if": {}, "then": {}}, ["/if", "/then"]),
        ("draft4", {"const": 1, "$id": "a"}, ["/$id", "/const"]),
    ],
)  # fmt: skip
def test_keywords_of_other_dialects(dialect: str, schema: Any, places: list[str]) -> None:
    assert of_property(schema, dialect) == [("foreign-keyword", place) for place in places]


def test_dependencies_still_act() -> None:
    (found,) = problems({"properties": {"p": {"dependencies": {"a": ["b"]}}}})
    assert (found.code, found.severity) == ("foreign-keyword", Severity.NOTE)


@pytest.mark.parametrize(
    ("schema", "place", "hint"),
    [
        ({"type": "integer", "minLength": 3}, "/minLength", "`minimum`"),
        ({"type": "string", "minimum": 3}, "/minimum", "`minLength`"),
        ({"type": "array", "maxLength": 3}, "/maxLength", "`maxItems`"),
        ({"type": "string", "properties": {"a": {}}, "required": ["a"]}, "/properties", "mend `type`"),
        ({"type": "array", "properties": {"a": {}}}, "/properties", "`items`"),
        ({"type": "object", "items": {"type": "string"}}, "/items", "mend `type`"),
        ({"type": ["integer", "null"], "pattern": "a"}, "/pattern", "mend `type`"),
        ({"type": "integer", "format": "date-time"}, "/format", '"string"'),
        ({"then": {"minLength": 3}, "else": {}}, "/then", "`if`"),
        ({"if": {"type": "string"}}, "/if", "`then` or `else`"),
        ({"minContains": 2}, "/minContains", "`contains`"),
    ],
)
def test_keywords_without_effect(schema: Any, place: str, hint: str) -> None:
    (found,) = problems({"properties": {"p": schema}})
    assert (found.code, found.pointer) == ("idle-keyword", f"/parameters/properties/p{place}")
    assert hint in found.hint


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["integer", "string"], "minLength": 3},
        {"minLength": 3, "minimum": 2, "properties": {"a": {}}},
        {"type": "integer", "format": "int64"},
        {"type": "string", "required": [], "properties": {}, "uniqueItems": False, "additionalProperties": False},
        {"if": {"properties": {"a": {"const": 1}}}, "unevaluatedProperties": False},
        {"type": "number", "multipleOf": 2},
    ],
)
def test_keywords_with_effect_or_harmless(schema: Any) -> None:
    assert of_property(schema) == []


def test_additional_items_need_a_list_of_items() -> None:
    assert of_property({"items": {}, "additionalItems": False}, "draft7") == [("idle-keyword", "/additionalItems")]
    assert of_property({"items": [{}], "additionalItems": False}, "draft7") == []


@pytest.mark.parametrize("dialect", ["draft4", "draft6", "draft7"])
def test_keywords_hidden_by_a_reference(dialect: str) -> None:
    target = {"q": {"type": "string"}}
    hiding = {"$ref": "#/properties/q", "minLength": 3, "type": "string", "description": "d", "default": "a"}
    assert of_property(hiding, dialect, properties={"p": hiding, **target}) == [("hidden-keyword", "/minLength")]
    other = {"$ref": "#/properties/q", "type": "integer"}
    assert of_property(other, dialect, properties={"p": other, **target}) == [("hidden-keyword", "/type")]


@pytest.mark.parametrize("dialect", ["2019-09", "2020-12"])
def test_keywords_beside_a_reference_count_today(dialect: str) -> None:
    schema = {"$ref": "#/properties/q", "minLength": 3}
    assert of_property(schema, dialect, properties={"p": schema, "q": {"type": "string"}}) == []


def test_an_embedded_schema_of_another_dialect_is_left_alone() -> None:
    other = {"$schema": "http://json-schema.org/draft-04/schema#", "id": "https://example.com/a", "enum": [1]}
    assert of_property({"$defs": {"Other": other}}) == []


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("datetime", "date-time"),
        ("Date-Time", "date-time"),
        ("url", "uri"),
        ("guid", "uuid"),
        ("e-mail", "email"),
        ("ipv 4", "ipv4"),
    ],
)
def test_formats_that_are_meant_otherwise(name: str, meant: str) -> None:
    found = problems({"type": "object", "properties": {"p": {"type": "string", "format": name}}})
    assert [(one.code, one.hint) for one in found] == [("unknown-format", f'did you mean "{meant}"?')]


@pytest.mark.parametrize("name", ["date-time", "uuid", "int64", "password", "fasta", "YYYY", "x-money"])
def test_formats_that_are_known_or_of_ones_own(name: str) -> None:
    assert problems({"type": "object", "properties": {"p": {"format": name}}}) == []
