"""A PostgreSQL server, the store that a test names, and a package of tools whose calls are journalled."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.conftest import build_folder
from tests.journal.crashes import SPECS
from tests.journal.server import Server, running
from tests.journal.support import Store


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL server."""
    with running() as server:
        yield server


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """The store that the test's parameter names."""
    kind = request.param
    store = Store(kind, tmp_path, request.getfixturevalue("server") if kind == "postgres" else None)
    yield store
    store.close()


NAME = "journalled_tools"


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """A package with the tools `look_up`, `set_flag`, `pay` and `pay_later`, and both stores."""
    root = tmp_path_factory.mktemp("tools")
    (root / "specs").mkdir()
    (root / "specs" / "tools.json").write_text(json.dumps(SPECS), encoding="utf-8")
    build_folder([root / "specs"], root / NAME, journals=["sqlite", "postgres"])
    sys.path.insert(0, str(root))
    yield importlib.import_module(NAME)
    sys.path.remove(str(root))
    for name in [loaded for loaded in sys.modules if loaded.split(".")[0] == NAME]:
        del sys.modules[name]


@pytest.fixture(scope="session")
def runtime(tools: ModuleType) -> Callable[[str], Any]:
    """A module of the package's runtime: `runtime("journal.sqlite")`."""
    return lambda name: importlib.import_module(f"{NAME}.runtime{'.' + name if name else ''}")


@pytest.fixture
def dispatcher(tools: ModuleType) -> Iterator[Callable[..., Any]]:
    """A dispatcher with handlers by tool name: `dispatcher(journal, hooks=..., pay=...)`. Closed in the end."""
    made: list[Any] = []

    def make(journal: Any, *, hooks: Any = None, timeout: float = 60.0, **handlers: Any) -> Any:
        made.append(journal)
        made.append(tools.dispatcher(SimpleNamespace(**handlers), journal=journal, hooks=hooks, timeout=timeout))
        return made[-1]

    yield make
    while made:
        made.pop().close()


@pytest.fixture
def call(runtime: Callable[[str], Any]) -> Callable[..., Any]:
    """A call of `pay` or another tool, with all ids: `call(1)`, `call(1, "look_up")`."""

    def make(number: object = 1, tool: str = "pay") -> Any:
        key = {"key": f"key_{number}"}
        return runtime("").Call(tool, key, call_id=f"call_{number}", turn_id="turn", session_id="session")

    return make
