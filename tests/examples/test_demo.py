"""The demo runs, and its handlers fit the package that it builds."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT, build_folder


def test_the_demo_ends_well_and_shows_what_it_did(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples/demo.py")], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "everything went as expected" in done.stdout
    for shown in ("calcular_descuento", "my_object_store", "[invalid_arguments]", "En Madrid hay", "pro plan"):
        assert shown in done.stdout


def test_the_example_handlers_fit_their_tools(tmp_path: Path) -> None:
    build_folder([ROOT / "specs"], tmp_path / "demo_tools")
    for handler in (ROOT / "examples/handlers").glob("*.py"):
        shutil.copy(handler, tmp_path / "demo_tools/handlers")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "demo_tools"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
