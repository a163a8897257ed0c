"""Fixtures that every room's tests may use."""

from __future__ import annotations

import importlib
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings

from codegen.diagnostics import Report
from codegen.pipeline import compile_package
from codegen.project import SETTINGS, Project
from codegen.publish import locked, plan, publish

ROOT = Path(__file__).resolve().parent.parent
"""The checkout."""

# No test measures time; a machine may be as slow as it likes.
hypothesis_settings.register_profile("toolgen", deadline=None)
hypothesis_settings.load_profile("toolgen")

BuildPackage = Callable[..., ModuleType]

_numbers = itertools.count(1)


@pytest.fixture
def package(tmp_path: Path) -> Iterator[BuildPackage]:
    """Builds specs in this process and imports the result: `package({...}, targets=[...], handlers={...})`.

    `specs` is one definition or a list of them, in any shape. `handlers` maps a module name to the source of its
    handler file. Further keywords are settings of `[tool.toolgen]`. The package gets a name of its own and is forgotten
    after the test.
    """
    made: list[str] = []
    sys.path.insert(0, str(tmp_path))

    def build(
        specs: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        handlers: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> ModuleType:
        name = f"package_{next(_numbers)}"
        folder = tmp_path / f"{name}_specs"
        folder.mkdir()
        (folder / "tools.json").write_text(json.dumps(specs), encoding="utf-8")
        build_folder([folder], tmp_path / name, **settings)
        for module, source in (handlers or {}).items():
            (tmp_path / name / "handlers" / f"{module}.py").write_text(source, encoding="utf-8")
        made.append(name)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield build
    sys.path.remove(str(tmp_path))
    for name in [loaded for loaded in sys.modules if loaded.split(".")[0] in made]:
        del sys.modules[name]


def build_folder(specs: Sequence[Path], output: Path, **settings: Any) -> Report:
    """Builds `specs` into `output`; fails the test on any error."""
    values = {name: setting.default for name, setting in SETTINGS.items()} | settings
    report = Report()
    made = compile_package(Project(tuple(specs), output, values), report, output.parent)
    assert made is not None, "\n".join(map(str, report.sorted()))
    with locked(output):
        publish(output, plan(output, made))
    return report
