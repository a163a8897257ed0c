"""Names that clash with Python, with Pydantic, with modules or with each other: each property and tool stays usable."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.cases.conftest import TARGETS, Serve, Service, tool, wire
from tests.cli.conftest import Run, write_spec

WHOLE = {"type": "integer"}

PROPERTIES = {
    "methods and settings of models": [
        *("schema", "json", "copy", "dict", "fields", "validate", "construct", "self", "cls"),
        *("model_config", "model_dump", "model_fields", "model_extra", "model_post_init", "model_name"),
        *("__class__", "__doc__", "__slots__", "__annotations__", "__pydantic_extra__", "mro", "register"),
    ],
    "words of the language": ["class", "None", "True", "async", "lambda", "match", "type", "print", "super"],
    "types of annotations": [
        "list",
        "str",
        "int",
        "bool",
        "object",
        "Any",
        "Literal",
        "Field",
        "Annotated",
        "ToolModel",
    ],
    "one slug": [
        "lineTotal",
        "line_total",
        "line-total",
        "LineTotal",
        "line total",
        "line.total",
        "line/total",
        "LINE_TOTAL",
    ],
    "case": ["ID", "Id", "iD", "id"],
    "slugs that are names too": ["a_", "a", "a-", "a_2", "a__", "_a", "a_3"],
    "no letters": ["", " ", "_", "__", "-", "0", "00", "~", '"', "\\", "\n", "\0", "#", "$", "🙂", "\u200b", "\u202e"],
    "alphabets": [
        "año",
        "ano",
        "名前",
        "नाम",
        "e\u0301",
        "é",
        "ﬁn",
        "fin",
        "µ",
        "μ",
        "ſ",
        "s",
        "K",
        "\u212a",
        "ß",
        "ẞ",
    ],
    "length": ["n" * 300, "n" * 301, "n-" * 200],
}


@pytest.fixture(scope="module")
def service(serve: Serve) -> Service:
    return serve(*[tool(name, dict.fromkeys(wires, WHOLE)) for name, wires in PROPERTIES.items()], targets=["none"])


@pytest.mark.parametrize("group", PROPERTIES)
def test_every_property_is_a_field_of_its_own(service: Service, group: str) -> None:
    wires = PROPERTIES[group]
    value = {name: number for number, name in enumerate(wires)}
    args = service.reach(group, value)
    assert wire(args) == value
    fields = {name if field.alias is None else field.alias: name for name, field in type(args).model_fields.items()}
    assert [getattr(args, fields[name]) for name in wires] == list(range(len(wires)))
    assert all(name.isidentifier() and not name.startswith("_") for name in fields.values())


@pytest.mark.parametrize("group", PROPERTIES)
def test_only_wire_names_are_taken_on_the_wire(service: Service, group: str) -> None:
    args = service.reach(group, dict.fromkeys(PROPERTIES[group], 1))
    python_names = set(type(args).model_fields) - set(PROPERTIES[group])
    for name in sorted(python_names):
        assert service.refuse(group, {name: 1}).code == "invalid_arguments"


def test_a_model_keeps_its_methods(service: Service) -> None:
    args = service.reach("methods and settings of models", {"model_config": 1, "copy": 2, "model_dump": 3})
    assert callable(args.model_dump) and callable(args.copy) and args.model_config["strict"]


def test_a_property_at_the_end_renames_no_other(serve: Serve) -> None:
    def fields(*wires: str) -> list[str]:
        return list(type(serve(tool("t", dict.fromkeys(wires, WHOLE))).reach("t", {})).model_fields)

    before = fields("unit-price", "unit_price", "unit price")
    assert before == ["unit_price_", "unit_price", "unit_price_2"]
    assert fields("unit-price", "unit_price", "unit price", "unit.price")[:3] == before


def test_definitions_with_names_of_all_kinds(serve: Serve) -> None:
    names = [
        "Arguments",
        "TArguments",
        "ToolModel",
        "Any",
        "list",
        "None",
        "a-b",
        "a_b",
        "A B",
        "2x",
        "名",
        "",
        "a/b",
        "a~b",
    ]
    references = ["#/$defs/" + quote(name.replace("~", "~0").replace("/", "~1"), safe="~") for name in names]
    parts = {name: {"type": "object", "properties": {f"p{i}": WHOLE}} for i, name in enumerate(names)}
    service = serve(tool("t", {f"v{i}": {"$ref": ref} for i, ref in enumerate(references)}, **{"$defs": parts}))
    args = service.reach("t", {f"v{i}": {f"p{i}": i} for i in range(len(names))})
    assert len({type(getattr(args, f"v{i}")) for i in range(len(names))}) == len(names)
    assert service.refuse("t", {"v6": {"p6": "x"}}).issues[0].pointer == "/v6/p6"


TOOLS = [
    *("json", "typing", "pydantic", "asyncio", "runtime", "dispatch", "handlers", "models", "__init__", "__main__"),
    *("class", "None", "match", "self", "str", "Any", "ToolModel", "Call", "Dispatcher", "Handlers", "PACKAGE", "con"),
    *("send", "Send", "SEND", "send_mail", "sendMail", "SendMail", "send-mail", "2fa", "_private", "名前", "x" * 64),
]


def test_tools_with_names_of_all_kinds(serve: Serve) -> None:
    service = serve(*[tool(name, {f"p{i}": WHOLE}, f"p{i}") for i, name in enumerate(TOOLS)], targets=["none"])
    assert service.dispatcher.names == sorted(TOOLS)
    for i, name in enumerate(TOOLS):
        assert wire(service.reach(name, {f"p{i}": i})) == {f"p{i}": i}
        assert service.refuse(name, {}).code == "invalid_arguments"
    modules = [file.stem.lower() for file in (service.folder / "models").glob("*.py")]
    assert len(set(modules)) == len(TOOLS) + 1  # also where the case of file names does not count
    for file in (service.folder / "handlers").glob("*.py"):
        importlib.import_module(f"{service.package.__name__}.handlers.{file.stem}")


def test_the_standard_library_is_still_itself(project: Path, run: Run) -> None:
    for name in ("json", "typing", "pydantic", "class", "__init__"):
        write_spec(project / "specs", name, n=WHOLE)
    run("build", "specs")
    script = (
        "import json, typing, pydantic; from generated import dispatcher; dispatcher().preload();"
        "import generated.models.json_; print(json.loads('[1]'), typing.Any, pydantic.BaseModel.__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], cwd=project, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[1] typing.Any BaseModel\n", "")


@pytest.mark.parametrize("name", ["../escape", "a/b", "/etc/tool", "..", "a\nb", "C:\\tool", "x" * 300])
def test_a_tool_name_is_never_a_path(project: Path, run: Run, name: str) -> None:
    write_spec(project / "specs", "odd", n=WHOLE)
    text = (project / "specs/odd.json").read_text(encoding="utf-8")
    spelled = name.replace("\\", "\\\\").replace("\n", "\\n")
    (project / "specs/odd.json").write_text(text.replace('"odd"', f'"{spelled}"'), encoding="utf-8")
    assert "error[target-name]" in run("build", "specs", exit_code=2).output
    assert sorted(path.name for path in project.iterdir()) == ["specs"]
    run("build", "specs", "--target", "none")
    files = {path.parent.relative_to(project).as_posix() for path in project.rglob("*.py")}
    assert sorted(path.name for path in project.iterdir()) == ["generated", "specs"]
    assert {"generated/models", "generated/handlers"} <= files


@pytest.mark.parametrize("target", TARGETS)
def test_payloads_show_the_names_of_the_wire(serve: Serve, target: str) -> None:
    wires = [*PROPERTIES["methods and settings of models"], *PROPERTIES["one slug"], *PROPERTIES["alphabets"], "", "\n"]
    service = serve(tool("t", dict.fromkeys(wires, WHOLE)))
    assert list(service.parameters(target, "t")["properties"]) == wires
