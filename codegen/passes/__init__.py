"""Checks and normalisations over the catalog, in the order of one table."""

from __future__ import annotations

from collections.abc import Callable

from codegen.diagnostics import Report
from codegen.passes.naming import allocate_names
from codegen.passes.schemas import check_schemas
from codegen.specs.tool import Catalog

Pass = Callable[[Catalog, Report], Catalog]

PASSES: tuple[Pass, ...] = (
    check_schemas,  # drops tools whose schemas do not compile, so that nothing later meets them
    allocate_names,
)


def run_passes(catalog: Catalog, report: Report) -> Catalog:
    """The refined catalog; problems go to the report."""
    for step in PASSES:
        catalog = step(catalog, report)
    return catalog
