"""Models behind the gate, measured on the JSON Schema Test Suite and on the specs of real tools.

What holds: the gate and the suite agree, no model refuses what the gate takes, and each value comes back as it was.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema_rs
import pytest

from codegen.emit.models import ModelModule, model_modules
from codegen.schema.dialects import URIS, dialect_of
from codegen.specs.tool import Tool
from tests.emit.support import dump, gate, make_tool, same, wire_names, write_package
from tests.public_data import Group, PublicData, as_argument

DRAFTS = {"draft2020-12": "2020-12", "draft7": "draft7"}


class Modules:
    """Model modules of many tools, written into one package and imported one by one."""

    def __init__(self, root: Path, name: str, tools: list[Tool]) -> None:
        self.runtime: ModuleType
        self._name = name
        self._tools = tools
        self._made = model_modules(tools, formatted=False)
        write_package(root / name)
        for index, made in enumerate(self._made):
            (root / name / "models" / f"m{index}.py").write_text(made.text, encoding="utf-8")
        importlib.invalidate_caches()
        self.runtime = importlib.import_module(f"{name}.runtime.models")

    def __iter__(self) -> Iterator[tuple[Tool, ModelModule, Any]]:
        for index, (tool, made) in enumerate(zip(self._tools, self._made, strict=True)):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                module = importlib.import_module(f"{self._name}.models.m{index}")
            yield tool, made, getattr(module, made.arguments)

    def refused_or_changed(self, model: Any, value: Any) -> str | None:
        """What went wrong with a value that the gate took; None where nothing did."""
        try:
            back = dump(self.runtime.instantiate(model, value))
        except self.runtime.ModelRefused as error:
            return str(error)
        return None if same(back, value) else f"{value} came back as {back}"


@pytest.fixture
def package_root(tmp_path: Path) -> Iterator[Path]:
    sys.path.insert(0, str(tmp_path))
    yield tmp_path
    sys.path.remove(str(tmp_path))
    for name in [name for name, module in sys.modules.items() if str(tmp_path) in str(getattr(module, "__file__", ""))]:
        del sys.modules[name]


def compiles(schema: dict[str, Any]) -> bool:
    """Whether a schema needs no document from elsewhere, which is never fetched."""
    try:
        jsonschema_rs.validator_for(schema, validate_formats=False, offline=True)
    except (jsonschema_rs.ReferencingError, ValueError):
        return False
    return True


@pytest.mark.parametrize("draft", DRAFTS)
def test_suite_as_one_argument(draft: str, test_data: PublicData, package_root: Path) -> None:
    dialect = DRAFTS[draft]
    groups: list[tuple[Group, dict[str, Any]]] = []
    for group in test_data.suite(draft):
        wrapped = as_argument(group.schema, dialect)
        if dialect_of({"$schema": URIS[dialect]} | (group.schema if isinstance(group.schema, dict) else {})) == dialect:
            groups.append((group, wrapped))
    assert len(groups) > 250
    local = [(group, wrapped) for group, wrapped in groups if compiles(wrapped)]
    assert all("localhost" in repr(group.schema) for group, wrapped in groups if not compiles(wrapped))
    tools = [make_tool(wrapped, group.schema, dialect=dialect) for group, wrapped in local]
    modules = Modules(package_root, f"suite_{dialect.replace('-', '_')}", tools)
    faults: list[str] = []
    for (group, _), (tool, _, model) in zip(local, modules, strict=True):
        is_valid = gate(tool)
        for test in group.tests:
            value = {"value": test["data"]}
            if is_valid(value) is not test["valid"] and not group.asserts_format:
                faults.append(f"{group.name}: the gate says {is_valid(value)} to {value}")
            if is_valid(value) and (fault := modules.refused_or_changed(model, value)):
                faults.append(f"{group.name}: {fault}")
    assert not faults


@pytest.mark.parametrize("draft", DRAFTS)
def test_suite_as_all_arguments(draft: str, test_data: PublicData, package_root: Path) -> None:
    """Schemas of the suite as parameters, with the objects that they are tested with."""
    dialect = DRAFTS[draft]
    chosen: list[tuple[Group, list[dict[str, Any]]]] = []
    for group in test_data.suite(draft):
        objects = [test["data"] for test in group.tests if isinstance(test["data"], dict)]
        if not (isinstance(group.schema, dict) and objects):
            continue
        if dialect_of({"$schema": URIS[dialect], **group.schema}) == dialect:
            schema = {**group.schema, "$schema": URIS[dialect]}
            if compiles(schema):
                chosen.append((group, objects))
    modules = Modules(
        package_root,
        f"whole_{dialect.replace('-', '_')}",
        [make_tool(group.schema, dialect=dialect) for group, _ in chosen],
    )
    faults: list[str] = []
    for (group, objects), (tool, _, model) in zip(chosen, modules, strict=True):
        is_valid = gate(tool)
        for value in filter(is_valid, objects):
            if fault := modules.refused_or_changed(model, value):
                faults.append(f"{group.name}: {fault}")
    assert not faults


def test_real_specs(test_data: PublicData, package_root: Path) -> None:
    specs = test_data.real_specs()
    assert len(specs) >= 500
    tools = [make_tool(spec.parameters, name=spec.name, description=spec.description) for spec in specs]
    modules = Modules(package_root, "real", tools)
    faults: list[str] = []
    for spec, (tool, made, model) in zip(specs, modules, strict=True):
        wires = wire_names(model)
        assert spec.parameters.get("properties", {}).keys() <= wires.keys()
        faults += [str(problem) for problem in made.diagnostics if problem.code == "model-widened"]
        for value in filter(gate(tool), spec.calls):
            if fault := modules.refused_or_changed(model, value):
                faults.append(f"{spec.name}: {fault}")
    assert not faults
