"""Schemas that break their meta-schema or do not compile: named with file, line, pointer and mend."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codegen.diagnostics import Diagnostic, Report
from codegen.passes import PASSES, run_passes
from codegen.passes.naming import allocate_names
from codegen.passes.schemas import check_schemas
from codegen.specs import read_catalog, read_text

SEED = Path(__file__).parents[1] / "specs" / "data" / "object_storage_faulty.json"


def problems(parameters: str) -> list[Diagnostic]:
    report = Report()
    text = f'{{"name": "t", "description": "d",\n "parameters": {parameters}}}'
    run_passes(read_text(text, "t.json", report), report)
    return report.sorted()


def test_the_order_of_the_passes() -> None:
    assert (check_schemas, allocate_names) == PASSES


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
        ('{"properties": {"a": {"type": "any"}}}', "/parameters/properties/a/type", "the types are"),
        (
            '{"properties": {"a": {"type": "string", "required": true}}}',
            "/parameters/properties/a/required",
            "list the required properties",
        ),
        ('{"properties": {"a": {"minimum": "3"}}}', "/parameters/properties/a/minimum", ""),
        ('{"additionalProperties": "False"}', "/parameters/additionalProperties", "write false without quotes"),
        ('{"properties": {"a": {"pattern": "("}}}', "/parameters/properties/a/pattern", ""),
        ('{"properties": {"a": {"enum": "x"}}}', "/parameters/properties/a/enum", ""),
    ],
)
def test_faults_have_pointers_and_mends(parameters: str, pointer: str, hint: str) -> None:
    found = problems(parameters)
    assert [(one.code, one.pointer) for one in found] == [("schema-invalid", pointer)]
    assert hint in found[0].hint


def test_all_faults_at_once() -> None:
    found = problems('{"properties": {"a": {"type": "int"}, "b": {"minimum": "3"}, "c": {"maxLength": -1}}}')
    assert [one.pointer.rsplit("/", 2)[1] for one in found] == ["a", "b", "c"]


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
