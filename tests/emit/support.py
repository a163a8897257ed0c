"""Tools in a few words, and their model modules once they are imported."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema_rs

from codegen.diagnostics import Diagnostic
from codegen.resources import templates
from codegen.schema.dialects import URIS
from codegen.schema.names import tool_names
from codegen.specs.tool import Origin, Tool, ToolNames

CLOSED: dict[str, Any] = {"additionalProperties": False}


def arguments(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The schema of an object."""
    return {"type": "object", "properties": properties, **more}


class NoLines:
    """A source that knows no lines."""

    path = "specs/tools.json"

    def line(self, pointer: str) -> int | None:
        return None


def make_tool(
    parameters: dict[str, Any],
    returns: Any = None,
    *,
    name: str = "get_customer",
    description: str | None = "Looks up a customer.",
    dialect: str = "2020-12",
) -> Tool:
    """A tool that has been through the naming pass."""
    names = tool_names([name])[name]
    origin = Origin(NoLines(), "", {"parameters": "/parameters", "returns": "/returns"})
    given = ToolNames(names.module, names.function, names.prefix)
    return Tool(name, description, parameters, returns, dialect, origin, names=given)


@dataclass(frozen=True)
class Loaded:
    """A tool whose model module has been imported, behind its gate."""

    tool: Tool
    module: ModuleType
    text: str
    diagnostics: tuple[Diagnostic, ...]
    runtime: Any
    """The module of the base classes."""
    is_valid: Callable[[Any], bool]
    """The gate."""

    @property
    def arguments(self) -> Any:
        return getattr(self.module, f"{self.prefix}Arguments")

    @property
    def result(self) -> Any:
        return getattr(self.module, f"{self.prefix}Result")

    @property
    def prefix(self) -> str:
        assert self.tool.names is not None
        return self.tool.names.prefix

    def fields(self) -> dict[str, str]:
        """The Python name of each argument, by wire name."""
        return wire_names(self.arguments)

    def parse(self, value: Any) -> Any:
        """The arguments of a call that is valid."""
        assert self.is_valid(value), f"the gate refuses {value}"
        return self.runtime.instantiate(self.arguments, value)

    def round_trip(self, value: Any) -> Any:
        """What comes back of a valid value, after it has been an instance."""
        return dump(self.parse(value))


def wire_names(model: Any) -> dict[str, str]:
    """The field of each wire name of a model."""
    return {name if info.alias is None else info.alias: name for name, info in model.model_fields.items()}


def dump(instance: Any) -> Any:
    """An instance as the object that came over the wire."""
    return instance.model_dump(mode="json", by_alias=True, exclude_unset=True)


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal in JSON: 1 is 1.0, and is not true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return one == other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(member, other[key]) for key, member in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(one == other)


Load = Callable[..., Loaded]
"""Imports the model module of a tool: `load(parameters, returns)`, further keywords as in `make_tool`."""


def write_package(folder: Path) -> None:
    """A package with the part of the runtime that models need."""
    for part in ("", "models", "runtime"):
        (folder / part).mkdir(parents=True, exist_ok=True)
        (folder / part / "__init__.py").touch()
    for name in ("errors.py", "models.py", "values.py"):
        shutil.copy(templates() / "runtime" / name, folder / "runtime" / name)


def gate(tool: Tool) -> Callable[[Any], bool]:
    """The validator of a tool's parameters, as the runtime compiles it."""
    schema = {**tool.parameters, "$schema": URIS[tool.dialect]}
    validator = jsonschema_rs.validator_for(schema, validate_formats=False, offline=True)
    return validator.is_valid
