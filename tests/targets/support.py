"""Tools and lowering in one line each."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from codegen.diagnostics import Diagnostic
from codegen.specs.tool import Catalog, Origin, Tool
from codegen.targets import Lowered, Payload, Target, TargetOptions, lower_catalog, registry

PARTS = {part: f"/{part}" for part in ("name", "description", "parameters", "x-toolgen")}

EMPTY: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


@dataclasses.dataclass(frozen=True)
class Source:
    """A spec file of which every value stands on line 1."""

    path: str = "specs/tools.json"

    def line(self, pointer: str) -> int | None:
        return 1


def make_tool(parameters: dict[str, Any] | None = None, name: str = "find_order", **fields: Any) -> Tool:
    """A tool with sensible values for what is not given."""
    defaults: dict[str, Any] = {
        "description": "Finds an order.",
        "returns": None,
        "dialect": "2020-12",
        "origin": Origin(Source(), "", PARTS),
    }
    return Tool(name=name, parameters=EMPTY if parameters is None else parameters, **(defaults | fields))


def lower(target: str, tool: Tool, options: TargetOptions | None = None) -> Lowered:
    return registry()[target].lower(tool, options or TargetOptions())


def lower_all(
    tools: Sequence[Tool],
    targets: Sequence[str],
    options: TargetOptions | None = None,
    known: Mapping[str, Target] | None = None,
    toolsets: Mapping[str, Sequence[str]] | None = None,
) -> tuple[dict[str, Payload], list[Diagnostic]]:
    catalog = Catalog(tuple(tools))
    return lower_catalog(catalog, targets, options or TargetOptions(), targets=known, toolsets=toolsets)


def codes(diagnostics: Sequence[Diagnostic]) -> list[str]:
    return [problem.code for problem in diagnostics]


def found(diagnostics: Sequence[Diagnostic], code: str) -> list[str]:
    """The pointers of the problems of one kind."""
    return [problem.pointer for problem in diagnostics if problem.code == code]
