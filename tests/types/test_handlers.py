"""A handler that is missing or wrongly typed is an error for both type checkers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run, write_spec

GOOD = """
from __future__ import annotations
from ..models.{0} import {1}Arguments, {1}Result
from ..runtime import Call


async def {0}(args: {1}Arguments, call: Call) -> {1}Result:
    return {{"a": args.a}}
"""
SERVICE = """
from __future__ import annotations
from generated import dispatcher
from generated.models.four import FourArguments
from generated.models.one import OneArguments
from generated.models.three import ThreeArguments
from generated.models.two import TwoArguments
from generated.runtime import Call


class Rest:
    def three(self, args: ThreeArguments, call: Call) -> object:
        return args.a

    def four(self, args: FourArguments, call: Call) -> object:
        return args.a


class Whole(Rest):
    def one(self, args: OneArguments, call: Call) -> str:
        return args.a

    async def two(self, args: TwoArguments, call: Call) -> object:
        return args.a


class Lacking(Rest):
    def one(self, args: OneArguments, call: Call) -> str:
        return args.a


class Mixed(Rest):
    def one(self, args: TwoArguments, call: Call) -> str:
        return "x"

    async def two(self, args: TwoArguments, call: Call) -> object:
        return args.a


dispatcher(Whole())
dispatcher(Lacking())  # expect
dispatcher(Mixed())  # expect
dispatcher().tool("one").parse("{}").b  # expect
OneArguments(b="x")  # expect
OneArguments(a=5)  # expect
"""


@pytest.fixture
def built(project: Path, run: Run) -> Path:
    for name in ("one", "two", "three", "four"):
        write_spec(project / "specs", name, a={"type": "string"})
    run("build", "specs", "--target", "none")
    handlers = project / "generated/handlers"
    for name in ("one", "two", "three", "four"):
        (handlers / f"{name}.py").write_text(GOOD.format(name, name.capitalize()), encoding="utf-8")
    two = (handlers / "two.py").read_text(encoding="utf-8")
    (handlers / "two.py").write_text(two.replace("def two(", "def tow("), encoding="utf-8")
    three = GOOD.format("three", "Three").replace("args: ThreeArguments", "args: FourArguments")
    imports = "from ..models.four import FourArguments\nfrom ..runtime"
    (handlers / "three.py").write_text(three.replace("from ..runtime", imports), encoding="utf-8")
    (handlers / "four.py").unlink()
    (project / "service.py").write_text(SERVICE, encoding="utf-8")
    return project


def expected_lines(project: Path) -> set[str]:
    lines = SERVICE.splitlines()
    found = {f"service.py:{number}" for number, line in enumerate(lines, 1) if line.endswith("# expect")}
    dispatch = (project / "generated/dispatch.py").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(dispatch, 1):
        if line.startswith(("        two_module.", "        three_module.", "    from .handlers import four ")):
            found.add(f"dispatch.py:{number}")
    assert len(found) == 8
    return found


def places(output: str) -> set[str]:
    """`file.py:12` of every error line; the two checkers print alike here."""
    found: set[str] = set()
    for line in output.splitlines():
        head, separator, _ = line.partition(" error: ") if " error: " in line else line.partition(" - error: ")
        if separator:
            file, number = head.strip().split(":")[:2]
            found.add(f"{Path(file).name}:{number}")
    return found


def test_mypy(built: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "generated", "service.py"]
    done = subprocess.run(command, cwd=built, capture_output=True, text=True, check=False)
    assert places(done.stdout) == expected_lines(built), done.stdout


def test_pyright(built: Path) -> None:
    (built / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}', encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "generated", "service.py"]
    done = subprocess.run(
        command, cwd=built, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"}
    )
    # What follows from a missing handler is reported on further lines.
    assert places(done.stdout) >= expected_lines(built), done.stdout
