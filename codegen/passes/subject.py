"""One schema of a tool, with what several checks ask of it, worked out once and only when it is asked for."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

from codegen.diagnostics import Diagnostic, Severity
from codegen.passes.judge import Judge
from codegen.passes.mend import Mend, with_mends
from codegen.passes.possible import Possibilities
from codegen.schema.dialects import dialect_of, walk
from codegen.schema.references import Document
from codegen.specs.tool import Tool

Part: TypeAlias = Literal["parameters", "returns"]


class ToolSchema:
    """The schema of a tool's arguments or of its result. It has compiled before."""

    def __init__(self, tool: Tool, part: Part) -> None:
        self.tool = tool
        self.part = part
        self.dialect = tool.dialect
        self._root: Any = tool.parameters if part == "parameters" else tool.returns

    @cached_property
    def places(self) -> list[tuple[str, dict[str, Any]]]:
        """All schemas in it that are objects, with their pointers, but for those of other dialects."""
        found: list[tuple[str, dict[str, Any]]] = []
        foreign: list[str] = []
        for pointer, schema in walk(self._root):
            if not isinstance(schema, dict):
                continue
            if pointer and "$schema" in schema and dialect_of(schema) != self.dialect:
                foreign.append(f"{pointer}/")
            elif not foreign or not f"{pointer}/".startswith(tuple(foreign)):
                found.append((pointer, schema))
        return found

    @cached_property
    def pointers(self) -> frozenset[str]:
        """The pointers of `places`."""
        return frozenset(pointer for pointer, _ in self.places)

    @cached_property
    def document(self) -> Document:
        return Document(self._root, self.dialect)

    @cached_property
    def judge(self) -> Judge:
        is_dynamic = any("$dynamicRef" in schema or "$recursiveRef" in schema for _, schema in self.places)
        return Judge(self._root, self.dialect, is_dynamic=is_dynamic)

    @cached_property
    def possible(self) -> Possibilities:
        return Possibilities(self.document, self.judge)

    @cached_property
    def counts_evaluated(self) -> bool:
        """Whether some part of it depends on what other parts have looked at."""
        return any("unevaluatedProperties" in each or "unevaluatedItems" in each for _, each in self.places)

    def hides(self, schema: dict[str, Any]) -> bool:
        """Whether a `$ref` in `schema` makes everything beside it void."""
        return "$ref" in schema and self.dialect in ("draft4", "draft6", "draft7") and isinstance(schema["$ref"], str)

    def problem(
        self, code: str, below: str, message: str, hint: str = "", *mends: Mend, severity: Severity | None = None
    ) -> Diagnostic:
        """A problem at the pointer `below` of the schema, with the mends that a program can make."""
        found = self.tool.problem(code, message, hint, part=self.part, below=below)
        return with_mends(replace(found, severity=severity) if severity is not None else found, *mends)


def schemas_of(tool: Tool) -> list[ToolSchema]:
    """The schemas of a tool: of its arguments, and of its result where it has one."""
    parts: list[Part] = ["parameters"] if tool.returns is None else ["parameters", "returns"]
    return [ToolSchema(tool, part) for part in parts]
