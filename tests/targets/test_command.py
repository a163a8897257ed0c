"""`toolgen targets`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

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
            "refused": facts.name.hard,
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


def test_one_target_alone() -> None:
    result = CliRunner().invoke(targets, ["-t", "anthropic", "--format", "json"])
    (listed,) = json.loads(result.output)
    assert listed["id"] == "anthropic"
    assert listed["properties"]["pattern"] == "^[a-zA-Z0-9_.-]{1,64}$"
    assert {limit["per_list"] for limit in listed["limits"]} == {True}
    wrong = CliRunner().invoke(targets, ["-t", "antropic"])
    assert wrong.exit_code == 2
    assert "there is no target 'antropic'" in wrong.output


class TestSizes:
    def test_bytes_are_those_that_are_sent(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        config = '[tool.toolgen.toolsets]\nsome = ["pay", "séjour"]\n'
        (tmp_path / "pyproject.toml").write_text(config, encoding="utf-8")
        for name in ("pay", "séjour", "other"):
            spec = {"name": name, "description": "Très bien. " * len(name), "parameters": {"type": "object"}}
            (tmp_path / "specs").mkdir(exist_ok=True)
            (tmp_path / "specs" / f"{name}.json").write_text(json.dumps(spec), encoding="utf-8")
        result = CliRunner().invoke(targets, ["--sizes", "-t", "mcp", "-t", "none", "--format", "json"])
        assert result.exit_code == 2  # `none` excludes others
        result = CliRunner().invoke(targets, ["--sizes", "-t", "mcp", "--format", "json"])
        (sizes,) = json.loads(result.output)
        entries = {
            name: {"name": name, "description": "Très bien. " * len(name), "inputSchema": {"type": "object"}}
            for name in ("other", "pay", "séjour")
        }
        assert {name: size["bytes"] for name, size in sizes["tools"].items()} == {
            name: length(entry) for name, entry in entries.items()
        }
        assert sizes["total"]["bytes"] == length(list(entries.values()))
        assert sizes["toolsets"]["some"]["bytes"] == length([entries["pay"], entries["séjour"]])
        for size in (sizes["total"], *sizes["tools"].values()):
            assert size["estimated_tokens"] == math.ceil(size["bytes"] / 4)

    def test_specs_that_are_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "140")
        result = CliRunner().invoke(targets, ["specs", "-t", "openai_chat", "-t", "anthropic"])
        assert result.exit_code == 0
        lines = result.output.splitlines()
        assert any("openai_chat" in line and "anthropic" in line for line in lines)
        assert any("get_customer" in line and line.count("~") == 2 for line in lines)
        assert any(line.strip(" │").startswith("all ") for line in lines)
        assert "estimated tokens" in result.output

    def test_errors_end_it(self, tmp_path: Path) -> None:
        spec = tmp_path / "bad.json"
        spec.write_text('{"name": "a b", "description": "x", "parameters": {"type": "object"}}', encoding="utf-8")
        result = CliRunner().invoke(targets, [str(spec), "-t", "anthropic"])
        assert result.exit_code == 2
        assert "error[target-name]" in result.output


def length(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
