"""Reading scenarios: every shape that is right, and a sentence with a place for everything that is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from codegen.simulator import Scenario, ScenarioError, load_scenarios, scenario_schema
from tests.simulator.scripts import call, calls, say, turn

FULL = """
name: weather
models: [gpt-weather]
tools: any
turns:
  - user: {contains: Madrid}
    model:
      - say: Let me look.
        reasoning: Two places are asked for.
        calls:
          - {name: clima, arguments: {since: 2024-01-31, on: no, n: 1.0}, as: madrid, result: {json: null}}
          - {name: clima, raw: '{"a": ', invented: true, call_id: call_x, result: {error: [JSON]}}
        approvals: [{kind: mcp, decision: approve}]
        faults:
          - {kind: http, status: 429, times: 2, retry_after: 1}
          - {kind: drop, before: end, clean: true, apis: [openai_agents]}
          - {kind: duplicate, events: [call]}
          - {kind: delay, seconds: 1}
          - {kind: race, calls: [1]}
          - {kind: stale}
      - {say: "Madrid: {{madrid}}", end: failed, error: {code: oops, message: It failed.}}
faults: [{kind: http, status: 500, on: sessions.retrieve}]
oci: {quirks: [numbers_as_text], follow_up: omit, work_request_polls: 0, failing_work_requests: 1}
"""


def problems(value: Any) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        Scenario.parse(value)
    return caught.value.problems


def minimal(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"name": "s", "turns": [turn(*steps)], **fields}


def test_a_yaml_file_keeps_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "weather.yaml"
    path.write_text(FULL, encoding="utf-8")
    (scenario,) = load_scenarios(path)
    step = scenario.turns[0].model[0]
    assert step.calls[0].arguments == {"since": "2024-01-31", "on": "no", "n": 1.0}
    assert step.calls[0].result is not None and step.calls[0].result.expects("json_")
    assert step.calls[1].raw == '{"a": '
    assert [f.kind for f in step.faults] == ["http", "drop", "duplicate", "delay", "race", "stale"]


def test_a_json_file_may_hold_several(tmp_path: Path) -> None:
    path = tmp_path / "two.json"
    path.write_text(json.dumps([minimal(say()), {**minimal(say()), "name": "t"}]), encoding="utf-8")
    assert [s.name for s in load_scenarios(path)] == ["s", "t"]


def test_every_problem_of_every_scenario_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "two.json"
    path.write_text(json.dumps([minimal({"sya": "x"}), {"name": "t", "turns": []}]), encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        load_scenarios(path)
    assert [p.split(":")[0] for p in caught.value.problems] == ["/0/turns/0/model/0/sya", "/1/turns"]
    assert path.name in str(caught.value)


@pytest.mark.parametrize(
    "name,text", [("a.json", "{"), ("a.yaml", "a: [1"), ("a.yaml", "a: 1\na: 2"), ("b.json", "[NaN]")]
)
def test_a_file_that_cannot_be_read_is_a_scenario_error(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match="cannot be read"):
        load_scenarios(path)


def test_a_file_that_is_not_there_is_a_scenario_error(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="cannot be read"):
        load_scenarios(tmp_path / "no.yaml")


def test_an_unknown_key_lists_the_known_ones() -> None:
    (problem,) = problems(minimal(calls({"name": "x", "argument": {}}), say()))
    assert problem == (
        "/turns/0/model/0/calls/0/argument: unknown key "
        "(known here: arguments, as, call_id, invented, name, raw, result)"
    )


def test_an_unknown_key_of_a_fault_lists_those_of_its_kind() -> None:
    (problem,) = problems(minimal(say(faults=[{"kind": "delay", "seconds": 1, "second": 2}])))
    assert problem.endswith("unknown key (known here: apis, kind, seconds, times)")


@pytest.mark.parametrize(
    "value,place,text",
    [
        ({"name": "s"}, "/turns", "required"),
        ({"name": "a b", "turns": [turn(say())]}, "/name", "pattern"),
        (minimal(say(), tools="none"), "/tools", "'registered' or 'any'"),
        (minimal(say(end="stopped")), "/turns/0/model/0/end", "'completed'"),
        (minimal(say(faults=[{"kind": "htp"}])), "/turns/0/model/0/faults/0", "'http'"),
        (minimal(say(faults=[{"kind": "http", "status": 200}])), "/turns/0/model/0/faults/0/status", "400"),
        (minimal(say(faults=[{"kind": "delay", "seconds": "1"}])), "/turns/0/model/0/faults/0/seconds", "number"),
        (minimal(calls(call(raw="x", arguments={})), say()), "/turns/0/model/0/calls/0", "not both"),
        (minimal(calls()), "/turns/0/model/0", "final answer"),
        (minimal(say(), say()), "/turns/0/model/0", "only the last step"),
        (minimal(calls(end="failed"), say()), "/turns/0/model/0/end", "no step may follow"),
        (
            minimal(calls(faults=[{"kind": "race", "calls": [1]}]), say()),
            "/turns/0/model/0/faults/0/calls",
            "no call 1",
        ),
        (minimal(calls(), say("{{x.y}}")), "/turns/0/model/1/say", 'placeholder "x"'),
        (minimal(calls(call("{{x}}", **{"as": "x"})), say()), "/turns/0/model/0/calls/0/arguments", 'placeholder "x"'),
        (minimal(calls(call(**{"as": "x"}), call(**{"as": "x"})), say()), "/turns/0/model/0/calls/1/as", "already"),
        ("no scenario", "/", "dictionary"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(value: Any, place: str, text: str) -> None:
    found = problems(value)
    assert any(p.startswith(f"{place}:") and text in p for p in found), found


def test_the_schema_describes_what_is_read(tmp_path: Path) -> None:
    schema = scenario_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid({"name": "s", "turns": [{"model": [calls(), say()]}]})
    assert not validator.is_valid({"name": "s", "turns": [{"model": [{"sya": "x"}]}]})
