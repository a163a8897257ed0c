"""The wheel, away from the checkout: it holds its templates and builds a package that works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

from tests.conftest import ROOT


def test_the_wheel_builds_a_package_in_a_clean_environment(tmp_path: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(*command: str, cwd: Path = tmp_path) -> str:
        done = subprocess.run(command, cwd=cwd, env=clean, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path / "dist"), str(ROOT))
    (wheel,) = (tmp_path / "dist").glob("toolgen-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"codegen/templates/dispatch.py.jinja", "codegen/templates/runtime/dispatcher.py"} <= set(names)
    assert not [name for name in names if name.startswith(("tests/", "generated/", "specs/"))]

    venv.create(tmp_path / "env", with_pip=True)
    python = str(tmp_path / "env/bin/python")
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
    work = tmp_path / "work"
    (work / "specs").mkdir(parents=True)
    definition = {"name": "add", "description": "Adds.", "parameters": {"properties": {"a": {"type": "integer"}}}}
    (work / "specs/add.json").write_text(json.dumps(definition), encoding="utf-8")
    run(str(tmp_path / "env/bin/toolgen"), "build", "specs", cwd=work)
    (work / "generated/handlers/add.py").write_text("def add(args, call):\n    return args.a + 1\n", encoding="utf-8")
    script = (
        "import sys; from generated import dispatcher; from generated.runtime import Call;"
        "print(dispatcher().execute_sync(Call('add', {'a': 1})).output);"
        "print([m for m in sys.modules if m.split('.')[0] in ('codegen', 'openai', 'oci', 'datamodel_code_generator')])"
    )
    assert run(python, "-W", "error", "-c", script, cwd=work) == "2\n[]\n"
    assert "up to date" in run(str(tmp_path / "env/bin/toolgen"), "check", "specs", cwd=work)
