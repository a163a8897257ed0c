"""`toolgen lint`: what it says, what it mends, and its exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from codegen.specs import SourceFile
from tests.cli.conftest import Run, contents, spec, write_spec

TEXT = {"type": "string"}
SHIPPED = Path(__file__).resolve().parents[2] / "specs"

BROKEN_JSON = """\
{
  "name": "book_room",
  "description": "Book a room.",
  "parameters": {
    "type": "object",
    "properties": {
      "guest":   {"type": "str", "required": true},
      "nights":  {"type": "int", "default": "2", "minimun": 1},
      "extras":  {"type": "list", "itmes": {"type": "string"}},
      "notes":   {"type": "any", "description": "Anything \\u00e9lse"},
      "late":    {"type": "boolean", "default": "False"}
    },
    "additonalProperties": false
  }
}
"""
MENDED_JSON = """\
{
  "name": "book_room",
  "description": "Book a room.",
  "parameters": {
    "type": "object",
    "properties": {
      "guest":   {"type": "string"},
      "nights":  {"type": "integer", "default": 2, "minimum": 1},
      "extras":  {"type": "array", "items": {"type": "string"}},
      "notes":   {"description": "Anything \\u00e9lse"},
      "late":    {"type": "boolean", "default": false}
    },
    "required": ["guest"],
    "additionalProperties": false
  }
}
"""
BROKEN_YAML = """\
# Rooms.
name: free_rooms # the wire name
description: >-
  Which rooms are free.
parameters:
  type: object

  # When.
  properties:
    from:
      type: str        # a day
      required: true   # always
    to: {type: String, required: "true", desciption: 'the last day'}
    beds:
      # how many
      type: any
    size:
      type: [float, null]  # metres
  additionalProperties: "false" # nothing else
"""
MENDED_YAML = """\
# Rooms.
name: free_rooms # the wire name
description: >-
  Which rooms are free.
parameters:
  type: object

  # When.
  required: [from, to]
  properties:
    from:
      type: string        # a day
      # always
    to: {type: string, description: 'the last day'}
    beds:
      # how many
      {}
    size:
      type: [number, "null"]  # metres
  additionalProperties: false # nothing else
