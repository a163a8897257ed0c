"""One schema of a tool, with what several checks ask of it, worked out once and only when asked."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any, Final, Literal
from urllib.parse import quote

import jsonschema_rs

from codegen.diagnostics import Diagnostic, Severity
from codegen.passes.mend import Mend, with_mends
from codegen.passes.possible import Possibilities
from codegen.schema.dialects import URIS
from codegen.schema.references import Document
from codegen.specs.tool import Tool

Part = Literal["parameters", "returns"]

_ROOT: Final = "urn:toolgen:schema"


class Judge:
    """Says whether a value is valid against a subschema, by the validator that is the gate at run time."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._single: dict[str, jsonschema_rs.Validator | None] = {}

    def is_valid(self, pointer: str, value: Any) -> bool | None:
        """Whether `value` is valid against the schema at `pointer`; None where that cannot be told.

        It cannot where references depend on the way that leads to a schema.
        """
        if self._document.is_dynamic:
            return None
        validator = self._validators.get(f"#{pointer}") or self._alone(pointer)
        try:
            return None if validator is None else validator.is_valid(value)
        except ValueError:  # a number that is none, such as a default of 1e400
            return None

    @cached_property
    def _schema(self) -> Any:
        root = self._document.root
        return {**root, "$schema": URIS[self._document.dialect]} if isinstance(root, dict) else root

    @cached_property
    def _validators(self) -> Any:
        """Validators by pointer; some subschemas of resources with an `$id` of their own are missing in it."""
        try:
            return jsonschema_rs.validator_map_for(self._schema, validate_formats=False, offline=True)
        except (ValueError, jsonschema_rs.ReferencingError):
            return {}

    def _alone(self, pointer: str) -> jsonschema_rs.Validator | None:
        if pointer not in self._single:
            there = {"$schema": URIS[self._document.dialect], "$ref": f"{_ROOT}#{quote(pointer)}"}
            try:
                registry = jsonschema_rs.Registry([(_ROOT, self._schema)])
                made = jsonschema_rs.validator_for(there, registry=registry, validate_formats=False, offline=True)
            except (ValueError, jsonschema_rs.ReferencingError):
                made = None
            self._single[pointer] = made
        return self._single[pointer]


class ToolSchema:
    """The schema of a tool's arguments or of its result."""

    def __init__(self, tool: Tool, part: Part) -> None:
        self.tool = tool
        self.part = part
        self.root: Any = tool.parameters if part == "parameters" else tool.returns
        self.dialect = tool.dialect
