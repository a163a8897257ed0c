"""The whole product at work: specs are built, the package is imported, and calls are parsed."""

from __future__ import annotations

import importlib
import itertools
import json
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Self

from codegen.diagnostics import Diagnostic
from tests.conftest import build_folder
from tests.emit.support import dump, same

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Verdict:
    """What came of one call's arguments."""

    accepted: bool
    fault: str | None = None
    """Why something is wrong whatever the schema says: a value that changed, or an exception that is no refusal."""


class Product:
    """An imported package."""

    def __init__(self, folder: Path, package: ModuleType, diagnostics: Sequence[Diagnostic]) -> None:
        self.folder = folder
        self.diagnostics = diagnostics
        self._package = package.__name__
        has_stubs = (folder / "handlers").is_dir()
        self._dispatcher = package.dispatcher() if has_stubs else package.dispatcher(object())
        self._runtime: Any = importlib.import_module(f"{package.__name__}.runtime")

    @property
    def names(self) -> Sequence[str]:
        names: Sequence[str] = self._dispatcher.names
        return names

    def parse(self, name: str, arguments: Any) -> Any:
        """The model instance. Raises the package's `InvalidArguments`."""
        return self._dispatcher.tool(name).parse(arguments)

    def count_fields(self, name: str) -> int:
        """Fields of the models in the module of a tool."""
        entry: Any = self._dispatcher.tool(name).entry
        module: Any = importlib.import_module(f"{self._package}.models.{entry.module}")
        models = {value for value in vars(module).values() if getattr(value, "__module__", "") == module.__name__}
        return sum(len(model.model_fields) for model in models if hasattr(model, "model_fields"))

    def judge(self, name: str, arguments: Mapping[str, Any]) -> Verdict:
        """What `parse` says to arguments, as a mapping and as JSON text; both have to say the same.

        What is accepted has to come back as it was.
        """
        text = json.dumps(arguments, ensure_ascii=False)
        one, two = self._judge(name, arguments), self._judge(name, text)
        if one.fault or two.fault:
            return one if one.fault else two
        if one.accepted is not two.accepted:
            return Verdict(one.accepted, f"accepted as a mapping: {one.accepted}, as text: {two.accepted}")
        return one if same(json.loads(text), arguments) else Verdict(one.accepted, "the caller's mapping was changed")

    def _judge(self, name: str, arguments: Any) -> Verdict:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                instance = self.parse(name, arguments)
                back = dump(instance)
        except self._runtime.InvalidArguments:
            return Verdict(False)
        except Exception as error:  # whatever it is, it is no way to answer a call
            return Verdict(False, f"{type(error).__name__}: {error}")
        sent = json.loads(arguments) if isinstance(arguments, str) else arguments
        return Verdict(True) if same(back, sent) else Verdict(True, f"came back as {back}")


class Workshop:
    """A folder on the import path, in which packages are built in this process; it is gone at the end."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="toolgen-conformance-")
        self._root = Path(self._folder.name)
        self._made: list[str] = []

    def __enter__(self) -> Self:
        sys.path.insert(0, str(self._root))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        sys.path.remove(str(self._root))
        self.forget()
        self._folder.cleanup()

    def build(self, specs: Sequence[Mapping[str, Any]], **settings: Any) -> Product:
        """A package of `specs`; further keywords are settings of `[tool.toolgen]`. Any error of theirs is raised."""
        folder = Path(tempfile.mkdtemp(dir=self._root))
        (folder / "tools.json").write_text(json.dumps(specs), encoding="utf-8")
        return self.build_folder(folder, **settings)

    def build_folder(self, folder: Path, **settings: Any) -> Product:
        """A package of the spec files in `folder`, as `build`."""
        name = f"conformance_{next(_numbers)}"
        report = build_folder([folder], self._root / name, **{"targets": ["none"], "handlers": "inject"} | settings)
        self._made.append(name)
        importlib.invalidate_caches()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            package = importlib.import_module(name)
        return Product(self._root / name, package, report.sorted())

    def forget(self) -> None:
        """Drops the packages that were imported so far."""
        for loaded in [loaded for loaded in sys.modules if loaded.split(".")[0] in self._made]:
            del sys.modules[loaded]
        self._made.clear()


def tool(name: str, parameters: Any, description: str = "A tool.") -> dict[str, Any]:
    """A spec."""
    return {"name": name, "description": description, "parameters": parameters}
