"""The published hooks, run by a real pre-commit in a real repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import write_spec
from tests.conftest import ROOT

SHIPPED = ("codegen", "templates", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")
TEXT = {"type": "string"}


class Repository:
    """A git repository with a home of its own for pre-commit."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "GIT_"))}
        path = f"{Path(sys.executable).parent}{os.pathsep}{clean['PATH']}"
        self.environment = {**clean, "PRE_COMMIT_HOME": str(home), "PATH": path}
        folder.mkdir(exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def git(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run("git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments, check=check)


@pytest.fixture
def service(tmp_path: Path) -> Repository:
    """A service with two specs, the hook installed, and everything committed."""
    tool = Repository(tmp_path / "tool", tmp_path / "home")
    for name in SHIPPED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tool.folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, tool.folder)
    tool.git("add", "-A")
    tool.git("commit", "-qm", "tool")
    revision = tool.git("rev-parse", "HEAD").stdout.strip()

    service = Repository(tmp_path / "service", tmp_path / "home")
    (service.folder / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {tool.folder}\n  rev: {revision}\n  hooks: [{{id: toolgen}}]\n", encoding="utf-8"
    )
    (service.folder / "pyproject.toml").write_text('[tool.toolgen]\nspecs = ["specs"]\n', encoding="utf-8")
    write_spec(service.folder / "specs", "one", x=TEXT)
    write_spec(service.folder / "specs", "two", x=TEXT)
    service.run(sys.executable, "-m", "pre_commit", "install")
    return service


def test_a_commit_stops_until_the_package_is_up_to_date(service: Repository) -> None:
    service.git("add", "-A")
    first = service.git("commit", "-qm", "specs", check=False)
    assert first.returncode == 1
    assert "files were modified by this hook" in first.stderr or "Failed" in first.stderr
    service.git("add", "-A")
    service.git("commit", "-qm", "specs and package")

    write_spec(service.folder / "specs", "one", x=TEXT, y=TEXT)
    service.git("add", "specs/one.json")
    assert service.git("commit", "-qm", "one", check=False).returncode == 1
    changed = service.git("status", "--porcelain").stdout
    assert "generated/models/one.py" in changed
    assert "two" not in changed
    service.git("add", "-A")
    service.git("commit", "-qm", "one again")
    assert service.git("status", "--porcelain").stdout == ""

    (service.folder / "unrelated.txt").write_text("x", encoding="utf-8")
    service.git("add", "-A")
    service.git("commit", "-qm", "nothing for the hook")
