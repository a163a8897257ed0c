"""References inside one document."""

from __future__ import annotations

from typing import Any

import pytest

from codegen.schema.references import Document

ORDER: dict[str, Any] = {
    "$id": "https://shop.example/order",
    "properties": {
        "total": {"$ref": "#money"},
        "first": {"$ref": "line"},
        "a/b~c": {"type": "string"},
    },
    "$defs": {
        "Money": {"$anchor": "money", "type": "number"},
        "Line": {
            "$id": "line",
            "properties": {"count": {"$ref": "#/$defs/Count"}},
            "$defs": {"Count": {"type": "integer"}},
        },
        "Node": {"$dynamicAnchor": "node", "type": "object"},
    },
    "x-kept": {"Odd": {"properties": {"deep": {"type": "null"}}}},
    "examples": [{"type": "string"}, 3],
}


@pytest.mark.parametrize(
    ("reference", "where", "target"),
    [
        ("#", "", ""),
        ("", "", ""),
        ("#/$defs/Money", "", "/$defs/Money"),
        ("#money", "/properties/total", "/$defs/Money"),
        ("#node", "", "/$defs/Node"),
        ("https://shop.example/order#money", "/$defs/Line", "/$defs/Money"),
        ("line", "/properties/first", "/$defs/Line"),
        ("https://shop.example/line", "", "/$defs/Line"),
        ("#/$defs/Count", "/$defs/Line/properties/count", "/$defs/Line/$defs/Count"),
        ("order#/$defs/Money", "/$defs/Line", "/$defs/Money"),
        ("#/properties/a~1b~0c", "", "/properties/a~1b~0c"),
        ("#/properties/a%7E1b~0c", "", "/properties/a~1b~0c"),
        ("#/x-kept/Odd", "", "/x-kept/Odd"),
        ("#/x-kept/Odd/properties/deep", "", "/x-kept/Odd/properties/deep"),
        ("#/examples/0", "", "/examples/0"),
    ],
)
def test_leads_to_what_the_document_holds(reference: str, where: str, target: str) -> None:
    assert Document(ORDER, "2020-12").resolve(reference, where) == target


@pytest.mark.parametrize(
    "reference",
    [
        "#/$defs/Missing",
        "#missing",
        "#/$defs/Count",  # that is in another resource
        "#/examples/1",
        "#/examples/7",
        "#/examples/one",
        "#/properties/total/$ref",
        "other.json",
        "https://elsewhere.example/x",
        "file:///etc/passwd",
        "../../secret.json",
        "http://[broken",
        "#/$defs/Money/type",
    ],
)
def test_says_nothing_on_what_it_does_not_hold(reference: str) -> None:
    assert Document(ORDER, "2020-12").resolve(reference, "") is None


def test_old_dialects_write_anchors_as_identifiers() -> None:
    schema = {"definitions": {"A": {"$id": "#here", "type": "string"}, "B": {"id": "#there", "type": "null"}}}
    assert Document(schema, "draft7").resolve("#here", "") == "/definitions/A"
    assert Document(schema, "draft7").resolve("#there", "") is None
    assert Document(schema, "draft4").resolve("#there", "") == "/definitions/B"


def test_an_identifier_beside_a_reference_is_void_in_old_dialects() -> None:
    schema = {
        "$id": "https://a.example/root",
        "definitions": {"A": {"$id": "https://b.example/other", "$ref": "#/definitions/C"}, "C": {"type": "string"}},
    }
    assert Document(schema, "draft7").resolve("#/definitions/C", "/definitions/A") == "/definitions/C"
    assert Document(schema, "2020-12").resolve("#/definitions/C", "/definitions/A") is None


def test_an_embedded_resource_of_another_dialect_is_not_entered() -> None:
    other = {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"X": {"type": "string"}}}
    document = Document({"$defs": {"Other": other}}, "2020-12")
    assert not document.has("/$defs/Other")
    assert document.resolve("#/$defs/Other", "") is None
    assert document.resolve("#/$defs/Other/definitions/X", "") is None


def test_boolean_schemas_are_subschemas() -> None:
    document = Document({"$defs": {"No": False}}, "2020-12")
    assert document.resolve("#/$defs/No", "") == "/$defs/No"
    assert document.at("/$defs/No") is False
    assert Document(True, "2020-12").resolve("#", "") == ""
