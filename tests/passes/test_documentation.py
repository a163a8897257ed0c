"""`docs/diagnostics.md` says what the table of codes and the checks say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from codegen.diagnostics import CODES
from codegen.passes.mend import Mendable
from tests.passes.support import problems

PAGE = Path(__file__).resolve().parents[2] / "docs" / "diagnostics.md"
_ROW = re.compile(
    r"\| `(?P<code>[a-z-]+)` \| (?P<severity>\w+) \| (?P<meaning>.+?) \| (?P<example>.+?) \| (?P<mend>.+?) \|"
)
ROWS = [match.groupdict() for match in map(_ROW.fullmatch, PAGE.read_text(encoding="utf-8").splitlines()) if match]
ABOUT_SCHEMAS = [
    row for row in ROWS if re.fullmatch(r"`\{.*\}`", row["example"]) and row["code"] in (
        "schema-invalid", "misspelt-keyword", "foreign-keyword", "unknown-keyword", "idle-keyword", "hidden-keyword",
        "unsatisfiable", "enum-misfit", "unreachable-branch", "default-misfit", "example-misfit",
    )
]  # fmt: skip


def test_every_code_has_a_row_as_in_the_table_of_codes() -> None:
    written = [(row["code"], row["severity"], row["meaning"]) for row in ROWS]
    assert written == [(name, code.severity.value, code.meaning) for name, code in CODES.items()]


@pytest.mark.parametrize("row", ABOUT_SCHEMAS, ids=lambda row: row["code"])
def test_examples_of_schemas_are_found(row: dict[str, str]) -> None:
    schema = json.loads(row["example"].strip("`"))
    parameters: dict[str, Any] = {"properties": {"p": schema}}
    if row["code"] == "hidden-keyword":
        parameters |= {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"Zip": {"type": "string"}}}
    assert [one.code for one in problems(parameters)] == [row["code"]]


def test_the_table_has_examples_for_all_checks_of_schemas() -> None:
    assert len(ABOUT_SCHEMAS) == 11


def test_what_the_page_says_can_be_mended() -> None:
    schemas = [
        {"type": "boolean", "default": "false"},
        {"type": "dict"},
        {"type": "string", "minLenght": 3},
        {"type": "string", "required": True},
    ]
    for schema in schemas:
        (found,) = problems({"properties": {"p": schema}})
        assert isinstance(found, Mendable)
