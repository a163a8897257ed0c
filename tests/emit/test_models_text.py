"""The text of generated models."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from codegen.emit.models import HEADER, model_module, model_modules
from tests.emit.support import CLOSED, Load, arguments, make_tool, write_package


class TestText:
    """The source reads as if written by hand, whatever the spec's texts are."""

    def test_a_module(self) -> None:
        made = model_module(
            make_tool(
                arguments(
                    {
                        "user-id": {"type": "integer", "minimum": 1, "description": "Whose orders.\n\nNever zero."},
                        "page": {**arguments({"size": {"type": "integer"}}, **CLOSED), "default": {"size": 20}},
                        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "default": []},
                    },
                    required=["user-id"],
                ),
                {"type": "array", "items": arguments({"id": {"type": "string", "description": "Its number."}})},
                name="list_orders",
                description="Lists orders.",
            )
        )
        assert made.arguments == "ListOrdersArguments" and made.result == "ListOrdersResult"
        assert made.text == EXPECTED

    HOSTILE = (
        'ends with a quote"',
        '"""\nraise SystemExit("x")\n"""',
        "back\\slash \\N{DASH} \\x41 \\",
        "{{ 7*7 }} {% raw %} {0} %(x)s # noqa",
        "nul \0, lines \u2028 \u2029 \x85, direction \u202e",
        "Args(BaseModel):\n    import os\nclass X",
    )

    @pytest.mark.parametrize("text", HOSTILE)
    def test_text_of_the_spec_is_only_text(self, load: Load, text: str, capsys: pytest.CaptureFixture[str]) -> None:
        inner: dict[str, Any] = {
            "type": "object",
            "title": text,
            "description": text,
            "properties": {
                text: {"enum": [text, 1], "description": text, "default": text, "title": text, "format": text}
            },
            "patternProperties": {"^x": {"pattern": "^a$", "description": text}},
            "additionalProperties": False,
        }
        parameters = {**inner, "properties": {**inner["properties"], "inner": inner, "d": {"$ref": "#/$defs/D"}}}
        parameters["$defs"] = {"D": inner}
        made = load(
            parameters, {"type": "string", "description": text}, description=text, formatted=True, name="a_tool"
        )
        value = {text: text, "inner": {text: 1}, "d": {}}
        assert made.round_trip(value) == value
        fields = made.fields()
        assert getattr(made.parse({}), fields[text]) == text
        assert capsys.readouterr() == ("", "")
        assert set(made.module.__all__) == {"ATool" + name for name in ("Arguments", "Inner", "Result")} | {"D"}

    @pytest.mark.parametrize(
        "keyword", ["customTypePath", "x-python-type", "customBasePath", "x-python-import", "$comment"]
    )
    def test_keywords_that_steer_the_generator_do_not_reach_it(self, load: Load, keyword: str) -> None:
        schema = {keyword: "os.system", "type": "string"}
        made = load(
            arguments({"a": schema, "b": arguments({"c": schema}, **{keyword: "os.system"})}, **{keyword: "os.system"})
        )
        assert "system" not in made.text
        assert made.parse({"a": "x"}).a == "x"

    def test_property_names_are_only_names(self, load: Load) -> None:
        wires = [
            'c"); raise SystemExit("k") #',
            "a\nimport os",
            "__class__",
            "__init__",
            "x: int = 1",
            "\\",
            "'",
            '"',
            "\0",
            "#/$defs/A",
            "$ref",
            "a.b",
        ]
        made = load(arguments({wire: {"type": "integer"} for wire in wires}, **CLOSED))
        value = dict.fromkeys(wires, 1)
        assert made.round_trip(value) == value

    def test_every_module_begins_with_the_header(self) -> None:
        assert model_module(make_tool(arguments({}))).text.startswith(HEADER + "\n")

    def test_a_tool_without_names_is_our_own_fault(self) -> None:
        with pytest.raises(ValueError, match="no names"):
            model_module(replace(make_tool(arguments({})), names=None))

    def test_made_together_or_alone(self) -> None:
        page = {"$defs": {"Page": arguments({"size": {"type": "integer"}, "Page": {"type": "string"}})}}
        tools = [
            make_tool(
                arguments({"page": {"$ref": "#/$defs/Page"}, f"p{index}": {"type": "string"}}, **page),
                name=f"tool_{index}",
            )
            for index in range(70)
        ]
        together = model_modules(tools, formatted=False)
        assert together == [model_module(tool, formatted=False) for tool in tools]

    def test_what_is_widened_is_noted(self, load: Load) -> None:
        made = load(arguments({"a": {"properties": {"b": {"type": "string"}}}}), {"items": {"type": "string"}})
        assert [(problem.code, problem.severity.value, problem.pointer) for problem in made.diagnostics] == [
            ("model-widened", "note", "/parameters/properties/a"),
            ("model-widened", "note", "/returns"),
        ]


