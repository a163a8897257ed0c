"""`toolgen targets`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from codegen.cli.targets import targets
from codegen.targets import BUILT_IN, registry


def test_the_json_form_says_everything() -> None:
    result = CliRunner().invoke(targets, ["--format", "json"])
    assert result.exit_code == 0
    listed = {entry["id"]: entry for entry in json.loads(result.output)}
    assert set(BUILT_IN) <= set(listed)
    for name in BUILT_IN:
        facts = registry()[name].facts
        assert listed[name]["name"] == {
            "pattern": facts.name.pattern,
            "refused": True,
            "evidence": facts.name.evidence.value,
            "source": facts.name.source,
        }
        assert [limit["maximum"] for limit in listed[name]["limits"]] == [limit.maximum for limit in facts.limits]
    assert listed["oci_agents"]["options"] == {"oci_encoding": ["json", "adk"]}
    assert listed["oci_agents"]["keywords"]["$ref"]["treatment"] == "rewritten"
    assert listed["openai_agents"]["strict"] is None
    assert any(limit["maximum"] == 5_000 for limit in listed["openai_responses"]["strict"])


def test_the_table_shows_rules_with_their_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    result = CliRunner().invoke(targets, [])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert any(
        "openai_responses" in line and "^[a-zA-Z0-9_-]{1,64}$" in line and "documented" in line for line in lines
    )
    assert any("20 tools" in line and "error for a toolset" in line for line in lines)
    assert any("512 characters" in line and "weak" in line and "warning" in line for line in lines)
