"""Checks and normalisations over the catalog, in the order of one table.

A pass sees as much as it has to: one schema, one tool, or all of them. Its type says which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from codegen.diagnostics import Diagnostic, Report
from codegen.passes.branches import check_branches
from codegen.passes.circles import check_circles
from codegen.passes.contradictions import check_contradictions
from codegen.passes.descriptions import check_description
from codegen.passes.keywords import check_keywords
from codegen.passes.naming import allocate_names
from codegen.passes.schemas import check_schemas
from codegen.passes.subject import ToolSchema, schemas_of
from codegen.passes.values import check_defaults, check_examples
from codegen.specs.tool import Catalog, Tool


@dataclass(frozen=True, slots=True)
class CatalogPass:
    """Sees all tools, and may change them or leave some out."""

    run: Callable[[Catalog, Report], Catalog]


@dataclass(frozen=True, slots=True)
class ToolPass:
    """Finds problems of one tool."""

    find: Callable[[Tool], Iterable[Diagnostic]]


@dataclass(frozen=True, slots=True)
class SchemaPass:
    """Finds problems of one schema, that of a tool's arguments or that of its result."""

    find: Callable[[ToolSchema], Iterable[Diagnostic]]


Pass: TypeAlias = CatalogPass | ToolPass | SchemaPass

PASSES: Final[tuple[Pass, ...]] = (
    CatalogPass(check_schemas),  # leaves out tools whose schemas do not compile, so that nothing later meets them
    ToolPass(check_description),
    SchemaPass(check_keywords),
    SchemaPass(check_circles),
    SchemaPass(check_contradictions),
    SchemaPass(check_branches),
    SchemaPass(check_defaults),
    SchemaPass(check_examples),
    CatalogPass(allocate_names),
)


def run_passes(catalog: Catalog, report: Report) -> Catalog:
    """The refined catalog; problems go to the report."""
    subjects: dict[int, list[ToolSchema]] = {}
    told: set[tuple[str, str, str, str]] = set()
    for step in PASSES:
        match step:
            case CatalogPass(run):
                catalog = run(catalog, report)
            case ToolPass(find):
                for tool in catalog:
                    report.add(*find(tool))
            case SchemaPass(find_in):
                for tool in catalog:
                    for subject in subjects.setdefault(id(tool), []) or _subjects(subjects, tool):
                        report.add(*_new(find_in(subject), told))
    return catalog


def _subjects(subjects: dict[int, list[ToolSchema]], tool: Tool) -> list[ToolSchema]:
    """The schemas of a tool, the same ones for every pass."""
    subjects[id(tool)] = schemas_of(tool)
    return subjects[id(tool)]


def _new(found: Iterable[Diagnostic], told: set[tuple[str, str, str, str]]) -> Iterable[Diagnostic]:
    """Problems that were not told yet of the same place: several tools may share a schema."""
    for one in found:
        mark = (one.file, one.pointer, one.code, one.message)
        if mark not in told:
            told.add(mark)
            yield one
