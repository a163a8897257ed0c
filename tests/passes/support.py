"""What the checks say about small schemas."""

from __future__ import annotations

import json
from typing import Any

from codegen.diagnostics import Diagnostic, Report
from codegen.passes import run_passes
from codegen.passes.subject import ToolSchema
from codegen.schema.dialects import URIS
from codegen.specs import Origin, SourceFile, Tool, read_text


def spec(parameters: Any, **others: Any) -> dict[str, Any]:
    """A definition with everything that it should have."""
    return {"name": "t", "description": "Does something.", "parameters": parameters, **others}


def problems(parameters: Any, **others: Any) -> list[Diagnostic]:
    """What is found in a tool with these parameters, sorted."""
    report = Report()
    run_passes(read_text(json.dumps(spec(parameters, **others)), "t.json", report), report)
    return report.sorted()


def of_property(schema: Any, dialect: str = "2020-12", **beside: Any) -> list[tuple[str, str]]:
    """Code and place of what is found in the schema of one optional property, the place from there on.

    `beside` goes into the object around it.
    """
    object_ = {"$schema": URIS[dialect], "type": "object", "properties": {"p": schema}, **beside}
    prefix = "/parameters/properties/p"
    return [(one.code, one.pointer.removeprefix(prefix)) for one in problems(object_)]


def subject(schema: dict[str, Any], dialect: str = "2020-12") -> ToolSchema:
    """A schema as the checks see it, whatever it is."""
    origin = Origin(SourceFile.of_text("t.json", "{}"), "", {"parameters": ""})
    tool = Tool("t", "Does something.", schema, None, dialect, origin)
    return ToolSchema(tool, "parameters")
