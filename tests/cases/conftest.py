"""From a spec to a call: tools that are built, imported and called as a service would, on handlers that only listen."""

from __future__ import annotations

import importlib
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from codegen.diagnostics import Report
from tests.cli.conftest import project, run
from tests.conftest import build_folder
from tests.targets.round_trip import schema_of

__all__ = ["project", "run"]  # fixtures

TARGETS = ("openai_agents", "openai_responses", "oci_agents")
"""What a build registers tools with where nothing is said."""

EVERY = (*TARGETS, "openai_chat", "anthropic", "gemini", "bedrock", "mcp", "oci_inference")

Serve = Callable[..., "Service"]

_numbers = itertools.count(1)


class Listening:
    """A handler for whatever tool is called: it keeps the arguments in the list that came as the call's context."""

    def __getattr__(self, name: str) -> Callable[[Any, Any], str]:
        def handler(args: Any, call: Any) -> str:
            call.context.append(args)
            return "heard"

        return handler


class Service:
    """The tools of some specs."""

    def __init__(self, package: ModuleType, folder: Path, report: Report) -> None:
        self.package = package
        self.folder = folder
        self.report = report
        self.runtime = importlib.import_module(f"{package.__name__}.runtime")
        self.dispatcher = package.dispatcher(Listening())

    def execute(self, tool: str, arguments: Any, target: str = "") -> tuple[list[Any], Any]:
        """What reached the handler, and the result."""
        heard: list[Any] = []
        call = self.runtime.Call(tool, arguments, target=target, context=heard)
        return heard, self.dispatcher.execute_sync(call)

    def reach(self, tool: str, arguments: Any, target: str = "") -> Any:
        """The arguments as the handler gets them. A mapping is also sent as text and as bytes."""
        for form in _forms(arguments):
            heard, result = self.execute(tool, form, target)
            assert result.success, f"{form!r}: {result.error}"
            assert len(heard) == 1
        return heard[0]

    def refuse(self, tool: str, arguments: Any, target: str = "") -> Any:
        """The error of arguments that do not reach the handler, in whichever form they come."""
        for form in _forms(arguments):
            heard, result = self.execute(tool, form, target)
            assert not result.success, f"{form!r} reached the handler as {heard}"
            assert heard == []
        return result.error

    def entries(self, target: str) -> list[dict[str, Any]]:
        """What registers the tools, one entry a tool."""
        entries: list[dict[str, Any]] = self.dispatcher.payload(target)
        return [one for entry in entries for one in entry.get("functionDeclarations", [entry])]

    def entry(self, target: str, tool: str) -> dict[str, Any]:
        """What registers a tool."""
        (found,) = (one for one in self.entries(target) if tool == shown_name(one))
        return found

    def parameters(self, target: str, tool: str) -> dict[str, Any]:
        """The schema in what registers a tool; from OCI's string map, decoded."""
        parameters = schema_of(target, self.entry(target, tool))
        assert parameters is not None
        return parameters

    def problems(self, *codes: str) -> list[tuple[str, str]]:
        """The target (or nothing) and the pointer of the build's problems of these kinds."""
        return [(found.target, found.pointer) for found in self.report.sorted() if found.code in codes]


def shown_name(entry: Mapping[str, Any]) -> str | None:
    """The name that the model sees."""
    inner: Mapping[str, Any] = entry.get("function") or entry.get("toolSpec") or entry
    return inner.get("name") or inner.get("displayName")


def shown_description(entry: Mapping[str, Any]) -> str | None:
    """The description that the model sees."""
    inner: Mapping[str, Any] = entry.get("function") or entry.get("toolSpec") or entry
    return inner.get("description")


def wire(args: Any) -> Any:
    """Arguments as they came: what a handler may log or pass on."""
    return args.model_dump(mode="json", by_alias=True, exclude_unset=True)


def tool(name: str, properties: Mapping[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    """A definition with closed arguments; `more` are further keywords of its parameters."""
    parameters: dict[str, Any] = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    if required:
        parameters["required"] = list(required)
    return definition(name, parameters | more)


def definition(name: str, parameters: Any, **more: Any) -> dict[str, Any]:
    return {"type": "function", "name": name, "description": f"Does {name}.", "parameters": parameters, **more}


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Builds specs and imports the result: `serve(definition, ...)` or `serve(path)`; keywords are settings."""
    root = tmp_path_factory.mktemp("cases")
    sys.path.insert(0, str(root))
    made: list[str] = []

    def build(*specs: Mapping[str, Any] | Path, **settings: Any) -> Service:
        name = f"case_{next(_numbers)}"
        made.append(name)
        paths: Sequence[Path] = [one for one in specs if isinstance(one, Path)]
        if not paths:
            paths = [root / f"{name}_specs"]
            paths[0].mkdir()
            (paths[0] / "tools.json").write_text(json.dumps(specs), encoding="utf-8")
        report = build_folder(paths, root / name, **settings)
        importlib.invalidate_caches()
        return Service(importlib.import_module(name), root / name, report)

    yield build
    sys.path.remove(str(root))
    for module in [loaded for loaded in sys.modules if loaded.split(".")[0] in made]:
        del sys.modules[module]


def _forms(arguments: Any) -> list[Any]:
    if not isinstance(arguments, Mapping):
        return [arguments]
    return [arguments, json.dumps(arguments), json.dumps(arguments, ensure_ascii=False).encode()]
