"""The specs that ship, lowered for every target, are judged by the vendors' own types."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
from openai.types.beta.agent_tool_param import AgentToolParam
from openai.types.responses import ToolParam
from pydantic import TypeAdapter

from codegen.diagnostics import Report
from codegen.specs import Catalog, read_text
from codegen.targets import BUILT_IN, lower_catalog
from codegen.targets.oci_parameters import decode_parameters
from codegen.targets.openai_rules import STRICT
from codegen.targets.strict_subset import violations

ROOT = Path(__file__).parents[2]


def test_every_shipped_spec_can_be_registered_everywhere() -> None:
    report = Report()
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "specs").iterdir())}
    catalog = Catalog(tuple(tool for name, text in texts.items() for tool in read_text(text, name, report)))
    payloads, problems = lower_catalog(catalog, BUILT_IN)
    report.add(*problems)
    assert not report.has_errors, [str(problem) for problem in report.diagnostics]
    assert [len(payload.lowered) for payload in payloads.values()] == [len(catalog)] * len(BUILT_IN)
    assert json.loads(json.dumps([payload.entries for payload in payloads.values()]))

    TypeAdapter(list[AgentToolParam]).validate_python(payloads["openai_agents"].entries, strict=True)
    TypeAdapter(list[ToolParam]).validate_python(payloads["openai_responses"].entries, strict=True)
    for entry in payloads["openai_responses"].entries:
        if entry["strict"]:
            assert violations(entry["parameters"], STRICT) == []
    for entry in payloads["oci_agents"].entries:
        parameters = entry["toolConfig"]["function"]["parameters"]
        assert all(isinstance(text, str) for text in parameters.values())
        jsonschema_rs.Draft202012Validator(decode_parameters(parameters), offline=True)
