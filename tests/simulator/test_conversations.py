"""One scenario, written once, played over all three APIs with the vendors' clients."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from oci.generative_ai_agent.models import CreateToolDetails, Function, FunctionCallingToolConfig

from codegen.simulator import SimulatorReport
from tests.simulator.clients import OciClients
from tests.simulator.loops import agents_loop, async_agents_loop, async_responses_loop, oci_loop, responses_loop
from tests.simulator.scripts import LOOKUP_SCHEMA, call, calls, function, say, turn

WEATHER = turn(
    calls(
        call("Madrid", **{"as": "madrid"}, result={"json": {"place": "Madrid", "degrees": 6}}),
        call("Barcelona", **{"as": "barcelona"}, result={"has": {"degrees": 9}}),
        say="Two places, one moment.",
        reasoning="Both are needed.",
    ),
    calls(call("{{madrid.place}}-{{barcelona.degrees}}", result={"success": True})),
    say("Madrid: {{madrid.degrees}}, Barcelona: {{barcelona.degrees}}."),
    user={"contains": "Madrid"},
)
ANSWER = "Madrid: 6, Barcelona: 9."
QUESTION = "How warm is it in Madrid and Barcelona?"


def run(name: str, arguments: Any) -> Any:
    assert name == "lookup"
    return {"place": arguments["key"], "degrees": len(arguments["key"])}


def register(oci: OciClients, scenario: str) -> None:
    """Creates the tool on the scenario's agent and waits until it is there."""
    details = CreateToolDetails(
        display_name="lookup",
        description="Looks it up.",
        agent_id=f"ocid1.genaiagent.oc1..{scenario}",
        compartment_id="ocid1.compartment.oc1..test",
        tool_config=FunctionCallingToolConfig(
            function=Function(name="lookup", parameters={k: json.dumps(v) for k, v in LOOKUP_SCHEMA.items()})
        ),
    )
    work = oci.tools.create_tool(details).headers["opc-work-request-id"]
    while oci.tools.get_work_request(work).data.status != "SUCCEEDED":
        pass


def test_agents_sessions(add: Callable[..., str], openai: Any, report: Callable[[str], SimulatorReport]) -> None:
    name = add(WEATHER)
    assert agents_loop(openai, name, [function()], QUESTION, run) == ANSWER
    assert report(name).ok, report(name).problems()


async def test_agents_sessions_async(
    add: Callable[..., str], async_openai: Any, report: Callable[[str], SimulatorReport]
) -> None:
    name = add(WEATHER)
    assert await async_agents_loop(async_openai, name, [function()], QUESTION, run) == ANSWER
    assert report(name).ok, report(name).problems()


def test_responses(add: Callable[..., str], openai: Any, report: Callable[[str], SimulatorReport]) -> None:
    name = add(WEATHER)
    assert responses_loop(openai, name, [function(strict=True)], QUESTION, run) == ANSWER
    assert report(name).ok, report(name).problems()


async def test_responses_async(
    add: Callable[..., str], async_openai: Any, report: Callable[[str], SimulatorReport]
) -> None:
    name = add(WEATHER)
    assert await async_responses_loop(async_openai, name, [function(strict=False)], QUESTION, run) == ANSWER
    assert report(name).ok, report(name).problems()


def test_oci_agents(add: Callable[..., str], oci: OciClients, report: Callable[[str], SimulatorReport]) -> None:
    name = add(WEATHER)
    register(oci, name)
    assert oci_loop(oci, f"ocid1.genaiagentendpoint.oc1..{name}", QUESTION, run) == ANSWER
    assert report(name).ok, report(name).problems()


def test_a_result_that_is_not_expected_fails_on_every_api(
    add: Callable[..., str], openai: Any, oci: OciClients, report: Callable[[str], SimulatorReport]
) -> None:
    name = add(WEATHER)
    register(oci, name)

    def wrong(name: str, arguments: Any) -> Any:
        return {"place": arguments["key"], "degrees": 100}

    loops: list[Callable[[], str]] = [
        lambda: agents_loop(openai, name, [function()], QUESTION, wrong),
        lambda: responses_loop(openai, name, [function()], QUESTION, wrong),
        lambda: oci_loop(oci, f"ocid1.genaiagentendpoint.oc1..{name}", QUESTION, wrong),
    ]
    for loop in loops:
        with pytest.raises(Exception, match="should be the JSON"):
            loop()
    seen = report(name)
    assert [(f.api, f.place) for f in seen.failures] == [
        ("openai_agents", "turn 1, step 1"),
        ("openai_responses", "turn 1, step 1"),
        ("oci_agents", "turn 1, step 1"),
    ]
    assert len(seen.unfinished) == 3
    assert not seen.ok


def test_a_message_that_is_not_expected_fails_on_every_api(
    add: Callable[..., str], openai: Any, oci: OciClients, report: Callable[[str], SimulatorReport]
) -> None:
    name = add(WEATHER)
    loops: list[Callable[[], str]] = [
        lambda: agents_loop(openai, name, [function()], "Lisbon?", run),
        lambda: responses_loop(openai, name, [function()], "Lisbon?", run),
        lambda: oci_loop(oci, f"ocid1.genaiagentendpoint.oc1..{name}", "Lisbon?", run),
    ]
    for loop in loops:
        with pytest.raises(Exception, match="should contain «Madrid»"):
            loop()
    assert [f.place for f in report(name).failures] == ["before the first turn"] * 3
    assert report(name).unplayed == (name,)


def test_a_tool_that_nobody_registered_is_told(
    add: Callable[..., str], openai: Any, oci: OciClients, report: Callable[[str], SimulatorReport]
) -> None:
    name = add(WEATHER)
    assert agents_loop(openai, name, [function("other")], QUESTION, run) == ""
    loops: list[Callable[[], str]] = [
        lambda: responses_loop(openai, name, [function("other")], QUESTION, run),
        lambda: oci_loop(oci, f"ocid1.genaiagentendpoint.oc1..{name}", QUESTION, run),
    ]
    for loop in loops:
        with pytest.raises(Exception, match='call "lookup", which is not registered'):
            loop()
    messages = [failure.message for failure in report(name).failures]
    assert all('call "lookup", which is not registered' in message for message in messages) and len(messages) == 3
