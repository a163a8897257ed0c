"""Texts of a spec are only texts, wherever they stand: none becomes code, a path, a template or a command."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.cases.conftest import TARGETS, Serve, Service, tool, wire
from tests.cli.conftest import Run

MARK = "raise SystemExit('ran')"
HOSTILE = {
    "three quotes": f'"""\n{MARK}\n"""',
    "three other quotes": f"'''\n{MARK}\n'''",
    "a quote at the end": 'says "no"',
    "quotes only": '"""',
    "a back slash at the end": "path\\",
    "escapes": "\\N{DASH} \\x41 \\u0041 \\{ \\d \\",
    "a closed call": f"'); {MARK} #",
    "a class": f"Args(BaseModel):\n    {MARK}\nclass X",
    "a line of code": f"\n{MARK}\n",
    "templates": "{{ 7*7 }} {% for x in y %} {# no #} {0} %(x)s $x ${y} # noqa",
    "comments": "# type: ignore\n# fmt: off\n-*- coding: latin-1 -*-",
    "line breaks of all kinds": "a\rb\r\nc\x0bd\x0ce\x1cf\x85g\u2028h\u2029i",
    "directions": "\u202e\u2066 \u200b\ufeff\u00ad",
    "nothing printable": "\0\x01\x1b[31m\x7f",
    "markup": "<script>alert(1)</script> [x](javascript:0) `rm -rf`",
}


def hostile_tool(name: str, text: str) -> dict[str, Any]:
    """A text in every place of a definition that takes one."""
    inner = {"type": "object", "title": text, "description": text, "properties": {text: {"type": "string"}}}
    properties = {
        "plain": {"type": "string", "title": text, "description": text, "default": text, "examples": [text]},
        "listed": {"enum": [text, 1], "description": text, "$comment": text},
        "fixed": {"const": {text: [text]}, "format": text, "x-other": {text: text}},
        text: {"$ref": "#/$defs/Part", "description": text},
    }
    spec = tool(name, properties, title=text, description=text, **{"$defs": {"Part": inner, text: inner}})
    spec["parameters"]["dependentRequired"] = {text: [text]}
    return spec | {"description": text, "returns": {"type": ["string", "object"], "description": text, "title": text}}


@pytest.fixture(scope="module")
def service(serve: Serve) -> Service:
    """Two tools for each text: one that holds it everywhere, one that has it for a name."""
    printed = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        warnings.simplefilter("error")
        texts = [hostile_tool(f"probe_{i}", text) for i, text in enumerate(HOSTILE.values())]
        names = [tool(text, {"a": {"type": "integer"}}, "a") for text in HOSTILE.values()]
        service = serve(*texts, *names, targets=["none"])
        for file in service.folder.rglob("*.py"):
            ast.parse(file.read_text(encoding="utf-8"), file.name)
        service.dispatcher.preload()
    assert printed.getvalue() == ""
    return service


@pytest.mark.parametrize("kind", HOSTILE)
def test_texts_stay_texts(service: Service, kind: str) -> None:
    text, name = HOSTILE[kind], f"probe_{list(HOSTILE).index(kind)}"
    args = service.reach(name, {"listed": text, "fixed": {text: [text]}, text: {text: text}})
    assert args.plain == text
    assert wire(args) == {"listed": text, "fixed": {text: [text]}, text: {text: text}}
    assert service.refuse(name, {"listed": text + text}).code == "invalid_arguments"
    assert service.dispatcher.tool(name).description == text


@pytest.mark.parametrize("kind", HOSTILE)
def test_names_of_tools_are_only_names(service: Service, kind: str) -> None:
    name = HOSTILE[kind]
    assert name in service.dispatcher.names
    assert service.reach(name, {"a": 1}).a == 1
    assert service.refuse(name, {"a": "x"}).code == "invalid_arguments"


@pytest.fixture(scope="module")
def registered(serve: Serve) -> Service:
    return serve(*[hostile_tool(f"probe_{i}", text) for i, text in enumerate(HOSTILE.values())])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", HOSTILE)
