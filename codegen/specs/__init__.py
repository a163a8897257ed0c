"""Reading specs: from paths to a catalog of tools.

This is the face of the room; the modules in it are its own affair. `read_catalog` is the way in for a build,
`read_text` for one text, `to_spec` the way back to a spec.
"""

from __future__ import annotations

from codegen.specs.canonical import to_spec
from codegen.specs.catalog import read_catalog, read_text
from codegen.specs.discovery import discover
from codegen.specs.source import SourceFile
from codegen.specs.tool import Catalog, Effect, Origin, Override, Schema, Tool, ToolNames

__all__ = [
    "Catalog",
    "Effect",
    "Origin",
    "Override",
    "Schema",
    "SourceFile",
    "Tool",
    "ToolNames",
    "discover",
    "read_catalog",
    "read_text",
    "to_spec",
]
