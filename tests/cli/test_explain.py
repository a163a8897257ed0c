"""`toolgen explain`: every step of a lowering, for people and for machines."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from codegen.cli.explain import Explained, write_text
from codegen.targets import TargetOptions, registry
from tests.cli.conftest import Run
from tests.targets.support import make_tool

ORDER: dict[str, Any] = {
    "name": "find_order",
    "description": "Finds an order.",
    "parameters": {
        "type": "object",
        "properties": {
            "id": {"$ref": "#/$defs/Id"},
            "limit": {"type": "integer", "minimum": 1, "default": 10},
        },
        "required": ["id"],
        "additionalProperties": False,
        "$defs": {"Id": {"type": "string", "minLength": 3}},
    },
}


def write(folder: Path, *specs: dict[str, Any]) -> None:
    (folder / "specs").mkdir(exist_ok=True)
    (folder / "specs/tools.json").write_text(json.dumps(list(specs)), encoding="utf-8")


def test_the_json_form_has_everything(project: Path, run: Run) -> None:
    write(project, {**ORDER, "strict": True})
    told = json.loads(run("explain", "find_order", "--format", "json").stdout)
    assert told["tool"] == "find_order"
    assert told["file"] == "specs/tools.json"
    assert told["source"] == ORDER["parameters"]
    by_target = {one["target"]: one for one in told["targets"]}
    assert list(by_target) == ["openai_agents", "openai_responses", "oci_agents"]
    responses = by_target["openai_responses"]
    assert (responses["name"], responses["description"]) == ("find_order", "Finds an order.")
    assert responses["entry"]["strict"] is True
    assert responses["bytes"] == len(json.dumps(responses["entry"], separators=(",", ":")))
    assert responses["read_back"] == {"strict": True}
    steps = {step["name"]: step for step in responses["steps"]}
    assert list(steps) == ["strict mode", "read", "strict", "strict limits"]
    assert steps["strict"]["schema"] == responses["entry"]["parameters"]
    assert [(loss["code"], loss["pointer"]) for loss in steps["strict"]["losses"]] == [
        ("loss", "/0/parameters/$defs/Id/minLength"),
        ("loss", "/0/parameters/properties/limit/default"),
    ]
    assert [remark["pointer"] for remark in steps["strict"]["rewritten"]] == ["/0/parameters/properties/limit"]
    assert all(step["reason"] for one in told["targets"] for step in one["steps"])
    # What belongs to no step is told as well.
    assert [problem["pointer"] for problem in by_target["oci_agents"]["problems"]] == ["/0/strict"]


def test_every_loss_of_the_text_stands_under_its_step(project: Path, run: Run) -> None:
    write(project, {**ORDER, "strict": True})
    text = run("explain", "find_order", "specs", "-t", "openai_responses").stdout
    assert text == run("explain", "find_order", "specs", "-t", "openai_responses").stdout
    assert "openai_agents" not in text
    lines = text.splitlines()
    strict = lines.index("  step 3: strict")
    assert lines[strict + 2].startswith("  loss /0/parameters/$defs/Id/minLength: minLength is left out in strict mode")
    assert "losses       2" in text
    assert '    -       "default": 10' in lines or '    -       "minimum": 1,' in lines
    assert '    +       "type": [' in lines
    assert "\x1b" not in text


def test_a_tool_may_be_named_as_a_target_shows_it(project: Path, run: Run) -> None:
    write(project, {**ORDER, "x-toolgen": {"targets": {"oci_agents": {"name": "lookup", "description": "Looks up."}}}})
    told = json.loads(run("explain", "lookup", "--target", "oci_agents", "--format", "json").stdout)
    assert told["tool"] == "find_order"
    (oci,) = told["targets"]
    assert (oci["name"], oci["description"], oci["read_back"]) == ("lookup", "Looks up.", {"name": "lookup"})


def test_unknown_tools_and_targets_are_answered_with_near_names(project: Path, run: Run) -> None:
    write(project, ORDER)
    assert "did you mean find_order?" in run("explain", "find_odrer", exit_code=2).output
    output = run("explain", "find_order", "-t", "oci_agnets", exit_code=2).output
    assert "did you mean oci_agents" in output


def test_a_target_that_the_tool_is_kept_from(project: Path, run: Run) -> None:
    write(project, {**ORDER, "x-toolgen": {"targets": ["oci_agents"]}})
    told = json.loads(run("explain", "find_order", "--format", "json").stdout)
    assert [one["target"] for one in told["targets"]] == ["oci_agents"]
    output = run("explain", "find_order", "-t", "openai_agents", exit_code=2).output
    assert "not registered with 'openai_agents'" in output


def test_a_tool_with_errors_is_not_explained_but_its_errors_are_shown(project: Path, run: Run) -> None:
    write(project, ORDER, {**ORDER, "name": "broken", "parameters": {"type": "object", "properties": 5}})
    done = run("explain", "broken", exit_code=2)
    assert "error[" in done.stderr
    assert "has errors" in done.stderr
    assert "step" in run("explain", "find_order", "-t", "oci_agents").stdout


@pytest.mark.parametrize("width", [120, 60])
def test_a_wide_terminal_gets_two_columns_and_no_control_character(width: int) -> None:
    tool = make_tool(ORDER["parameters"], description="clear\x1b[2Jscreen")
    target = registry()["oci_agents"]
    explained = Explained(target, target.lower(tool, TargetOptions(explain=True)), tool.description)
    out = io.StringIO()
    write_text(tool, [explained], Console(file=out, force_terminal=True, color_system=None, width=width))
    text = out.getvalue()
    assert "\x1b[2J" not in text
    assert ("before" in text and "after" in text and "│" in text) == (width == 120)
    assert all(len(line) <= width for line in text.splitlines())


def test_names_reach_the_terminal_as_text(project: Path, run: Run) -> None:
    """Escape sequences, line breaks and marks of direction in a spec are shown and not obeyed."""
    names = ("p\x1b[31m", "c\x9b31m", "n\nl", "d\x7f", "r\u202e")
    write(
        project, {**ORDER, "parameters": {"type": "object", "properties": {name: {"pattern": "^a"} for name in names}}}
    )
    text = run("explain", "find_order", "-t", "gemini").stdout
    assert all(line.isprintable() for line in text.splitlines())
    for shown in ("p\\u001b[31m", "c\\u009b31m", "n\\nl", "d\\u007f", "r\\u202e"):
        assert f"/properties/{shown}/pattern" in text
    checked = run("check", "-t", "gemini", exit_code=None)
    assert all(line.isprintable() for line in checked.output.splitlines())
