"""Reading specs in tests: from values or texts by file name, to the catalog and what was reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from codegen.diagnostics import Diagnostic, Report
from codegen.specs import Catalog, Tool, read_catalog


@dataclass(frozen=True)
class Outcome:
    """What reading gave."""

    catalog: Catalog
    problems: list[Diagnostic]

    @property
    def codes(self) -> list[str]:
        return [problem.code for problem in self.problems]

    @property
    def tool(self) -> Tool:
        """The only tool, read without a problem."""
        assert self.problems == []
        (tool,) = self.catalog
        return tool

    @property
    def problem(self) -> Diagnostic:
        """The only problem."""
        (problem,) = self.problems
        return problem


Read = Callable[..., Outcome]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[dict[str, Any]], Path]:
    """Writes files below a fresh folder `specs`: text and bytes as they are, other values as JSON."""

    def write(files: dict[str, Any]) -> Path:
        for name, content in files.items():
            file = tmp_path / "specs" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                file.write_bytes(content)
            else:
                text = content if isinstance(content, str) else json.dumps(content, indent=2, ensure_ascii=False)
                file.write_text(text, encoding="utf-8", newline="")
        return tmp_path / "specs"

    return write


@pytest.fixture
def read(write: Callable[[dict[str, Any]], Path], tmp_path: Path) -> Read:
    """Reads a folder of files, or one spec: `read({"a.json": …})`, `read(spec=…)`."""

    def read(files: dict[str, Any] | None = None, *, spec: Any = None) -> Outcome:
        folder = write(files if files is not None else {"spec.json": spec})
        report = Report()
        catalog = read_catalog([folder], base=tmp_path, report=report)
        return Outcome(catalog, report.sorted())

    return read