"""


def test_clean_specs(project: Path, run: Run) -> None:
    write_spec(project / "specs", "one", x=TEXT)
    result = run("lint", "specs")
    assert result.output == "1 tool: nothing to say\n"
    assert [file.name for file in project.iterdir()] == ["specs"]


def test_the_specs_that_ship_are_clean(run: Run) -> None:
    report = json.loads(run("lint", SHIPPED, "--format", "json").stdout)
    assert report["diagnostics"] == [one for one in report["diagnostics"] if one["severity"] == "note"]
    assert {one["code"] for one in report["diagnostics"]} <= {"loss"}


@pytest.mark.parametrize(
    ("schema", "plain", "strict"),
    [
        (TEXT, 0, 0),
        ({"type": "string", "unit": "m"}, 0, 0),
        ({"type": "string", "minLenght": 3}, 1, 2),
        ({"type": "strin"}, 2, 2),
    ],
)
def test_exit_codes(project: Path, run: Run, schema: Any, plain: int, strict: int) -> None:
    write_spec(project / "specs", "one", x=schema)
    run("lint", "specs", exit_code=plain)
    run("lint", "specs", "--strict", exit_code=strict)
    (project / "pyproject.toml").write_text("[tool.toolgen]\nstrict = true\n", encoding="utf-8")
    run("lint", exit_code=strict)


def test_usage_errors(project: Path, run: Run) -> None:
    run("lint", "nowhere", exit_code=2)
    run("lint", "--format", "xml", exit_code=2)


def test_findings_are_told_with_place_and_mend(project: Path, run: Run) -> None:
    write_spec(project / "specs", "one", x={"type": "string", "minLenght": 3}, y={"type": "integer", "default": "a"})
    output = run("lint", "specs", exit_code=1).output
    place = "specs/one.json:10: warning[misspelt-keyword] /parameters/properties/x/minLenght: "
    assert place in output
    assert "hint: did you mean `minLength`?" in output
    assert "1 tool: 2 warnings\n1 of them can be mended by toolgen lint --fix\n" in output
    assert "warning" not in run("lint", "specs", "--quiet", exit_code=1).output


def test_targets_are_asked_too(project: Path, run: Run) -> None:
    named = spec("a.b", x=TEXT)
    (project / "specs").mkdir()
    (project / "specs/dotted.json").write_text(json.dumps(named), encoding="utf-8")
    assert "error[target-name]" in run("lint", "specs", exit_code=2).output
    run("lint", "specs", "--target", "none")


def test_machines_read_json(project: Path, run: Run) -> None:
    write_spec(project / "specs", "one", x={"type": "string", "minLenght": 3, "unit": "m"})
    result = run("lint", "specs", "--format", "json", exit_code=1)
    report = json.loads(result.stdout)
    assert (report["tools"], report["summary"]) == (1, {"errors": 0, "warnings": 1, "notes": 1})
    (misspelt,) = [one for one in report["diagnostics"] if one["code"] == "misspelt-keyword"]
    assert misspelt == {
        "code": "misspelt-keyword",
        "severity": "warning",
        "file": "specs/one.json",
        "line": 10,
        "pointer": "/parameters/properties/x/minLenght",
        "message": "`minLenght` is no keyword and has no effect",
        "hint": "did you mean `minLength`?",
        "tool": "one",
        "target": "",
        "mendable": True,
    }


def test_fixing(project: Path, run: Run) -> None:
    (project / "specs").mkdir()
    (project / "specs/room.json").write_text(BROKEN_JSON, encoding="utf-8")
    (project / "specs/rooms.yaml").write_text(BROKEN_YAML, encoding="utf-8")
    run("lint", "specs", exit_code=2)
    output = run("lint", "specs", "--fix").output
    assert "specs/room.json:8: mended[schema-invalid] /parameters/properties/nights/type: " in output
    assert " mended[misspelt-keyword] /parameters/properties/to/desciption: " in output
    assert (project / "specs/room.json").read_text(encoding="utf-8") == MENDED_JSON
    assert (project / "specs/rooms.yaml").read_text(encoding="utf-8") == MENDED_YAML
    before = contents(project)
    assert run("lint", "specs", "--fix").output == "2 tools: nothing to say\n"
    assert contents(project) == before


def test_fixing_changes_no_other_value_and_no_remark() -> None:
    """What the two texts above say, read and compared."""
    assert re.findall("#.*", BROKEN_YAML) == re.findall("#.*", MENDED_YAML)
    for path, broken, mended in (("t.json", BROKEN_JSON, MENDED_JSON), ("t.yaml", BROKEN_YAML, MENDED_YAML)):
        before, after = (SourceFile.of_text(path, text).parse().value for text in (broken, mended))
        same = {key: before[key] == after[key] for key in before}
        assert same == {"name": True, "description": True, "parameters": False}
        assert list(before["parameters"]["properties"]) == list(after["parameters"]["properties"])


def test_fixing_leaves_what_only_a_person_can_mend(project: Path, run: Run) -> None:
    write_spec(project / "specs", "one", x={"type": "date"}, y={"type": "dict"}, z={"enum": []})
    output = run("lint", "specs", "--fix", exit_code=2).output
    assert "mended[schema-invalid] /parameters/properties/y/type" in output
    assert 'write "type": "string" and "format": "date"' in output
    text = (project / "specs/one.json").read_text(encoding="utf-8")
    assert '"date"' in text
    assert '"dict"' not in text


def test_fixing_reports_as_json(project: Path, run: Run) -> None:
    write_spec(project / "specs", "one", x={"type": "dict"})
    report = json.loads(run("lint", "specs", "--fix", "--format", "json").stdout)
    assert [(one["code"], one["pointer"]) for one in report["mended"]] == [
        ("schema-invalid", "/parameters/properties/x/type")
    ]
    assert report["diagnostics"] == []


def test_a_schema_in_a_shared_file_is_mended_there(project: Path, run: Run) -> None:
    for name in ("one", "two"):
        write_spec(project / "specs", name, zip={"$ref": "shared.json#/$defs/Zip"})
    shared = '{"$defs": {"Zip": {"type": "string", "maxLenght": 5}}}'
    (project / "specs/shared.json").write_text(shared, encoding="utf-8")
    run("lint", "specs", "--fix")
    assert (project / "specs/shared.json").read_text(encoding="utf-8") == shared.replace("Lenght", "Length")


def test_a_schema_that_is_text_in_the_spec_is_only_reported(project: Path, run: Run) -> None:
    config = {
        "toolConfigType": "FUNCTION_CALLING_TOOL_CONFIG",
        "function": {
            "name": "one",
            "description": "Does one.",
            "parameters": {"type": "object", "properties": json.dumps({"x": {"type": "string", "minLenght": 3}})},
        },
    }
    (project / "specs").mkdir()
    (project / "specs/one.json").write_text(json.dumps({"toolConfig": config}), encoding="utf-8")
    before = contents(project)
    assert "misspelt-keyword" in run("lint", "specs", "--fix", exit_code=1).output
    assert contents(project) == before
