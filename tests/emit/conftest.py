"""Fixtures of the model tests: modules imported as they are made, and public test data."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from codegen.emit.models import model_module
from tests.emit.support import Load, Loaded, gate, make_tool, write_package
from tests.public_data import PublicData, find

_numbers = itertools.count(1)


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


@pytest.fixture(scope="session")
def test_data() -> PublicData:
    """The JSON Schema Test Suite and real tool specs."""
    return find()
