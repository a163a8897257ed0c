"""Each tool gets its Python names: of its modules, its handler and its classes."""

from __future__ import annotations

from dataclasses import replace

from codegen.diagnostics import Report
from codegen.schema.names import tool_names
from codegen.specs.tool import Catalog, ToolNames


def allocate_names(catalog: Catalog, report: Report) -> Catalog:
    """The catalog with the names set. Every tool gets some; nothing is reported."""
    names = tool_names(catalog.names())
    return Catalog(
        tuple(
            replace(tool, names=ToolNames(given.module, given.function, given.prefix))
            for tool in catalog
            for given in [names[tool.name]]
        )
    )
