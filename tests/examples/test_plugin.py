"""The example plugin, installed as a distribution of its own: its target is one like ours."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT

Run = Callable[..., "subprocess.CompletedProcess[str]"]

SPEC = {
    "name": "find_order",
    "description": "Finds an order.",
    "parameters": {
        "type": "object",
        "properties": {
            "kind": {"const": "order"},
            "id": {"$ref": "#/$defs/Id"},
        },
        "required": ["id"],
        "additionalProperties": False,
        "$defs": {"Id": {"type": "string", "pattern": "^O[0-9]+$"}},
    },
}

CONVERSATION = """
import json, sys
from generated import dispatcher
from generated.runtime.adapters import acme as adapter
from generated.runtime.loops import acme

ANSWERS = [
    {"id": "a1", "state": "calls", "calls": [
        {"ref": "r1", "tool": "find_order", "args": {"id": "O17"}},
        {"ref": "r2", "tool": "find_order", "args": {"id": "17"}},
        {"ref": "r3", "tool": "find_odrer", "args": {}},
    ]},
    {"id": "a2", "state": "done", "text": "It is on its way."},
]
REQUESTS = []


class Client:
    def chat(self, messages, tools):
        REQUESTS.append({"messages": messages, "tools": tools})
        return ANSWERS[len(REQUESTS) - 1]


d = dispatcher()
(call, *_) = adapter.read_calls(ANSWERS[0])
alone = d.execute_sync(call)
turn = acme.run_sync(d, Client(), input="Where is O17?")
loaded = [name for name in sys.modules if name.partition(".")[0] in ("codegen", "toolgen_acme")]
print(json.dumps({"alone": alone.output, "text": turn.text, "requests": REQUESTS, "loaded": loaded}))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the plugin is installed into, without an environment of its own."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(ROOT / "examples/plugin", folder / "source")  # building leaves nothing in the checkout
    options = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-build-isolation"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder / "site"), "./source"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


@pytest.fixture
def run(installed: Path, tmp_path: Path) -> Run:
    """Runs Python in an empty folder, with the plugin and this checkout on its path."""
    paths = os.pathsep.join([str(installed), str(ROOT)])

    def start(*arguments: str, exit_code: int = 0) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": paths, "COLUMNS": "160"}
        command = [sys.executable, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == exit_code, done.stdout + done.stderr
        return done

    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/find_order.json").write_text(json.dumps(SPEC), encoding="utf-8")
    return start


def test_a_package_for_the_target_of_a_plugin_is_complete_in_itself(run: Run, tmp_path: Path) -> None:
    done = run("-m", "codegen", "build", "specs", "--target", "acme")
    assert "note[loss] /parameters/$defs/Id/pattern (acme)" in done.stderr
    (tmp_path / "generated/handlers/find_order.py").write_text(
        "def find_order(args, call):\n    return {'order': args.id, 'asked_by': call.target}\n", encoding="utf-8"
    )
    found = json.loads(run("-W", "error", "-c", CONVERSATION).stdout)
    assert json.loads(found["alone"]) == {"order": "O17", "asked_by": "acme"}
    assert found["text"] == "It is on its way."
    assert found["loaded"] == []
    first, second = found["requests"]
    assert (
        first["tools"] == second["tools"] == json.loads((tmp_path / "generated/payloads/acme.json").read_text("utf-8"))
    )
    assert first["tools"] == [
        {
            "tool": "find_order",
            "about": "Finds an order.",
            "input": {
                "type": "object",
                "properties": {
                    "kind": {"enum": ["order"]},
                    "id": {"type": "string", "description": 'pattern: "^O[0-9]+$"'},
                },
                "required": ["id"],
                "additionalProperties": False,
            },
        }
    ]
    results = second["messages"][-1]["results"]
    assert [(result["ref"], result["ok"]) for result in results] == [("r1", True), ("r2", False), ("r3", False)]
    assert json.loads(results[1]["value"])["code"] == "invalid_arguments"
    assert json.loads(results[2]["value"])["code"] == "unknown_tool"


def test_only_what_the_plugin_needs_is_copied_and_its_sources_are_typed(run: Run, tmp_path: Path) -> None:
    run("-m", "codegen", "build", "specs", "--target", "acme")
    runtime = tmp_path / "generated/runtime"
    for folder in ("adapters", "loops"):
        assert sorted(file.name for file in (runtime / folder).glob("*.py")) == ["__init__.py", "acme.py"]
        copied = (runtime / folder / "acme.py").read_text("utf-8")
        source = (ROOT / "examples/plugin/toolgen_acme/runtime" / folder / "acme.py").read_text("utf-8")
        assert copied.endswith(source) and copied != source
    assert not (runtime / "registration").exists()
    run("-m", "mypy", "--strict", "--no-incremental", "generated")
    run("-m", "black", "--check", "--quiet", "generated")


def test_a_change_of_the_plugin_alone_is_drift(run: Run, installed: Path, tmp_path: Path) -> None:
    run("-m", "codegen", "build", "specs", "--target", "acme")
    run("-m", "codegen", "check", "specs", "--target", "acme")
    adapter = installed / "toolgen_acme/runtime/adapters/acme.py"
    before = adapter.read_text("utf-8")
    adapter.write_text(before.replace("The output, or", "The output or"), encoding="utf-8")
    try:
        done = run("-m", "codegen", "check", "specs", "--target", "acme", exit_code=1)
    finally:
        adapter.write_text(before, encoding="utf-8")
    assert "generated/runtime/adapters/acme.py: is out of date" in done.stdout


def test_commands_know_the_target(run: Run) -> None:
    listed = {entry["id"]: entry for entry in json.loads(run("-m", "codegen", "targets", "--format", "json").stdout)}
    assert listed["acme"]["keywords"]["pattern"] == {"treatment": "described", "reason": "the API ignores it"}
    text = run("-m", "codegen", "explain", "find_order", "specs", "--target", "acme").stdout
    assert re.search(r"step \d: constants as enums\n  the API does not know const\n", text)
    assert "said otherwise /parameters/properties/kind/const" in text


def test_a_plugin_whose_runtime_file_is_missing_is_named(run: Run, installed: Path) -> None:
    adapter = installed / "toolgen_acme/runtime/adapters/acme.py"
    hidden = adapter.rename(adapter.with_suffix(".hidden"))
    try:
        done = run("-m", "codegen", "build", "specs", "--target", "acme", exit_code=2)
    finally:
        hidden.rename(adapter)
    assert "error[broken-target]" in done.stderr
    assert "toolgen-acme" in done.stderr and "adapters/acme.py is missing" in done.stderr
