"""What a model is told about a tool."""

from __future__ import annotations

from collections.abc import Iterator

from codegen.diagnostics import Diagnostic
from codegen.specs.tool import Tool


def check_description(tool: Tool) -> Iterator[Diagnostic]:
    """A tool without a description (`missing-description`): its name is all that a model could choose it by."""
    if tool.description is None or not tool.description.strip():
        message = "the tool has no description, so a model can only guess when to call it"
        hint = 'add "description": what the function does and when to use it'
        yield tool.problem("missing-description", message, hint, part="description")
