"""One package of small tools for all tests of the runtime; what its tools do, each test says itself."""

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

NAME = "package_of_tools"

KEY: dict[str, Any] = {
    "type": "object",
    "properties": {"key": {"type": "string"}},
    "required": ["key"],
    "additionalProperties": False,
}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
TOTAL: dict[str, Any] = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}


def _tool(name: str, parameters: dict[str, Any] = KEY, returns: Any = None, **policy: Any) -> dict[str, Any]:
    spec = {"type": "function", "name": name, "description": f"The tool {name}.", "parameters": parameters}
    return spec | ({} if returns is None else {"returns": returns}) | ({"x-toolgen": policy} if policy else {})


SPECS = [
    _tool("look_up", effect="read"),
    _tool("set_flag", effect="idempotent"),
    _tool("pay"),
    _tool("ping", NOTHING),
    _tool("anything", {"type": "object"}),
    _tool("total", NOTHING, TOTAL),
    _tool("name", NOTHING, {"type": "string"}),
    _tool("quick_look", effect="read", timeout=0.05),
    _tool("quick_pay", timeout=0.05),
    _tool("guarded_pay", confirm=True),
    _tool("guarded_look", effect="read", confirm=True),
    _tool("guarded_quick_pay", confirm=True, timeout=0.05),
]


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The imported package. Its handlers are the stubs."""
    root = tmp_path_factory.mktemp("tools")
    specs = root / "specs"
    specs.mkdir()
    (specs / "tools.json").write_text(json.dumps(SPECS), encoding="utf-8")
    build_folder([Path(specs)], root / NAME)
    sys.path.insert(0, str(root))
    yield importlib.import_module(NAME)
    sys.path.remove(str(root))
    for name in [loaded for loaded in sys.modules if loaded.split(".")[0] == NAME]:
        del sys.modules[name]


@pytest.fixture(scope="session")
def runtime(tools: ModuleType) -> Callable[[str], ModuleType]:
    """A module of the package's own runtime: `runtime("journal.memory")`, `runtime("")` for the runtime itself."""
    return lambda name: importlib.import_module(f"{NAME}.runtime{'.' + name if name else ''}")


@pytest.fixture(scope="session")
def api(runtime: Callable[[str], ModuleType]) -> Any:
    """What services import from the runtime."""
    return runtime("")


@pytest.fixture
def dispatcher(tools: ModuleType) -> Iterator[Callable[..., Any]]:
    """A dispatcher with handlers by tool name: `dispatcher(ping=function, hooks=...)`. It is closed at the end."""
    made: list[Any] = []
    options = ("journal", "hooks", "concurrency", "threads", "timeout")

    def make(**given: Any) -> Any:
        settings = {name: given.pop(name) for name in options if name in given}
        dispatcher = tools.dispatcher(SimpleNamespace(**given), **settings)
        made.append(dispatcher)
        return dispatcher

    yield make
    for dispatcher in made:
        dispatcher.close()


@pytest.fixture
def call(api: Any) -> Callable[..., Any]:
    """A call with all ids: `call("pay", key="a")`; ids and the like as `call_id=`, other keywords are arguments."""
    fields = ("call_id", "turn_id", "session_id", "target", "context", "arguments")

    def make(name: str, /, **given: Any) -> Any:
        ids = {"call_id": "call_1", "turn_id": "turn_1", "session_id": "session_1"}
        ids |= {field: given.pop(field) for field in fields if field in given}
        return api.Call(name, **{"arguments": given, **ids})

    return make