def test_payloads_give_texts_back(registered: Service, kind: str, target: str) -> None:
    text, name = HOSTILE[kind], f"probe_{list(HOSTILE).index(kind)}"
    assert registered.entry(target, name)["description"] == text
    sent = registered.parameters(target, name)
    assert [sent["description"], sent["title"]] == [text, text]
    assert sent["properties"]["plain"]["default"] == sent["properties"][text]["description"] == text


def test_classes_are_named_after_the_tool_and_not_after_a_title(serve: Serve) -> None:
    service = serve(tool("find_order", {"a": {"title": "Secret", "type": "object"}}, title="Other"))
    assert type(service.reach("find_order", {})).__name__ == "FindOrderArguments"


@pytest.mark.parametrize(
    "name", ["a'; touch x; '.json", 'a"b.json', "a\nb.yaml", "--help.json", "{{ 7*7 }}.json", "%s.json"]
)
def test_names_of_spec_files_are_only_names(project: Path, run: Run, name: str) -> None:
    (project / "specs").mkdir()
    (project / "specs" / name).write_text(json.dumps(tool("probe", {})), encoding="utf-8")
    run("build", "specs")
    script = "from generated import dispatcher; dispatcher().preload(); print(dispatcher().names)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], cwd=project, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("['probe']\n", "")
    assert sorted(path.name for path in project.iterdir()) == ["generated", "specs"]
    run("check", "specs")


@pytest.mark.parametrize(
    "settings",
    [
        {"targets": {"openai_responses": {"name": "../../x"}}},
        {"targets": {"oci_agents": {"name": '"); import os #'}}},
        {"targets": {"../openai_responses": {"name": "x"}}},
        {"timeout": "1); import os #"},
        {"effect": "write'"},
        {"handler": "os.system"},
    ],
)
def test_settings_take_only_what_they_are_for(project: Path, run: Run, settings: dict[str, Any]) -> None:
    (project / "specs").mkdir()
    spec = tool("probe", {}) | {"x-toolgen": settings}
    (project / "specs/probe.json").write_text(json.dumps(spec), encoding="utf-8")
    assert "error[" in run("build", "specs", exit_code=2).output
    assert not (project / "generated").exists()


def test_words_that_steer_other_generators_steer_nothing(serve: Serve) -> None:
    steering = {
        "customTypePath": "os.system",
        "customBasePath": "subprocess.Popen",
        "x-python-type": "builtins.eval",
        "x-python-import": {"module": "os", "name": "system"},
        "pythonName": "import os",
        "x-enum-varnames": ["import os"],
        "tsType": "any",
    }
    part = {"type": "string", **steering}
    service = serve(
        tool("probe", {"a": part, "b": {"type": "object", "properties": {"c": part}, **steering}}, **steering)
    )
    assert wire(service.reach("probe", {"a": "x", "b": {"c": "y"}})) == {"a": "x", "b": {"c": "y"}}
    for file in (service.folder / "models").glob("*.py"):
        modules = [
            node.module for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)
        ]
        assert set(modules) <= {"__future__", "typing", "pydantic", "collections.abc", "runtime.models"}


def test_what_a_handler_raises_is_not_quoted(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    service = serve(tool("probe", {"key": {"type": "string"}}))

    class Handlers:
        def probe(self, args: Any, call: Any) -> None:
            raise RuntimeError(f"no connection to db://admin:{args.key}@host")

    result = service.package.dispatcher(Handlers()).execute_sync(service.runtime.Call("probe", {"key": "hunter2"}))
    assert result.error.code == "handler_error"
    assert "hunter2" not in result.error.message
    assert "hunter2" in caplog.text  # for people, on this machine


def test_patterns_that_take_forever_do_not(serve: Serve) -> None:
    service = serve(tool("probe", {"a": {"pattern": "^(a+)+$"}, "b": {"pattern": "^(?=(a+)+$)(a|a)*\\1?$"}}))
    service.refuse("probe", {"a": "a" * 5000 + "!"})
    service.refuse("probe", {"b": "a" * 60 + "!"})
