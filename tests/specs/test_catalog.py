from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from codegen.diagnostics import Report
from codegen.schema.pointers import resolve
from codegen.specs import read_catalog, read_text
from tests.specs.conftest import Read
from tests.specs.strategies import spec_values

GOOD = {"name": "good", "parameters": {"type": "object"}}


def test_tools_are_sorted_by_wire_name(read: Read) -> None:
    files = {
        f"{file}.json": {"name": name, "parameters": None} for file, name in zip("abc", ("y", "X", "x"), strict=True)
    }
    assert read(files).catalog.names() == ["X", "x", "y"]


def test_one_bad_file_hides_no_other(read: Read) -> None:
    outcome = read(
        {
            "bad.json": "{",
            "latin.json": "á".encode("latin-1"),
            "good.json": GOOD,
            "list.json": [{"name": "also", "parameters": None}, {"name": 7, "parameters": None}],
            "odd.yaml": "a: .inf",
        }
    )
    assert outcome.catalog.names() == ["also", "good"]
    assert outcome.codes == ["json-syntax", "encoding", "spec-field", "yaml-syntax"]


def test_two_tools_of_one_name_are_an_error_that_names_both(read: Read) -> None:
    outcome = read({"a.json": [{}, GOOD], "b.yaml": "\nname: good\nparameters:\n"})
    assert outcome.codes == ["unknown-shape", "duplicate-tool"]
    problem = outcome.problems[1]
    assert (problem.file, problem.line, problem.pointer) == ("specs/b.yaml", 2, "/name")
    assert "specs/a.json, line 4" in problem.message
    assert outcome.catalog.names() == ["good"]


def test_a_file_of_shared_schemas_needs_a_reference(read: Read) -> None:
    library = {"$defs": {"A": {"type": "string"}}}
    spec = {"name": "a", "parameters": {"properties": {"x": {"$ref": "lib.json#/$defs/A"}}}}
    assert read({"spec.json": spec, "lib.json": library}).problems == []
    outcome = read({"spec.json": GOOD, "lib.json": library})
    assert (outcome.problem.code, outcome.problem.file) == ("unknown-shape", "specs/lib.json")


def test_a_library_of_a_library_counts(read: Read) -> None:
    files = {
        "a.json": {"name": "a", "parameters": {"$ref": "b.json"}},
        "b.json": {"type": "object", "properties": {"c": {"$ref": "c.yaml"}}},
        "c.yaml": "type: string\n",
    }
    assert read(files).problems == []


@pytest.mark.parametrize("content", ["[]", '[{"type": "web_search"}]', '{"tools": []}'])
def test_files_without_a_function_are_told(read: Read, content: str) -> None:
    outcome = read({"a.json": content})
    assert outcome.codes[0] == "no-specs"
    assert outcome.problems[0].file == "specs"


def test_a_path_that_does_not_exist_is_told(tmp_path: Path) -> None:
    report = Report()
    assert len(read_catalog([tmp_path / "nope"], base=tmp_path, report=report)) == 0
    assert [(d.code, d.file) for d in report.diagnostics] == [("file-not-found", "nope")]


def test_the_order_of_paths_changes_nothing(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"name": "same", "description": name, "parameters": None}))
    paths = [tmp_path / "b.json", tmp_path / "a.json"]
    for order in (paths, paths[::-1]):
        report = Report()
        (tool,) = read_catalog(order, base=tmp_path, report=report)
        assert tool.description == "a"
        assert [d.file for d in report.diagnostics] == ["b.json"]


def test_a_text_is_read_by_its_suffix() -> None:
    report = Report()
    assert read_text("name: a\nparameters:\n", "a.yaml", report).names() == ["a"]
    assert read_text(json.dumps(GOOD), "a.json", report).names() == ["good"]
    assert report.diagnostics == []
    assert read_text('{"type": "object"}', "a.json", report).names() == []
    assert [d.code for d in report.diagnostics] == ["unknown-shape"]


@given(spec_values)
def test_whatever_a_spec_says_it_is_read_or_explained(value: Any) -> None:
    report = Report()
    catalog = read_text(json.dumps(value), "a.json", report)
    for tool in catalog:
        assert isinstance(tool.parameters, dict)
        assert resolve(value, tool.origin.of("name")) == tool.name
    assert len(catalog) or report.has_errors


def test_json_and_yaml_give_the_same_tool(read: Read) -> None:
    text = """
        type: function
        name: set_region
        description: |-
          Sets the region.
          {not: yaml}
        parameters:
          properties:
            region: {enum: [no, on, yes, 012, 1.0, 1e2, 2024-05-01, ~]}
            NO: {type: "null"}
            7: {default: "7"}
        strict: false
    """
    value = {
        "type": "function",
        "name": "set_region",
        "description": "Sets the region.\n{not: yaml}",
        "parameters": {
            "properties": {
                "region": {"enum": ["no", "on", "yes", 12, 1.0, 100.0, "2024-05-01", None]},
                "NO": {"type": "null"},
                "7": {"default": "7"},
            }
        },
        "strict": False,
    }
    from_yaml = read({"a.yaml": text}).tool
    from_json = read_text(json.dumps(value), "a.json", Report()).tools[0]
    assert json.dumps(from_yaml.parameters) == json.dumps(from_json.parameters)
    assert (from_yaml.description, from_yaml.strict) == (from_json.description, from_json.strict)
