"""The specs that ship with the project, and the JSON Schema of the spec format."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_rs
import pytest

import codegen.specs
from codegen.diagnostics import Report
from codegen.specs import Effect, Tool, read_catalog, read_text, to_spec
from codegen.specs.source import SourceFile
from tests.specs.test_recognition import SHAPES

ROOT = Path(__file__).parents[2]
SPEC_SCHEMA: dict[str, Any] = json.loads(
    Path(codegen.specs.__file__).with_name("tool-spec.schema.json").read_text(encoding="utf-8")
)
EDITOR = jsonschema.Draft202012Validator(SPEC_SCHEMA)


@pytest.fixture(scope="module")
def shipped() -> dict[str, Tool]:
    report = Report()
    catalog = read_catalog([ROOT / "specs"], base=ROOT, report=report)
    assert report.diagnostics == []
    return {tool.name: tool for tool in catalog}


def test_these_tools_ship(shipped: dict[str, Tool]) -> None:
    assert list(shipped) == [
        "calcular_descuento",
        "cancel_order",
        "delete_note",
        "find_orders",
        "get_customer",
        "object_storage",
        "obtener_clima",
        "place_order",
        "save_note",
        "search_notes",
        "set_delivery_address",
    ]
    assert {tool.effect for tool in shipped.values()} == set(Effect)


def test_every_default_target_takes_their_names_and_descriptions(shipped: dict[str, Tool]) -> None:
    for tool in shipped.values():
        assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", tool.name)
        assert tool.description


def test_their_schemas_stand_alone_and_compile(shipped: dict[str, Tool]) -> None:
    for tool in shipped.values():
        for schema in (tool.parameters, tool.returns if tool.returns is not None else True):
            jsonschema_rs.Draft202012Validator(schema, offline=True)
            jsonschema.Draft202012Validator.check_schema(schema)


def test_shared_schemas_lead_back_to_where_they_stand(shipped: dict[str, Tool]) -> None:
    problem = shipped["place_order"].problem("default-misfit", "x", below="/$defs/Line/properties/quantity/default")
    text = (ROOT / "specs" / "orders.yaml").read_text(encoding="utf-8").splitlines()
    assert (problem.file, problem.pointer) == ("specs/orders.yaml", "/$defs/Line/properties/quantity/default")
    assert problem.line is not None
    assert text[problem.line - 1].strip() == "default: 1"


@pytest.mark.parametrize("file", sorted((ROOT / "specs").iterdir()), ids=lambda file: file.name)
def test_the_schema_for_editors_takes_them(file: Path) -> None:
    value = SourceFile.of_text(file.name, file.read_text(encoding="utf-8")).parse().value
    assert [error.message for error in EDITOR.iter_errors(value)] == []


def test_the_schema_for_editors_is_a_schema_and_takes_canonical_specs(shipped: dict[str, Tool]) -> None:
    jsonschema.Draft202012Validator.check_schema(SPEC_SCHEMA)
    for tool in shipped.values():
        assert EDITOR.is_valid(to_spec(tool))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_schema_for_editors_takes_the_shapes_of_apis(shape: str) -> None:
    if shape not in ("oci config alone", "gemini snake", "mcp answer"):  # not what a person writes
        assert EDITOR.is_valid(SHAPES[shape])


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"name": "a"},
        {"name": "", "parameters": None},
        {"name": "a", "parameters": []},
        {"name": "a", "parameters": {"properties": []}},
        {"name": "a", "parameters": None, "desciption": "x"},
        {"name": "a", "parameters": None, "x-toolgen": {"effect": "reads"}},
        [{"name": "a", "parameters": None, "type": "object"}],
        {"tools": [{"name": "a"}]},
    ],
)
def test_the_schema_for_editors_finds_what_the_reader_finds(spec: Any) -> None:
    assert not EDITOR.is_valid(spec)


def test_a_seed_with_its_fault_reads_and_leads_to_the_fault() -> None:
    file = Path(__file__).with_name("data") / "object_storage_faulty.json"
    report = Report()
    (tool,) = read_catalog([file], base=file.parent, report=report)
    assert report.diagnostics == []
    assert tool.parameters["additionalProperties"] == "false"
    problem = tool.problem("schema-invalid", "x", below="/additionalProperties")
    assert (problem.file, problem.line, problem.pointer) == (
        "object_storage_faulty.json",
        22,
        "/parameters/additionalProperties",
    )


def test_the_mended_seed_differs_in_nothing_else(shipped: dict[str, Tool]) -> None:
    file = Path(__file__).with_name("data") / "object_storage_faulty.json"
    (faulty,) = read_text(file.read_text(encoding="utf-8"), "a.json", Report())
    mended = shipped["object_storage"]
    assert (mended.name, mended.description) == (faulty.name, faulty.description)
    assert mended.parameters == {**faulty.parameters, "additionalProperties": False}
