"""Schemas that break their meta-schema or do not compile: named with file, line, pointer and mend."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codegen.diagnostics import Diagnostic, Report
from codegen.passes import run_passes
from codegen.passes.mend import Mend, Mendable, Remove, Replace, Require
from codegen.specs import read_catalog, read_text
from tests.passes.support import problems as told_of

SEED = Path(__file__).parents[1] / "specs" / "data" / "object_storage_faulty.json"


def problems(parameters: str) -> list[Diagnostic]:
    report = Report()
    text = f'{{"name": "t", "description": "d",\n "parameters": {parameters}}}'
    run_passes(read_text(text, "t.json", report), report)
    return report.sorted()


def test_the_faulty_seed_is_explained() -> None:
    report = Report()
    catalog = run_passes(read_catalog([SEED], base=SEED.parent, report=report), report)
    (found,) = report.sorted()
    lines = SEED.read_text(encoding="utf-8").splitlines()
    assert (found.code, found.file, found.hint) == ("schema-invalid", SEED.name, "write false without quotes")
    assert found.pointer.endswith("/additionalProperties")
    assert found.line is not None
    assert '"additionalProperties"' in lines[found.line - 1]
    assert len(catalog) == 0


@pytest.mark.parametrize(
    ("parameters", "pointer", "hint"),
    [
        ('{"properties": {"a": {"type": "dict"}}}', "/parameters/properties/a/type", 'write "object"'),
        ('{"properties": {"a": {"type": "strng"}}}', "/parameters/properties/a/type", 'write "string"'),
        ('{"properties": {"a": {"type": "any"}}}', "/parameters/properties/a/type", "leave `type` out"),
        (
            '{"properties": {"a": {"type": "string", "required": true}}}',
            "/parameters/properties/a/required",
            "list the required properties",
        ),
        ('{"properties": {"a": {"minimum": "3"}}}', "/parameters/properties/a/minimum", "write 3 without quotes"),
        ('{"additionalProperties": "False"}', "/parameters/additionalProperties", "write false without quotes"),
        ('{"properties": {"a": {"pattern": "("}}}', "/parameters/properties/a/pattern", ""),
        ('{"properties": {"a": {"enum": "x"}}}', "/parameters/properties/a/enum", 'such as ["x"]'),
    ],
)
def test_faults_have_pointers_and_mends(parameters: str, pointer: str, hint: str) -> None:
    found = problems(parameters)
    assert [(one.code, one.pointer) for one in found] == [("schema-invalid", pointer)]
    assert hint in found[0].hint


def test_all_faults_at_once() -> None:
    found = problems('{"properties": {"a": {"type": "int"}, "b": {"minimum": "3"}, "c": {"maxLength": -1}}}')
    assert [one.pointer.rsplit("/", 2)[1] for one in found] == ["a", "b", "c"]


def test_faults_of_every_kind_at_once() -> None:
    found = problems('{"properties": {"a": {"type": "int"}, "b": {"pattern": "("}, "c": {"$ref": "#/$defs/none"}}}')
    assert [(one.code, one.pointer.split("/")[3]) for one in found] == [
        ("schema-invalid", "a"),
        ("schema-invalid", "b"),
        ("unresolved-reference", "c"),
    ]


def test_a_reference_that_leads_nowhere() -> None:
    (found,) = problems('{"properties": {"a": {"$ref": "#/$defs/none"}}}')
    assert found.code == "unresolved-reference"


@pytest.mark.parametrize(
    "schema",
    [
        {
            "$schema": "http://json-schema.org/draft-04/schema#",
            "properties": {"a": {"minimum": 1, "exclusiveMinimum": True}},
        },
        {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"items": [{}, {}]}}},
    ],
)
def test_older_dialects_are_judged_by_their_own_rules(schema: Any) -> None:
    assert [one for one in problems(json.dumps(schema)) if one.code == "schema-invalid"] == []
    schema.pop("$schema")
    assert problems(json.dumps(schema)) != []


OLD = "http://json-schema.org/draft-04/schema#"


@pytest.mark.parametrize(
    ("schema", "hint", "mends"),
    [
        ({"type": "dict"}, 'write "object"', [Replace('"object"')]),
        ({"type": "Float"}, 'write "number"', [Replace('"number"')]),
        ({"type": "tuple"}, 'write "array"', [Replace('"array"')]),
        ({"type": "STRING"}, 'write "string"', [Replace('"string"')]),
        ({"type": "any"}, "leave `type` out", [Remove()]),
        ({"type": "intger"}, 'write "integer"', [Replace('"integer"')]),
        ({"type": "date"}, '"format": "date"', []),
        ({"type": "url"}, '"format": "uri"', []),
        ({"type": "enum"}, "the type of the values", []),
        ({"type": "thing"}, "the types are", []),
        ({"type": "string|null"}, 'write ["string", "null"]', [Replace('["string", "null"]')]),
        ({"type": "int or float"}, 'write ["integer", "number"]', [Replace('["integer", "number"]')]),
        ({"type": "string[]"}, '"items": {"type": "string"}', []),
        ({"type": "List[str]"}, '"items": {"type": "string"}', []),
        ({"type": ["string", "None"]}, 'write "null"', [Replace('"null"')]),
        ({"type": ["string", None]}, 'write "null" in quotes', [Replace('"null"')]),
        ({"type": ["string", "any"]}, "leave `type` out", []),
        ({"type": None}, "write one of", []),
        ({"required": True}, "list the required properties", [Require()]),
        ({"required": "true"}, "list the required properties", [Require()]),
        ({"required": False}, "remove it", [Remove()]),
        ({"properties": {"b": {}}, "required": "b"}, 'write ["b"]', [Replace('["b"]')]),
        ({"required": "b"}, 'write ["b"]', []),
        ({"required": ["b", "b"]}, "each property once", []),
        ({"items": {"required": True}}, "list the required properties", []),
        ({"additionalProperties": "false"}, "write false without quotes", [Replace("false")]),
        ({"uniqueItems": "True"}, "write true without quotes", [Replace("true")]),
        ({"minLength": "3"}, "write 3 without quotes", [Replace("3")]),
        ({"minimum": "1.50"}, "write 1.50 without quotes", [Replace("1.50")]),
        ({"minLength": "three"}, "whole number", []),
        ({"maxItems": -1}, "whole number", []),
        ({"multipleOf": 0}, "above 0", []),
        ({"enum": {"a": 1}}, "list the values", []),
        ({"anyOf": []}, "list at least one", []),
        ({"allOf": {}}, "write a list", []),
        ({"items": [{"type": "string"}]}, "`prefixItems`", []),
        ({"items": "string"}, 'write {"type": "string"}', []),
        ({"properties": ["b"]}, "each name with its schema", []),
        ({"properties": {"type": "object"}}, "put `type` beside `properties`", []),
        ({"properties": {"b": "integer"}}, 'write {"type": "integer"}', []),
        ({"minimum": 3, "exclusiveMinimum": True}, '"exclusiveMinimum": 3 in place of `minimum`', []),
        ({"exclusiveMinimum": False}, "remove it", [Remove()]),
        ({"description": None}, "leave it out", [Remove()]),
        ({"description": 5}, "write a text", []),
        (None, "write {}", []),
        (5, "a schema is an object", []),
    ],
)
def test_the_advice_fits_the_fault(schema: Any, hint: str, mends: list[Mend]) -> None:
    (found,) = problems(json.dumps({"properties": {"a": schema}}))
    assert found.code == "schema-invalid"
    assert hint in found.hint
    assert list(found.mends if isinstance(found, Mendable) else ()) == mends


@pytest.mark.parametrize(
    ("schema", "hint"),
    [
        ({"required": []}, "at least one name"),
        ({"properties": {"b": True}}, "no boolean schemas"),
        ({"minimum": 1, "exclusiveMinimum": 3}, '"minimum": 3, "exclusiveMinimum": true'),
    ],
)
def test_the_advice_fits_the_dialect(schema: Any, hint: str) -> None:
    (found,) = problems(json.dumps({"$schema": OLD, "properties": {"a": schema}}))
    assert hint in found.hint


def test_one_fault_does_not_hide_the_others() -> None:
    found = told_of(
        {
            "type": "object",
            "properties": {
                "a": {"type": "strin"},
                "b": {"type": "string", "minLenght": 3, "format": "url"},
                "c": {"type": "integer", "minLength": 3},
                "d": {"type": "string", "nullable": True},
            },
            "required": "a",
        }
    )
    assert sorted((one.code, one.pointer.removeprefix("/parameters")) for one in found) == [
        ("foreign-keyword", "/properties/d/nullable"),
        ("idle-keyword", "/properties/c/minLength"),
        ("misspelt-keyword", "/properties/b/minLenght"),
        ("schema-invalid", "/properties/a/type"),
        ("schema-invalid", "/required"),
        ("unknown-format", "/properties/b/format"),
    ]
