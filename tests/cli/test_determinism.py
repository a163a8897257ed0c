"""Same specs, same bytes, whatever the hash seed, working directory, locale, time zone or configuration beside them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import contents
from tests.conftest import ROOT

HOSTILE = """
[tool.black]
line-length = 40
skip-string-normalization = true
target-version = ["py38"]
[tool.isort]
profile = "google"
[tool.ruff]
line-length = 40
[tool.datamodel-codegen]
snake-case-field = true
use-schema-description = false
"""


def build(specs: Path, output: Path, *, cwd: Path, relative: bool = False, **environment: str) -> dict[str, str]:
    named = [os.path.relpath(path, cwd) if relative else str(path) for path in (specs, output)]
    command = [sys.executable, "-m", "codegen", "build", named[0], "-o", named[1], "-q"]
    subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, check=True)
    return contents(output)


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    """The shipped specs, and one whose properties and definitions stand in no alphabetical order."""
    folder = tmp_path / "here/specs"
    shutil.copytree(ROOT / "specs", folder)
    mixed = {
        "name": "zz_mixed",
        "description": "Ñandú\tand “quotes”.",
        "parameters": {
            "$defs": {"Zeta": {"type": "object", "properties": {"q": {"type": "string"}}}, "Alpha": {"enum": [3, 1]}},
            "properties": {"b": {"$ref": "#/$defs/Zeta"}, "a": {"$ref": "#/$defs/Alpha"}, "ñ": {"type": "number"}},
        },
    }
    (folder / "mixed.json").write_text(json.dumps(mixed, ensure_ascii=False), encoding="utf-8")
    return folder


def test_the_same_bytes_everywhere(specs: Path, tmp_path: Path) -> None:
    home = specs.parent
    expected = build(specs, home / "out", cwd=home, PYTHONHASHSEED="0")
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()

    def again(name: str, **options: str) -> dict[str, str]:
        return build(specs, home / name, cwd=elsewhere, relative=True, **options)

    assert again("out1", PYTHONHASHSEED="1", TZ="Asia/Tokyo") == expected
    assert again("out2", PYTHONHASHSEED="2", LC_ALL="C", LANG="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0") == expected
    assert again("out3", PYTHONHASHSEED="3", LC_ALL="tr_TR.UTF-8", COLUMNS="40") == expected


def test_foreign_settings_change_nothing(specs: Path) -> None:
    home = specs.parent
    expected = build(specs, home / "out", cwd=home)
    (home / "pyproject.toml").write_text(HOSTILE, encoding="utf-8")
    (home / ".isort.cfg").write_text("[settings]\nforce_single_line = true\n", encoding="utf-8")
    (home / "setup.cfg").write_text("[isort]\nline_length = 30\n", encoding="utf-8")
    assert build(specs, home / "other", cwd=home) == expected


def test_files_made_in_another_order_and_renamed(specs: Path) -> None:
    home = specs.parent
    expected = build(specs, home / "out", cwd=home)
    files = {file.name: file.read_bytes() for file in specs.iterdir()}
    shutil.rmtree(specs)
    specs.mkdir()
    for name in sorted(files, reverse=True):
        (specs / name).write_bytes(files[name])
    assert build(specs, home / "again", cwd=home) == expected
    (specs / "get_customer.json").rename(specs / "zz_renamed.json")
    renamed = build(specs, home / "renamed", cwd=home)
    assert {path for path in renamed if renamed[path] != expected[path]} == {"toolgen.lock"}


def test_crlf_and_a_byte_order_mark_change_no_output(specs: Path) -> None:
    home = specs.parent
    expected = build(specs, home / "out", cwd=home)
    for file in specs.glob("*.json"):
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    windows = build(specs, home / "windows", cwd=home)
    assert {path for path in windows if windows[path] != expected[path]} == {"toolgen.lock"}


def test_properties_stand_in_the_order_of_the_spec(specs: Path) -> None:
    home = specs.parent
    build(specs, home / "out", cwd=home)
    model = (home / "out/models/zz_mixed.py").read_text(encoding="utf-8")
    positions = [model.index(f"\n    {field}:") for field in ("b", "a", "ñ")]
    assert positions == sorted(positions)
    payload = json.loads((home / "out/payloads/openai_agents.json").read_text(encoding="utf-8"))
    (entry,) = (entry for entry in payload if entry.get("name") == "zz_mixed")
    assert list(entry["parameters"]["properties"]) == ["b", "a", "ñ"]
