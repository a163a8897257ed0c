"""Tools that other people wrote, as catalogs: the shipped specs, and the specs of real tools."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path

from codegen.diagnostics import Report
from codegen.schema.dialects import DEFAULT, dialect_of
from codegen.specs import Catalog, Tool, read_text
from tests.public_data import as_argument, find
from tests.targets.support import make_tool

ROOT = Path(__file__).parents[2]


@cache
def shipped_tools() -> tuple[Tool, ...]:
    """The tools of `specs/`."""
    report = Report()
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "specs").iterdir())}
    tools = [tool for name, text in texts.items() for tool in read_text(text, name, report)]
    assert not report.has_errors, [str(problem) for problem in report.diagnostics]
    return tuple(tools)


@cache
def real_tools() -> tuple[Tool, ...]:
    """The tools of the public data, under names that every target takes and no two share."""
    return tuple(
        make_tool(
            spec.parameters,
            name=f"tool_{number}",
            description=spec.description,
            dialect=dialect_of(spec.parameters) or DEFAULT,
        )
        for number, spec in enumerate(find().real_specs())
    )


@cache
def suite_tools() -> tuple[Tool, ...]:
    """Every schema of the JSON Schema Test Suite as the one argument of a tool."""
    groups = find().suite("draft2020-12")
    schemas = [as_argument(group.schema, DEFAULT) for group in groups if not group.is_optional]
    return tuple(make_tool(schema, name=f"case_{number}") for number, schema in enumerate(schemas))


def in_strict_mode(tools: tuple[Tool, ...]) -> Catalog:
    """The same tools, each of which asks for strict mode."""
    return Catalog(tuple(dataclasses.replace(tool, strict=True) for tool in tools))
