"""What the checks say of the JSON Schema Test Suite and of the specs of real tools: nothing that is not so."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema.validators import validator_for

from codegen.diagnostics import Diagnostic, Report
from codegen.passes import PASSES, SchemaPass, run_passes
from codegen.passes import kinds as k
from codegen.passes.subject import ToolSchema
from codegen.schema.dialects import URIS, dialect_of
from codegen.schema.pointers import resolve
from codegen.specs import read_text
from tests.passes.support import spec, subject
from tests.public_data import Group, PublicData, as_argument, find

DRAFTS = {"draft2020-12": "2020-12", "draft7": "draft7"}


@pytest.fixture(scope="module")
def data() -> PublicData:
    return find()


@pytest.mark.parametrize("draft", DRAFTS)
def test_no_schema_of_the_suite_with_a_valid_value_is_called_impossible(data: PublicData, draft: str) -> None:
    impossible = 0
    for group in data.suite(draft):
        report = Report()
        text = json.dumps(spec(as_argument(group.schema, DRAFTS[draft])))
        run_passes(read_text(text, "t.json", report), report)
        if any("no call of the tool can be valid" in one.message for one in report.diagnostics):
            impossible += 1
            assert not any(test["valid"] for test in group.tests), group.name
    assert impossible > 5


@pytest.mark.parametrize("draft", DRAFTS)
def test_no_value_of_the_suite_shows_otherwise(data: PublicData, draft: str) -> None:
    """At every place of every schema: a value that is valid there is of a kind that is said to be possible."""
    judged = 0
    for group in data.suite(draft):
        if not isinstance(group.schema, dict):
            continue
        checked = subject({key: each for key, each in group.schema.items() if key != "$schema"}, DRAFTS[draft])
        for step in PASSES:
            if isinstance(step, SchemaPass):
                list(step.find(checked))
        judged += _judge(checked, group)
    assert judged > 1_000


def _judge(checked: ToolSchema, group: Group) -> int:
    judged = 0
    values = [value for test in group.tests for value in _inside(test["data"])]
    for pointer in checked.pointers:
        if not checked.document.has(pointer):
            continue
        verdict = checked.possible.of(pointer)
        unusable = {name for name, _, _ in checked.possible.unusable(pointer)}
        for value in values:
            if checked.judge.is_valid(pointer, value):
                judged += 1
                assert verdict.kinds & k.kind_of(value), (group.name, pointer, value)
                assert not isinstance(value, dict) or unusable.isdisjoint(value), (group.name, pointer, value)
    return judged


def _inside(value: Any) -> Iterator[Any]:
    yield value
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _inside(member)


def test_findings_in_real_specs_are_true(data: PublicData) -> None:
    """Real tools have nothing but a few defaults of the wrong type, and a second validator says so too."""
    codes: Counter[str] = Counter()
    for each in data.real_specs():
        report = Report()
        run_passes(read_text(json.dumps(spec(each.parameters)), "t.json", report), report)
        for found in report.diagnostics:
            codes[found.code] += 1
            assert _is_misfit(each.parameters, found), (each.name, str(found))
    assert set(codes) == {"default-misfit"}


def _is_misfit(parameters: dict[str, Any], found: Diagnostic) -> bool:
    """Whether the schema at the place of a finding refuses its own default, as far as it stands alone."""
    pointer = found.pointer.removeprefix("/parameters").removesuffix("/default")
    schema = resolve(parameters, pointer)
    dialect = dialect_of(parameters)
    assert dialect is not None
    judge = validator_for({"$schema": URIS[dialect]})
    return not judge(schema).is_valid(schema["default"])