EXPECTED = '''# Generated by toolgen. Do not edit.
"""Arguments and result of the tool list_orders."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import ConfigDict, Field

from ..runtime.models import RenamedModel, ToolModel

__all__ = [
    "ListOrdersArguments",
    "ListOrdersPage",
    "ListOrdersResult",
    "ListOrdersResultItem",
]


class ListOrdersPage(ToolModel):
    model_config = ConfigDict(extra="forbid")

    size: int | None = None


class ListOrdersArguments(RenamedModel):
    """Lists orders.

    The gate also enforces:

    - `tags`: no item twice
    """

    user_id_: Annotated[int, Field(alias="user-id", ge=1)]
    """Whose orders.

    Never zero.
    """
    page: ListOrdersPage = Field(
        default_factory=lambda: ListOrdersPage.model_validate({"size": 20})
    )
    tags: list[str] = Field(default_factory=list[str])


class ListOrdersResultItem(ToolModel):
    id: str | None = None
    """Its number."""


ListOrdersResult: TypeAlias = list[ListOrdersResultItem]
"""Result of the tool list_orders."""
'''


def test_bytes_do_not_depend_on_hash_seed_or_surroundings(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.black]\nline-length = 30\nskip-string-normalization = true\n")
    program = f"""
import hashlib, sys
sys.path[:0] = {[path for path in sys.path if path]!r}
from codegen.emit.models import model_module
from tests.emit.support import make_tool
names = ["a-b", "schema", "ñ", "kind", "z"]
inner = {{"type": "object", "properties": {{name: {{"enum": [name, 1, True, None]}} for name in names}}}}
properties = {{"u": {{"anyOf": [inner, {{"type": "string"}}]}}, "d": {{"$ref": "#/$defs/D"}}}}
tool = make_tool({{"type": "object", "properties": properties,
    "$defs": {{"D": inner, "E": inner}}, "dependentRequired": {{name: names for name in names}}}}, inner)
print(hashlib.sha256(model_module(tool).text.encode()).hexdigest())
"""
    digests = {
        subprocess.run(
            [sys.executable, "-W", "error::SyntaxWarning", "-c", program],
            cwd=cwd,
            env={"PYTHONHASHSEED": seed, "LC_ALL": locale},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, cwd, locale in [("1", tmp_path, "C"), ("2", tmp_path.parent, "C.UTF-8"), ("3", tmp_path, "POSIX")]
    }
    assert len(digests) == 1


def test_a_package_imports_without_a_warning(tmp_path: Path) -> None:
    """In a fresh interpreter that takes every warning for an error."""
    write_package(tmp_path / "shop")
    wires = ["model_name", "schema", "json", "copy", "register", "self", "a-b"]
    made = model_module(make_tool(arguments({wire: {"type": "string", "description": "\\d \\"} for wire in wires})))
    (tmp_path / "shop" / "models" / "get_customer.py").write_text(made.text, encoding="utf-8")
    program = "import shop.models.get_customer as m; print(len(m.GetCustomerArguments.model_fields))"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == str(len(wires))
