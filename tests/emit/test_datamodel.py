"""What is asked of the model generator, and that nothing else than that comes out."""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from typing import Any

import pytest

from codegen.emit import datamodel
from codegen.emit.datamodel import GeneratorMismatch, PlannedClass, PlannedField, annotate
from codegen.schema.names import Identifier


def planned(name: str, *fields: PlannedField, closed: bool = False) -> PlannedClass:
    return PlannedClass(Identifier(name), closed, fields)


def field(name: str, schema: dict[str, Any], *, optional: bool = False, **bounds: Any) -> PlannedField:
    return PlannedField(Identifier(name), schema, optional, bounds)


def written(plans: list[list[PlannedClass]]) -> list[dict[str, dict[str, str]]]:
    return [
        {name: {key: ast.unparse(node) for key, node in fields.items()} for name, fields in annotations.items()}
        for annotations in annotate(plans)
    ]


def test_annotations_come_back_under_the_planned_names() -> None:
    page = planned("Page", field("size", {"type": "integer", "minimum": 1}, ge=1), closed=True)
    root = planned(
        "Root", field("page", {"$ref": "Page"}, optional=True), field("self_", {"$ref": "Root"}, optional=True)
    )
    assert written([[root, page]]) == [
        {"Root": {"page": "Page | None", "self_": "Root | None"}, "Page": {"size": "int"}}
    ]


def test_modules_of_one_batch_do_not_mix() -> None:
    one = [planned("A", field("b", {"$ref": "B"})), planned("B", field("B1", {"type": "string"}))]
    two = [planned("B", field("a", {"type": "integer"}), field("Numbered0", {}))]
    empty: list[PlannedClass] = [planned("C")]
    batch = [one, two, empty]
    assert written(batch) == [written([plan])[0] for plan in batch]
    assert written([]) == []


@pytest.mark.parametrize(
    "source",
    [
        "import os",
        "from os import system\nsystem('x')",
        "class {name}(ToolModel):\n    size: int = 5",
        "class {name}(ToolModel):\n    size: str | None",
        "class {name}(ToolModel):\n    size: __import__('os').system('x')",
        "class {name}(ToolModel):\n    size: Annotated[int, Field(ge=2)]",
        "class {name}(ToolModel):\n    size: Annotated[int, Field(ge=1), os]",
        "class {name}(ToolModel):\n    size: RootModel[int]",
        "class {name}(ToolModel):\n    size: Literal[open('x')]",
        "class {name}(BaseModel):\n    size: int",
        "@hook\nclass {name}(ToolModel):\n    size: int",
        "class {name}(ToolModel, metaclass=M):\n    size: int",
        "class {name}(ToolModel):\n    other: int",
        "class {name}(ToolModel):\n    size: int\n    def f(self): ...",
        "class {name}(ToolModel):\n    model_config = ConfigDict(extra='forbid')\n    size: int",
        "class Other(ToolModel):\n    size: int",
        "class {name}(ToolModel):\n    size: int\n\nclass More(ToolModel):\n    pass",
        "",
    ],
)
def test_anything_else_than_planned_is_refused(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The generator cannot be made to write these any more; what is shown is that nothing would get through.
    monkeypatch.setattr(datamodel, "_generate", lambda schema, root: source.format(name=root))
    with pytest.raises(GeneratorMismatch) as caught:
        annotate([[planned("Page", field("size", {"type": "integer", "minimum": 1}, ge=1))]])
    assert caught.value.what


def test_the_generator_reads_no_file_and_opens_no_connection(tmp_path: Any) -> None:
    """Also beside a configuration of its own, and once everything that it imports is loaded."""
    (tmp_path / "pyproject.toml").write_text(
        "[tool.datamodel-codegen]\nsnake-case-field = true\n[tool.black]\nline-length = 1\n"
    )
    program = """
        import sys
        from codegen.emit.datamodel import PlannedClass, PlannedField, annotate
        plan = [PlannedClass("A", False, (PlannedField("aB", {"enum": ["x", 'y"']}, True, {}),))]
        annotate([plan])
        seen = []
        kinds = ("open", "socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.chdir")
        sys.addaudithook(lambda event, args: seen.append((event, args)) if event in kinds else None)
        made = annotate([plan])
        assert list(made[0]["A"]) == ["aB"], made
        assert not seen, seen
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr


def test_importing_the_emitter_does_not_load_the_generator() -> None:
    program = "import sys, codegen.emit.models; print(sorted({'black', 'datamodel_code_generator'} & set(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "[]"
