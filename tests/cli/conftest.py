"""A project folder and the command line in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from codegen.cli import main

Run = Callable[..., Result]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the working directory."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def run() -> Run:
    """Runs the command line in this process: `run("build", "specs")`."""

    def invoke(*arguments: object, exit_code: int | None = 0) -> Result:
        result = CliRunner().invoke(main, [str(one) for one in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        if exit_code is not None:
            assert result.exit_code == exit_code, result.output
        return result

    return invoke


def spec(name: str, /, **properties: Any) -> dict[str, Any]:
    """A small flat definition; every property is required."""
    parameters = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "name": name, "description": f"Does {name}.", "parameters": parameters}


def write_spec(folder: Path, name: str, /, **properties: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    file.write_text(json.dumps(spec(name, **properties), indent=2), encoding="utf-8")
    return file


def state(folder: Path) -> dict[str, tuple[str, int]]:
    """Each file below a folder with the digest of its bytes and its mtime."""
    return {
        file.relative_to(folder).as_posix(): (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns)
        for file in sorted(folder.rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    }


def contents(folder: Path) -> dict[str, str]:
    """Each file below a folder with the digest of its bytes."""
    return {path: digest for path, (digest, _) in state(folder).items()}
