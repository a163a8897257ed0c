"""Fixtures of the model tests: tools in a few words, their modules imported, public test data."""

from __future__ import annotations

import importlib
import itertools
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema_rs
import pytest

from codegen.diagnostics import Diagnostic
from codegen.emit.models import model_module
from codegen.resources import templates
from codegen.schema.dialects import URIS
from codegen.schema.names import tool_names
from codegen.specs.tool import Origin, Tool, ToolNames
from tests.emit.public_data import PublicData, find

_numbers = itertools.count(1)


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

    def parse(self, value: Any) -> Any:
        """The arguments of a call that is valid."""
        assert self.is_valid(value), f"the gate refuses {value}"
        return self.runtime.instantiate(self.arguments, value)

    def round_trip(self, value: Any) -> Any:
        """What comes back of a valid value, after it has been an instance."""
        return dump(self.parse(value))


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


@pytest.fixture(scope="session")
def load(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Load]:
    """Imports the model module of a tool: `load(parameters, returns)`, further keywords as in `make_tool`."""
    root = tmp_path_factory.mktemp("models")
    package = f"models_{next(_numbers)}"
    write_package(root / package)
    sys.path.insert(0, str(root))
    runtime = importlib.import_module(f"{package}.runtime.models")

    def import_tool(
        parameters: dict[str, Any], returns: Any = None, *, formatted: bool = False, **options: Any
    ) -> Loaded:
        tool = make_tool(parameters, returns, **options)
        made = model_module(tool, formatted=formatted)
        module = f"m{next(_numbers)}"
        (root / package / "models" / f"{module}.py").write_text(made.text, encoding="utf-8")
        importlib.invalidate_caches()
        imported = importlib.import_module(f"{package}.models.{module}")
        return Loaded(tool, imported, made.text, made.diagnostics, runtime, gate(tool))

    yield import_tool
    sys.path.remove(str(root))
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        del sys.modules[name]


def write_package(folder: Path) -> None:
    """A package with the part of the runtime that models need."""
    for part in ("", "models", "runtime"):
        (folder / part).mkdir(parents=True, exist_ok=True)
        (folder / part / "__init__.py").touch()
    for name in ("models.py", "values.py"):
        shutil.copy(templates() / "runtime" / name, folder / "runtime" / name)


def gate(tool: Tool) -> Callable[[Any], bool]:
    """The validator of a tool's parameters, as the runtime compiles it."""
    schema = {**tool.parameters, "$schema": URIS[tool.dialect]}
    validator = jsonschema_rs.validator_for(schema, validate_formats=False, offline=True)
    return validator.is_valid


@pytest.fixture(scope="session")
def test_data() -> PublicData:
    """The JSON Schema Test Suite and real tool specs."""
    return find()
