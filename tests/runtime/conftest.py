"""One package of small tools for all tests of the runtime; what its tools do, each test says itself."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
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
    with _imported(tmp_path_factory.mktemp("tools"), NAME, SPECS) as package:
        yield package


@contextmanager
def _imported(root: Path, name: str, specs: list[dict[str, Any]], **settings: Any) -> Iterator[ModuleType]:
    (root / "specs").mkdir()
    (root / "specs" / "tools.json").write_text(json.dumps(specs), encoding="utf-8")
    build_folder([root / "specs"], root / name, **settings)
    sys.path.insert(0, str(root))
    try:
        yield importlib.import_module(name)
    finally:
        sys.path.remove(str(root))
        for loaded in [loaded for loaded in sys.modules if loaded.split(".")[0] == name]:
            del sys.modules[loaded]


@pytest.fixture(scope="session")
def runtime_for(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Any]]:
    """The runtime of a package for one target: `runtime_for("anthropic")("adapters.anthropic")`; `("")` for itself."""
    with ExitStack() as stack:

        @cache
        def build(target: str) -> Any:
            name = f"package_for_{target}"
            stack.enter_context(_imported(tmp_path_factory.mktemp(target), name, SPECS[:1], targets=[target]))
            return lambda module: importlib.import_module(f"{name}.runtime{'.' + module if module else ''}")

        yield build


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
