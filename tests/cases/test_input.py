"""Spec files as people write them: scalars, encodings and shapes mean what their format says, or are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases.conftest import Serve, Service, wire
from tests.cli.conftest import Run, contents

SCALARS = """\
# what YAML 1.2 says about scalars
name: open_shop
description: Sí, on time.
parameters:
  type: object
  additionalProperties: false
  required: [lang]
  properties:
    lang: {type: string, enum: [no, yes, y, n, on, off, NO, ~x]}
    day: {type: string, enum: [2024-02-29, 12:30, 08:00, 1_000]}
    code: {type: string, enum: ["017", '1.20', "null"]}
    mixed: {enum: [017, 0o17, 0xF, 1e2, .5, null, ~, true, True, "true"]}
    limit: {type: integer, maximum: 0x10}
    rate: {type: number, maximum: 1e3, multipleOf: 0.05}
    on: {type: boolean}
    NO: {type: string}
    1: {type: integer}
    null: {type: string}
    2024-01-01: {}
    text: {const: "line\\nbreak \\u00e9 \\U0001F642"}
    block:
      const: |
        first
          second
"""
MEANT = {
    "lang": {"type": "string", "enum": ["no", "yes", "y", "n", "on", "off", "NO", "~x"]},
    "day": {"type": "string", "enum": ["2024-02-29", "12:30", "08:00", "1_000"]},
    "code": {"type": "string", "enum": ["017", "1.20", "null"]},
    "mixed": {"enum": [17, 15, 15, 100.0, 0.5, None, None, True, True, "true"]},
    "limit": {"type": "integer", "maximum": 16},
    "rate": {"type": "number", "maximum": 1000.0, "multipleOf": 0.05},
    "on": {"type": "boolean"},
    "NO": {"type": "string"},
    "1": {"type": "integer"},
    "null": {"type": "string"},
    "2024-01-01": {},
    "text": {"const": "line\nbreak é 🙂"},
    "block": {"const": "first\n  second\n"},
}


@pytest.fixture(scope="module")
def scalars(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> Service:
    file = tmp_path_factory.mktemp("scalars") / "shop.yaml"
    file.write_text(SCALARS, encoding="utf-8")
    return serve(file)


@pytest.mark.parametrize(
    ("arguments", "valid"),
    [
        ({"lang": "no", "day": "12:30", "code": "017"}, True),
        ({"lang": "~x", "on": True, "NO": "x", "1": 1, "null": "n", "2024-01-01": None}, True),
        ({"lang": "on", "limit": 16, "rate": 1000, "mixed": 17}, True),
        ({"lang": "off", "text": "line\nbreak é 🙂", "block": "first\n  second\n"}, True),
        ({"lang": False}, False),
        ({"lang": "no", "code": 17}, False),
        ({"lang": "no", "day": 750}, False),
        ({"lang": "no", "limit": 17}, False),
        ({"lang": "no", "rate": 1000.05}, False),
        ({"lang": "no", "rate": 0.07}, False),
        ({"lang": "no", "NO": 1}, False),
        ({"lang": "no", "mixed": "17"}, False),
    ],
)
def test_yaml_scalars_mean_what_yaml_says(scalars: Service, arguments: dict[str, Any], valid: bool) -> None:
    if valid:
        assert wire(scalars.reach("open_shop", arguments)) == arguments
    else:
        scalars.refuse("open_shop", arguments)


def test_yaml_and_json_give_the_same_output(project: Path, run: Run) -> None:
    parameters = {"type": "object", "additionalProperties": False, "required": ["lang"], "properties": MEANT}
    spec = {"name": "open_shop", "description": "Sí, on time.", "parameters": parameters}
    for folder, file, text in [("y", "shop.yaml", SCALARS), ("j", "shop.json", json.dumps(spec, ensure_ascii=False))]:
        (project / folder).mkdir()
        (project / folder / file).write_text(text, encoding="utf-8")
        run("build", folder, "-o", f"out/{folder}")
    yaml, plain = contents(project / "out/y"), contents(project / "out/j")
    assert {path for path in yaml if yaml[path] != plain[path]} == {"toolgen.lock"}  # which names the spec file


LAUGHS = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("parameters: {type: object}\nname: t\nname: u\n", "duplicate-key", "line 2 and again on line 3"),
        ("x: &a {type: string}\nname: t\nparameters: {<<: *a}\n", "yaml-syntax", "<<"),
        ("name: t\nparameters: !!python/object/apply:os.abort []\n", "yaml-syntax", "python/object"),
        ("name: t\nparameters: {maximum: .inf}\n", "yaml-syntax", ".inf"),
        ("name: t\nparameters: {maximum: 1e400}\n", "yaml-syntax", "1e400"),
        ("name: t\nparameters: {? [a] : b}\n", "yaml-syntax", "a key is a list"),
        ("name: t\nparameters:\n\ttype: object\n", "yaml-syntax", "\\t"),
        ("name: t\nparameters: &p {properties: {a: *p}}\n", "yaml-syntax", "inside what it stands for"),
        ("", "yaml-syntax", "empty"),
        ("# only a comment\n", "yaml-syntax", "empty"),
        (LAUGHS, "yaml-syntax", "aliases"),
        ('{"name": "t", "parameters": {"maximum": NaN}}', "json-syntax", "NaN"),
        ('{"name": "t", "name": "u"}', "duplicate-key", '"name"'),
        ('{"name": "t", "description": "\\ud800"}', "json-syntax", "surrogate"),
        ('{"name": "t",}', "json-syntax", "comma"),
        ("// why\n{}", "json-syntax", "expecting value"),
        ('{"name": "t"} {"name": "u"}', "json-syntax", "follows the end"),
        ("[" * 5000 + "]" * 5000, "nesting", "128"),
    ],
)
def test_what_is_no_spec_text_is_refused_with_its_place(
    project: Path, run: Run, text: str, code: str, words: str
) -> None:
    name = "t.json" if text.startswith(("{", "[", "//")) else "t.yaml"
    (project / "specs").mkdir()
    (project / "specs" / name).write_text(text, encoding="utf-8")
    output = run("build", "specs", exit_code=2).output
    assert f"error[{code}]" in output
    assert words in output
    assert output.startswith(f"specs/{name}")
    assert not (project / "generated").exists()


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_value_of_the_wrong_type_is_told_with_file_and_line(project: Path, run: Run, form: str) -> None:
    values = {"type": "string", "enum": ["a", 5]}
    spec = {"name": "t", "description": "d", "parameters": {"type": "object", "properties": {"v": values}}}
    (project / "specs").mkdir()
    if form == "json":
        text, line = json.dumps(spec, indent=1), 11
    else:
        text = (
            "name: t\ndescription: d\nparameters:\n  type: object\n  properties:\n    v: {type: string, enum: [a, 5]}\n"
        )
        line = 6
    (project / f"specs/t.{form}").write_text(text, encoding="utf-8")
    output = run("build", "specs").output
    assert f"specs/t.{form}:{line}: warning[enum-misfit] /parameters/properties/v/enum/1" in output


MIXED: list[Any] = [
    {
        "type": "function",
        "name": "flat",
        "description": "d",
        "strict": False,
        "parameters": {
            "type": "object",
            "properties": {
                "function": {"type": "string"},
                "name": {"type": "string"},
                "parameters": {"type": "object"},
            },
            "required": ["name"],
        },
    },
    {
        "type": "function",
        "function": {
            "name": "nested",
            "description": "d",
            "parameters": {"type": "object", "properties": {"input_schema": {"type": "integer"}}},
        },
    },
    {
        "name": "anthropic",
        "description": "d",
        "input_schema": {"type": "object", "properties": {"inputSchema": {"type": "boolean"}}},
    },
    {
        "tools": [
            {
                "name": "mcp",
                "title": "A title",
                "description": "d",
                "inputSchema": {"type": "object", "properties": {"functionDeclarations": {"type": "array"}}},
                "annotations": {"readOnlyHint": True},
            }
        ]
    },
    {
        "functionDeclarations": [
            {
                "name": "gemini",
                "description": "d",
                "parametersJsonSchema": {"type": "object", "properties": {"type": {"type": "string"}}},
            }
        ]
    },
    {
        "toolSpec": {
            "name": "bedrock",
            "description": "d",
            "inputSchema": {"json": {"type": "object", "properties": {"json": {"type": "string"}}}},
        }
    },
    {"type": "web_search"},
    {"type": "tool_search"},
]


def test_shapes_of_all_kinds_in_one_file(serve: Serve) -> None:
    service = serve(*MIXED)
    assert service.dispatcher.names == ["anthropic", "bedrock", "flat", "gemini", "mcp", "nested"]
    arguments: dict[str, dict[str, Any]] = {
        "flat": {"name": "n", "function": "f", "parameters": {}},
        "nested": {"input_schema": 1},
        "anthropic": {"inputSchema": True},
        "mcp": {"functionDeclarations": ["a"]},
        "gemini": {"type": "x"},
        "bedrock": {"json": "s"},
    }
    for name, value in arguments.items():
        assert wire(service.reach(name, value)) == value
        assert service.refuse(name, dict.fromkeys(value)).code == "invalid_arguments"
        properties = [service.parameters(target, name)["properties"] for target in ("openai_agents", "oci_agents")]
        assert list(properties[0]) == list(properties[1]) == list(value) or name == "flat"
    assert service.problems("hosted-tool") == [("", "/6/type"), ("", "/7/type")]
    assert service.entry("openai_responses", "flat")["strict"] is False


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "x", "parameters": {"type": "object"}, "input_schema": {"type": "object"}},
        {"name": "x", "inputSchema": {"type": "object"}, "parameters": {"type": "object"}},
        {"name": "x"},
        {"schema": {"type": "object"}},
        {},
        "x",
        None,
    ],
)
def test_an_entry_that_could_be_this_or_that_is_refused(project: Path, run: Run, entry: Any) -> None:
    (project / "specs").mkdir()
    (project / "specs/t.json").write_text(json.dumps([*MIXED, entry]), encoding="utf-8")
    assert f"error[unknown-shape] /{len(MIXED)}" in run("build", "specs", exit_code=2).output


CITY = '{"name": "clima", "description": "Temperatura máxima — 25 °C.", "parameters": {"type": "object", "properties": {"señal": {"enum": ["Cádiz"]}}}}'  # noqa: E501


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (CITY.encode("latin-1", "replace"), "not UTF-8"),
        (CITY.encode("utf-16"), "UTF-16, not UTF-8"),
        (CITY.encode("utf-8")[:-30] + b"\xc3", "not UTF-8"),
    ],
)
def test_other_encodings_are_named(project: Path, run: Run, data: bytes, words: str) -> None:
    (project / "specs").mkdir()
    (project / "specs/good.json").write_text(CITY, encoding="utf-8")
    (project / "specs/bad.json").write_bytes(data)
    output = run("build", "specs", exit_code=2).output
    assert output.startswith("specs/bad.json")
    assert words in output
    assert not (project / "generated").exists()
