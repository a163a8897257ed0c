"""The table of passes, and how they are run."""

from __future__ import annotations

import json
from pathlib import Path

from codegen.diagnostics import Report
from codegen.passes import PASSES, CatalogPass, SchemaPass, ToolPass, run_passes
from codegen.passes.branches import check_branches
from codegen.passes.circles import check_circles
from codegen.passes.contradictions import check_contradictions
from codegen.passes.descriptions import check_description
from codegen.passes.keywords import check_keywords
from codegen.passes.naming import allocate_names
from codegen.passes.schemas import check_schemas
from codegen.passes.values import check_defaults, check_examples
from codegen.specs import read_catalog
from tests.passes.support import problems, spec


def test_the_order_of_the_passes() -> None:
    assert list(PASSES) == [
        CatalogPass(check_schemas),
        ToolPass(check_description),
        SchemaPass(check_keywords),
        SchemaPass(check_circles),
        SchemaPass(check_contradictions),
        SchemaPass(check_branches),
        SchemaPass(check_defaults),
        SchemaPass(check_examples),
        CatalogPass(allocate_names),
    ]


def test_a_tool_that_does_not_compile_is_left_out_and_the_others_are_checked(tmp_path: Path) -> None:
    broken = spec({"properties": {"a": {"type": "strin"}}}) | {"name": "broken"}
    odd = spec({"properties": {"a": {"minLenght": 3}}}) | {"name": "odd"}
    (tmp_path / "tools.json").write_text(json.dumps([broken, odd]), encoding="utf-8")
    report = Report()
    catalog = run_passes(read_catalog([tmp_path], base=tmp_path, report=report), report)
    assert catalog.names() == ["odd"]
    assert [(one.tool, one.code) for one in report.sorted()] == [
        ("broken", "schema-invalid"),
        ("odd", "misspelt-keyword"),
    ]


def test_a_schema_that_two_tools_share_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "shared.json").write_text('{"$defs": {"Zip": {"type": "string", "maxLenght": 5}}}', encoding="utf-8")
    parameters = {"properties": {"zip": {"$ref": "shared.json#/$defs/Zip"}}}
    tools = [spec(parameters) | {"name": name} for name in ("one", "two")]
    (tmp_path / "tools.json").write_text(json.dumps(tools), encoding="utf-8")
    report = Report()
    run_passes(read_catalog([tmp_path], base=tmp_path, report=report), report)
    (found,) = report.sorted()
    assert (found.code, found.file, found.pointer) == ("misspelt-keyword", "shared.json", "/$defs/Zip/maxLenght")


def test_the_result_is_checked_as_the_arguments_are() -> None:
    returns = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3, "maximum": 2}}}
    (found,) = problems({"type": "object"}, returns=returns)
    assert (found.code, found.pointer) == ("unsatisfiable", "/returns/properties/n/maximum")


def test_a_tool_without_a_description() -> None:
    for description in (None, "", "  "):
        (found,) = problems({"type": "object"}, description=description)
        assert found.code == "missing-description"
